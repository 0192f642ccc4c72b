"""How the runs of a batch task share a call, and how each is judged by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest

from puntual.engine.clock import SystemClock
from puntual.engine.execute import Executor
from puntual.engine.held import Held, Hold, Stop, StoreTime
from puntual.model.attempt import Attempt, ErrorInfo, OutcomeKind
from puntual.model.outcome import Outcome
from puntual.model.policy import RunPolicy
from puntual.model.run import Run
from tests.support.runs import claimed, running

DONE = Outcome(kind=OutcomeKind.SUCCEEDED)
BAD = Outcome(kind=OutcomeKind.FAILED, error=ErrorInfo("ValueError", "bad"))
OTHER = running(id=claimed(9).id, task="other")
Act = Callable[[Sequence[Run]], Awaitable[Sequence[Outcome]]]


class Scripted:
    """Does what the test says, with up to three runs of ``t`` in a call; ``other`` takes one at a time."""

    def __init__(self, act: Act) -> None:
        self.act = act
        self.calls: list[list[str]] = []
        self.called_twice = asyncio.Event()

    def tasks(self) -> tuple[str, ...]:
        """Both."""
        return ("t", "other")

    def batch_of(self, task: str) -> int:
        """See above."""
        return 3 if task == "t" else 1

    async def execute(self, run: Run) -> Outcome:
        """One run."""
        (outcome,) = await self.execute_batch((run,))
        return outcome

    async def execute_batch(self, runs: Sequence[Run]) -> Sequence[Outcome]:
        """Notes who is in the call."""
        self.calls.append([short(run) for run in runs])
        if len(self.calls) > 1:
            self.called_twice.set()
        return await self.act(runs)

    async def close(self) -> None:
        """Holds nothing."""


class Bench:
    """An executor over a scripted target, and the outcomes that came out of it."""

    def __init__(self, act: Act, slots: int = 10) -> None:
        self.time = StoreTime(SystemClock())
        self.held = Held()
        self.target = Scripted(act)
        targets = dict.fromkeys(self.target.tasks(), self.target)
        self.executor = Executor(targets, slots, clock=SystemClock(), time=self.time, held=self.held)
        self.executor.finished = self.took
        self.outcomes: dict[str, Outcome | None] = {}

    @property
    def kinds(self) -> dict[str, OutcomeKind | None]:
        """What each run's attempt produced."""
        return {run: None if outcome is None else outcome.kind for run, outcome in self.outcomes.items()}

    def took(self, hold: Hold, outcome: Outcome | None) -> None:
        """Notes an outcome, as the settler would; each claim has one."""
        self.held.drop(hold)
        assert short(hold.run) not in self.outcomes
        self.outcomes[short(hold.run)] = outcome

    def hold(self, number: int) -> Hold:
        """The claim on a run."""
        hold = self.held.get(claimed(number).id)
        assert hold is not None
        return hold


def short(run: Run) -> str:
    """The end of its id: the number that the test gave it."""
    return run.id[-12:].lstrip("0")


def runs(count: int, **changes: object) -> list[Run]:
    """Claims on the first so many runs of ``t``."""
    return [claimed(number, **changes) for number in range(1, count + 1)]


def ended(outcome: OutcomeKind) -> tuple[Attempt, ...]:
    """The story of a run whose first attempt ended so."""
    return (Attempt(number=1, worker="w", started_at=1, finished_at=2, outcome=outcome),)


async def succeed(runs: Sequence[Run]) -> Sequence[Outcome]:
    """Does nothing, well."""
    return [DONE] * len(runs)


async def hang(runs: Sequence[Run]) -> Sequence[Outcome]:
    """Never ends by itself."""
    await asyncio.Event().wait()
    return []


async def choke_on_2(runs: Sequence[Run]) -> Sequence[Outcome]:
    """Fails as a whole when run 2 is among several; alone it fails, and all others succeed."""
    bad = [short(run) == "2" for run in runs]
    if any(bad) and len(runs) > 1:
        return ()
    return [BAD if each else DONE for each in bad]


