"""Batch tasks as they are declared and called, and the words with which their handlers answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import puntual
from puntual.model.answer import Outcome
from puntual.model.errors import InvalidError, InvalidPayloadError
from puntual.model.handle import Run
from puntual.model.task import BatchTask, TaskRegistry
from tests.support.runs import running


async def index(runs: list[Run]) -> list[Outcome] | None:
    """Indexes them."""
    return None


def declared(function: Callable[..., Any] = index, **keywords: Any) -> BatchTask[Any]:
    """A batch task in a registry of its own."""
    task: BatchTask[Any] = TaskRegistry().task(**{"name": "t", "batch": 500, **keywords})(function)
    return task


class TestDeclaring:
    def test_it_knows_its_size(self) -> None:
        """Any other task has none; its other options are those of every task."""
        task = declared(queue="bulk", max_attempts=3)
        assert (task.batch, task.defaults.queue, task.defaults.policy.retry.max_attempts) == (500, "bulk", 3)
        assert TaskRegistry().task(index).batch is None

    @pytest.mark.parametrize("batch", [0, -1, 10_001, True, "5", 2.5, None])
    def test_a_size_that_cannot_be_used_is_refused(self, batch: object) -> None:
        """The sentence gives the range."""
        with pytest.raises(InvalidError, match="from 1 to 10000") as caught:
            declared(batch=batch)
        assert caught.value.field == "batch"

    @pytest.mark.parametrize("function", [lambda: None, lambda runs, more: None, lambda *, runs: None])
    def test_its_function_must_take_the_list_alone(self, function: Callable[..., None]) -> None:
        """It is found where the task is declared."""
        with pytest.raises(InvalidError, match="one argument, the list of its runs"):
            declared(function)

    def test_its_runs_cannot_have_a_process_of_their_own(self) -> None:
        """Such a process takes one run at a time."""
        with pytest.raises(InvalidError, match=r"has batch=.*remove isolation"):
            declared(lambda runs: None, isolation="process")

    def test_a_size_may_stand_beside_the_function(self) -> None:
        """As in ``app.task(function, batch=5)``, for what is registered in a loop."""
        options: Any = {"batch": 5}
        assert TaskRegistry().task(index, **options).batch == 5


class TestCalling:
    def test_a_run_takes_any_arguments_by_name(self) -> None:
        """They are JSON values, and come back as ``run.args``."""
        call = declared().call(doc_id=7, tags=["a"])
        assert (call.args, Run(running(args=call.args)).args) == (
            '{"doc_id":7,"tags":["a"]}',
            {"doc_id": 7, "tags": ["a"]},
        )

    def test_arguments_by_position_have_no_name(self) -> None:
        """The error says so."""
        task: Any = declared()
        with pytest.raises(InvalidPayloadError, match="takes 0 arguments by position"):
            task.call(7)

    @pytest.mark.parametrize("value", [float("nan"), "a\0", {1: 2}, object()])
    def test_an_argument_outside_the_profile_is_refused(self, value: object) -> None:
        """It is named."""
        with pytest.raises(InvalidPayloadError) as caught:
            declared().call(doc=value)
        assert (caught.value.field or "").startswith("args.doc")

    def test_options_of_one_call(self) -> None:
        """The rest stays as declared, and it is still a batch task."""
        task = declared().options(priority="high")
        assert (task.batch, task.call(n=1).options.priority.word) == (500, "high")

    @pytest.mark.parametrize("kind", [list, list[Any], Sequence[Run], list["puntual.Run"], Any])
    def test_its_parameter_may_be_any_list_of_runs(self, kind: object) -> None:
        """Or have no annotation at all."""

        def handler(runs: object) -> None: ...

        handler.__annotations__["runs"] = kind
        assert declared(handler).call(n=1).args == '{"n":1}'
        assert declared(lambda runs: None).call(n=1).args == '{"n":1}'

    @pytest.mark.parametrize("kind", [Run, int, list[int], "Unknown"])
    def test_a_parameter_that_is_something_else_is_refused(self, kind: object) -> None:
        """At the first call: annotations may name what is defined further down."""

        def handler(runs: object) -> None: ...

        handler.__annotations__["runs"] = kind
        with pytest.raises(InvalidError) as caught:
            declared(handler).call(n=1)
        assert caught.value.field == "runs"

    async def test_calling_it_runs_the_plain_function(self) -> None:
        """With a list, here and now."""
        assert await declared()([]) is None

    def test_a_result_is_read_as_plain_json(self) -> None:
        """The function's annotation speaks of all its runs, not of this one's result."""
        read = declared().read_result
        assert (read(None), read('{"a":1}')) == (None, {"a": 1})


def test_outcomes_show_what_they_say() -> None:
    """In a debugger, and in a result that should have been an outcome."""
    shown = [repr(Outcome.succeeded(7)), repr(Outcome.failed("no"))]
    assert shown == ["<Outcome succeeded: 7>", "<Outcome failed: no>"]
