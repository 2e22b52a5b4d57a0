"""Rows of tables at a known position, from elsewhere than a log: what a state can begin with."""

from __future__ import annotations
