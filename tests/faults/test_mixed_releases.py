"""Two releases on one database, upgraded and gone back process by process: no run is lost, and none is made twice."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from puntual import App
from puntual.model.run import RunState
from puntual.model.schedule import Tick
from puntual.settings import Settings
from tests.support.fleet import Effects, Noted
from tests.support.live import until_none
from tests.support.postgres import running_server
from tests.support.releases import CODE, NEXT, THIS, Released, next_release
from tests.support.ticks import all_ticks, check_all_ran, check_record

SCHEDULES = [f"beat-{n}" for n in range(4)]
SECOND = 1_000_000
TRIES = 5

pytestmark = [pytest.mark.fault, pytest.mark.timeout(600)]

ASK = f"""

async def ask() -> None:
    accepted = os.open(f"accepted-{{RELEASE}}.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    async with app:
        while not Path("enough").exists():
            handle = await note.options(tags=[RELEASE]).enqueue(tries={TRIES})
            os.write(accepted, f"{{handle.id}}\\n".encode())
            await asyncio.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(ask())
"""
MANIFEST = """
defaults: {misfire_policy: fire_all, overlap: allow_all}
schedules:
""" + "".join(f"  {name}: {{every: 1s, task: note}}\n" for name in SCHEDULES)


class Mixed:
    """A folder in which processes of both releases work on one database, and what they did in it."""

    def __init__(self, folder: Path, database: str, stack: ExitStack) -> None:
        self.database = database
        self._folder = folder
        self._stack = stack
        self._asking: list[tuple[Released, subprocess.Popen[bytes]]] = []
        self.effects = Effects(folder, ASK)
        (folder / "beats.yaml").write_text(MANIFEST)
        settings = {"DATABASE_URL": database, "APP": "jobs:app", "LEASE_TTL": "1s", "SHUTDOWN_GRACE": "5s"}
        self.old = stack.enter_context(Released(folder, CODE, settings))
        self.new = stack.enter_context(Released(folder, next_release(folder / "next"), settings))

    @property
    def on_postgres(self) -> bool:
        """Whether the database is not a file."""
        return self.database.startswith("postgresql")

    def serve(self, one: Released) -> None:
        """Starts a server, which applies the manifests as its release reads them."""
        one.start("--apply", "beats.yaml")

    def ask(self, one: Released) -> None:
        """Starts a client that asks for runs until there are enough."""
        with one.log.open("ab") as log:
            command = [sys.executable, "jobs.py"]
            made = subprocess.Popen(command, cwd=self._folder, env=one.environment, stdout=log, stderr=log)
        self._stack.callback(made.wait)
        self._stack.callback(made.kill)
        self._asking.append((one, made))

    def enough(self) -> None:
        """The clients end, and none of them has failed."""
        (self._folder / "enough").touch()
        for one, asking in self._asking:
            assert asking.wait(30) == 0, one.told

    def accepted(self, one: Released) -> list[str]:
        """The ids of all runs that the client of this release was told of."""
        return (self._folder / f"accepted-{one.release}.txt").read_text().split()

    async def works(self, *releases: Released) -> None:
        """Waits until each of these has executed more than it had."""
        before = self._executed()
        for one in releases:
            try:
                async with asyncio.timeout(30):
                    while self._executed()[one.release] < before[one.release] + 5:
                        await asyncio.sleep(0.02)
            except TimeoutError:
                pytest.fail(f"{one.release} executes nothing:\n{one.told}")

    def _executed(self) -> Counter[str]:
        return Counter(effect.release for effect in self.effects.noted())


@pytest.fixture(params=["sqlite", "postgres"])
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mixed]:
    """A folder with an empty database, and nothing started."""
    with ExitStack() as stack:
        database = f"sqlite:///{tmp_path}/puntual.db"
        if request.param == "postgres":
            database = stack.enter_context(running_server()).url()
        yield Mixed(tmp_path, database, stack)


async def test_a_fleet_is_upgraded_and_taken_back_while_it_works(fleet: Mixed) -> None:
    """G1, G2 and G4 hold with the release before and the one after beside each other, whichever comes and goes."""
    old, new = fleet.old, fleet.new
    assert old.run("migrate").returncode == 0
    fleet.serve(old)
    fleet.ask(old)
    await fleet.works(old)
    if fleet.on_postgres:
        _migrate(new)
    fleet.serve(new)
    fleet.ask(new)
    await fleet.works(old, new)
    for one in (old, new):
        # Whoever dies on the way comes back as it was, and finds a schema that is not its own, or rows.
        one.kill()
        fleet.serve(one)
        await fleet.works(old, new)
    assert old.stop() == 0
    await fleet.works(new)
    fleet.serve(old)
    await fleet.works(old, new)
    assert new.stop() == 0
    await fleet.works(old)
    assert "newer than this puntual, and works with it" in old.run("migrate").stdout
    fleet.enough()
    assert old.run("schedule", "pause", *SCHEDULES).returncode == 0
    async with App(Settings(database_url=fleet.database)) as app:
        await until_none(app)
        assert old.stop() == 0
        await _check(fleet, app)


def _migrate(new: Released) -> None:
    """On SQLite a server does that by itself."""
    refused = new.run("serve")
    assert (refused.returncode, "`puntual migrate` brings it there" in refused.stderr) == (1, True), refused
    assert new.run("migrate", "--check").returncode == 1
    migrated = new.run("migrate")
    assert migrated.returncode == 0, migrated.stderr


async def _check(fleet: Mixed, app: App) -> None:
    fleet.effects.check()
    effects = fleet.effects.noted()
    accepted = [*fleet.accepted(fleet.old), *fleet.accepted(fleet.new)]
    assert {effect.run_id for effect in effects if effect.tick_at == "-"} == set(accepted)
    for run_id in accepted:
        row = await app.runs.row(run_id)
        assert (row.state, row.attempt >= TRIES, row.charged <= row.max_attempts) == (RunState.SUCCEEDED, True, True), (
            row
        )
    ticks = 0
    for name in SCHEDULES:
        ticks += await _check_ticks(await all_ticks(app, name), [one for one in effects if one.schedule == name])
    releases_of: dict[str, set[str]] = {}
    for effect in effects:
        releases_of.setdefault(effect.run_id, set()).add(effect.release)
    shared = sum(releases == {THIS, NEXT} for releases in releases_of.values())
    assert shared > 0, "no run was tried by both releases"
    print(f"{len(accepted)} events and {ticks} ticks accounted for; both tried {shared} runs", file=sys.stderr)


async def _check_ticks(ticks: list[Tick], effects: list[Noted]) -> int:
    """Each tick until the pause has run, once; gives how many those were."""
    check_record(ticks, SECOND)
    ran = check_all_ran(ticks)
    assert {tick.run_state for tick in ran} == {RunState.SUCCEEDED}
    assert {effect.run_id for effect in effects} == {tick.run_id for tick in ran}
    return len(ran)