@pytest.fixture
async def bench() -> AsyncIterator[Callable[..., Bench]]:
    """Makes benches and closes their timers."""
    made: list[Bench] = []

    def make(act: Act = succeed, slots: int = 10) -> Bench:
        made.append(Bench(act, slots))
        return made[-1]

    yield make
    for one in made:
        await one.executor.close()


Make = Callable[..., Bench]


class TestSharing:
    async def test_what_is_in_line_goes_in_calls_of_a_batch(self, bench: Make) -> None:
        """A call is never larger than the task says, and nobody waits for one to be full."""
        one = bench()
        one.executor.accept(runs(7))
        await one.executor.finish_all()
        assert one.target.calls == [["1", "2", "3"], ["4", "5", "6"], ["7"]]
        assert set(one.kinds.values()) == {OutcomeKind.SUCCEEDED}

    async def test_a_call_takes_one_slot(self, bench: Make) -> None:
        """So many calls at a time as there are slots."""
        one = bench(hang, slots=2)
        one.executor.accept(runs(7))
        await asyncio.sleep(0)
        assert (one.executor.running, one.target.calls) == (2, [["1", "2", "3"], ["4", "5", "6"]])

    async def test_others_get_their_turn_between_calls(self, bench: Make) -> None:
        """What is left of a batch task after a call lines up again behind the others."""
        one = bench(slots=1)
        one.executor.accept([*runs(4), OTHER])
        await one.executor.finish_all()
        assert [len(call) for call in one.target.calls] == [3, 1, 1]
        assert one.target.calls[1] == ["9"]

    async def test_runs_with_different_timeouts_share_no_call(self, bench: Make) -> None:
        """A call has one deadline, and none of its runs may be held to another's."""
        one = bench()
        quick = [claimed(number, policy=RunPolicy(timeout_us=1_000_000)) for number in (5, 6)]
        one.executor.accept([*runs(2), *quick])
        await one.executor.finish_all()
        assert one.target.calls == [["1", "2"], ["5", "6"]]

    @pytest.mark.parametrize("last", [OutcomeKind.TIMED_OUT, OutcomeKind.LOST])
    async def test_a_run_that_did_not_come_back_is_called_by_itself(self, bench: Make, last: OutcomeKind) -> None:
        """It may be the one that takes others with it; one that failed or was snoozed goes with them again."""
        one = bench()
        failed = claimed(3, attempts=ended(OutcomeKind.FAILED))
        one.executor.accept([*runs(1), claimed(2, attempts=ended(last)), failed])
        await one.executor.finish_all()
        assert sorted(one.target.calls) == [["1", "3"], ["2"]]

    async def test_a_run_that_was_lost_twice_stays_by_itself(self, bench: Make) -> None:
        """Whatever its last attempt produced."""
        one = bench()
        one.executor.accept([*runs(1), claimed(2, lost=2, attempts=ended(OutcomeKind.FAILED))])
        await one.executor.finish_all()
        assert sorted(one.target.calls) == [["1"], ["2"]]

    async def test_a_claim_withdrawn_in_line_is_in_no_call(self, bench: Make) -> None:
        """The others close up."""
        one = bench(slots=1)
        one.executor.trusted = lambda: False
        one.executor.accept(runs(4))
        one.executor.stop(one.hold(2), Stop.CANCEL)
        one.executor.trusted = lambda: True
        one.executor.resume()
        await one.executor.finish_all()
        assert (one.target.calls, one.outcomes["2"]) == ([["1", "3", "4"]], None)

    async def test_a_claim_knows_how_many_more_its_calls_could_take(self, bench: Make) -> None:
        """Only of batch tasks, and together with those that wait already."""
        one = bench(hang, slots=1)
        few = [*runs(2), OTHER]
        assert one.executor.room_beside(few) == {"t": 1}
        assert one.executor.room_beside(runs(3)) == {}
        one.executor.accept([OTHER, claimed(1)])
        assert one.executor.room_beside(runs(1)) == {"t": 1}
        assert one.executor.room_beside(runs(2)) == {}

    async def test_a_call_that_is_being_filled_waits_and_others_do_not(self, bench: Make) -> None:
        """Whatever else wants to start the line meanwhile."""
        one = bench()
        one.executor.accept([*runs(2), OTHER], gather=("t",))
        one.executor.resume()
        await one.executor.finish_all()
        assert one.target.calls == [["9"]]
        one.executor.accept([claimed(3)], gather=("t",))
        one.executor.begin()
        await one.executor.finish_all()
        assert one.target.calls == [["9"], ["1", "2", "3"]]


