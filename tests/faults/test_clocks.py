"""Clocks that step under real processes: no claim twice, a fate for each tick, no lease ended by the step alone."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from puntual import App
from puntual.model.schedule import Fate
from puntual.settings import Settings
from tests.support.faketime import FakeClock
from tests.support.fleet import Effects, Member, resumed
from tests.support.live import until_none
from tests.support.postgres import PostgresServer, running_server
from tests.support.ticks import all_ticks, check_all_ran, check_record

LEASE = 5.0
#: After a step, a run that is enqueued has been executed within this; so has a tick once the clock shows it. Seconds.
RESUMED = 10.0
HOUR = 3600
SECOND = 1_000_000
#: An hour forward, five seconds and ten minutes back, to before the beginning, and past all that was.
STEPS = (HOUR, HOUR - 5, HOUR - 600, -HOUR, HOUR + 60)
#: Of a clock that decides nothing.
WRONG = (5 * HOUR, -5 * HOUR, 0)
#: What the clock was set back by is waited for, when it is no more than this.
SHORT = 5
#: The period in seconds, and the misfire policy.
SCHEDULES = {
    "coalesced": (2, "fire_once"),
    "all": (10, "fire_all"),
    "skipped": (2, "skip"),
}
#: What becomes of the ticks that a step forward leaps over, where they do not all run.
PASSED_OVER = {"coalesced": Fate.COALESCED, "skipped": Fate.MISSED}

pytestmark = [pytest.mark.fault, pytest.mark.timeout(300)]


class Stepped:
    """Two processes that work, and what they came to.

    Args:
        url: of their database.
        effects: what their tasks write.
        members: the processes; the first is asked and told.
        clock: the one that steps.
        counts: whether it decides what is due.
    """

    def __init__(self, url: str, members: Sequence[Member], clock: FakeClock, *, counts: bool) -> None:
        self.url = url
        self.effects = Effects(members[0].folder)
        self.members = members
        self.clock = clock
        self.counts = counts
        self._latest = 0

    async def begin(self, *arguments: str) -> str:
        """Everything is up, has worked, and may end leases; a run goes on meanwhile. Gives its id."""
        told = {
            name: {"every": f"{period}s", "misfire_policy": policy, "task": "note", "overlap": "allow_all"}
            for name, (period, policy) in SCHEDULES.items()
        }
        (self.members[0].folder / "jobs.json").write_text(json.dumps({"schedules": told}))
        self.members[0].start("--apply", "jobs.json", *arguments)
        await asyncio.to_thread(self.members[0].wait_for_log, "serve.started")
        self.members[1].work()
        await asyncio.to_thread(self.members[1].wait_for_log, "worker.started")
        waits = await asyncio.to_thread(self.members[0].enqueue, "wait")
        await resumed("the start", self._tick_after(0), within=60)
        await asyncio.sleep(LEASE + 1)
        return waits

    async def step(self, seconds: int) -> None:
        """The clock steps; then a new run and the next tick are executed, and every lease has been renewed since."""
        ticks = len(self._of_ticks())
        behind = max(self._latest - seconds, 0) if self.counts else 0
        self._latest = max(self._latest, seconds)
        self.clock.set(seconds)
        new = asyncio.create_task(asyncio.to_thread(self.members[0].enqueue, "note"))
        await resumed(f"a run at {seconds:+d} s", lambda: new.done() and self._executed(new.result()), within=RESUMED)
        if behind <= SHORT:
            await resumed(f"a tick at {seconds:+d} s", self._tick_after(ticks), within=behind + RESUMED)
        await asyncio.sleep(LEASE + 1)
        for member in self.members:
            member.lives()

    async def end(self, waits: str) -> None:
        """What went on all the while ends, nothing is left, and the store agrees with what was executed."""
        self.effects.let_go()
        await resumed("the end of what went on", lambda: len(self.effects.waited()) > 1, within=RESUMED)
        assert self.effects.waited() == [f"{waits} 1 start", f"{waits} 1 end"]
        await asyncio.to_thread(self.members[0].ask, "schedule", "pause", *SCHEDULES)
        async with App(Settings(database_url=self.url)) as app:
            await until_none(app)
            for member in self.members:
                assert member.said("worker.lease_over") == 0, "a living worker's lease was ended"
                assert await asyncio.to_thread(member.stop) == 0
            self.effects.check()
            for name in SCHEDULES:
                await self._check_ticks(app, name)
            rows = [await app.runs.row(one.run_id) for one in self.effects.noted()]
        assert all(row.lost == 0 and row.charged == 1 for row in rows), "a run was lost, or tried twice"
        print(f"{len(rows)} runs", file=sys.stderr)

    async def _check_ticks(self, app: App, name: str) -> None:
        ticks = await all_ticks(app, name)
        check_record(ticks, SCHEDULES[name][0] * SECOND)
        executed = {one.run_id for one in self.effects.noted()}
        ran = [tick for tick in ticks if tick.fate is Fate.RAN]
        assert {tick.run_id for tick in ran} <= executed
        fates = {tick.fate for tick in ticks}
        if self.counts and name != "all":
            assert fates >= {Fate.RAN, PASSED_OVER[name]}
        if name == "all":
            assert check_all_ran(ticks)

    def _of_ticks(self) -> list[str]:
        return [one.run_id for one in self.effects.noted() if one.tick_at != "-"]

    def _tick_after(self, count: int) -> Callable[[], bool]:
        return lambda: len(self._of_ticks()) > count

    def _executed(self, run_id: str) -> bool:
        return any(one.run_id == run_id for one in self.effects.noted())


async def test_the_machine_of_a_file_steps_its_clock(tmp_path: Path) -> None:
    """On SQLite the clock of the machine is the database's: both processes see it step at once."""
    clock = FakeClock(tmp_path / "clock")
    url = f"sqlite:///{tmp_path}/puntual.db"
    with ExitStack() as stack:
        members = [
            stack.enter_context(Member(tmp_path, name, clock.environment, DATABASE_URL=url, LEASE_TTL=f"{LEASE:g}s"))
            for name in ("serve", "worker")
        ]
        await _step_through(Stepped(url, members, clock, counts=True), STEPS)


