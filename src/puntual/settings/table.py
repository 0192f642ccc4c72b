"""Every setting that puntual knows, each with its reader: the one list that loading, errors and ``doctor`` go by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from puntual.settings import values
from puntual.settings.database import database_url
from puntual.settings.model import ROLES
from puntual.settings.postgres import postgres_url, shown_url
from puntual.settings.values import Reader


class Setting(msgspec.Struct, frozen=True):
    """A setting: ``name`` as users type it, the ``field`` of `Settings`, how it is read and shown.

    Errors do not repeat the value of a ``private`` one.
    """

    name: str
    field: str
    read: Reader
    show: Callable[[object], str] = values.show
    private: bool = False


def _plain(name: str, read: Reader) -> Setting:
    return Setting(name, name.lower(), read)


def _duration(name: str, low: str, high: str) -> Setting:
    return Setting(name, f"{name.lower()}_us", values.duration(low, high), values.show_duration)


def _size(name: str, low: int, high: int) -> Setting:
    return Setting(name, name.lower(), values.size(low, high), _shown_size)


def _shown_size(value: object) -> str:
    return values.show_size(value) if isinstance(value, int) else str(value)


def _shown_queues(value: object) -> str:
    return values.show(value) if value else "all"


def _shown_or_none(value: object) -> str:
    return values.show(None) if value is None else shown_url(value)


SETTINGS: Final[dict[str, Setting]] = {
    setting.name: setting
    for setting in (
        Setting("DATABASE_URL", "database_url", database_url, shown_url),
        Setting("LISTEN_URL", "listen_url", postgres_url, _shown_or_none),
        _plain("POOLER", values.one_of("none", "transaction")),
        _plain("TX_HINTS", values.boolean),
        _plain("HOST", values.host),
        _plain("PORT", values.whole(0, 65535)),
        _plain("PUBLIC_URL", values.web_url),
        _plain("APP", values.app),
        _plain("ROLES", values.some_of(*ROLES)),
        Setting("QUEUES", "queues", values.names, _shown_queues),
        _plain("CONCURRENCY", values.whole(1, 10_000)),
        _plain("TIMEZONE", values.zone),
        _plain("LANGUAGE", values.one_of("en", "es")),
        _plain("ALLOW_COMMANDS", values.commands),
        _plain("ALLOW_PRIVATE_ADDRESSES", values.networks),
        _plain("READ_ONLY", values.boolean),
        _size("MAX_PAYLOAD", 1 << 10, 16 << 20),
        _size("MAX_RESPONSE", 0, 16 << 20),
        _duration("LEASE_TTL", "1s", "1h"),
        _duration("SHUTDOWN_GRACE", "0s", "1d"),
        _duration("RETENTION_SUCCEEDED", "1m", "36500d"),
        _duration("RETENTION_DEAD", "1m", "36500d"),
        _duration("RETENTION_TICKS", "1m", "36500d"),
        _plain("LOG_FORMAT", values.one_of("console", "json")),
        _plain("LOG_LEVEL", values.one_of("debug", "info", "warning", "error")),
        _plain("SERVER", values.web_url),
        Setting("TOKEN", "token", values.token, private=True),
    )
}

#: Names that later releases use: set now, they change nothing, and the operator is told so.
RESERVED: Final = frozenset(
    {
        "DAILY_REPORT",
        "MAIL_FROM",
        "REDIS_URL",
        "SECRET_KEYS",
        "SMTP_URL",
        "TRUSTED_PROXIES",
        "WATCHDOG_URL",
    }
)

#: What commands find in their environment, and where the file of settings is: variables of ours that are no settings.
NOT_SETTINGS: Final = frozenset({"CONFIG", "RUN_ID", "SCHEDULE", "TICK_AT", "DUE_AT", "ATTEMPT"})
