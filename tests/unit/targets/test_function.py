from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.handle import Run, current_run
from puntual.model.ids import follow_up_id
from puntual.model.outcome import Dead, Outcome, Retry, Snooze, Steer
from puntual.model.policy import RetryPolicy, RunPolicy
from puntual.model.task import TaskRegistry
from puntual.targets.function import FunctionTarget
from puntual.targets.function.capture import MAX_TRACE, describe
from tests.support.runs import SECOND, running

TRACE = contextvars.ContextVar("trace", default="none")


class Bench:
    """A registry, its target, and a short way to run one function."""

    def __init__(self) -> None:
        self.registry = TaskRegistry()
        self.target = FunctionTarget(self.registry, max_threads=2)

    async def run(self, function: Callable[..., object], args: str = "{}", **changes: object) -> Outcome:
        """The outcome of one attempt of a function that was not registered before."""
        task = self.registry.task(name=f"t{len(self.registry.names())}")(function)
        return await self.target.execute(running(task=task.name, args=args, **changes))


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A bench, closed after the test."""
    one = Bench()
    yield one
    await one.target.close()


def on_both(act: Callable[[], object]) -> list[Any]:
    """The same behaviour as a coroutine function and as a plain one."""

    async def coroutine() -> object:
        return act()

    def plain() -> object:
        return act()

    return [coroutine, plain]


def throws(error: BaseException) -> Callable[[], object]:
    """A function that raises this."""

    def act() -> object:
        raise error

    return act


class TestResults:
    async def test_what_a_function_returns_is_the_result(self, bench: Bench) -> None:
        """As JSON text, for coroutine functions and plain ones."""
        for function in on_both(lambda: {"charged": [1, "ñ"]}):
            outcome = await bench.run(function)
            assert (outcome.kind, outcome.result) == (OutcomeKind.SUCCEEDED, '{"charged":[1,"ñ"]}')

    async def test_nothing_returned_is_no_result(self, bench: Bench) -> None:
        """None takes no room."""
        for function in on_both(lambda: None):
            assert (await bench.run(function)).result is None

    async def test_a_result_that_cannot_be_encoded_becomes_text(self, bench: Bench) -> None:
        """The run has succeeded all the same."""
        outcome = await bench.run(on_both(lambda: {1, object})[0])
        assert outcome.kind is OutcomeKind.SUCCEEDED
        assert "object" in (outcome.result or "")

    async def test_arguments_are_decoded_and_the_run_comes_first(self, bench: Bench) -> None:
        """By annotation, whatever the function is."""

        async def coroutine(run: Run, number: int, *, text: str = "x") -> object:
            return [run.attempt, number, text]

        def plain(run: Run, number: int, *, text: str = "x") -> object:
            return [run.attempt, number, text]

        for function in (coroutine, plain):
            outcome = await bench.run(function, '{"number":7}', attempt=3)
            assert outcome.result == '[3,7,"x"]'

    async def test_follow_ups_are_part_of_the_outcome(self, bench: Bench) -> None:
        """With the ids that they will have; only of a function that came back."""
        other = bench.registry.task(name="other")(on_both(lambda: None)[0])

        async def then(run: Run, fails: bool) -> None:  # noqa: FBT001 - a handler's argument
            run.then(other.call())
            assert not fails

        outcome = await bench.run(then, '{"fails":false}')
        assert [new.id for new in outcome.follow_ups] == [follow_up_id(running().id, 0)]
        assert (await bench.run(then, '{"fails":true}')).follow_ups == ()

    async def test_arguments_that_do_not_fit_are_final(self, bench: Bench) -> None:
        """No other attempt would go better, and the error says which argument."""

        async def takes(number: int) -> None: ...

        outcome = await bench.run(takes, '{"number":"x"}')
        assert outcome.final
        assert outcome.error is not None
        assert "args.number does not fit" in outcome.error.message

    async def test_a_task_that_is_not_registered_is_told_of(self, bench: Bench) -> None:
        """As an outcome: a target never raises."""
        outcome = await bench.target.execute(running(task="nope"))
        assert outcome.error is not None
        assert outcome.error.type == "TaskUnknownError"


class TestCurrentRun:
    async def test_the_current_run_is_known_to_what_a_handler_calls(self, bench: Bench) -> None:
        """In the loop, in threads, and in tasks that the handler starts."""

        async def nested() -> str:
            return await asyncio.create_task(asyncio.to_thread(lambda: current_run().id))

        for function in (*on_both(lambda: current_run().id), nested):
            assert (await bench.run(function)).result == f'"{running().id}"'

    async def test_it_is_gone_afterwards(self, bench: Bench) -> None:
        """An execution leaves nothing behind in the task that awaited it."""
        await bench.run(on_both(lambda: None)[0])
        with pytest.raises(Exception, match="no current run"):
            current_run()

    async def test_threads_see_the_context_of_their_caller(self, bench: Bench) -> None:
        """Tracing and the like go on in the thread."""
        TRACE.set("abc")
        assert (await bench.run(on_both(TRACE.get)[1])).result == '"abc"'


class TestSteering:
    @pytest.mark.parametrize("raised", [True, False])
    @pytest.mark.parametrize("which", [0, 1])
    async def test_a_handler_may_raise_or_return_what_is_next(self, bench: Bench, which: int, raised: bool) -> None:  # noqa: FBT001 - a parameter of the test
        """Retry, Dead and Snooze, each either way."""

        async def outcome(word: Steer) -> Outcome:
            return await bench.run(on_both(throws(word) if raised else lambda: word)[which])

        retry = await outcome(Retry("1m", reason="busy"))
        assert (retry.kind, retry.again, retry.retry_after_us) == (OutcomeKind.FAILED, True, 60 * SECOND)
        assert retry.error is not None
        assert (retry.error.type, retry.error.message) == ("Retry", "busy")
        dead = await outcome(Dead("bad input"))
        assert (dead.kind, dead.final, dead.error and dead.error.message) == (OutcomeKind.FAILED, True, "bad input")
        snooze = await outcome(Snooze("5m"))
        assert (snooze.kind, snooze.retry_after_us) == (OutcomeKind.SNOOZED, 300 * SECOND)


class TestErrors:
    async def test_an_error_is_kept_as_text_without_our_frames(self, bench: Bench) -> None:
        """Type, message and the trace of the user's own code."""
        for function in on_both(throws(ValueError("no such invoice"))):
            outcome = await bench.run(function)
            assert (outcome.kind, outcome.final) == (OutcomeKind.FAILED, False)
            assert outcome.error is not None
            assert (outcome.error.type, outcome.error.message) == ("ValueError", "no such invoice")
            trace = outcome.error.trace or ""
            assert "in act" in trace
            assert "src/puntual" not in trace

    @pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), asyncio.CancelledError(), StopIteration(1)])
    async def test_whatever_a_handler_raises_is_its_own_failure(self, bench: Bench, error: BaseException) -> None:
        """Also what would end a program, and a cancellation that nobody asked for."""
        for function in on_both(throws(error)):
            outcome = await bench.run(function)
            assert outcome.kind is OutcomeKind.FAILED
            assert outcome.error is not None
            assert outcome.error.type in (type(error).__name__, "RuntimeError")

    @pytest.mark.parametrize(
        ("retry", "error", "final_again"),
        [
            (RetryPolicy(), OSError(), (False, False)),
            (RetryPolicy(on=("ConnectionError",)), ConnectionResetError(), (False, True)),
            (RetryPolicy(on=("ConnectionError",)), ValueError(), (False, False)),
            (RetryPolicy(not_on=("ValueError",)), UnicodeError(), (True, False)),
            (RetryPolicy(on=("Exception",), not_on=("OSError",)), ConnectionResetError(), (True, False)),
            (RetryPolicy(on=("ConnectionError",), not_on=("OSError",)), ConnectionResetError(), (False, True)),
        ],
    )
    async def test_a_policy_that_names_a_class_means_its_subclasses(
        self, bench: Bench, retry: RetryPolicy, error: Exception, final_again: tuple[bool, bool]
    ) -> None:
        """The nearest class that is named has the word; without one the policy decides by the type's name."""
        for function in on_both(throws(error)):
            outcome = await bench.run(function, policy=RunPolicy(retry=retry))
            assert (outcome.final, outcome.again) == final_again

    @pytest.mark.parametrize("which", [0, 1])
    async def test_an_interrupt_is_the_handlers_failure(self, bench: Bench, which: int) -> None:
        """A handler that raises KeyboardInterrupt ends its run, not the server and all that runs beside it."""
        outcome = await bench.run(on_both(throws(KeyboardInterrupt()))[which])
        assert (outcome.kind, outcome.error and outcome.error.type) == (OutcomeKind.FAILED, "KeyboardInterrupt")

    @pytest.mark.parametrize("which", [0, 1])
    async def test_a_child_that_a_handler_forked_ends_with_its_call(self, bench: Bench, which: int) -> None:
        """It would go on as a second copy of the worker, with its port and its leases."""
        children: list[int] = []

        def fork() -> None:
            children.append(os.fork())

        outcome = await bench.run(on_both(fork)[which])
        assert outcome.kind is OutcomeKind.SUCCEEDED
        assert (await asyncio.to_thread(os.waitpid, children[0], 0))[1] == 0

    async def test_a_handler_that_awaits_something_cancelled_has_failed(self, bench: Bench) -> None:
        """It is not this attempt that was cancelled."""

        async def handler() -> None:
            task = asyncio.create_task(asyncio.Event().wait())
            task.cancel()
            await task

        outcome = await bench.run(handler)
        assert outcome.error is not None
        assert outcome.error.type == "CancelledError"

    async def test_a_coroutine_that_nobody_awaited_is_named(self, bench: Bench) -> None:
        """A decorator that is not async hides one; the sentence says so."""

        async def inner() -> None: ...

        def hidden() -> object:
            return inner()

        outcome = await bench.run(hidden)
        assert outcome.error is not None
        assert "coroutine that nobody awaited" in outcome.error.message

    async def test_a_partial_of_a_coroutine_function_is_awaited(self, bench: Bench) -> None:
        """What calling it gives is what counts."""

        async def add(a: int, b: int) -> int:
            return a + b

        assert (await bench.run(functools.partial(add, 1), '{"b":2}')).result == "3"


