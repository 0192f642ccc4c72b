"""The simulation on PostgreSQL: the same promises on the store of a fleet, its clock in our hand, replayed exactly."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

import asyncpg
import msgspec
import pytest

from puntual.model.errors import StoreUnavailableError
from puntual.model.instant import DAY, HOUR, SECOND
from puntual.model.run import Run
from puntual.simulate.clocks import START, SimClock
from puntual.simulate.draw import scenario
from puntual.simulate.ground import Ground
from puntual.simulate.loop import VirtualLoop
from puntual.simulate.postgres import PostgresDatabase, databases
from puntual.simulate.scenario import Hit, Scenario, ServerBlow
from puntual.simulate.server import on_server
from puntual.simulate.simulation import Result, simulate
from puntual.store.contract import Store
from puntual.store.requests import Page, RunFilter
from puntual.testing.conformance.build import new_run, wanting, worker
from tests.support.postgres import PostgresServer, running_server

#: Seconds of strikes and acts: enough for some of each.
SHORT = 60.0


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A server on which nothing is cleared up at a time of its own, so that rows lie where they lay before."""
    with running_server(settings={"autovacuum": "off"}) as made:
        yield made


@pytest.fixture(scope="module")
def ground(own_server: PostgresServer) -> Iterator[Ground]:
    """Where all databases here stand, one after another."""
    with Ground(own_server.url()) as made:
        yield made


@pytest.fixture
def database(ground: Ground) -> Iterator[PostgresDatabase]:
    """An empty one, whose clock stands at the beginning of all simulations."""
    made = PostgresDatabase(SimClock(VirtualLoop(Random(0))), ground, seed=0)
    asyncio.run(made.open())
    yield made
    asyncio.run(made.close())


def short(drawn: Scenario) -> Scenario:
    """Its beginning."""
    return msgspec.structs.replace(
        drawn,
        seconds=SHORT,
        acts=tuple(act for act in drawn.acts if act.at < SHORT),
        strikes=tuple(strike for strike in drawn.strikes if strike.at < SHORT),
    )


def lived(seed: int, ground: Ground) -> Result:
    """What a seed's beginning gives."""
    return simulate(short(on_server(scenario(seed))), lambda clock: PostgresDatabase(clock, ground, seed=seed))


def live_ids(database: PostgresDatabase) -> set[str]:
    """The runs that the store has."""
    return {run.id for run in database.do(lambda store: store.list_runs(RunFilter(), Page(limit=100))).items}


def registered(database: PostgresDatabase) -> None:
    """There is a worker."""
    database.do(lambda store: store.register_worker(worker(), lease_us=HOUR))


def claimed(database: PostgresDatabase, *, who: str = "w") -> tuple[Run, ...]:
    """What one claim takes."""
    return database.do(lambda store: store.claim(wanting()), who=who).runs


def enqueued(database: PostgresDatabase, *numbers: int) -> None:
    """These runs are pending."""
    database.do(lambda store: store.enqueue([new_run(number) for number in numbers]))


@pytest.mark.parametrize("seed", [3, 6, 9, 11])
def test_a_seed_keeps_every_promise(ground: Ground, seed: int) -> None:
    """Whatever strikes the fleet, all promises hold on PostgreSQL too, and no run is found by a sweep alone."""
    result = lived(seed, ground)
    assert result.problems == []
    assert result.visits["overlooked, found by a sweep"] == 0


def test_a_seed_replays_to_the_same_trace(ground: Ground) -> None:
    """The same scenario gives the same story, to the last letter."""
    assert lived(12, ground).trace == lived(12, ground).trace


def test_a_servers_strikes_come_beside_all_others() -> None:
    """A scenario on a server is the one on SQLite, with strikes of a server's added, and the time of day moved."""
    for seed in range(50):
        drawn = scenario(seed)
        served = on_server(drawn)
        others = [strike for strike in served.strikes if not isinstance(strike.kind, ServerBlow)]
        assert others == [one for one in drawn.strikes if one.kind is not Hit.LATE or one.operation != "enqueue"]
        assert served.acts == drawn.acts
        assert 0 <= served.database_offset_us - drawn.database_offset_us < DAY


