"""The store on SQLite: one file, one writer thread per process, nothing to install."""

from __future__ import annotations

from puntual.store.sqlite.migrate import Opening
from puntual.store.sqlite.store import SqliteStore

__all__ = ["Opening", "SqliteStore"]
