from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from puntual.engine import execute
from puntual.engine.clock import SystemClock
from puntual.engine.execute import Executor
from puntual.engine.held import Held, Hold, Stop, StoreTime
from puntual.model.attempt import OutcomeKind
from puntual.model.outcome import Outcome
from puntual.model.policy import RunPolicy
from puntual.model.run import Run
from tests.support.runs import claimed

DONE = Outcome(kind=OutcomeKind.SUCCEEDED)


class Scripted:
    """A target that does what the test says."""

    def __init__(self, act: Callable[[Run], Awaitable[Outcome]]) -> None:
        self.act = act

    def tasks(self) -> tuple[str, ...]:
        """The one task."""
        return ("t",)

    async def execute(self, run: Run) -> Outcome:
        """As scripted."""
        return await self.act(run)

    async def close(self) -> None:
        """Holds nothing."""


class Bench:
    """An executor over a scripted target, and the outcomes that came out of it."""

    def __init__(self, act: Callable[[Run], Awaitable[Outcome]], slots: int = 10) -> None:
        self.time = StoreTime(SystemClock())
        self.held = Held()
        self.executor = Executor({"t": Scripted(act)}, slots, clock=SystemClock(), time=self.time, held=self.held)
        self.executor.finished = self.took
        self.outcomes: asyncio.Queue[tuple[Run, Outcome]] = asyncio.Queue()

    def took(self, hold: Hold, outcome: Outcome | None) -> None:
        """Notes an outcome, as the settler would."""
        assert outcome is not None
        self.held.drop(hold)
        self.outcomes.put_nowait((hold.run, outcome))


async def succeed(run: Run) -> Outcome:
    """Does nothing, well."""
    return DONE


async def hang(run: Run) -> Outcome:
    """Never ends by itself."""
    await asyncio.Event().wait()
    return DONE


@pytest.fixture
async def bench() -> AsyncIterator[Callable[..., Bench]]:
    """Makes benches and closes their timers."""
    made: list[Bench] = []

    def make(act: Callable[[Run], Awaitable[Outcome]] = succeed, slots: int = 10) -> Bench:
        made.append(Bench(act, slots))
        return made[-1]

    yield make
    for one in made:
        await one.executor.close()


async def test_a_due_run_starts_at_once_and_its_outcome_has_times(bench: Callable[..., Bench]) -> None:
    """Started and finished are the store's time, in order."""
    one = bench()
    one.executor.accept((claimed(),))
    _, outcome = await one.outcomes.get()
    assert 0 < outcome.started_at <= outcome.finished_at


async def test_a_run_claimed_ahead_starts_on_its_instant_and_not_before(bench: Callable[..., Bench]) -> None:
    """The local timer starts it; the recorded start is not before it was due."""
    one = bench()
    due = one.time.now() + 30_000
    one.executor.accept((claimed(claim_at=due, due_at=due),))
    assert one.executor.running == 0
    _, outcome = await one.outcomes.get()
    assert outcome.started_at >= due


async def test_no_more_than_the_slots_run_at_a_time(bench: Callable[..., Bench]) -> None:
    """The rest waits in line and follows as slots become free."""
    gate = asyncio.Event()
    most = 0

    async def act(run: Run) -> Outcome:
        nonlocal most
        most = max(most, one.executor.running)
        await gate.wait()
        return DONE

    one = bench(act, slots=2)
    one.executor.accept(tuple(claimed(n) for n in range(5)))
    gate.set()
    for _ in range(5):
        await one.outcomes.get()
    assert most == 2


async def test_the_deadline_stops_an_attempt(bench: Callable[..., Bench]) -> None:
    """Its outcome is timed_out and the error names the limit."""
    one = bench(hang)
    one.executor.accept((claimed(policy=RunPolicy(timeout_us=20_000)),))
    _, outcome = await one.outcomes.get()
    assert outcome.kind is OutcomeKind.TIMED_OUT
    assert outcome.error is not None
    assert "0.02 s" in outcome.error.message


async def test_an_attempt_that_ends_well_in_spite_of_a_cancel_has_succeeded(bench: Callable[..., Bench]) -> None:
    """After a cancel every outcome but success ends in cancelled."""

    async def finish_anyway(run: Run) -> Outcome:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return DONE
        return DONE

    one = bench(finish_anyway)
    one.executor.accept((claimed(),))
    await asyncio.sleep(0)
    (hold,) = one.held
    one.executor.stop(hold, Stop.CANCEL)
    _, outcome = await one.outcomes.get()
    assert outcome.kind is OutcomeKind.SUCCEEDED


