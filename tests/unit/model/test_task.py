from __future__ import annotations

import dataclasses
from collections.abc import Coroutine, Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, TypeVar, assert_type
from uuid import UUID

import msgspec
import pytest

from puntual.model.backoff import exponential, fixed, linear
from puntual.model.call import Call
from puntual.model.errors import ConflictError, InvalidError, InvalidPayloadError, NotFoundError, TaskUnknownError
from puntual.model.handle import CURRENT, Run, RunHandle, current_run
from puntual.model.ids import follow_up_id
from puntual.model.instant import to_datetime
from puntual.model.policy import Backoff, OnLostLease
from puntual.model.run import Priority
from puntual.model.run import Run as RunRow
from puntual.model.task import Joined, Task, TaskRegistry
from tests.support.runs import NOW, SECOND, running

T = TypeVar("T")
WHEN = datetime(2026, 3, 8, 2, 30, tzinfo=UTC)


class Size(Enum):
    SMALL = 1


@dataclasses.dataclass
class Line:
    amount: Decimal
    due: datetime
    size: Size


class Strange:
    """What JSON cannot become."""


class Recorder:
    """A client that only remembers."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.result: str | None = None

    async def enqueue_calls(self, calls: Sequence[Call]) -> Sequence[str]:
        """Gives each call its number."""
        self.calls += calls
        return [f"run-{len(self.calls)}"] * len(calls)

    def joined(self, connection: object) -> Joined:
        """Nothing here has one."""
        raise NotImplementedError

    async def finished(self, run_id: str, *, timeout: str | None) -> RunRow:
        """As if it had ended."""
        return running(id=run_id, result=self.result)

    def _block(self, work: Coroutine[Any, Any, T]) -> T:
        with pytest.raises(StopIteration) as stop:
            work.send(None)
        value: T = stop.value.value
        return value


async def send(run: Run, invoice_id: int, note: str = "none") -> dict[str, int]:
    """Sends it."""
    return {"sent": invoice_id}


def plain(a: int, /, b: str, *, c: float = 1.0) -> datetime:
    """A function with every kind of named parameter."""
    return WHEN


def rich(
    when: datetime, id: UUID, lines: list[Line], mode: Literal["a", "b"] = "a", extra: Decimal | None = None
) -> None:
    """Takes what JSON has not."""


def loose(value, items: Iterable[int] = ()) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - the case under test
    """Says nothing of what it takes."""


def many(first: int, second: int = 2, *rest: int, **named: datetime) -> None:
    """Takes any number of arguments."""


@pytest.fixture
def registry() -> TaskRegistry:
    """An empty registry."""
    return TaskRegistry()


def received(task: Task[..., Any], call: Call) -> tuple[tuple[object, ...], dict[str, Any]]:
    """The arguments as the worker calls the function with them."""
    return task.signature.read(call.args)


def refusal(task: Task[..., Any], *args: object, **kwargs: object) -> InvalidPayloadError:
    """The error that a call is refused with."""
    with pytest.raises(InvalidPayloadError) as caught:
        task.call(*args, **kwargs)
    return caught.value


class TestNames:
    def test_a_task_is_named_after_its_module_and_function(self, registry: TaskRegistry) -> None:
        """``module.function``, unless it is given a name."""
        assert registry.task(send).name == f"{__name__}.send"
        assert registry.task(name="mail/send:v2")(send).name == "mail/send:v2"
        assert registry.names() == (f"{__name__}.send", "mail/send:v2")

    def test_a_function_of_the_program_itself_is_named_as_others_would_import_it(self, registry: TaskRegistry) -> None:
        """A script and a worker that imports it agree on the name."""

        def main() -> None: ...

        main.__module__ = "__main__"
        assert registry.task(main).name == "test_task.main"

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("http", "puntual's own"),
            ("command", "puntual's own"),
            ("_alerts", "names that begin with _"),
            ("", "cannot be a task's name"),
            ("a b", "letters, digits"),
            ("a\0", "letters, digits"),
            ("x" * 201, "letters, digits"),
        ],
    )
    def test_names_that_cannot_be_used_are_refused(self, registry: TaskRegistry, name: str, says: str) -> None:
        """Reserved names and strange characters are refused with what would be right."""
        with pytest.raises(InvalidError, match=says):
            registry.task(name=name)(send)

    def test_a_name_is_given_once(self, registry: TaskRegistry) -> None:
        """Two functions under one name would make runs ambiguous."""
        registry.task(send)
        with pytest.raises(InvalidError, match=r"There is a task .* already"):
            registry.task(send)

    def test_an_unknown_task_is_an_error_of_its_own(self, registry: TaskRegistry) -> None:
        """Whoever asks for a name that is not there is told so."""
        with pytest.raises(TaskUnknownError, match="No task 'nope'"):
            registry.get("nope")


class TestDeclaration:
    def test_options_become_the_policy_of_each_run(self, registry: TaskRegistry) -> None:
        """What the decorator says is what the run carries."""
        task = registry.task(
            queue="mail",
            max_attempts=3,
            backoff=linear("2s", cap="1m", jitter=False),
            timeout="30s",
            priority="high",
            on_lost_lease="cancel",
            tags=["finance"],
            retry_on=[ConnectionError, "Timeout"],
            retry_not_on=[ValueError],
        )(send)
        run = task.call(7).new_run("x")
        assert (run.queue, run.priority, run.tags, run.max_attempts) == ("mail", Priority.HIGH, ("finance",), 3)
        assert run.policy.timeout_us == 30 * SECOND
        assert run.policy.on_lost_lease is OnLostLease.CANCEL
        retry = run.policy.retry
        assert (retry.backoff, retry.delay_us, retry.max_delay_us) == (Backoff.LINEAR, 2 * SECOND, 60 * SECOND)
        assert (retry.jitter, retry.max_attempts) == (False, 3)
        assert (retry.on, retry.not_on) == (("ConnectionError", "Timeout"), ("ValueError",))

    def test_without_options_the_documented_defaults_hold(self, registry: TaskRegistry) -> None:
        """Queue default, five attempts, an hour."""
        run = registry.task(send).call(7).new_run("x")
        assert (run.queue, run.priority, run.max_attempts) == ("default", Priority.NORMAL, 5)
        assert run.policy.timeout_us == 3600 * SECOND

    @pytest.mark.parametrize("timeout", [None, "none"])
    def test_no_deadline_has_to_be_written(self, registry: TaskRegistry, timeout: str | None) -> None:
        """None and ``"none"`` both mean that an attempt may take for ever."""
        assert registry.task(timeout=timeout)(send).defaults.policy.timeout_us is None

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"qeue": "mail"}, "no option 'qeue': did you mean 'queue'"),
            ({"zzz": 1}, "it is one of name, queue"),
            ({"max_attempts": 0}, "max_attempts is 0"),
            ({"max_attempts": True}, "max_attempts is True"),
            ({"timeout": "0s"}, "timeout is zero"),
            ({"timeout": "soon"}, "'soon' is no duration"),
            ({"priority": "urgent"}, "critical, high, normal or low"),
            ({"backoff": "exponential"}, "puntual.exponential"),
            ({"on_lost_lease": "stop"}, "run_on or cancel"),
            ({"tags": "finance"}, r"like \['finance'\]"),
            ({"queue": ""}, "The queue '' is empty"),
            ({"queue": "a b"}, "The queue 'a b' holds ' ': use letters, digits and"),
            ({"isolation": "thread"}, "'process' or None"),
        ],
    )
    def test_an_option_that_cannot_be_used_is_refused(
        self, registry: TaskRegistry, options: dict[str, Any], says: str
    ) -> None:
        """A mistake is found where it is written, not when the first run fails."""
        with pytest.raises(InvalidError, match=says):
            registry.task(**options)(plain)
        assert registry.names() == ()

    def test_isolation_is_for_sync_functions(self, registry: TaskRegistry) -> None:
        """A coroutine is stopped where it runs."""
        with pytest.raises(InvalidError, match="is async"):
            registry.task(isolation="process")(send)

    def test_backoff_words(self) -> None:
        """The three growths, as users write them."""
        assert exponential("5s", cap="1h").backoff is Backoff.EXPONENTIAL
        assert fixed("7s").delay_us == fixed("7s").max_delay_us == 7 * SECOND
        with pytest.raises(InvalidError, match="'x' is no duration"):
            exponential("x")

    def test_an_annotation_that_json_cannot_become_is_refused(self, registry: TaskRegistry) -> None:
        """A union of two dataclasses has no reading."""

        def ambiguous(line: Line | Strange) -> None: ...

        ambiguous.__annotations__["line"] = Line | Strange
        with pytest.raises(InvalidError, match="annotation of 'line' cannot be read from JSON"):
            _ = registry.task(ambiguous).signature

    def test_an_annotation_that_cannot_be_resolved_is_named(self, registry: TaskRegistry) -> None:
        """A type imported for type checkers only is the usual cause, and the hint says so."""

        def hidden(line: int) -> None: ...

        hidden.__annotations__["line"] = "Nowhere"
        task = registry.task(hidden)
        with pytest.raises(InvalidError, match="'Nowhere' of 'line' cannot be resolved") as caught:
            _ = task.signature
        assert "TYPE_CHECKING" in (caught.value.hint or "")


class TestArguments:
    def test_arguments_are_stored_by_name(self, registry: TaskRegistry) -> None:
        """By position or by name, they are one JSON object; the leading run is not among them."""
        task = registry.task(send)
        assert task.call(7).args == task.call(invoice_id=7).args == '{"invoice_id":7}'
        assert task.call(7, "hi").args == '{"invoice_id":7,"note":"hi"}'
        assert received(task, task.call(7)) == ((), {"invoice_id": 7})

    def test_every_kind_of_parameter_comes_back_to_its_place(self, registry: TaskRegistry) -> None:
        """Position-only parameters are given by position."""
        task = registry.task(plain)
        call = task.call(1, "x", c=2.5)
        assert call.args == '{"a":1,"b":"x","c":2.5}'
        assert received(task, call) == ((1,), {"b": "x", "c": 2.5})

    def test_rich_arguments_come_back_as_they_went(self, registry: TaskRegistry) -> None:
        """Types that JSON has not come back by annotation, however deep they stand."""
        task = registry.task(rich)
        sent: dict[str, Any] = {
            "when": WHEN.astimezone(timezone(timedelta(hours=-5))),
            "id": UUID(int=7),
            "lines": [Line(Decimal("1.10"), WHEN, Size.SMALL)],
            "mode": "b",
            "extra": Decimal(3),
        }
        assert received(task, task.call(**sent)) == ((), sent)

    def test_any_number_of_arguments(self, registry: TaskRegistry) -> None:
        """What ``*rest`` and ``**named`` take is stored and comes back by annotation."""
        task = registry.task(many)
        call = task.call(1, 2, 3, 4, at=WHEN)
        assert call.args == '{"first":1,"second":2,"rest":[3,4],"at":"2026-03-08T02:30:00Z"}'
        assert received(task, call) == ((1, 2, 3, 4), {"at": WHEN})
        assert received(task, msgspec.structs.replace(call, args='{"first":1,"rest":[3]}')) == ((1, 2, 3), {})

    @pytest.mark.parametrize(
        ("args", "kwargs", "field", "says"),
        [
            ((), {}, "args.invoice_id", "needs the argument 'invoice_id'"),
            ((7,), {"invoce": 1}, "args.invoce", "has no argument 'invoce': did you mean 'invoice_id'?"),
            ((7,), {"zzz": 1}, "args.zzz", "it takes invoice_id, note"),
            ((7, "a", "b"), {}, "args", "takes 2 arguments by position but was given 3"),
            ((7,), {"invoice_id": 8}, "args.invoice_id", "twice"),
            (("seven",), {}, "args.invoice_id", "expected `int`, got `str`"),
            ((float("nan"),), {}, "args.invoice_id", "nan"),
            ((7, "a\0"), {}, "args.note", "NUL"),
            ((object(),), {}, "args.invoice_id", "no JSON value"),
        ],
    )
    def test_arguments_that_do_not_fit_are_refused(
        self, registry: TaskRegistry, args: tuple[object, ...], kwargs: dict[str, object], field: str, says: str
    ) -> None:
        """At the door, with the name of the task and of the argument."""
        error = refusal(registry.task(send), *args, **kwargs)
        assert error.field == field
        assert says in error.message

    @pytest.mark.parametrize(
        ("value", "says"),
        [
            (WHEN, "is a datetime but would arrive as a str"),
            ((1, 2), "is a tuple but would arrive as a list"),
            ({1}, "is a set but would arrive as a list"),
            (Line(Decimal(1), WHEN, Size.SMALL), "is a Line but would arrive as a dict"),
            ({"a": [UUID(int=1)]}, "args.value.a[0] is a UUID"),
            (b"x", "is a bytes"),
        ],
    )
    def test_what_would_arrive_as_another_type_is_refused(
        self, registry: TaskRegistry, value: object, says: str
    ) -> None:
        """Without an annotation a rich type cannot come back, and nothing changes silently."""
        assert says in refusal(registry.task(loose), value).message

    def test_a_tuple_may_stand_where_a_sequence_is_taken(self, registry: TaskRegistry) -> None:
        """An annotation that takes any array takes this one."""
        assert registry.task(loose).call(1, (1, 2)).args == '{"value":1,"items":[1,2]}'

    def test_an_offset_that_json_does_not_carry_is_refused(self, registry: TaskRegistry) -> None:
        """The instant would be another one."""
        when = WHEN.astimezone(timezone(timedelta(seconds=3661)))
        error = refusal(registry.task(rich), when, UUID(int=1), [])
        assert error.field == "args.when"
        assert "offset with seconds" in error.message

    def test_arguments_are_capped(self) -> None:
        """By the registry's ``max_payload``."""
        task = TaskRegistry(max_payload=30).task(send)
        with pytest.raises(InvalidPayloadError, match="at most 30"):
            task.call(1, "x" * 30)

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("{}", "needs the argument 'invoice_id'"),
            ('{"invoice_id":7,"gone":1}', "has no argument 'gone'"),
            ('{"invoice_id":"x"}', "args.invoice_id does not fit: expected `int`, got `str`"),
            ("[7]", "takes its arguments as a JSON object by name"),
        ],
    )
    def test_stored_arguments_that_no_longer_fit_are_named(self, registry: TaskRegistry, text: str, says: str) -> None:
        """The function may have changed since the run was made."""
        with pytest.raises(InvalidPayloadError) as caught:
            registry.task(send).signature.read(text)
        assert says in caught.value.message


