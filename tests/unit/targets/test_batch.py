"""A batch handler's answer becomes an outcome for each of its runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

import puntual
from puntual.model.attempt import OutcomeKind
from puntual.model.errors import NotFoundError
from puntual.model.outcome import Outcome
from puntual.model.policy import RetryPolicy, RunPolicy
from puntual.model.task import TaskRegistry
from puntual.targets.contract import BatchTarget
from puntual.targets.function import FunctionTarget
from tests.support.runs import claimed, running

SUCCEEDED, FAILED = OutcomeKind.SUCCEEDED, OutcomeKind.FAILED
Handler = Callable[[list[puntual.Run]], object]


class Bench:
    """A target, and a short way to call one batch handler."""

    def __init__(self) -> None:
        self.registry = TaskRegistry()
        self.target = FunctionTarget(self.registry, max_threads=2, max_result=100)

    async def call(self, handler: Handler, count: int = 3, **changes: object) -> Sequence[Outcome]:
        """The outcomes of one call with that many runs, the first with the argument ``n=0``."""
        self.registry.task(name="t", batch=10)(handler)  # type: ignore[type-var]  # handlers that answer wrongly too
        return await self.target.execute_batch(
            [claimed(number, args=f'{{"n":{number}}}', **changes) for number in range(count)]
        )


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A bench, closed after the test."""
    one = Bench()
    yield one
    await one.target.close()


def both(act: Handler) -> list[Handler]:
    """The same behaviour as a coroutine function and as a plain one."""

    async def coroutine(runs: list[puntual.Run]) -> object:
        return act(runs)

    return [coroutine, act]


def test_it_says_how_many_runs_a_call_takes() -> None:
    """One for all other tasks, and for those that it does not know."""
    registry = TaskRegistry()
    target = FunctionTarget(registry)
    assert isinstance(target, BatchTarget)
    registry.task(name="many", batch=7)(lambda runs: None)
    registry.task(name="one")(lambda: None)
    assert [target.batch_of(name) for name in ("many", "one", "unknown")] == [7, 1, 1]


class TestAnswers:
    @pytest.mark.parametrize("kind", [0, 1])
    async def test_nothing_returned_means_that_all_succeeded(self, bench: Bench, kind: int) -> None:
        """Coroutine functions and plain ones are given the runs in order, each with its arguments."""
        seen: list[object] = []

        def act(runs: list[puntual.Run]) -> object:
            seen.extend(run.args["n"] for run in runs)
            return None

        outcomes = await bench.call(both(act)[kind])
        assert ([each.kind for each in outcomes], seen) == ([SUCCEEDED] * 3, [0, 1, 2])

    async def test_each_run_has_the_outcome_in_its_place(self, bench: Bench) -> None:
        """A result, an error in a sentence, and nothing in particular."""
        answer = [puntual.Outcome.succeeded({"a": 1}), puntual.Outcome.failed("refused"), None]
        good, bad, plain = await bench.call(lambda runs: answer)
        assert (good.kind, good.result, plain.kind, plain.result) == (SUCCEEDED, '{"a":1}', SUCCEEDED, None)
        assert bad.error is not None
        assert (bad.kind, bad.error.type, bad.error.message) == (FAILED, "Failed", "refused")

    async def test_an_exception_is_the_error_of_its_run(self, bench: Bench) -> None:
        """As it is or in an outcome, and the policy knows its class by its bases."""
        policy = RunPolicy(retry=RetryPolicy(not_on=("LookupError",)))
        answer = [KeyError("x"), puntual.Outcome.failed(KeyError("y")), ValueError("z")]
        outcomes = await bench.call(lambda runs: answer, policy=policy)
        errors = [each.error and each.error.type for each in outcomes]
        assert (errors, [each.final for each in outcomes]) == (
            ["KeyError", "KeyError", "ValueError"],
            [True, True, False],
        )

    async def test_the_steering_words_stand_for_an_outcome(self, bench: Bench) -> None:
        """Each steers its own run."""
        retry, dead, snooze = await bench.call(
            lambda runs: [puntual.Retry("1m"), puntual.Dead("x"), puntual.Snooze("1s")]
        )
        assert (retry.again, retry.retry_after_us, dead.final, snooze.kind) == (
            True,
            60_000_000,
            True,
            OutcomeKind.SNOOZED,
        )

    async def test_one_word_returned_goes_for_all(self, bench: Bench) -> None:
        """A handler that cannot work now puts all of them back."""
        outcomes = await bench.call(lambda runs: puntual.Snooze("5m"))
        assert [each.kind for each in outcomes] == [OutcomeKind.SNOOZED] * 3

    async def test_follow_ups_go_with_the_success_of_their_own_run(self, bench: Bench) -> None:
        """Those of a run that failed are dropped."""
        follow = bench.registry.task(name="follow")(lambda n: None)

        def act(runs: list[puntual.Run]) -> object:
            for run in runs[:2]:
                run.then(follow.call(n=run.args["n"]))
            return [None, puntual.Outcome.failed("no"), None]

        outcomes = await bench.call(act)
        assert [[new.args for new in each.follow_ups] for each in outcomes] == [['{"n":0}'], [], []]

    async def test_a_long_result_is_kept_as_text(self, bench: Bench) -> None:
        """It never changes what became of the run."""
        (outcome,) = await bench.call(lambda runs: [puntual.Outcome.succeeded(["x" * 60, "y" * 60])], count=1)
        assert outcome.kind is SUCCEEDED
        assert isinstance(outcome.result, str)
        assert outcome.result.startswith('"[')

    async def test_any_other_handler_may_return_an_outcome(self, bench: Bench) -> None:
        """It means the same of the one run."""
        bench.registry.task(name="one")(lambda: puntual.Outcome.failed("no"))
        assert (await bench.target.execute(running(task="one"))).kind is FAILED


