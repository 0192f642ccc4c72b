"""All settings of a process, as one frozen value; durations are microseconds (``_us``), sizes bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from puntual.model.errors import InvalidSettingError
from puntual.model.instant import DAY, SECOND
from puntual.settings.database import database_path
from puntual.settings.postgres import is_postgres, shown_url
from puntual.settings.values import Hidden, Network

ROLES: Final = ("api", "scheduler", "worker")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decided. `load_settings` is the door that checks; this is what comes out of it.

    ``queues`` empty means all. ``allow_commands`` is False, True, or the program paths that may run. ``sources`` says
    where each value that is not the default came from, by setting name; ``warnings`` are sentences for the operator.
    """

    database_url: str = "sqlite:///puntual.db"
    listen_url: str | None = None
    pooler: str = "none"
    tx_hints: bool = True
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
    def on_postgres(self) -> bool:
        """Whether the database is one of PostgreSQL."""
        return is_postgres(self.database_url)

    @property
    def database_path(self) -> str:
        """The SQLite file, relative to the working folder unless it starts with a slash.

        Raises:
            InvalidSettingError: the database is none of SQLite.
        """
        if self.on_postgres:
            raise InvalidSettingError("This needs a SQLite file, and DATABASE_URL names none.", field="DATABASE_URL")
        return database_path(self.database_url)

    @property
    def shown_database(self) -> str:
        """Where the data is, for people: the whole path of the file, or the URL without its password."""
        return shown_url(self.database_url) if self.on_postgres else str(Path(self.database_path).absolute())

    def __repr__(self) -> str:
        """Without passwords: whoever logs or prints settings shows none."""
        hidden = {
            "database_url": shown_url(self.database_url),
            "listen_url": self.listen_url and shown_url(self.listen_url),
        }
        shown = {name: hidden.get(name, getattr(self, name)) for name in self.__struct_fields__}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"