class Broken(Exception):
    """An error that fails in every way an error can."""

    def __str__(self) -> str:
        raise SystemExit

    def __repr__(self) -> str:
        raise MemoryError


def recurse(depth: int) -> None:
    """Never ends by itself."""
    recurse(depth + 1)


class TestCapture:
    def test_a_broken_error_is_still_captured(self) -> None:
        """Its type is known, and its message says what went wrong with it."""
        error = describe(Broken())
        assert error.type == "Broken"
        assert "whose text cannot be shown" in error.message

    def test_text_that_no_store_takes_is_written_out(self) -> None:
        """NUL and lone surrogates."""
        assert describe(ValueError("a\0\ud800")).message == "a\\x00\\ud800"

    def test_endless_recursion_and_huge_messages_are_cut(self) -> None:
        """An error is never larger than a few kilobytes."""
        for cause in (lambda: recurse(0), throws(ValueError("x" * 10_000_000))):
            try:
                cause()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is described
                found = describe(error)
            assert len(found.message) < 3_000
            assert len(found.trace or "") < 2 * MAX_TRACE

    def test_a_chain_of_errors_is_kept(self) -> None:
        """The cause stands before what it led to, and groups are shown."""
        group = ExceptionGroup("second", [ValueError("third")])
        group.__cause__ = KeyError("first")
        trace = describe(group).trace or ""
        assert trace.index("first") < trace.index("second") < trace.index("third")


