"""All settings of a process, as one frozen value; durations are microseconds (``_us``), sizes bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from puntual.model.instant import DAY, SECOND
from puntual.settings.database import database_path
from puntual.settings.values import Hidden, Network

ROLES: Final = ("api", "scheduler", "worker")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decided. `load_settings` is the door that checks; this is what comes out of it.

    ``queues`` empty means all. ``allow_commands`` is False, True, or the program paths that may run. ``sources`` says
    where each value that is not the default came from, by setting name; ``warnings`` are sentences for the operator.
    """

    database_url: str = "sqlite:///puntual.db"
    host: str = "127.0.0.1"
    port: int = 8787
    public_url: str | None = None
    app: str | None = None
    roles: tuple[str, ...] = ROLES
    queues: tuple[str, ...] = ()
    concurrency: int = 100
    timezone: str = "UTC"
    language: str = "en"
    allow_commands: bool | tuple[str, ...] = False
    allow_private_addresses: tuple[Network, ...] = ()
    read_only: bool = False
    max_payload: int = 256 << 10
    max_response: int = 64 << 10
    lease_ttl_us: int = 15 * SECOND
    shutdown_grace_us: int = 30 * SECOND
    retention_succeeded_us: int = 7 * DAY
    retention_dead_us: int = 90 * DAY
    retention_ticks_us: int = 400 * DAY
    log_format: str = "console"
    log_level: str = "info"
    server: str | None = None
    token: Hidden | None = None
    sources: Mapping[str, str] = msgspec.field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def database_path(self) -> str:
        """The SQLite file, relative to the working folder unless it starts with a slash."""
        return database_path(self.database_url)
