"""A registered function: its name, its policies, and typed ways to ask for a run of it. A client is plugged in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from functools import cached_property, update_wrapper
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

import msgspec

from puntual.model.backoff import BackoffRule
from puntual.model.call import (
    Call,
    CallKeywords,
    CallOptions,
    PriorityWord,
    check_attempts,
    check_keywords,
    check_name,
    check_tags,
    timeout_us,
)
from puntual.model.errors import ConflictError, InvalidError, TaskUnknownError
from puntual.model.handle import CURRENT, Run, RunHandle, Waiter
from puntual.model.payload import MAX_PAYLOAD
from puntual.model.policy import OnLostLease, RetryPolicy, RunPolicy
from puntual.model.run import COMMAND_TASK, HTTP_TASK, Priority
from puntual.model.signature import Signature, result_reader

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,199}", re.ASCII)
_RESERVED: Final = (HTTP_TASK, COMMAND_TASK)


class TaskKeywords(TypedDict, total=False):
    """What a task may be declared with.

    ``timeout`` None or ``"none"`` means no deadline. ``isolation="process"`` runs a sync function in a process that can
    be killed. ``retry_on`` and ``retry_not_on`` are exception classes or their names, and mean their subclasses too;
    without ``retry_on`` every failure is tried again.
    """

    name: str
    queue: str
    max_attempts: int
    backoff: BackoffRule
    timeout: str | None
    isolation: Literal["process"] | None
    priority: PriorityWord
    on_lost_lease: Literal["run_on", "cancel"]
    tags: Sequence[str]
    retry_on: Sequence[str | type[BaseException]]
    retry_not_on: Sequence[str | type[BaseException]]


class Client(Waiter, Protocol):
    """What a task needs of an app to enqueue calls and to wait for their runs."""

    async def enqueue_calls(self, calls: Sequence[Call]) -> Sequence[str]:
        """Inserts a run for each call, all or none; gives the id of the run that stands for each."""
        ...


class Task(Generic[P, C_co]):
    """A registered function: ``P`` are its arguments without a leading run, ``C_co`` is what calling it gives.

    Calling the task itself runs the plain function, here and now, without any of the task's policies.

    Args:
        registry: where it is registered; it knows the client.
        name: the task's name.
        function: what to run.
        options: where and how its runs are done unless a call says otherwise.
        isolation: ``"process"`` or None.
    """

    def __init__(
        self,
        registry: TaskRegistry,
        name: str,
        function: Callable[..., object],
        options: CallOptions,
        isolation: Literal["process"] | None = None,
    ) -> None:
        self._registry = registry
        self.name: Final = name
        self.function: Final = function
        self.defaults = options
        self.isolation: Final = isolation
        self.is_async: Final = is_async(function)
        update_wrapper(cast("Callable[..., object]", self), function)

    @cached_property
    def signature(self) -> Signature:
        """The table of its parameters, made when first needed: annotations may name what is defined further down."""
        return Signature(self.name, self.function)

    @cached_property
    def read_result(self) -> Callable[[str | None], Any]:
        """Reads a stored result by the function's return annotation."""
        return result_reader(self.function)

    def call(self, /, *args: P.args, **kwargs: P.kwargs) -> Call:
        """The call as a value, for ``app.enqueue_many`` and ``run.then``.

        Raises:
            InvalidPayloadError: the arguments do not fit the function; the error names the argument.
        """
        return Call(self.name, self.signature.write(args, kwargs, self._registry.max_payload), self.defaults)

    @overload
    async def enqueue(self: Task[Q, Awaitable[R]], /, *args: Q.args, **kwargs: Q.kwargs) -> RunHandle[R]: ...
    @overload
    async def enqueue(self: Task[Q, R], /, *args: Q.args, **kwargs: Q.kwargs) -> RunHandle[R]: ...
    async def enqueue(self, /, *args: Any, **kwargs: Any) -> RunHandle[Any]:
        """Asks for a run of it.

        Raises:
            InvalidPayloadError: as `call`.
            ConflictError: the task's app is not open.
        """
        call = self.call(*args, **kwargs)
        client = self._registry.client
        (run_id,) = await client.enqueue_calls([call])
        return RunHandle(run_id, client, self.read_result)

    @overload
    def enqueue_sync(self: Task[Q, Awaitable[R]], /, *args: Q.args, **kwargs: Q.kwargs) -> RunHandle[R]: ...
    @overload
    def enqueue_sync(self: Task[Q, R], /, *args: Q.args, **kwargs: Q.kwargs) -> RunHandle[R]: ...
    def enqueue_sync(self, /, *args: Any, **kwargs: Any) -> RunHandle[Any]:
        """`enqueue` for code that is not async; usable while the app runs in a background thread."""
        return self._registry.client._block(self.enqueue(*args, **kwargs))  # noqa: SLF001 - as RunHandle does

    def options(self, **changes: Unpack[CallKeywords]) -> Task[P, C_co]:
        """The same task with other options for the calls made through what is returned.

        Raises:
            InvalidError: a value cannot be used.
        """
        other = copy(self)
        other.defaults = self.defaults.changed(changes)
        return other

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> C_co:
        """Runs the function; one that takes a run gets the current one: a handler may call another's function.

        Raises:
            ConflictError: it takes a run, and there is none.
        """
        before: tuple[object, ...] = ()
        if self.signature.takes_run:
            run = CURRENT.get()
            if run is None:
                raise ConflictError(
                    f"Task {self.name} takes a run: outside a handler call its .function with a run of your own."
                )
            before = (run,)
        return cast("C_co", self.function(*before, *args, **kwargs))

    def __repr__(self) -> str:
        return f"<Task {self.name}>"


