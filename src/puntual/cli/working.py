"""A worker or a scheduler without an API, until it is asked to stop or, once, until nothing is left to do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click
import msgspec
import structlog

from puntual.app import App
from puntual.cli.process import Stop, database_of, node, until
from puntual.cli.session import Session
from puntual.cli.words import plural
from puntual.engine.node import Node
from puntual.settings import Settings

log = structlog.get_logger("puntual.worker")

_LOOK = 0.02


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What ``--once`` takes: runs due for at least ``older_us``, at most ``most``, for at most ``longest_us``."""

    older_us: int = 0
    most: int | None = None
    longest_us: int | None = None
    alone: bool = False


async def work(session: Session, app: App, settings: Settings, roles: Sequence[str]) -> None:
    """Works until asked to stop."""
    stop = Stop(settings.shutdown_grace_us / 1_000_000)
    stop.listen()
    async with node(app, roles, settings):
        facts = {"database": database_of(settings), "roles": list(roles)}
        if session.as_json:
            session.print_json(facts)
        elif settings.log_format == "json":
            log.info("worker.started", **facts)
        else:
            click.echo(f"The {roles[0]} works on {facts['database']}. Ctrl-C stops it.")
        await stop.asked.wait()


async def work_once(session: Session, app: App, limits: Limits) -> None:
    """Executes what is due, and ends when nothing of it is left or a limit is reached."""
    stop = Stop(app.settings.shutdown_grace_us / 1_000_000)
    stop.listen()
    async with app, app.making_node(("worker",)) as engine:
        engine.claimer.ahead_us = -limits.older_us
        engine.claimer.most = limits.most
        engine.claimer.lonely = limits.alone
        try:
            await engine.start()
            await _until_done(engine, stop, limits)
            await engine.drain()
        finally:
            await engine.stop()
    taken = engine.claimer.taken
    session.give({"taken": taken}, lambda console: console.print(f"{plural(taken, 'run')} taken."))


async def _until_done(engine: Node, stop: Stop, limits: Limits) -> None:
    longest = None if limits.longest_us is None else limits.longest_us / 1_000_000
    try:
        async with asyncio.timeout(longest):
            await until(stop, _nothing_left(engine))
    except TimeoutError:
        log.info("worker.time_is_up", seconds=longest)


async def _nothing_left(engine: Node) -> None:
    """Returns when a claim that began after everything was settled has found nothing, or the limit is reached."""
    claimer = engine.claimer
    while True:
        while not engine.idle():  # noqa: ASYNC110 - the engine has no reason of its own to announce this
            await asyncio.sleep(_LOOK)
        # The claim under way may have begun before the last run was settled, and that may have made another.
        wanted = claimer.fruitless + 2
        while engine.idle() and claimer.fruitless < wanted:
            if claimer.most is not None and claimer.taken >= claimer.most:
                return
            await asyncio.sleep(_LOOK)
        if engine.idle():
            return