class TestCalls:
    def test_options_of_one_call(self, registry: TaskRegistry) -> None:
        """They change what is returned, and nothing of the task."""
        task = registry.task(send)
        other = task.options(
            delay="10m", unique_key="invoice-7", priority="high", queue="mail", tags=["a"], max_attempts=2, timeout="9s"
        )
        run = other.call(7).new_run("x")
        assert (run.delay_us, run.due_at, run.unique_key) == (600 * SECOND, None, "invoice-7")
        assert (run.priority, run.queue, run.tags) == (Priority.HIGH, "mail", ("a",))
        assert (run.max_attempts, run.policy.retry.max_attempts, run.policy.timeout_us) == (2, 2, 9 * SECOND)
        assert task.call(7).options == task.defaults

    @pytest.mark.parametrize("at", [WHEN, "2026-03-08T02:30:00Z", "2026-03-07T21:30:00-05:00"])
    def test_at_is_an_instant(self, registry: TaskRegistry, at: str | datetime) -> None:
        """An aware datetime or RFC 3339 text."""
        due_at = registry.task(send).options(at=at).call(7).new_run("x").due_at
        assert due_at is not None
        assert to_datetime(due_at) == WHEN

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"delay": "5s", "at": WHEN}, "Give delay or at, not both"),
            ({"at": datetime(2026, 1, 1)}, "has no offset"),  # noqa: DTZ001 - the fault under test
            ({"delay": timedelta(seconds=-1)}, "must not be negative"),
            ({"unique": "x"}, "did you mean 'unique_key'"),
        ],
    )
    def test_options_that_cannot_be_used_are_refused(
        self, registry: TaskRegistry, options: dict[str, Any], says: str
    ) -> None:
        """Before anything is stored."""
        with pytest.raises(InvalidError, match=says):
            registry.task(send).options(**options)

    async def test_enqueue_goes_through_the_client(self, registry: TaskRegistry) -> None:
        """The handle has the id of the run that stands, and reads its result by annotation."""
        client = Recorder()
        registry.connect(client)
        task = registry.task(plain)
        handle = await task.options(delay="1s").enqueue(1, b="x")
        client.result = '"2026-03-08T02:30:00Z"'
        assert handle.id == "run-1"
        assert await handle.result(timeout="1s") == WHEN
        assert client.calls == [task.options(delay="1s").call(1, b="x")]

    async def test_a_result_that_became_text_is_given_as_it_is(self, registry: TaskRegistry) -> None:
        """What could not be encoded was stored as text; whoever waits gets that."""
        client = Recorder()
        registry.connect(client)
        handle = await registry.task(plain).enqueue(1, b="x")
        client.result = '"<object>"'
        assert str(await handle.result()) == "<object>"
        client.result = None
        assert await handle.result() is None

    def test_the_sync_twins_wait_for_the_same_coroutines(self, registry: TaskRegistry) -> None:
        """One implementation, another way to wait."""
        client = Recorder()
        registry.connect(client)
        client.result = '{"sent":7}'
        assert registry.task(send).enqueue_sync(7).result_sync() == {"sent": 7}

    async def test_type_checkers_see_the_tasks_own_arguments(self, registry: TaskRegistry) -> None:
        """This file is type-checked: an ignore that is not needed, or another type, would be an error."""
        task = registry.task(queue="mail")(send)
        with pytest.raises(InvalidPayloadError):
            task.call("seven")  # type: ignore[arg-type]  # refused by type checkers too
        with pytest.raises(InvalidPayloadError):
            task.call(7, nope=1)  # type: ignore[call-arg]  # as above
        registry.connect(Recorder())
        assert_type(await task.enqueue(7), RunHandle[dict[str, int]])
        assert_type(task.options(delay="1s").enqueue_sync(invoice_id=7), RunHandle[dict[str, int]])
        assert_type(await registry.task(plain).enqueue(1, "x"), RunHandle[datetime])
        assert_type(await registry.task(name="x")(plain).enqueue(1, "x"), RunHandle[datetime])

    async def test_without_an_app_there_is_nobody_to_ask(self, registry: TaskRegistry) -> None:
        """The sentence says what to do."""
        with pytest.raises(ConflictError, match="async with app"):
            await registry.task(send).enqueue(7)