class TestThreads:
    async def test_plain_functions_run_beside_each_other_in_named_threads(self, bench: Bench) -> None:
        """As many as were allowed, and no more."""
        both = threading.Barrier(2)

        def meet() -> str:
            both.wait(10)
            return threading.current_thread().name

        outcomes = await asyncio.gather(bench.run(meet), bench.run(meet))
        assert sorted(outcome.result or "" for outcome in outcomes) == ['"puntual-function-1"', '"puntual-function-2"']

    async def test_threads_are_used_again(self, bench: Bench) -> None:
        """One at a time needs one."""

        def name() -> str:
            return threading.current_thread().name

        assert {(await bench.run(name)).result for _ in range(5)} == {'"puntual-function-1"'}

    async def test_a_cancelled_attempt_lasts_until_its_function_has_ended(self, bench: Bench) -> None:
        """Nothing can stop it, so its slot is still in use, however often it is cancelled; a success then counts."""
        both, gate = threading.Barrier(3), threading.Event()

        def stuck() -> str:
            both.wait(10)
            gate.wait(10)
            return "done all the same"

        attempts = [asyncio.create_task(bench.run(stuck)) for _ in range(2)]
        await asyncio.to_thread(both.wait, 10)
        for _ in range(2):
            for attempt in attempts:
                attempt.cancel()
            assert not (await asyncio.wait(attempts, timeout=0.01))[0]
        gate.set()
        assert [(await attempt).result for attempt in attempts] == ['"done all the same"'] * 2

    @pytest.mark.parametrize("cancelled_first", [True, False])
    async def test_what_ends_in_the_moment_of_its_cancellation_is_heard(
        self,
        bench: Bench,
        monkeypatch: pytest.MonkeyPatch,
        cancelled_first: bool,  # noqa: FBT001 - a parameter of the test
    ) -> None:
        """The thread's word and the cancellation reach the loop in one turn, in either order."""
        loop, begun, gate, told = asyncio.get_running_loop(), threading.Event(), threading.Event(), threading.Event()
        tell = loop.call_soon_threadsafe

        def and_note(*args: Any) -> asyncio.Handle:
            handle = tell(*args)
            told.set()
            return handle

        def act() -> None:
            begun.set()
            gate.wait(10)

        attempt = asyncio.create_task(bench.run(act))
        await asyncio.to_thread(begun.wait, 10)
        monkeypatch.setattr(loop, "call_soon_threadsafe", and_note)
        if cancelled_first:
            attempt.cancel()
        gate.set()
        assert told.wait(10)
        attempt.cancel()
        await asyncio.wait((attempt,), timeout=10)
        assert attempt.result().kind is OutcomeKind.SUCCEEDED

    async def test_closing_lets_go_of_what_is_still_waited_for(self) -> None:
        """A worker that goes cannot wait for a function that never ends."""
        bench, begun, gate = Bench(), threading.Event(), threading.Event()

        def stuck() -> None:
            begun.set()
            gate.wait(10)

        attempts = [asyncio.create_task(bench.run(stuck)) for _ in range(2)]
        await asyncio.to_thread(begun.wait, 10)
        attempts[0].cancel()
        await asyncio.sleep(0)
        await bench.target.close()
        attempts[1].cancel()
        await asyncio.wait(attempts)
        assert all(attempt.cancelled() for attempt in attempts)
        gate.set()

    async def test_a_function_that_was_cancelled_before_it_began_never_begins(self, bench: Bench) -> None:
        """A run waiting for a thread is simply given up."""
        gate, ran = threading.Event(), threading.Event()
        busy = [asyncio.create_task(bench.run(lambda: gate.wait(10) and None)) for _ in range(2)]
        late = asyncio.create_task(bench.run(ran.set))
        await asyncio.sleep(0)
        late.cancel()
        await asyncio.wait([late])
        gate.set()
        await asyncio.gather(*busy)
        assert (await bench.run(lambda: 1)).result == "1"
        assert not ran.is_set()


async def test_cancelling_reaches_a_coroutine_and_passes_through(bench: Bench) -> None:
    """The executor's word stops the handler where it waits."""
    begun, cleaned = asyncio.Event(), asyncio.Event()

    async def handler() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    attempt = asyncio.create_task(bench.run(handler))
    await begun.wait()
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    assert cleaned.is_set()
