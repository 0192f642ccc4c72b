"""The stores, wakes and targets that settings name, each imported when it is made; nobody else names any."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from puntual.engine.calendars import Resolve
from puntual.model.clock import Clock
from puntual.model.errors import InvalidSettingError
from puntual.model.run import COMMAND_TASK, HTTP_TASK
from puntual.model.task import TaskRegistry
from puntual.settings import Settings
from puntual.store.contract import Store
from puntual.store.requests import Retention
from puntual.targets.contract import Target
from puntual.wake.contract import Wake
from puntual.wake.local import LocalWake

if TYPE_CHECKING:
    from puntual.store.postgres import Place


class Making(msgspec.Struct, frozen=True):
    """What opening a store may do: make and migrate a SQLite file, bring a PostgreSQL database to this release."""

    file: bool = True
    schema: bool = False


def make_store(settings: Settings, clock: Clock, making: Making) -> tuple[Store, Wake]:
    """The store that ``DATABASE_URL`` names, not open yet, and what wakes the processes that share it.

    Raises:
        InvalidSettingError: it is PostgreSQL, and its driver is not installed.
    """
    retention = Retention(
        succeeded_us=settings.retention_succeeded_us,
        dead_us=settings.retention_dead_us,
        ticks_us=settings.retention_ticks_us,
    )
    if settings.on_postgres:
        return _make_postgres(settings, retention, migrate=making.schema)
    from puntual.store.sqlite import Opening, SqliteStore  # noqa: PLC0415 - the store that the URL names, and no other

    opening = Opening(create=making.file, migrate=making.file)
    return SqliteStore(settings.database_path, clock=clock, retention=retention, opening=opening), LocalWake()


def _make_postgres(settings: Settings, retention: Retention, *, migrate: bool) -> tuple[Store, Wake]:
    place = place_of(settings)
    from puntual.store.postgres import Opening, PostgresStore  # noqa: PLC0415 - as in make_store
    from puntual.wake.postgres import PostgresWake  # noqa: PLC0415 - as in make_store

    store = PostgresStore(place, retention=retention, opening=Opening(migrate=migrate), tx_hints=settings.tx_hints)
    listen_url = settings.listen_url
    listens_at = place if listen_url is None else msgspec.structs.replace(place, url=listen_url, pooler=False)
    return store, PostgresWake(store.notify, listens_at.connect)


def place_of(settings: Settings) -> Place:
    """Where the PostgreSQL database of the settings is.

    Raises:
        InvalidSettingError: its driver is not installed.
    """
    try:
        from puntual.store.postgres import Place  # noqa: PLC0415 - as in make_store
    except ModuleNotFoundError as error:
        raise InvalidSettingError(
            "DATABASE_URL names PostgreSQL, and its driver is not installed: pip install 'puntual[postgres]'",
            field="DATABASE_URL",
        ) from error
    return Place(settings.database_url, pooler=settings.pooler == "transaction")


def make_targets(settings: Settings, registry: TaskRegistry, clock: Clock, *, version: str) -> TargetTable:
    """The targets of a worker: its own functions, requests and commands."""
    from puntual.targets.command import CommandSettings, CommandTarget  # noqa: PLC0415 - only a worker needs them
    from puntual.targets.function import FunctionTarget  # noqa: PLC0415 - as above
    from puntual.targets.http import HttpSettings, HttpTarget  # noqa: PLC0415 - as above

    http = HttpSettings(
        allow_private=settings.allow_private_addresses, max_response=settings.max_response, version=version
    )
    command = CommandSettings(
        allow=settings.allow_commands,
        max_output=settings.max_response,
        cwd=str(Path.cwd()),
        environ=dict(os.environ),
    )
    functions = FunctionTarget(registry, max_threads=settings.concurrency, process_workers=settings.concurrency)
    return TargetTable(functions, {HTTP_TASK: HttpTarget(http, clock), COMMAND_TASK: CommandTarget(command)})


def make_resolver(settings: Settings, clock: Clock, *, version: str) -> Resolve:
    """What finds out which days calendars have."""
    from puntual.calendars import CalendarResolver, FeedSettings  # noqa: PLC0415 - few have any

    feeds = FeedSettings(allow_private=settings.allow_private_addresses, version=version)
    return CalendarResolver(feeds, clock.steady)


class TargetTable(Mapping[str, Target]):
    """Which target executes a task, asked anew each time: tasks may be registered while a worker runs."""

    def __init__(self, functions: Target, others: Mapping[str, Target]) -> None:
        self._functions = functions
        self._others = others

    def __getitem__(self, task: str) -> Target:
        """The target of a task."""
        return self._others.get(task, self._functions)

    def __iter__(self) -> Iterator[str]:
        """Every task that this process knows."""
        for target in self._all():
            yield from target.tasks()

    def __len__(self) -> int:
        """How many."""
        return sum(1 for _ in self)

    async def close(self) -> None:
        """Closes every target."""
        for target in self._all():
            await target.close()

    def _all(self) -> Sequence[Target]:
        return (self._functions, *self._others.values())