class TestDirectCalls:
    def test_calling_a_task_runs_the_plain_function(self, registry: TaskRegistry) -> None:
        """Tests and other code need no queue."""
        task = registry.task(plain)
        assert task(1, "x") == WHEN
        assert (task.__name__, task.__doc__) == ("plain", plain.__doc__)  # type: ignore[attr-defined]  # copied from the function

    async def test_a_handler_may_call_another_tasks_function(self, registry: TaskRegistry) -> None:
        """It gets the run that is being executed."""
        task = registry.task(send)
        with pytest.raises(ConflictError, match="takes a run"):
            await task(7)
        token = CURRENT.set(Run(running()))
        assert await task(7) == {"sent": 7}
        CURRENT.reset(token)


class TestHandle:
    def test_a_handle_shows_the_run_with_aware_times(self) -> None:
        """Everything that a handler may want to know, at the edge's types."""
        row = running(args='{"a":1}', schedule="nightly", tick_at=NOW - SECOND, tags=("x",), attempt=3)
        run = Run(row)
        assert (run.id, run.task, run.queue, run.tags) == (row.id, "task", "default", ("x",))
        assert (run.args, run.schedule, run.attempt, run.max_attempts) == ({"a": 1}, "nightly", 3, 5)
        assert run.tick_at == to_datetime(NOW - SECOND)
        assert run.due_at == to_datetime(NOW)
        assert run.token == (3, "w1")

    def test_follow_ups_have_ids_that_a_repeat_computes_again(self, registry: TaskRegistry) -> None:
        """Each is a function of the run and its position."""
        task = registry.task(send)
        run = Run(running(attempt=2), collect=True)
        ids = [run.then(task.call(1)), run.then(task.options(delay="1m").call(2))]
        assert ids == [follow_up_id(run.id, 0), follow_up_id(run.id, 1)]
        assert [new.id for new in run.follow_ups] == ids
        assert run.follow_ups[1].delay_us == 60 * SECOND

    def test_follow_ups_are_for_handlers(self, registry: TaskRegistry) -> None:
        """A run that was looked up is a picture."""
        with pytest.raises(ConflictError, match="inside a handler"):
            Run(running()).then(registry.task(send).call(1))

    def test_there_is_no_current_run_outside_a_handler(self) -> None:
        """The sentence says where there is one."""
        with pytest.raises(NotFoundError, match="code that a handler calls"):
            current_run()
