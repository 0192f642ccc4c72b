"""Checks that the project runs on itself."""

from __future__ import annotations