async def test_the_clock_of_postgresql_steps(tmp_path: Path) -> None:
    """The machines that work have honest clocks: the server's alone decides, and no lease goes with it."""
    server = PostgresServer(durable=True)
    clock = FakeClock(server.folder / "clock")
    server.environment = clock.environment
    with ExitStack() as stack:
        stack.callback(server.close)
        server.init()
        server.start()
        members = [stack.enter_context(_on(server, tmp_path, name)) for name in ("serve", "worker")]
        await _migrated(members[0])
        await _step_through(Stepped(server.url(), members, clock, counts=True), STEPS)
        for member in members:
            assert member.said("clock.off"), "nobody was told"


async def test_a_worker_whose_own_clock_steps_by_hours(tmp_path: Path) -> None:
    """It does all the work, by the database's clock and the time that passes, whatever its own shows."""
    clock = FakeClock(tmp_path / "clock")
    with running_server(durable=True) as server, ExitStack() as stack:
        serve = stack.enter_context(_on(server, tmp_path, "serve"))
        worker = stack.enter_context(_on(server, tmp_path, "worker", clock))
        await _migrated(serve)
        fleet = Stepped(server.url(), [serve, worker], clock, counts=False)
        await _step_through(fleet, WRONG, "--roles", "api,scheduler")
        assert worker.said("clock.off"), "nobody was told"


def _on(server: PostgresServer, folder: Path, name: str, clock: FakeClock | None = None) -> Member:
    outside = clock.environment if clock else None
    return Member(folder, name, outside, DATABASE_URL=server.url(), LEASE_TTL=f"{LEASE:g}s")


async def _migrated(member: Member) -> None:
    done = await asyncio.to_thread(member.run, "migrate")
    assert done.returncode == 0, done.stderr


async def _step_through(fleet: Stepped, steps: Sequence[int], *arguments: str) -> None:
    waits = await fleet.begin(*arguments)
    for seconds in steps:
        await fleet.step(seconds)
    await fleet.end(waits)