class TestFailing:
    async def test_after_a_call_that_failed_each_run_is_called_by_itself(self, bench: Make) -> None:
        """In the same attempt and before all others: one bad run fails alone, with its own error."""
        one = bench(choke_on_2, slots=1)
        one.executor.accept([*runs(3), OTHER])
        await one.executor.finish_all()
        assert one.target.calls == [["1", "2", "3"], ["1"], ["2"], ["3"], ["9"]]
        assert [run for run, kind in one.kinds.items() if kind is OutcomeKind.FAILED] == ["2"]

    async def test_such_runs_are_not_given_back_while_they_wait_for_a_slot(self, bench: Make) -> None:
        """They have been started: only an outcome ends that."""
        blocked = asyncio.Event()

        async def act(runs: Sequence[Run]) -> Sequence[Outcome]:
            if len(runs) == 1:
                await blocked.wait()
            return await choke_on_2(runs)

        one = bench(act, slots=1)
        one.executor.accept(runs(3, claimed_at=one.time.now() - 10_000_000))
        await one.target.called_twice.wait()
        assert one.executor.stale() == []
        blocked.set()
        await one.executor.finish_all()
        assert len(one.outcomes) == 3

    async def test_a_drain_gives_back_only_what_never_began(self, bench: Make) -> None:
        """Runs that wait for their own call are in the middle of an attempt, and have the grace to end it."""
        one = bench(choke_on_2, slots=1)
        one.executor.accept([*runs(3), OTHER])
        await one.target.called_twice.wait()
        assert [short(hold.run) for hold in one.executor.unstarted()] == ["9"]
        await one.executor.drain(10)
        good, bad = OutcomeKind.SUCCEEDED, OutcomeKind.FAILED
        assert one.kinds == {"1": good, "2": bad, "3": good}

    async def test_such_runs_are_attempts_when_they_are_stopped_in_line(self, bench: Make) -> None:
        """By a cancel or by the end of the grace: what is given back counts as begun, from its first call on."""

        async def act(runs: Sequence[Run]) -> Sequence[Outcome]:
            return () if len(runs) > 1 else await hang(runs)

        one = bench(act, slots=1)
        one.executor.accept(runs(3))
        await one.target.called_twice.wait()
        began = one.hold(1).started_at
        one.executor.stop(one.hold(3), Stop.CANCEL)
        assert one.executor.unstarted() == []
        await one.executor.drain(0.01)
        assert one.kinds == dict.fromkeys("123", OutcomeKind.CANCELLED)
        assert {outcome.started_at for outcome in one.outcomes.values() if outcome is not None} == {began}

    async def test_a_drain_waits_for_calls_that_begin_meanwhile(self, bench: Make) -> None:
        """A call that fails during the grace leaves others to be made."""
        one = bench(choke_on_2)
        one.executor.accept(runs(3))
        await one.executor.drain(10)
        good, bad = OutcomeKind.SUCCEEDED, OutcomeKind.FAILED
        assert one.kinds == {"1": good, "2": bad, "3": good}

    async def test_a_target_that_breaks_its_contract_fails_the_call_only(self, bench: Make) -> None:
        """Every run of it has the error; the executor goes on."""

        async def broken(runs: Sequence[Run]) -> Sequence[Outcome]:
            raise LookupError("gone")

        one = bench(broken)
        one.executor.accept(runs(3))
        await one.executor.finish_all()
        assert set(one.kinds.values()) == {OutcomeKind.FAILED}


