"""One command line at work: where its answer goes, and what it works on, a database or a server."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

    from puntual.app import App
    from puntual.operations.contract import Operations
    from puntual.settings import Settings

T = TypeVar("T")
Render = Callable[["Console"], None]

_PLAIN_WIDTH: Final = 10_000


def colour() -> bool | None:
    """None lets click look whether the stream is a terminal; NO_COLOR is the user's word against that."""
    return False if os.environ.get("NO_COLOR") else None


class Session:
    """What every command is given.

    Args:
        as_json: answer with one JSON document.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json

    @cached_property
    def settings(self) -> Settings:
        """The settings, from the environment and ``puntual.toml``."""
        return self.settings_with({})

    def settings_with(self, overrides: Mapping[str, object]) -> Settings:
        """The settings, with what this command line said over them."""
        from puntual.settings import load_settings

        return load_settings(os.environ, overrides=overrides)

    @cached_property
    def now(self) -> int:
        """When the answer is read: what ``3 minutes ago`` counts from."""
        from puntual.engine.clock import SystemClock

        return SystemClock().now()

    @cached_property
    def console(self) -> Console:
        """Where people read: standard output, plain and unwrapped where it is no terminal."""
        from rich.console import Console

        return Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)

    def give(self, document: object, render: Render) -> None:
        """Prints the one answer of a command: the document as JSON, or what ``render`` makes of it for people."""
        if self.as_json:
            self.print_json(document)
        else:
            render(self.console)

    def note(self, text: str) -> None:
        """Tells people something beside the answer."""
        if not self.as_json:
            click.echo(text, err=True)

    def print_json(self, document: object) -> None:
        """Writes a document as UTF-8, whatever the terminal's encoding; a lone surrogate as its escape."""
        import json

        indent = 2 if sys.stdout.isatty() else None
        text = json.dumps(document, ensure_ascii=False, indent=indent) + "\n"
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()

    def confirm(self, question: str, *, yes: bool) -> None:
        """Asks before something that cannot be undone.

        Raises:
            InvalidError: there is nobody to ask.
            PuntualError: the answer was no.
        """
        if yes:
            return
        from puntual.model.errors import InvalidError, PuntualError

        if self.as_json or not sys.stdin.isatty():
            raise InvalidError(f"{question} There is no terminal to ask on.", hint="Say --yes to do it.", field="--yes")
        if not click.confirm(question, err=True):
            raise PuntualError("Nothing was changed.")

    def work(self, work: Callable[[Operations], Awaitable[T]], *, tasks: bool = False) -> T:
        """Does something on the database, or on the server where one is set.

        Args:
            work: what to do.
            tasks: import the app of the settings first, so that its tasks and their defaults are known.
        """
        import asyncio

        async def whole() -> T:
            async with self.operations(tasks=tasks) as operations:
                return await work(operations)

        return asyncio.run(whole())

    @asynccontextmanager
    async def operations(self, *, tasks: bool = False) -> AsyncIterator[Operations]:
        """The operations, opened."""
        settings = self.settings
        if settings.server is not None:
            from puntual.operations.remote import RemoteOperations

            async with RemoteOperations(settings.server, settings.token) as remote:
                yield remote
            return
        from puntual.operations.local import LocalOperations

        async with self.app(tasks=tasks) as app:
            yield LocalOperations(app)

    @asynccontextmanager
    async def app(self, *, tasks: bool = False) -> AsyncIterator[App]:
        """The app on the database of the settings, opened."""
        from puntual.cli.loading import load_app
        from puntual.logs import quiet

        quiet(self.settings)
        app = load_app(self.settings if tasks else None)
        app.configure(self.settings)
        async with app:
            yield app