class TestFailures:
    @pytest.mark.parametrize("kind", [0, 1])
    @pytest.mark.parametrize("error", [ValueError("x"), puntual.Dead("x"), SystemExit(1)])
    async def test_an_error_raised_says_nothing_about_the_single_run(
        self, bench: Bench, kind: int, error: BaseException
    ) -> None:
        """No outcomes: each is to be tried by itself."""

        def act(runs: list[puntual.Run]) -> object:
            raise error

        assert await bench.call(both(act)[kind]) == ()

    async def test_a_run_by_itself_has_its_own_error(self, bench: Bench) -> None:
        """The handler is given a list of one, and what it raises is the run's."""

        def act(runs: list[puntual.Run]) -> object:
            raise ValueError(f"{len(runs)} run")

        bench.registry.task(name="alone", batch=10)(act)  # type: ignore[type-var]  # as above
        outcome = await bench.target.execute(running(task="alone"))
        assert outcome.error is not None
        assert (outcome.kind, outcome.error.type, outcome.error.message) == (FAILED, "ValueError", "1 run")

    @pytest.mark.parametrize("answer", [[None], {"a": None}, "abc", 3])
    async def test_an_answer_that_does_not_fit_the_runs_is_an_error(self, bench: Bench, answer: object) -> None:
        """For several runs each is tried by itself; then a sentence says what would be right."""
        assert await bench.call(lambda runs: answer) == ()

    async def test_the_sentence_names_what_came_and_what_is_needed(self, bench: Bench) -> None:
        """A list that is too long, for one run."""
        (outcome,) = await bench.call(lambda runs: [None, None], count=1)
        assert outcome.error is not None
        assert "returned a list of 2; it must be None, or a list with an outcome for each of its 1 runs" in (
            outcome.error.message
        )

    async def test_a_wrong_value_fails_its_own_run_only(self, bench: Bench) -> None:
        """A dictionary is no outcome; its neighbours are not touched."""
        good, bad, plain = await bench.call(lambda runs: [None, {"a": 1}, None])
        assert [good.kind, bad.kind, plain.kind] == [SUCCEEDED, FAILED, SUCCEEDED]
        assert bad.error is not None
        assert "a value of type dict" in bad.error.message

    async def test_a_coroutine_that_nobody_awaited_fails_all_for_good(self, bench: Bench) -> None:
        """No attempt would go better."""

        async def later() -> None: ...

        outcomes = await bench.call(lambda runs: later())
        assert [(each.kind, each.final) for each in outcomes] == [(FAILED, True)] * 3

    async def test_a_parameter_that_is_no_list_of_runs_fails_all_for_good(self, bench: Bench) -> None:
        """The error says what it must be."""

        async def act(number: int) -> None: ...

        wrong: Any = act
        outcomes = await bench.call(wrong)
        assert all(
            each.final and "list[puntual.Run]" in ((each.error and each.error.message) or "") for each in outcomes
        )


async def test_there_is_no_current_run(bench: Bench) -> None:
    """Code that asks for one is told so, for there are many."""

    def act(runs: list[puntual.Run]) -> object:
        with pytest.raises(NotFoundError):
            puntual.current_run()
        return None

    assert [each.kind for each in await bench.call(act)] == [SUCCEEDED] * 3


async def test_a_cancelled_call_of_a_coroutine_function_lets_the_cancellation_through(bench: Bench) -> None:
    """Whoever cancelled it knows what that means for each run."""
    started = asyncio.Event()

    async def act(runs: list[puntual.Run]) -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(bench.call(act))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancelled_call_in_a_thread_is_waited_for_and_counts(bench: Bench) -> None:
    """What was done is done."""
    started, gate = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def act(runs: list[puntual.Run]) -> None:
        loop.call_soon_threadsafe(started.set)
        gate.wait(10)

    task = asyncio.create_task(bench.call(act))
    await started.wait()
    task.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert [each.kind for each in await task] == [SUCCEEDED] * 3