class TestStopping:
    async def test_the_deadline_stops_the_call_for_all(self, bench: Make) -> None:
        """Nobody knows whose fault it was: each has timed out."""
        one = bench(hang)
        one.executor.accept(runs(3, policy=RunPolicy(timeout_us=20_000)))
        await one.executor.finish_all()
        assert one.kinds == dict.fromkeys("123", OutcomeKind.TIMED_OUT)

    async def test_a_cancel_of_one_lets_the_call_go_on(self, bench: Make) -> None:
        """Its success counts, any other outcome of it ends as cancelled; its company never notices."""
        gate = asyncio.Event()

        async def act(runs: Sequence[Run]) -> Sequence[Outcome]:
            await gate.wait()
            return [DONE, BAD, BAD]

        one = bench(act)
        one.executor.accept(runs(3))
        await asyncio.sleep(0)
        for number in (1, 2):
            one.executor.stop(one.hold(number), Stop.CANCEL)
        gate.set()
        await one.executor.finish_all()
        expected = [OutcomeKind.SUCCEEDED, OutcomeKind.CANCELLED, OutcomeKind.FAILED]
        assert list(one.kinds.values()) == expected

    async def test_a_run_to_be_cancelled_is_not_tried_by_itself(self, bench: Make) -> None:
        """When its call fails as a whole it has ended."""
        gate = asyncio.Event()

        async def act(runs: Sequence[Run]) -> Sequence[Outcome]:
            await gate.wait()
            return await choke_on_2(runs)

        one = bench(act)
        one.executor.accept(runs(3))
        await asyncio.sleep(0)
        one.executor.stop(one.hold(2), Stop.CANCEL)
        gate.set()
        await one.executor.finish_all()
        assert (one.kinds["2"], ["2"] in one.target.calls) == (OutcomeKind.CANCELLED, False)

    async def test_a_call_that_nobody_wants_any_more_is_stopped(self, bench: Make) -> None:
        """The last cancel stops it."""
        one = bench(hang)
        one.executor.accept(runs(3))
        await asyncio.sleep(0)
        for number in (1, 2, 3):
            one.executor.stop(one.hold(number), Stop.CANCEL)
        await one.executor.finish_all()
        assert one.kinds == dict.fromkeys("123", OutcomeKind.CANCELLED)

    async def test_forgotten_claims_leave_no_outcome_and_their_company_does(self, bench: Make) -> None:
        """One that is no longer ours says nothing about the others."""
        gate = asyncio.Event()

        async def act(runs: Sequence[Run]) -> Sequence[Outcome]:
            await gate.wait()
            return [DONE] * len(runs)

        one = bench(act)
        one.executor.accept(runs(3))
        await asyncio.sleep(0)
        one.executor.forget(one.hold(2))
        gate.set()
        await one.executor.finish_all()
        assert list(one.kinds) == ["1", "3"]

    async def test_a_call_whose_claims_are_all_forgotten_is_stopped(self, bench: Make) -> None:
        """The lease is over: nothing may be recorded, and nothing needs to go on."""
        one = bench(hang)
        one.executor.accept(runs(3))
        await asyncio.sleep(0)
        for hold in one.held:
            one.executor.forget(hold)
        await one.executor.finish_all()
        assert (one.outcomes, len(one.held)) == ({}, 0)

    async def test_a_drain_stops_the_call_for_all(self, bench: Make) -> None:
        """After the grace each run is put back uncharged."""
        one = bench(hang)
        one.executor.accept(runs(3))
        await one.executor.drain(0.01)
        assert one.kinds == dict.fromkeys("123", OutcomeKind.CANCELLED)
