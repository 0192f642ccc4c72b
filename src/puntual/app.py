"""App: the composition root. The only module that names concrete stores, wakes and targets."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from puntual.client.core import Core
from puntual.client.dead import DeadLetters
from puntual.client.declare import Declares
from puntual.client.portal import Portal
from puntual.client.runs import Runs
from puntual.client.schedules import PutOptions, Schedules
from puntual.engine.clock import SystemClock, SystemRandom
from puntual.engine.node import Node
from puntual.engine.parts import NodeConfig, Parts
from puntual.manifest import ManifestContext, TargetChecks
from puntual.model.blocking import blocking
from puntual.model.call import Call
from puntual.model.clock import Clock
from puntual.model.errors import InvalidSettingError
from puntual.model.run import COMMAND_TASK, HTTP_TASK
from puntual.settings import Settings, load_settings, settled
from puntual.store.contract import Store
from puntual.store.requests import Retention
from puntual.targets.contract import Target
from puntual.timing.zone import load_zone
from puntual.wake.contract import Wake
from puntual.wake.local import LocalWake

if TYPE_CHECKING:
    from puntual.store.postgres import Place

T = TypeVar("T")
VERSION = version("puntual")
_SECOND = 1_000_000


class App(Declares):
    """An app: its tasks, its schedules, and a client of its database.

    Args:
        settings: what the operator decided; without it the environment and ``puntual.toml`` are read when first needed.
        overrides: single settings, by name: ``App(database_url="sqlite:///jobs.db")``.
    """

    def __init__(self, settings: Settings | None = None, **overrides: object) -> None:
        super().__init__()
        self.clock: Clock = SystemClock()
        self.random = SystemRandom()
        self.wake: Wake = LocalWake()
        self._settings = settings
        self._overrides = overrides
        self._store: Store | None = None
        self._opened = 0
        self._portal = Portal()
        self._only_looks = False
        self._migrates = False
        self.node: Node | None = None

    @property
    def settings(self) -> Settings:
        """The settings, read when first asked for."""
        if self._settings is None:
            self._settings = load_settings(os.environ, overrides=self._overrides)
        return self._settings

    def configure(self, settings: Settings) -> None:
        """Takes the settings of the program that loaded this app; what the app says of itself stands over them."""
        self._settings = settled(settings, self._overrides)

    def connect_to(self, store: Store | None, clock: Clock) -> None:
        """Takes a store and a clock that somebody else made: the manual app, tests. None: the one of the settings."""
        self._store = store
        self.clock = clock

    def only_look(self) -> None:
        """Opening makes no database and migrates none from now on: it is refused, with the command that does."""
        self._only_looks = True

    def may_migrate(self) -> None:
        """Opening brings a PostgreSQL database to this release from now on; a SQLite file it does anyway."""
        self._migrates = True

    @property
    def store(self) -> Store:
        """The store, made when first asked for; opened by ``async with app``."""
        if self._store is None:
            self._store = self._make_store()
        return self._store

    @property
    def core(self) -> Core:
        """What the client parts are made from."""
        return Core(
            store=self.store,
            wake=self.wake,
            clock=self.clock,
            random=self.random,
            context=self.context,
            block=self._portal.wait_for,
        )

    @property
    def runs(self) -> Runs:
        """Runs: get, find, cancel, edit."""
        return Runs(self.core)

    @property
    def schedules(self) -> Schedules:
        """Schedules: put, get, find, pause, resume, trigger, remove."""
        return Schedules(self.core)

    @property
    def dead(self) -> DeadLetters:
        """The dead-letter list: find, replay, discard."""
        return DeadLetters(self.core, self.runs)

    def context(self) -> ManifestContext:
        """What manifests are read against, now."""
        from puntual.targets.command import check_command  # noqa: PLC0415 - a client that only enqueues needs no targets
        from puntual.targets.http import check_http  # noqa: PLC0415

        settings = self.settings

        def http(args: object, *, field: str) -> str:
            return check_http(args, field=field, guard=settings.allow_private_addresses)

        return ManifestContext(
            now=self.clock.now(),
            checks=TargetChecks(http=http, command=check_command, tasks=self.registry.names() or None),
            timezone=settings.timezone,
            zone_given="TIMEZONE" in settings.sources,
            max_payload=settings.max_payload,
        )

    async def __aenter__(self) -> Self:
        """Opens the database and becomes the client of this app's tasks."""
        if self._opened == 0:
            load_zone(self.settings.timezone)
            self.registry.max_payload = self.settings.max_payload
            await self.store.open()
            self.registry.connect(self.runs)
            self._portal.attach()
        self._opened += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Closes the database, when the last user leaves."""
        self._opened -= 1
        if self._opened == 0:
            self._portal.detach()
            self.registry.connect(None)
            store, self._store = self.store, None
            wake, self.wake = self.wake, LocalWake()
            try:
                await wake.close()
            finally:
                await store.close()

    def __enter__(self) -> Self:
        """The same for code that is not async: a client in a background thread; the ``_sync`` methods work inside."""
        self._sync_client = self.in_background(self)
        self._sync_client.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        """Closes it."""
        self._sync_client.__exit__(None, None, None)

    async def enqueue_many(self, calls: Sequence[Call], *, connection: object = None) -> list[str]:
        """Inserts a run for each call, in chunks of 10,000 that are each all or nothing; gives the ids of the runs.

        With a ``connection``, as ``Task.options`` takes one, all of them are part of the transaction that is open on
        it.
        """
        asks = self.runs if connection is None else self.runs.joined(connection)
        return await asks.enqueue_calls(calls)

    def enqueue_many_sync(self, calls: Sequence[Call], *, connection: object = None) -> list[str]:
        """`enqueue_many` for code that is not async; usable while the app runs in a background thread."""
        if connection is not None:
            return self.runs.joined(connection).enqueue_calls_sync(calls)
        return self._block(self.enqueue_many(calls))

    @asynccontextmanager
    async def running(
        self, *, roles: Sequence[str] = ("scheduler", "worker"), alone: Callable[[], None] | None = None
    ) -> AsyncIterator[App]:
        """The whole product in this process, until left; then it drains within ``SHUTDOWN_GRACE``.

        Args:
            roles: ``scheduler`` plans and looks after things, ``worker`` claims and executes.
            alone: starts a worker process for a run that was lost twice; None tries such runs here.
        """
        async with self:
            await self.declare()
            async with self.making_node(roles, alone) as node:
                try:
                    await node.start()
                    self.node = node
                    yield self
                except BaseException:
                    await node.drain(grace=0)
                    raise
                else:
                    await node.drain()
                finally:
                    self.node = None
                    await node.stop()

    @asynccontextmanager
    async def making_node(self, roles: Sequence[str], alone: Callable[[], None] | None = None) -> AsyncIterator[Node]:
        """A node over this app's parts, not started; its targets are closed in the end."""
        targets = self._targets()
        parts = Parts(
            store=self.store, wake=self.wake, targets=TargetTable(targets), clock=self.clock, random=self.random
        )
        try:
            async with self.wake.listening():
                yield Node(parts, self._node_config(roles), alone=alone)
        finally:
            for target in targets:
                await target.close()

    def running_sync(self, *, roles: Sequence[str] = ("scheduler", "worker")) -> AbstractContextManager[None]:
        """The same in a background thread; the ``_sync`` methods work inside."""
        return self.in_background(self.running(roles=roles))

    def in_background(self, context: AbstractAsyncContextManager[object]) -> AbstractContextManager[None]:
        """Any context of this app in a background thread."""
        return self._portal.open(context)

    async def declare(self) -> None:
        """Writes the schedules declared in code; those that were declared before and are gone are left alone."""
        items = [declared.item(self.context()) for declared in self.declared]
        if items:
            await self.schedules.put_many(items, PutOptions())

    declare_sync = blocking(declare)

    def _block(self, work: Coroutine[Any, Any, T]) -> T:
        return self._portal.wait_for(work)

    def _make_store(self) -> Store:
        settings = self.settings
        retention = Retention(
            succeeded_us=settings.retention_succeeded_us,
            dead_us=settings.retention_dead_us,
            ticks_us=settings.retention_ticks_us,
        )
        if settings.on_postgres:
            return self._make_postgres(retention)
        from puntual.store.sqlite import Opening, SqliteStore  # noqa: PLC0415 - the store that the URL names, and no other

        opening = Opening(create=not self._only_looks, migrate=not self._only_looks)
        return SqliteStore(settings.database_path, clock=self.clock, retention=retention, opening=opening)

    def _make_postgres(self, retention: Retention) -> Store:
        place = place_of(self.settings)
        from puntual.store.postgres import Opening, PostgresStore  # noqa: PLC0415 - as in _make_store
        from puntual.wake.postgres import PostgresWake  # noqa: PLC0415

        opening, tx_hints = Opening(migrate=self._migrates), self.settings.tx_hints
        store = PostgresStore(place, retention=retention, opening=opening, tx_hints=tx_hints)
        listen_url = self.settings.listen_url
        listens_at = place if listen_url is None else msgspec.structs.replace(place, url=listen_url, pooler=False)
        self.wake = PostgresWake(store.notify, listens_at.connect)
        return store

    def _targets(self) -> tuple[Target, ...]:
        from puntual.targets.command import CommandSettings, CommandTarget  # noqa: PLC0415 - as in context
        from puntual.targets.function import FunctionTarget  # noqa: PLC0415
        from puntual.targets.http import HttpSettings, HttpTarget  # noqa: PLC0415

        settings = self.settings
        http = HttpSettings(
            allow_private=settings.allow_private_addresses, max_response=settings.max_response, version=VERSION
        )
        command = CommandSettings(
            allow=settings.allow_commands,
            max_output=settings.max_response,
            cwd=str(Path.cwd()),
            environ=dict(os.environ),
        )
        functions = FunctionTarget(
            self.registry, max_threads=settings.concurrency, process_workers=settings.concurrency
        )
        return functions, HttpTarget(http, self.clock), CommandTarget(command)

    def _node_config(self, roles: Sequence[str]) -> NodeConfig:
        settings = self.settings
        return NodeConfig(
            roles=tuple(roles),
            queues=settings.queues or None,
            concurrency=settings.concurrency,
            lease=settings.lease_ttl_us / _SECOND,
            grace=settings.shutdown_grace_us / _SECOND,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=VERSION,
        )


def place_of(settings: Settings) -> Place:
    """Where the PostgreSQL database of the settings is.

    Raises:
        InvalidSettingError: its driver is not installed.
    """
    try:
        from puntual.store.postgres import Place  # noqa: PLC0415 - as in _make_store
    except ModuleNotFoundError as error:
        raise InvalidSettingError(
            "DATABASE_URL names PostgreSQL, and its driver is not installed: pip install 'puntual[postgres]'",
            field="DATABASE_URL",
        ) from error
    return Place(settings.database_url, pooler=settings.pooler == "transaction")


class TargetTable(Mapping[str, Target]):
    """Which target executes a task, asked anew each time: tasks may be registered while a worker runs."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self._targets = targets

    def __getitem__(self, task: str) -> Target:
        """The target of a task."""
        functions, http, command = self._targets
        return {HTTP_TASK: http, COMMAND_TASK: command}.get(task, functions)

    def __iter__(self) -> Iterator[str]:
        """Every task that this process knows."""
        for target in self._targets:
            yield from target.tasks()

    def __len__(self) -> int:
        """How many."""
        return sum(1 for _ in self)
