"""What lies between a store and its server fails: what was done is done once, and nobody has to help it back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing

import pytest
from structlog.testing import capture_logs

from puntual.model.attempt import OutcomeKind
from puntual.model.errors import StoreUnavailableError
from puntual.model.run import NewRun, RunState
from puntual.store.postgres import Place, PostgresStore, heartbeat
from puntual.store.postgres.heartbeat import PostgresHeartbeatLine
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Beat, Page, RunFilter
from puntual.testing.conformance.build import (
    LEASE,
    NOW,
    after,
    deciding,
    fetch,
    named,
    new_run,
    plan_to,
    put,
    schedule,
    tick_run,
    wanting,
    worker,
)
from puntual.wake.postgres import PostgresWake
from tests.support.databases import opened, server
from tests.support.proxy import Proxy

#: A line on which nothing comes is given up after so many seconds here; in life it is half a minute.
PATIENCE = 0.2
#: What takes longer than this, seconds, was waited for in life's way.
IN_NO_TIME = 5.0
#: No operation here has more messages, a new connection's included.
MOST_MESSAGES = 40


class Case:
    """An operation that is interrupted and done again, with runs of its own.

    Args:
        near: a store on a line that is whole.
        far: the store whose line is not.
        number: of the case.
    """

    def __init__(self, near: PostgresStore, far: PostgresStore, number: int) -> None:
        self.near, self.far = near, far
        self.number = number
        self.name = f"case{number}"

    def runs(self, count: int = 3, first: int = 0) -> list[NewRun]:
        """Runs in a queue of this case alone."""
        return [new_run(self.number * 10_000 + first + n, queue=self.name) for n in range(count)]

    async def prepare(self) -> None:
        """What has to be there before: work, and a worker."""
        await self.near.register_worker(worker(self.name), lease_us=LEASE)
        await self.near.enqueue(self.runs())

    async def do(self, *, repeat: bool) -> None:
        """The operation, or its repetition."""
        raise NotImplementedError

    async def happened(self) -> bool:
        """Whether it has taken place."""
        raise NotImplementedError

    async def check(self) -> None:
        """It has taken place once."""
        assert await self.happened()

    async def found(self, *states: RunState) -> dict[str, int]:
        """The runs of this case, and how often each was tried."""
        page = await self.near.list_runs(RunFilter(queues=(self.name,), states=states), Page(limit=1_000))
        return {run.id: run.attempt for run in page.items}


class Enqueue(Case):
    """A few runs, whose ids are the client's: a repeat makes no second run."""

    async def prepare(self) -> None:
        """Nothing is there."""

    def given(self) -> list[NewRun]:
        """What is enqueued."""
        return self.runs()

    async def do(self, *, repeat: bool) -> None:
        """The answer names them."""
        answers = await self.far.enqueue(self.given(), repeat=repeat)
        assert [answer.id for answer in answers] == [run.id for run in self.given()]

    async def happened(self) -> bool:
        """All of them, or none."""
        found = await self.found(RunState.PENDING)
        assert set(found) in ({run.id for run in self.given()}, set())
        return bool(found)


class EnqueueMany(Enqueue):
    """So many that they go by COPY."""

    def given(self) -> list[NewRun]:
        """More than go by INSERT."""
        return self.runs(600)


class EnqueueKeyed(Enqueue):
    """With unique keys, which do not stand in the way of their own repetition."""

    def given(self) -> list[NewRun]:
        """Each with a key."""
        return [new_run(self.number * 10 + n, queue=self.name, unique_key=f"{self.name}-{n}") for n in range(3)]


class Claim(Case):
    """What an answer that was lost had claimed comes back by the heartbeat's comparison."""

    got: frozenset[tuple[str, int]] = frozenset()

    async def do(self, *, repeat: bool) -> None:
        """Takes all there is."""
        claimed = await self.far.claim(wanting(self.name, queues=(self.name,)))
        assert not claimed.lost_lease
        self.got = frozenset((run.id, run.attempt) for run in claimed.runs)
        assert repeat or self.got

    async def happened(self) -> bool:
        """Whether they are held."""
        return bool(await self.found(RunState.RUNNING))

    async def check(self) -> None:
        """Each was claimed once, and the store names to its holder what it was not told of."""
        held = {(run.id, 1) for run in self.runs()}

        def compare() -> object:
            with closing(self.near.heartbeat_line()) as line:
                return line.beat(Beat(worker=self.name, lease_us=LEASE, held=0, compare=True)).claims

        assert set(await asyncio.to_thread(compare)) == held  # type: ignore[call-overload]  # pairs, as was asked for
        assert self.got in (held, frozenset())


