"""A registered function: its name, its policies, and typed ways to ask for a run of it. A client is plugged in."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from functools import cached_property, update_wrapper
from types import MappingProxyType
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    Literal,
    Never,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from puntual.model.answer import Answers
from puntual.model.call import Call, CallKeywords, CallOptions, check_keywords
from puntual.model.errors import ConflictError, InvalidError, TaskUnknownError
from puntual.model.handle import CURRENT, Run, RunHandle, Waiter
from puntual.model.keywords import BatchKeywords, TaskKeywords, check_batch, declared_options
from puntual.model.naming import check_task_name, is_async, name_of
from puntual.model.payload import MAX_PAYLOAD
from puntual.model.signature import Signature, batch_signature, plain_reader, result_reader

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
B = TypeVar("B", bound=Answers | Awaitable[Answers])


class TaskOptions(CallKeywords, total=False):
    """What `Task.options` takes: ``connection`` is one of the application's own, whose transaction is joined."""

    connection: object


class Joined(Protocol):
    """What enqueues in a transaction of the application's."""

    async def enqueue_calls(self, calls: Sequence[Call]) -> Sequence[str]:
        """As `Client.enqueue_calls`."""
        ...

    def enqueue_calls_sync(self, calls: Sequence[Call]) -> Sequence[str]:
        """The same on the caller's own thread."""
        ...


class Client(Waiter, Protocol):
    """What a task needs of an app to enqueue calls and to wait for their runs."""

    def joined(self, connection: object) -> Joined:
        """What enqueues in the transaction of a connection."""
        ...

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

    ``batch`` is how many runs one call of the function takes at most; None where it is called for each by itself.
    """

    batch: int | None = None
    connection: object = None

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
            InvalidError: these options have a ``connection``, which a value cannot carry.
        """
        if self.connection is not None:
            raise InvalidError(
                "A call carries no connection: give it to enqueue_many(calls, connection=...).", field="connection"
            )
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
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
            StoreBusyError: its unique key is held by a transaction that stays open.
        """
        call = self._call(args, kwargs)
        client = self._registry.client
        asks = client if self.connection is None else client.joined(self.connection)
        (run_id,) = await asks.enqueue_calls([call])
        return RunHandle(run_id, client, self.read_result)

    @overload
    def enqueue_sync(self: Task[Q, Awaitable[R]], /, *args: Q.args, **kwargs: Q.kwargs) -> RunHandle[R]: ...
    @overload
    def enqueue_sync(self: Task[Q, R], /, *args: Q.args, **kwargs: Q.kwargs) -> RunHandle[R]: ...
    def enqueue_sync(self, /, *args: Any, **kwargs: Any) -> RunHandle[Any]:
        """`enqueue` for code that is not async; usable while the app runs in a background thread.

        With a ``connection`` it is done on the caller's own thread, where its transaction is.
        """
        if self.connection is not None:
            call, client = self._call(args, kwargs), self._registry.client
            (run_id,) = client.joined(self.connection).enqueue_calls_sync([call])
            return RunHandle(run_id, client, self.read_result)
        return self._registry.client._block(self.enqueue(*args, **kwargs))  # noqa: SLF001 - as RunHandle does

    def options(self, **changes: Unpack[TaskOptions]) -> Task[P, C_co]:
        """The same task with other options for the calls made through what is returned.

        With ``connection=`` its runs are inserted in the transaction that is open on that connection: they are there
        when it commits, and never were if it rolls back. Further options keep the connection; None takes it away.

        Raises:
            InvalidError: a value cannot be used.
        """
        check_keywords(changes, TaskOptions)
        other = copy(self)
        other.connection = changes.pop("connection", self.connection)
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


class BatchTask(Task[..., C_co]):
    """A task whose function takes many runs in one call, and says what became of each.

    Its function has no parameters for the runs' own arguments: they may be any, by name, and are read as ``run.args``.
    Calling the task itself runs the plain function with a list of runs, here and now.

    Args:
        registry, name, function, options: as those of a task.
        size: how many runs one call takes at most.

    Raises:
        InvalidError: the function cannot be called with a list alone.
    """

    batch: int

    def __init__(
        self, registry: TaskRegistry, name: str, function: Callable[..., object], options: CallOptions, size: int
    ) -> None:
        super().__init__(registry, name, function, options)
        self.batch = size
        try:
            inspect.signature(function).bind([])
        except TypeError:
            raise InvalidError(
                f"Task {name} has batch=: its function must take one argument, the list of its runs.", field="batch"
            ) from None

    @cached_property
    def signature(self) -> Signature:
        """The table of what its runs take: anything by name."""
        return batch_signature(self.name, self.function)

    @cached_property
    def read_result(self) -> Callable[[str | None], Any]:
        """Reads a stored result as plain JSON: the function's own annotation speaks of all its runs."""
        return plain_reader

    def call(self, /, *args: Never, **kwargs: object) -> Call:
        """As ``Task.call``."""
        return super().call(*args, **kwargs)

    async def enqueue(self, /, *args: Never, **kwargs: object) -> RunHandle[Any]:
        """As ``Task.enqueue``."""
        return await super().enqueue(*args, **kwargs)

    def enqueue_sync(self, /, *args: Never, **kwargs: object) -> RunHandle[Any]:
        """As ``Task.enqueue_sync``."""
        return super().enqueue_sync(*args, **kwargs)

    def options(self, **changes: Unpack[TaskOptions]) -> BatchTask[C_co]:
        """As ``Task.options``."""
        return cast("BatchTask[C_co]", super().options(**changes))


