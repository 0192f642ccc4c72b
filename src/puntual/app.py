"""App: the composition root. It joins a store, a wake and targets with an engine and a client."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any, Self, TypeVar

import msgspec

from puntual.client.core import Core
from puntual.client.dead import DeadLetters
from puntual.client.declare import Declares
from puntual.client.portal import Portal
from puntual.client.runs import Runs
from puntual.client.schedules import PutOptions, Schedules
from puntual.concrete import Making, make_resolver, make_store, make_targets
from puntual.engine.calendars import Resolve
from puntual.engine.clock import SystemClock, SystemRandom
from puntual.engine.node import Node
from puntual.engine.parts import NodeConfig, Parts
from puntual.manifest import ManifestContext, TargetChecks
from puntual.manifest.closures import CALENDARS
from puntual.model.blocking import blocking
from puntual.model.call import Call
from puntual.model.clock import Clock
from puntual.settings import Settings, load_settings, settled
from puntual.store.contract import Store
from puntual.timing.zone import load_zone
from puntual.wake.contract import Wake
from puntual.wake.local import LocalWake

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
        self._making = Making()
        self.node: Node | None = None
        self._resolve: Resolve | None = None

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
        self._making = msgspec.structs.replace(self._making, file=False)

    def may_migrate(self) -> None:
        """Opening brings a PostgreSQL database to this release from now on; a SQLite file it does anyway."""
        self._making = msgspec.structs.replace(self._making, schema=True)

    @property
    def store(self) -> Store:
        """The store, made with its wake when first asked for; opened by ``async with app``."""
        if self._store is None:
            self._store, self.wake = make_store(self.settings, self.clock, self._making)
        return self._store

    @property
    def core(self) -> Core:
        """What the client parts are made from."""
        store = self.store
        return Core(
            store=store,
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
            checks=TargetChecks(http=http, command=check_command, tasks=self.registry.tasks or None),
            timezone=settings.timezone,
            zone_given="TIMEZONE" in settings.sources,
            max_payload=settings.max_payload,
        )

    @property
    def resolve(self) -> Resolve:
        """What finds out which days calendars have."""
        if self._resolve is None:
            self._resolve = make_resolver(self.settings, self.clock, version=VERSION)
        return self._resolve

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
        store, targets = self.store, make_targets(self.settings, self.registry, self.clock, version=VERSION)
        parts = Parts(
            store=store,
            wake=self.wake,
            targets=targets,
            clock=self.clock,
            random=self.random,
            resolve=self.resolve,
        )
        try:
            async with self.wake.listening():
                yield Node(parts, self._node_config(roles), alone=alone)
        finally:
            await targets.close()

    def running_sync(self, *, roles: Sequence[str] = ("scheduler", "worker")) -> AbstractContextManager[None]:
        """The same in a background thread; the ``_sync`` methods work inside."""
        return self.in_background(self.running(roles=roles))

    def in_background(self, context: AbstractAsyncContextManager[object]) -> AbstractContextManager[None]:
        """Any context of this app in a background thread."""
        return self._portal.open(context)

    async def declare(self) -> None:
        """Writes the schedules declared in code; those that were declared before and are gone are left alone."""
        named = any(CALENDARS in declared.written for declared in self.declared)

        async def write(context: ManifestContext) -> None:
            if items := [declared.item(context) for declared in self.declared]:
                await self.schedules.put_many(items, PutOptions())

        await self.core.write_against_calendars(write, named=named)

    declare_sync = blocking(declare)

    def _block(self, work: Coroutine[Any, Any, T]) -> T:
        return self._portal.wait_for(work)

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