def test_the_databases_clock_is_the_simulations(database: PostgresDatabase) -> None:
    """The store reads the time that the simulation tells, also where it is set back."""
    first = database.do(lambda store: store.now())
    database.clock.step(-5 * SECOND)
    assert (first, database.do(lambda store: store.now())) == (START, START - 5 * SECOND)


def test_a_connection_cut_before_its_commit_leaves_nothing(database: PostgresDatabase) -> None:
    """An operation whose connection ends after its work has not happened, and its caller hears so; only that one."""
    database.cut_next()
    with pytest.raises(StoreUnavailableError):
        enqueued(database, 1)
    enqueued(database, 2)
    assert live_ids(database) == {new_run(2).id}


def test_a_claim_that_rolls_back_gives_its_runs_back(database: PostgresDatabase) -> None:
    """Runs that an open claim has are nobody's, and claimable again when it has rolled back."""
    registered(database)
    enqueued(database, 1, 2)
    claim = database.begin_claim(1)
    rest = claimed(database)
    claim.end(commit=False)
    assert (len(rest), len(claimed(database))) == (1, 1)


@pytest.mark.parametrize("commit", [True, False])
def test_a_long_transaction_is_found_when_it_commits(database: PostgresDatabase, commit: bool) -> None:  # noqa: FBT001 - a case
    """Claims pass an application's open transaction for long, and have its runs once it commits, without a sweep."""
    registered(database)
    enqueued(database, 1)
    claimed(database)
    writing = database.begin_enqueue([new_run(2)])
    found: list[Run] = []
    for number in range(3, 30):
        database.clock.step(SECOND)
        enqueued(database, number)
        found += claimed(database)
    writing.end(commit=commit)
    after = [run.id for run in claimed(database)]
    assert len(found) == 27
    assert after == ([new_run(2).id] if commit else [])


def test_a_failover_brings_back_what_was_kept(database: PostgresDatabase) -> None:
    """What was committed after the standby's last word is gone, what was before is there, and open transactions end."""
    registered(database)
    enqueued(database, 1, 2)
    database.keep()
    claimed(database)
    enqueued(database, 3)
    writing = database.begin_enqueue([new_run(4)])
    database.fail_over()
    assert writing.end(commit=True) is None
    assert live_ids(database) == {new_run(1).id, new_run(2).id}
    assert [run.attempt for run in claimed(database)] == [1, 1]


def test_days_that_are_lost_are_made_again(database: PostgresDatabase) -> None:
    """Runs end though no day of history was made for them, and are in it."""
    registered(database)
    enqueued(database, 1)
    database.do(lambda store: store.cancel([new_run(1).id]))
    assert database.lose_days()
    enqueued(database, 2)
    database.do(lambda store: store.cancel([new_run(2).id]))
    for _ in range(20):
        database.do(lambda store: store.prune())
    assert live_ids(database) == {new_run(1).id, new_run(2).id}


def test_a_lane_that_is_lost_is_mended(database: PostgresDatabase) -> None:
    """Who does not know a queue finds its runs once the upkeep has been."""
    registered(database)
    enqueued(database, 1)
    database.lose_lane("default")
    before = claimed(database, who="new")
    database.do(prune)
    assert database.has_lane("default")
    assert (before, len(claimed(database, who="newer"))) == ((), 1)


async def prune(store: Store) -> int:
    """A round of upkeep."""
    return await store.prune()


async def _databases(url: str) -> set[str]:
    connection = await asyncpg.connect(url)
    try:
        return {name for (name,) in await connection.fetch("SELECT datname::text FROM pg_database")}
    finally:
        await connection.close()


def test_nothing_stays_on_the_server(own_server: PostgresServer, ground: Ground) -> None:
    """The database that simulations stand on is a new one, and dropped with them."""
    before = ground.run(_databases(own_server.url()))
    with databases(own_server.url("postgres?application_name=simulated")) as make:
        database = make(7)(SimClock(VirtualLoop(Random(0))))
        asyncio.run(database.open())
        asyncio.run(database.close())
    assert ground.run(_databases(own_server.url())) == before
