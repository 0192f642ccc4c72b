from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from puntual.engine.claim import Claimer
from puntual.engine.clock import SystemClock
from puntual.engine.edit import Moment, create
from puntual.engine.execute import Executor
from puntual.engine.held import Held, StoreTime
from puntual.engine.metrics import DURATION, LATENESS, MOST_QUEUES, OTHER, QueueMetrics, RunMetrics
from puntual.engine.settle import Settler
from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.outcome import Outcome
from puntual.model.policy import RetryPolicy, RunPolicy
from puntual.model.run import Run, RunState
from puntual.store.contract import Store
from puntual.store.requests import Claimed, ClaimRequest, Selection
from puntual.store.sqlite import SqliteStore
from tests.support.flaky import FlakyStore, Handler, file_store, new_run, running, until
from tests.support.plans import every
from tests.support.runs import claimed

MS = 1_000
HOUR = 3_600_000 * MS


def succeeded(run: Run, late: int, took: int) -> Outcome:
    """An attempt that began so late and took so long, microseconds."""
    started_at = run.due_at + late
    return Outcome(kind=OutcomeKind.SUCCEEDED, started_at=started_at, finished_at=started_at + took)


def counted(*ends: tuple[int, int], **fields: Any) -> QueueMetrics:
    """What is counted of runs that began so late and took so long."""
    metrics, run = RunMetrics(), claimed(**fields)
    for late, took in ends:
        metrics.settled(run, succeeded(run, late, took), RunState.SUCCEEDED)
    return metrics.queues[run.queue]


@pytest.mark.parametrize(
    ("bounds", "first"), [(LATENESS, 10 * MS), (DURATION, MS)], ids=["lateness from 10 ms", "duration from 1 ms"]
)
def test_buckets_ascend_to_an_hour(bounds: tuple[int, ...], first: int) -> None:
    """Each bound once."""
    assert (bounds[0], bounds[-1]) == (first, HOUR)
    assert list(bounds) == sorted(set(bounds))


def test_a_value_on_a_bound_is_within_it_and_one_beyond_the_last_is_kept() -> None:
    """As ``le`` means: less or equal."""
    queue = counted((10 * MS, MS), (10 * MS + 1, MS + 1), (HOUR + 1, HOUR + 1))
    for histogram in (queue.lateness, queue.duration):
        assert (histogram.counts[0], histogram.counts[1], histogram.counts[-1]) == (1, 1, 1)
        assert sum(histogram.counts) == 3
    assert queue.lateness.total == 20 * MS + HOUR + 2


def test_lateness_is_of_the_first_start_only() -> None:
    """A retry starts as late as its policy says; it is counted as an attempt."""
    queue = counted((0, MS), started_at=5, attempt=2)
    assert (sum(queue.lateness.counts), sum(queue.duration.counts)) == (0, 1)


def test_a_start_before_due_is_not_late_and_takes_nothing_from_the_sum() -> None:
    """The store's time may be set back by a little between two answers."""
    queue = counted((50 * MS, MS), (-3, MS))
    assert (queue.lateness.counts[0], queue.lateness.total) == (1, 50 * MS)


def test_a_claim_given_back_is_no_attempt() -> None:
    """It was never started."""
    metrics = RunMetrics()
    metrics.settled(claimed(queue="q"), None, RunState.PENDING)
    assert metrics.unstarted == 1
    assert sum(metrics.queues["q"].outcomes.values()) == 0
    assert metrics.queues["q"].states[RunState.PENDING] == 1


def test_however_many_queues_there_are_a_hundred_are_told_apart() -> None:
    """The others are counted together, a queue of that very name among them."""
    metrics = RunMetrics()
    for name in [*(f"q{n}" for n in range(MOST_QUEUES + 20)), OTHER, "q3"]:
        metrics.settled(claimed(queue=name), None, RunState.PENDING)
    assert len(metrics.queues) == MOST_QUEUES + 1
    assert metrics.queues[OTHER].states[RunState.PENDING] == 21
    assert metrics.queues["q3"].states[RunState.PENDING] == 2


class Scripted:
    """A store whose claims give nothing, and say that this many runs were overlooked."""

    def __init__(self, overlooked: int) -> None:
        self.requests: list[ClaimRequest] = []
        self._overlooked = overlooked

    async def claim(self, request: ClaimRequest) -> Claimed:
        """Nothing."""
        self.requests.append(request)
        return Claimed(runs=(), now=1, overlooked=self._overlooked if request.sweep else 0)


async def test_what_a_sweep_found_is_counted() -> None:
    """The first claim is a sweep, the next is not."""
    store, clock = Scripted(3), SystemClock()
    time, held = StoreTime(clock), Held()
    executor = Executor({}, 1, clock=clock, time=time, held=held)
    settler = Settler(cast("Store", store), cast("Any", None), time=time, held=held, random=cast("Any", None))
    claimer = Claimer(cast("Store", store), executor, settler, clock=clock, time=time)
    await claimer.step()
    await claimer.step()
    assert [request.sweep for request in store.requests] == [True, False]
    assert (claimer.claims, claimer.fruitless, claimer.sweeps, claimer.overlooked) == (2, 2, 1, 3)


class Pairs:
    """Does nothing, for two runs in a call."""

    def tasks(self) -> tuple[str, ...]:
        """One."""
        return ("t",)

    def batch_of(self, task: str) -> int:
        """See above."""
        return 2

    async def execute(self, run: Run) -> Outcome:
        """One run."""
        return Outcome(kind=OutcomeKind.SUCCEEDED)

    async def execute_batch(self, runs: Sequence[Run]) -> Sequence[Outcome]:
        """Both."""
        return [Outcome(kind=OutcomeKind.SUCCEEDED)] * len(runs)

    async def close(self) -> None:
        """Holds nothing."""