class Decorator(Protocol):
    """What ``task(...)`` with options returns; type checkers see the task's own arguments, not a leading ``run``."""

    @overload
    def __call__(self, function: Callable[Concatenate[Run, P], C], /) -> Task[P, C]: ...
    @overload
    def __call__(self, function: Callable[P, C], /) -> Task[P, C]: ...


class BatchDecorator(Protocol):
    """What ``task(batch=...)`` returns."""

    def __call__(self, function: Callable[[list[Run]], B], /) -> BatchTask[B]:
        """Registers the function."""
        ...


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
    @overload
    def task(self, **keywords: Unpack[BatchKeywords]) -> BatchDecorator: ...
    def task(  # type: ignore[misc]  # mypy does not see that **keywords takes every key of the TypedDict
        self, function: Callable[..., object] | None = None, /, **keywords: object
    ) -> Task[..., object] | Decorator | BatchDecorator:
        """Registers a function, as ``@task``, ``@task(queue="mail", ...)`` or ``@task(batch=500, ...)``.

        Raises:
            InvalidError: the name is taken, reserved or no name, or an option cannot be used.
        """
        check_keywords(keywords, BatchKeywords)
        batch = check_batch(keywords.pop("batch")) if "batch" in keywords else None
        given = cast("TaskKeywords", keywords)
        if function is not None:
            return self.register(function, given, batch=batch)
        return cast("Decorator", lambda later: self.register(later, given, batch=batch))

    def register(
        self, function: Callable[..., object], keywords: TaskKeywords, *, batch: int | None = None
    ) -> Task[..., object]:
        """What the decorator does."""
        name = check_task_name(keywords["name"] if "name" in keywords else name_of(function))
        if name in self._tasks:
            raise InvalidError(f"There is a task {name!r} already: give one of them another name=.", field="name")
        options = declared_options(keywords)
        isolation = keywords.get("isolation")
        if isolation is not None:
            _check_isolation(isolation, name, function, batched=batch is not None)
        task: Task[..., object] = (
            Task(self, name, function, options, isolation)
            if batch is None
            else BatchTask(self, name, function, options, batch)
        )
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

    @property
    def tasks(self) -> Mapping[str, Task[..., object]]:
        """Those registered so far, by name."""
        return MappingProxyType(self._tasks)

    def names(self) -> tuple[str, ...]:
        """The names registered so far."""
        return tuple(self._tasks)


def _check_isolation(word: str, name: str, function: Callable[..., object], *, batched: bool) -> None:
    if word != "process":
        raise InvalidError(f"isolation is {word!r}; it must be 'process' or None.", field="isolation")
    why = None
    if is_async(function):
        why = "is async and runs in the event loop, where its timeout stops it"
    elif batched:
        why = "has batch=, and a process of its own takes one run at a time"
    if why is not None:
        raise InvalidError(f"Task {name} {why}: remove isolation.", field="isolation")