class Settle(Case):
    """A repeat finds its rows gone; a follow-up is made once."""

    async def prepare(self) -> None:
        """Claimed runs, one of which has a follow-up."""
        await super().prepare()
        claimed = await self.near.claim(wanting(self.name, queues=(self.name,)))
        first, *others = claimed.runs
        then = tuple(self.runs(1, first=100))
        self.batch = [
            after(first, OutcomeKind.SUCCEEDED, now=claimed.now, follow_ups=then),
            *(after(run, OutcomeKind.SUCCEEDED, now=claimed.now) for run in others),
        ]

    async def do(self, *, repeat: bool) -> None:
        """All of them are written, or were."""
        settled = await self.far.settle(self.batch)
        whole = tuple(sorted(one.id for one in self.batch))
        assert (settled.written, settled.gone) in ([(whole, ()), ((), whole)] if repeat else [(whole, ())])

    async def happened(self) -> bool:
        """All of them, or none."""
        found = await self.found(RunState.SUCCEEDED)
        assert found in ({}, dict.fromkeys((run.id for run in self.runs()), 1))
        return bool(found)

    async def check(self) -> None:
        """With what follows."""
        assert await self.happened()
        assert set(await self.found(RunState.PENDING)) == {run.id for run in self.runs(1, first=100)}


class SettlePlain(Settle):
    """Without follow-ups it is one statement and no transaction."""

    async def prepare(self) -> None:
        """Claimed runs."""
        await Case.prepare(self)
        claimed = await self.near.claim(wanting(self.name, queues=(self.name,)))
        self.batch = [after(run, OutcomeKind.SUCCEEDED, now=claimed.now) for run in claimed.runs]

    async def check(self) -> None:
        """All of them."""
        assert await self.happened()


class Plan(Case):
    """The cursor moves with its runs, whose ids say which tick they are of."""

    async def prepare(self) -> None:
        """A schedule."""
        self.schedule = schedule(self.name)
        await put(self.near, self.schedule)

    async def do(self, *, repeat: bool) -> None:
        """Hands out three ticks, if that has not been done."""
        await self.far.plan(deciding(lambda seen: plan_to(seen, 3) if seen.name == self.name else None), now=NOW)

    async def happened(self) -> bool:
        """The runs are there, and the cursor is past them; or neither."""
        page = await self.near.list_runs(RunFilter(schedules=(self.name,)), Page(limit=1_000))
        moved = (await named(self.near, self.name)).cursor.last_number
        wanted = {tick_run(self.schedule, number).id for number in (1, 2, 3)}
        assert (moved, {run.id for run in page.items}) in [(0, set()), (3, wanted)]
        return bool(moved)


class Heartbeat(Case):
    """A beat says the same as the one before."""

    async def prepare(self) -> None:
        """A worker, whose lease is as good as over."""
        await self.near.register_worker(worker(self.name), lease_us=1)

    async def do(self, *, repeat: bool) -> None:
        """On a thread of its own, as in life."""
        place = Place(self.far._place.url)

        def beat() -> bool:
            with closing(PostgresHeartbeatLine(place)) as line:
                return line.beat(Beat(worker=self.name, lease_us=LEASE, held=0)).alive

        assert await asyncio.to_thread(beat)

    async def happened(self) -> bool:
        """Whether the lease was renewed."""
        found = {one.id: one.lease_until for one in await self.near.list_workers()}
        return found[self.name] > await self.near.now()


CASES = [Enqueue, EnqueueMany, EnqueueKeyed, Claim, Settle, SettlePlain, Plan, Heartbeat]


@pytest.fixture
async def line() -> AsyncIterator[Proxy]:
    """What lies between the tests' server and whoever goes through it."""
    async with Proxy(server().port) as line:
        yield line


@pytest.fixture
async def far(line: Proxy, url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PostgresStore]:
    """A store at the other end of the line, short of patience, whose every connection comes back in the end."""
    monkeypatch.setattr(heartbeat, "_PATIENCE", PATIENCE)
    monkeypatch.setattr(heartbeat, "_TO_CONNECT", PATIENCE)
    async with opened(line.through(url)) as store:
        pool = store._session._pool
        assert pool is not None
        place = store._place
        pool._connect = lambda: place.connect(patience=PATIENCE, answer=PATIENCE)
        line.reset()
        await until_answered(store.ping)
        yield store
        pool._connect = place.connect
        assert await at_once(store, place.most) == place.most, "a connection never came back"
        assert line.open <= place.most
    while line.open:  # noqa: ASYNC110 - the line hears of it from its sockets
        await asyncio.sleep(0)


async def until_answered(ask: Callable[[], Awaitable[object]]) -> None:
    """Asks until there is an answer: it needs nobody's help, only a few tries."""
    for _ in range(5):
        try:
            await ask()
        except StoreUnavailableError:
            continue
        return
    await ask()