class OneRun(Scripted):
    """A store with one run."""

    async def claim(self, request: ClaimRequest) -> Claimed:
        """The run, and then nothing."""
        found = () if self.requests else (claimed(1),)
        self.requests.append(request)
        return Claimed(runs=found, now=1)


async def test_a_claim_that_only_fills_a_call_is_not_fruitless() -> None:
    """It asked for one task: that there is none of it says nothing about what else is due."""
    store, clock = OneRun(0), SystemClock()
    time, held = StoreTime(clock), Held()
    executor = Executor({"t": Pairs()}, 1, clock=clock, time=time, held=held)
    settler = Settler(cast("Store", store), cast("Any", None), time=time, held=held, random=cast("Any", None))
    claimer = Claimer(cast("Store", store), executor, settler, clock=clock, time=time)
    await claimer.step()
    assert [request.tasks for request in store.requests] == [(), ("t",)]
    assert (claimer.claims, claimer.fruitless) == (2, 0)
    await executor.finish_all()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """A store on a file."""
    store = file_store(tmp_path)
    await store.open()
    yield store
    await store.close()


async def fail(run: Run) -> Outcome:
    """Fails."""
    return Outcome(kind=OutcomeKind.FAILED, error=ErrorInfo("ValueError", "no"))


async def succeed(run: Run) -> Outcome:
    """Does nothing, well."""
    return Outcome(kind=OutcomeKind.SUCCEEDED)


async def hang(run: Run) -> Outcome:
    """Never ends by itself."""
    await asyncio.Event().wait()
    return Outcome(kind=OutcomeKind.SUCCEEDED)


async def test_a_run_that_is_tried_twice_is_two_attempts_and_one_end(store: SqliteStore) -> None:
    """Outcomes count attempts, states count what became of the run."""
    policy = RunPolicy(retry=RetryPolicy(delay_us=MS, jitter=False))
    await store.enqueue([new_run(1, queue="mail", max_attempts=2, policy=policy)])
    async with running(store, Handler(fail)) as node:
        await until(lambda: node.settler.by_state[RunState.DEAD])
        queue = node.settler.metrics.queues["mail"]
        assert queue.outcomes[OutcomeKind.FAILED] == sum(queue.outcomes.values()) == 2
        assert (queue.states[RunState.PENDING], queue.states[RunState.DEAD]) == (1, 1)
        assert (sum(queue.lateness.counts), sum(queue.duration.counts)) == (1, 2)


async def test_a_settle_whose_answer_was_lost_is_not_counted_twice(store: SqliteStore) -> None:
    """The repeat finds nothing left to write."""
    flaky = FlakyStore(store)
    flaky.lose_answers["settle"] = 1
    await store.enqueue([new_run(1)])
    async with running(flaky, Handler(succeed)) as node:
        await until(lambda: flaky.calls.get("settle", 0) >= 2 and node.idle())
        assert sum(node.settler.by_state.values()) <= 1


async def test_errors_of_the_database_are_counted_by_loop_and_code(store: SqliteStore) -> None:
    """The heartbeat's too, which has a thread and a connection of its own."""
    flaky = FlakyStore(store)
    async with running(flaky, Handler(succeed)) as node:
        flaky.away = True
        wanted = {(loop, "store_unavailable") for loop in ("claim", "plan", "heartbeat")}
        await until(lambda: wanted <= node.store_errors.keys())
        flaky.away = False
        await until(lambda: all(health.good for health in node.health()))
        assert {code for _, code in node.store_errors} == {"store_unavailable"}


async def test_what_was_planned_is_counted(store: SqliteStore) -> None:
    """Schedules that moved on, and their runs."""
    moment = Moment(now=SystemClock().now())
    await store.change_schedules(Selection(names=("job",)), lambda *_: [create(every(1), "id", moment)])
    async with running(store, Handler(succeed)) as node:
        await until(lambda: node.planner.runs)
        assert node.planner.schedules >= 1


async def test_what_rescue_did_is_counted(store: SqliteStore) -> None:
    """The leases that it ended, and the runs that it settled; any process may do it."""
    await store.enqueue([new_run(1)])
    stuck = Handler(hang)
    async with running(store, stuck, roles=("worker",)) as node:
        await stuck.starts.get()
        await node.membership.heartbeat.stop()
        async with running(store, Handler(succeed)) as other:
            rescuers = (node.rescuer, other.rescuer)
            await until(lambda: sum(rescuer.runs for rescuer in rescuers))
            assert sum(rescuer.leases for rescuer in rescuers) == 1
            await node.executor.drain(0)


async def test_a_clock_that_is_off_is_told_once(store: SqliteStore) -> None:
    """By the heartbeats, as it is found."""

    class Wrong(SystemClock):
        def now(self) -> int:
            return super().now() + 90 * 1_000_000

    async with running(store, Handler(succeed)) as node:
        heartbeat = node.membership.heartbeat
        heartbeat._clock = Wrong()
        await until(lambda: node.clock_offset is not None and not node.clock_offset.good)
        assert node.clock_offset is not None
        assert -91 * 1_000_000 < node.clock_offset.us < -89 * 1_000_000
        await until(lambda: not node.membership._clock_good)


def test_a_row_of_the_store_says_nothing_was_overlooked_unless_it_was() -> None:
    """Stores without floors overlook nothing."""
    assert msgspec.structs.asdict(Claimed(runs=(), now=1))["overlooked"] == 0
