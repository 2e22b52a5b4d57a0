"""Small faults in the code, and which tests are asked whether they notice: ``tools/mutate.py``."""