async def at_once(store: PostgresStore, count: int) -> int:
    """How many connections a store has when it needs that many at the same time."""
    together = asyncio.Barrier(count)

    async def one(tx: Tx) -> int:
        pid: int = await tx.connection.fetchval("SELECT pg_backend_pid()")
        await together.wait()
        return pid

    return len(set(await asyncio.gather(*(store._session.single(one) for _ in range(count)))))


@pytest.mark.parametrize("answered", [False, True], ids=["unheard", "unanswered"])
@pytest.mark.parametrize("kind", CASES)
async def test_an_operation_that_is_cut_at_any_message_is_done_once(
    store: PostgresStore, far: PostgresStore, line: Proxy, kind: type[Case], *, answered: bool
) -> None:
    """Reset before the server hears the message, or after it has answered: whoever asks again gets what was asked."""
    outcomes = []
    for message in range(MOST_MESSAGES):
        case = kind(store, far, message)
        await case.prepare()
        line.reset()  # On a new connection each statement is two messages: it is prepared first.
        await until_answered(far.ping)
        line.cut_at(message, answered=answered)
        try:
            await case.do(repeat=False)
        except StoreUnavailableError:
            outcomes.append(await case.happened())
            line.disarm()
            await until_answered(lambda case=case: case.do(repeat=True))  # type: ignore[misc]  # a lambda has no types
        await case.check()
        if not line.was_cut.is_set():
            line.disarm()
            break
    else:
        pytest.fail("the operation never came to its end")
    assert False in outcomes
    assert (True in outcomes) == answered


@pytest.mark.parametrize("kind", [Enqueue, EnqueueMany, Claim, Settle, Plan, Heartbeat])
async def test_a_line_that_swallows_everything_is_given_up(
    store: PostgresStore, far: PostgresStore, line: Proxy, kind: type[Case]
) -> None:
    """Nobody is stuck on it, neither on what was sent nor on a new connection; when it is whole, all goes on."""
    case = kind(store, far, 0)
    await case.prepare()
    line.swallow()
    async with asyncio.timeout(IN_NO_TIME):
        for _ in range(2):
            with pytest.raises(StoreUnavailableError):
                await case.do(repeat=False)
    assert not await case.happened()
    line.heal()
    await until_answered(lambda: case.do(repeat=True))
    await case.check()


async def test_a_half_open_line_is_given_up_and_a_new_one_made(far: PostgresStore, line: Proxy) -> None:
    """The server forgot us and never said so."""
    before = line.accepted
    line.half_open()
    async with asyncio.timeout(IN_NO_TIME):
        with pytest.raises(StoreUnavailableError, match="longer than we wait"):
            await far.ping()
        await far.ping()
    assert line.accepted > before


async def test_a_slow_line_costs_time_and_nothing_else(store: PostgresStore, far: PostgresStore, line: Proxy) -> None:
    """Callers at the same time share its few connections."""
    line.latency = 0.005
    runs = [new_run(number) for number in range(60)]
    await asyncio.gather(*(far.enqueue([run]) for run in runs))
    assert {(await fetch(store, run.id)).state for run in runs} == {RunState.PENDING}


async def test_callers_of_a_line_that_is_cut_again_and_again_all_come_through(
    store: PostgresStore, far: PostgresStore, line: Proxy
) -> None:
    """Each asks until it is answered, and each run stands once."""
    runs = [new_run(number) for number in range(100)]

    async def one(run: NewRun) -> None:
        answered = False
        while not answered:
            try:
                await far.enqueue([run], repeat=True)
            except StoreUnavailableError:
                continue
            answered = True

    callers = asyncio.gather(*(one(run) for run in runs))
    for cut in range(10):
        line.cut_at(10 * cut, answered=bool(cut % 2))
        waits: asyncio.Future[object] = asyncio.ensure_future(line.was_cut.wait())
        ends: asyncio.Future[object] = asyncio.ensure_future(asyncio.wait([callers]))
        await asyncio.wait({waits, ends}, return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()
        ends.cancel()
        line.reset()
    line.disarm()
    await callers
    page = await store.list_runs(RunFilter(), Page(limit=1_000))
    assert sorted(run.id for run in page.items) == sorted(run.id for run in runs)


async def test_a_listener_finds_out_that_its_line_is_half_open(store: PostgresStore, url: str, line: Proxy) -> None:
    """It hears nothing, and no error comes: but its own word does not come back either."""
    wake = PostgresWake(store.notify, Place(line.through(url)).connect)
    wake.probe_every, wake.probe_takes = 0.01, 0.1
    heard = asyncio.Event()
    wake.subscribe(runs=heard.set)
    with capture_logs() as logs:
        async with wake.listening():
            await heard.wait()
            heard.clear()
            line.half_open()
            await heard.wait()  # Whoever begins to listen wakes everybody.
            assert wake.trouble is None
            assert line.accepted == 2
    await wake.close()
    assert [entry["event"] for entry in logs] == ["hints.not_heard", "hints.heard_again"]
