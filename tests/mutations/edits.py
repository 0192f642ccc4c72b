"""Breaks living code by one exact change of its text, and puts it right again when the block is left."""

from __future__ import annotations

import builtins
import dis
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

import msgspec

from puntual.store.postgres import statements as server_statements
from puntual.store.sqlite import migrate, statements

#: Breaks something when it is entered.
Edit = Callable[[], AbstractContextManager[None]]


class Mutation(NamedTuple):
    """One way to break puntual, by some edits at once."""

    name: str
    broken: str
    edits: tuple[Edit, ...]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Broken so until the block is left.

        Raises:
            StaleEditError: it can no longer be broken so.
        """
        with ExitStack() as stack:
            for edit in self.edits:
                stack.enter_context(edit())
            yield


def mutation(name: str, broken: str, *edits: Edit) -> Mutation:
    """Names a mutation and says in one sentence what is broken."""
    return Mutation(name, broken, edits)


class StaleEditError(Exception):
    """What an edit was to change is not there any more, or twice: the catalogue is older than the code."""


def code(function: Callable[..., object] | None, old: str, new: str) -> Edit:
    """An edit of a function or method: wherever it was imported to, the very same object does something else.

    Args:
        function: which; of a property, its ``fget``.
        old: text that stands in its source once.
        new: what shall stand there instead.
    """

    @contextmanager
    def broken() -> Iterator[None]:
        plain = inspect.unwrap(function) if function is not None else None
        if not isinstance(plain, FunctionType):
            raise StaleEditError(f"{function!r} is no function")
        good = plain.__code__
        plain.__code__ = _compiled(plain, old, new)
        try:
            yield
        finally:
            plain.__code__ = good

    return broken


def constant(owner: object, name: str, value: object) -> Edit:
    """An edit of a constant of a module or class."""

    @contextmanager
    def broken() -> Iterator[None]:
        if not hasattr(owner, name):
            raise StaleEditError(f"{owner} has no {name}")
        good = getattr(owner, name)
        setattr(owner, name, value)
        try:
            yield
        finally:
            setattr(owner, name, good)

    return broken


def sql(name: str, old: str, new: str, *, times: int = 1) -> Edit:
    """An edit of a statement of the SQLite store, or of a part that several share; ``old`` stands there so often."""
    return partial(_reworded, statements, name, lambda text: _edited(f"{name}.sql", text, old, new, times))


def server_sql(name: str, old: str, new: str) -> Edit:
    """The same of the PostgreSQL store."""
    return partial(_reworded, server_statements, name, lambda text: _edited(f"{name}.sql", text, old, new))


@contextmanager
def _reworded(module: ModuleType, name: str, change: Callable[[str], str]) -> Iterator[None]:
    # What another edit has left of them.
    good: Mapping[str, str] = vars(module)["texts"](module.__package__)
    if name not in good:
        raise StaleEditError(f"there is no {name}.sql")
    edited = {**good, name: change(good[name])}
    with constant(module, "texts", lambda _: edited)():
        _forget()
        try:
            yield
        finally:
            _forget()


def schema(old: str, new: str) -> Edit:
    """An edit of the schema that the SQLite store makes."""

    @contextmanager
    def broken() -> Iterator[None]:
        first, *others = migrate.shipped()
        edited = msgspec.structs.replace(first, text=_edited(first.name, first.text, old, new))
        with constant(migrate, "shipped", lambda: [edited, *others])():
            yield

    return broken


def _forget() -> None:
    statements.sql.cache_clear()
    statements._stretched.cache_clear()
    server_statements.sql.cache_clear()


def _compiled(function: FunctionType, old: str, new: str) -> CodeType:
    """The code of a function with another text."""
    source = textwrap.dedent(inspect.getsource(function))
    text = _edited(function.__qualname__, source, old, new)
    module = compile(f"from __future__ import annotations\n{text}", f"<{function.__qualname__}, broken>", "exec")
    for part in module.co_consts:
        if isinstance(part, CodeType) and part.co_name == function.__name__:
            unknown = _globals(part) - function.__globals__.keys() - vars(builtins).keys()
            if unknown:
                raise StaleEditError(f"{function.__module__} knows nothing of {', '.join(sorted(unknown))}")
            return part
    raise StaleEditError(f"{function.__qualname__} is no plain function")


def _globals(part: CodeType) -> set[str]:
    """The names that code looks up outside of itself: one that is not there would break more than was meant."""
    found = {one.argval for one in dis.get_instructions(part) if one.opname == "LOAD_GLOBAL"}
    return found.union(*(_globals(inner) for inner in part.co_consts if isinstance(inner, CodeType)))


def _edited(where: str, text: str, old: str, new: str, times: int = 1) -> str:
    if (count := text.count(old)) != times:
        raise StaleEditError(f"{old!r} stands {count} times in {where}, not {times}")
    return text.replace(old, new)
