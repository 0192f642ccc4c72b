"""PostgreSQL passes the whole suite."""

from __future__ import annotations

from puntual.testing.conformance import *  # noqa: F403 - every class that the suite has, those to come too
