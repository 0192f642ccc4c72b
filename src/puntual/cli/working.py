"""A worker or a scheduler without an API, until it is asked to stop or, once, until nothing is left to do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import click
import structlog

from puntual.app import App
from puntual.cli.exhausted import Exhausted
from puntual.cli.member import TAKEN
from puntual.cli.once import Limits, give_taken
from puntual.cli.process import database_of, is_up, node
from puntual.cli.session import Session
from puntual.cli.stop import Stop, first_of
from puntual.engine.node import Node
from puntual.settings import Settings

log = structlog.get_logger("puntual.worker")


async def work(session: Session, app: App, settings: Settings, roles: Sequence[str]) -> None:
    """Works until asked to stop, until its worker was drained, or until it has used up its files, threads or memory."""
    stop = Stop(app.settings.shutdown_grace_us / 1_000_000)
    stop.listen(session.member)
    exhausted = Exhausted(stop.limit)
    async with node(app, roles, settings) as drained:
        assert app.node is not None
        facts: dict[str, Any] = {
            "database": database_of(settings),
            "worker": app.node.membership.worker,
            "roles": list(roles),
            "queues": list(settings.queues) or None,
        }

        def show() -> None:
            if session.as_json:
                session.print_json(facts)
            else:
                click.echo(_up(facts))

        is_up(session, settings, app, lambda: log.info("worker.started", **facts), show)
        await first_of(stop.asked.wait(), drained(), exhausted.wait())
    exhausted.end()


def _up(facts: dict[str, Any]) -> str:
    """What people are told: who works here, on what."""
    queues = f"on the queues {', '.join(facts['queues'])}" if facts["queues"] else "on all queues"
    lanes = f", {queues}" if "worker" in facts["roles"] else ""
    return (
        f"The {facts['roles'][0]} works on {facts['database']}. Ctrl-C stops it.\n"
        f"It is {facts['worker']} (roles: {', '.join(facts['roles'])}){lanes}."
    )


async def work_once(session: Session, app: App, limits: Limits) -> None:
    """Executes what is due, and ends when nothing of it is left or a limit is reached."""
    stop = Stop(app.settings.shutdown_grace_us / 1_000_000)
    stop.listen(session.member)
    async with app, app.making_node(("worker",)) as engine:
        engine.claimer.ahead_us = -limits.older_us
        engine.claimer.most = limits.most
        engine.claimer.lonely = limits.alone
        try:
            await engine.start()
            is_up(session, app.settings, app, lambda: None, lambda: None)
            await _until_done(engine, stop, limits)
            await engine.drain()
        finally:
            await engine.stop()
    taken = engine.claimer.taken
    if session.member is not None:
        session.member.tell(TAKEN, taken)
    else:
        give_taken(session, taken)


async def _until_done(engine: Node, stop: Stop, limits: Limits) -> None:
    longest = None if limits.longest_us is None else limits.longest_us / 1_000_000
    try:
        async with asyncio.timeout(longest):
            await first_of(stop.asked.wait(), engine.run_dry())
    except TimeoutError:
        log.info("worker.time_is_up", seconds=longest)
