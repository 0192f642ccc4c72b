"""Breaks living code by one exact change of its text, and puts it right again when the block is left."""

from __future__ import annotations

import builtins
import dis
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import CodeType, FunctionType
from typing import NamedTuple

import msgspec

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

    @contextmanager
    def broken() -> Iterator[None]:
        # What another edit has left of them.
        good: Mapping[str, str] = vars(statements)["texts"]("puntual.store.sqlite")
        if name not in good:
            raise StaleEditError(f"there is no {name}.sql")
        edited = {**good, name: _edited(f"{name}.sql", good[name], old, new, times)}
        with constant(statements, "texts", lambda _: edited)():
            _forget()
            try:
                yield
            finally:
                _forget()

    return broken


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