class Decorator(Protocol):
    """What ``task(...)`` with options returns; type checkers see the task's own arguments, not a leading ``run``."""

    @overload
    def __call__(self, function: Callable[Concatenate[Run, P], C], /) -> Task[P, C]: ...
    @overload
    def __call__(self, function: Callable[P, C], /) -> Task[P, C]: ...


class TaskRegistry:
    """The tasks of one app, by name.

    Args:
        max_payload: how long the arguments of a call may be, in bytes of JSON.
    """

    def __init__(self, *, max_payload: int = MAX_PAYLOAD) -> None:
        self.max_payload = max_payload
        self._client: Client | None = None
        self._tasks: dict[str, Task[..., object]] = {}

    @property
    def client(self) -> Client:
        """What enqueues.

        Raises:
            ConflictError: no app was connected.
        """
        if self._client is None:
            raise ConflictError(
                "This task's app is not open: enqueue inside `async with app:`, or `with app:` where nothing is async."
            )
        return self._client

    def connect(self, client: Client | None) -> None:
        """Says what enqueues from now on; None: nothing does."""
        self._client = client

    @overload
    def task(self, function: Callable[Concatenate[Run, P], C], /) -> Task[P, C]: ...
    @overload
    def task(self, function: Callable[P, C], /) -> Task[P, C]: ...
    @overload
    def task(self, **keywords: Unpack[TaskKeywords]) -> Decorator: ...
    def task(  # type: ignore[misc]  # mypy does not see that **keywords takes every key of the TypedDict
        self, function: Callable[..., object] | None = None, /, **keywords: object
    ) -> Task[..., object] | Decorator:
        """Registers a function, as ``@task`` or ``@task(queue="mail", ...)``.

        Raises:
            InvalidError: the name is taken, reserved or no name, or an option cannot be used.
        """
        check_keywords(keywords, TaskKeywords)
        given = cast("TaskKeywords", keywords)
        if function is not None:
            return self.register(function, given)
        return cast("Decorator", lambda later: self.register(later, given))

    def register(self, function: Callable[..., object], keywords: TaskKeywords) -> Task[..., object]:
        """What the decorator does."""
        name = _check_name(keywords["name"] if "name" in keywords else _name_of(function))
        if name in self._tasks:
            raise InvalidError(f"There is a task {name!r} already: give one of them another name=.", field="name")
        isolation = keywords.get("isolation")
        if isolation not in (None, "process"):
            raise InvalidError(f"isolation is {isolation!r}; it must be 'process' or None.", field="isolation")
        if isolation and is_async(function):
            raise InvalidError(
                f"Task {name} is async and runs in the event loop, where its timeout stops it: remove isolation.",
                field="isolation",
            )
        task: Task[..., object] = Task(self, name, function, _options(keywords), isolation)
        self._tasks[name] = task
        return task

    def get(self, name: str) -> Task[..., object]:
        """The task of that name.

        Raises:
            TaskUnknownError: none is registered here.
        """
        try:
            return self._tasks[name]
        except KeyError:
            raise TaskUnknownError(f"No task {name!r} is registered here.", field="task") from None

    def names(self) -> tuple[str, ...]:
        """The names registered so far."""
        return tuple(self._tasks)


