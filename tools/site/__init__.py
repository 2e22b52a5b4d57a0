"""The documents as a site: ``python -m tools.site``, or ``make site``."""