async def test_an_attempt_that_ignores_being_stopped_is_given_up_and_keeps_its_slot(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outcome is recorded once; what still runs still takes its slot."""
    monkeypatch.setattr(execute, "STOP_PATIENCE", 0.01)
    release = asyncio.Event()

    async def ignore(run: Run) -> Outcome:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return DONE

    one = bench(ignore)
    one.executor.accept((claimed(policy=RunPolicy(timeout_us=10_000)),))
    _, outcome = await one.outcomes.get()
    assert (outcome.kind, one.executor.running) == (OutcomeKind.TIMED_OUT, 1)
    freed = asyncio.Event()
    one.executor.freed = freed.set
    release.set()
    await freed.wait()
    assert (one.executor.running, one.outcomes.empty()) == (0, True)


async def test_nothing_starts_while_the_lease_is_not_trusted(bench: Callable[..., Bench]) -> None:
    """Claims wait in line until the lease stands again."""
    one = bench()
    one.executor.trusted = lambda: False
    one.executor.accept((claimed(),))
    assert one.executor.running == 0
    one.executor.trusted = lambda: True
    one.executor.resume()
    await one.outcomes.get()


async def test_what_could_have_started_long_since_is_given_back(bench: Callable[..., Bench]) -> None:
    """A claim that found no slot within half a second after it could start is for others."""
    one = bench(hang, slots=1)
    now = one.time.now()
    one.executor.accept((claimed(1, claimed_at=now), claimed(2, claimed_at=now - 10_000_000)))
    (stale,) = one.executor.stale()
    assert stale.run.id.endswith("2")
    await one.executor.drain(0)


async def test_a_forgotten_claim_is_stopped_and_leaves_no_outcome(bench: Callable[..., Bench]) -> None:
    """When the lease is over nothing of this worker may be recorded."""
    one = bench(hang)
    one.executor.accept((claimed(),))
    await asyncio.sleep(0)
    (hold,) = one.held
    one.executor.forget(hold)
    assert hold.group is not None
    assert hold.group.task is not None
    await asyncio.wait([hold.group.task])
    assert (one.outcomes.empty(), len(one.held), one.executor.running) == (True, 0, 0)


async def test_a_target_that_breaks_its_contract_fails_the_run_only(bench: Callable[..., Bench]) -> None:
    """An exception out of a target is a failed attempt; the executor goes on."""

    async def broken(run: Run) -> Outcome:
        raise LookupError("gone")

    one = bench(broken)
    one.executor.accept((claimed(),))
    _, outcome = await one.outcomes.get()
    assert outcome.error is not None
    assert (outcome.kind, outcome.error.type) == (OutcomeKind.FAILED, "LookupError")


async def test_draining_waits_for_what_runs_and_stops_what_is_left(bench: Callable[..., Bench]) -> None:
    """After the grace an attempt ends as cancelled, which puts its run back uncharged."""
    one = bench(hang)
    one.executor.accept((claimed(),))
    await one.executor.drain(0.01)
    _, outcome = await one.outcomes.get()
    assert outcome.kind is OutcomeKind.CANCELLED


async def test_ended_attempts_do_not_pile_up_behind_long_deadlines(bench: Callable[..., Bench]) -> None:
    """The heap of deadlines stays as small as what runs, however many attempts have ended."""
    one = bench(slots=10)
    for start in range(0, 5_000, 10):
        one.executor.accept(tuple(claimed(start + n) for n in range(10)))
        for _ in range(10):
            await one.outcomes.get()
    assert len(one.executor._deadlines) < 100


async def test_an_attempt_that_is_stopped_before_its_first_step_frees_its_slot(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Start and cancel may fall into one turn of the loop; nobody has to give it up for its slot to be free."""
    monkeypatch.setattr(execute, "STOP_PATIENCE", 3600)
    one = bench(hang)
    one.executor.accept((claimed(),))
    (hold,) = one.held
    one.executor.stop(hold, Stop.CANCEL)
    _, outcome = await one.outcomes.get()
    assert outcome.kind is OutcomeKind.CANCELLED
    await one.executor.finish_all()
    assert one.executor.running == 0


async def test_a_claim_that_is_given_out_again_is_the_one_that_is_held(bench: Callable[..., Bench]) -> None:
    """A database that lost its tail in a failover gives the same attempt to the worker that has it: it starts once."""
    starts: asyncio.Queue[int] = asyncio.Queue()
    gate = asyncio.Event()

    async def note(run: Run) -> Outcome:
        starts.put_nowait(run.attempt)
        await gate.wait()
        return DONE

    one = bench(note)
    run = claimed(attempt=2)
    one.executor.accept([run])
    assert await starts.get() == 2
    one.executor.accept([run])
    gate.set()
    await one.outcomes.get()
    assert (starts.empty(), one.outcomes.empty()) == (True, True)


async def test_a_newer_claim_of_a_run_takes_the_place_of_the_older(bench: Callable[..., Bench]) -> None:
    """What is no longer ours is stopped, and leaves no outcome; the newer attempt is made."""
    starts: asyncio.Queue[int] = asyncio.Queue()
    gate = asyncio.Event()

    async def note(run: Run) -> Outcome:
        starts.put_nowait(run.attempt)
        await gate.wait()
        return DONE

    one = bench(note)
    one.executor.accept([claimed(attempt=1)])
    assert await starts.get() == 1
    one.executor.accept([claimed(attempt=2)])
    assert await starts.get() == 2
    gate.set()
    run, outcome = await one.outcomes.get()
    assert (run.attempt, outcome.kind, one.outcomes.empty()) == (2, OutcomeKind.SUCCEEDED, True)