def is_async(function: Callable[..., object]) -> bool:
    """Whether calling it makes a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - it is asked what kind of function it is


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        own = "names that begin with _ are puntual's own"
        what = own if name.startswith("_") else "a name has letters, digits and . _ : / - only"
        raise InvalidError(f"{name!r} cannot be a task's name: {what}. Give one with name=.", field="name")
    if name in _RESERVED:
        raise InvalidError(f"The name {name!r} is puntual's own: give the task another name=.", field="name")
    return name


def module_of(function: Callable[..., object]) -> str:
    """The module of a function; for one of the program itself, the name under which others would import it."""
    module: str = getattr(function, "__module__", None) or ""
    if module != "__main__":
        return module
    code = getattr(inspect.unwrap(function), "__code__", None)
    file: str = getattr(code, "co_filename", "main")
    return re.split(r"[/\\]", file)[-1].removesuffix(".py")


def _name_of(function: Callable[..., object]) -> str:
    return f"{module_of(function)}.{getattr(function, '__name__', type(function).__name__)}"


def _options(keywords: TaskKeywords) -> CallOptions:
    retry = RetryPolicy(on=_types(keywords.get("retry_on", ())), not_on=_types(keywords.get("retry_not_on", ())))
    if "backoff" in keywords:
        rule = keywords["backoff"]
        if not isinstance(rule, BackoffRule):
            raise InvalidError(
                f"backoff is {rule!r}; it must be like puntual.exponential('5s', cap='1h').", field="backoff"
            )
        retry = msgspec.structs.replace(retry, **msgspec.structs.asdict(rule))
    if "max_attempts" in keywords:
        retry = msgspec.structs.replace(retry, max_attempts=check_attempts(keywords["max_attempts"]))
    policy = RunPolicy(retry=retry)
    if "timeout" in keywords:
        policy = msgspec.structs.replace(policy, timeout_us=timeout_us(keywords["timeout"]))
    if "on_lost_lease" in keywords:
        policy = msgspec.structs.replace(policy, on_lost_lease=_on_lost_lease(keywords["on_lost_lease"]))
    return CallOptions(
        queue=check_name(keywords.get("queue", "default"), field="queue"),
        priority=Priority.parse(keywords.get("priority", "normal")),
        tags=check_tags(keywords.get("tags", ())),
        policy=policy,
    )


def _on_lost_lease(word: str) -> OnLostLease:
    try:
        return OnLostLease(word)
    except ValueError:
        raise InvalidError(f"on_lost_lease is {word!r}; it must be run_on or cancel.", field="on_lost_lease") from None


def _types(names: Sequence[str | type[BaseException]]) -> tuple[str, ...]:
    return tuple(name if isinstance(name, str) else name.__name__ for name in names)
