"""The numbers of ``layout.pxd`` that Python sees too: kinds of columns, faults, their fields."""
