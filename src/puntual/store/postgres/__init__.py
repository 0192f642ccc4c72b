"""The store on PostgreSQL: one database for a whole fleet."""

from __future__ import annotations

from puntual.store.postgres.migrate import Opening
from puntual.store.postgres.place import Place
from puntual.store.postgres.session import Surroundings
from puntual.store.postgres.store import PostgresStore

__all__ = ["Opening", "Place", "PostgresStore", "Surroundings"]
