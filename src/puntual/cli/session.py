"""One command line at work: where its answer goes, and what it works on, a database or a server."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from puntual.cli.words import clean

if TYPE_CHECKING:
    from rich.console import Console

    from puntual.app import App
    from puntual.cli.member import Member
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

    ``member`` is what a supervisor made of this process, where one did.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.member: Member | None = None
        self._kept: int | None = None

    @cached_property
    def settings(self) -> Settings:
        """The settings, from the environment and ``puntual.toml``; what is wrong with them is told once."""
        settings = self.settings_with({})
        for warning in settings.warnings:
            click.secho(f"Warning: {clean(warning)}", fg="yellow", err=True, color=colour())
        return settings

    def settings_with(self, overrides: Mapping[str, object]) -> Settings:
        """The settings, with what this command line said over them."""
        from puntual.settings import load_settings

        settings = load_settings(os.environ, overrides=overrides)
        _check(settings)
        return settings

    @property
    def asks_a_server(self) -> bool:
        """Whether the settings were read and name a server."""
        settings: Settings | None = self.__dict__.get("settings")
        return settings is not None and settings.server is not None

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

    def warn(self, reply: Mapping[str, Any]) -> None:
        """Prints the warnings of a reply; in JSON they are a part of it."""
        for warning in () if self.as_json else reply.get("warnings") or ():
            click.secho(f"Warning: {clean(warning)}", fg="yellow", color=colour())

    def print_json(self, document: object) -> None:
        """Writes a document as UTF-8, whatever the terminal's encoding; a lone surrogate as its escape.

        What a terminal would obey is written as its escape too.
        """
        import json

        sys.stdout.flush()
        terminal = sys.stdout.isatty() if self._kept is None else os.isatty(self._kept)
        text = json.dumps(document, ensure_ascii=False, indent=2 if terminal else None)
        raw = f"{_printable(text) if terminal else text}\n".encode("utf-8", "backslashreplace")
        if self._kept is None:
            sys.stdout.buffer.write(raw)
            sys.stdout.buffer.flush()
            return
        while raw:
            raw = raw[os.write(self._kept, raw) :]

    def keep_stdout(self) -> None:
        """Keeps standard output for the one document: what an app and its handlers print goes to standard error."""
        if not self.as_json or self._kept is not None:
            return
        try:
            out, err = sys.stdout.fileno(), sys.stderr.fileno()
        except (OSError, ValueError):
            # Whoever called us took the streams for themselves.
            return
        sys.stdout.flush()
        self._kept = os.dup(out)
        os.dup2(err, out)

    def give_stdout_back(self) -> None:
        """Standard output is anybody's again."""
        kept, self._kept = self._kept, None
        if kept is not None:
            sys.stdout.flush()
            os.dup2(kept, sys.stdout.fileno())
            os.close(kept)

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

    def work(self, work: Callable[[Operations], Awaitable[T]], *, tasks: bool = False, creates: bool = False) -> T:
        """Does something on the database, or on the server where one is set.

        Args:
            work: what to do.
            tasks: import the app of the settings first, so that its tasks and their defaults are known.
            creates: make the database where there is none, and migrate an old one. Whoever only looks is told instead
                that there is none: in the wrong folder an empty new one would look like lost data.
        """
        import asyncio

        async def whole() -> T:
            async with self.operations(tasks=tasks, creates=creates) as operations:
                return await work(operations)

        return asyncio.run(whole())

    @asynccontextmanager
    async def operations(self, *, tasks: bool = False, creates: bool = False) -> AsyncIterator[Operations]:
        """The operations, opened."""
        settings = self.settings
        if settings.server is not None:
            from puntual.operations.remote import RemoteOperations

            async with RemoteOperations(settings.server, settings.token) as remote:
                yield remote
            return
        from puntual.operations.local import LocalOperations

        async with self.app(tasks=tasks, creates=creates) as app:
            yield LocalOperations(app)

    @asynccontextmanager
    async def app(self, *, tasks: bool = False, creates: bool = False, migrates: bool = False) -> AsyncIterator[App]:
        """The app on the database of the settings, opened; ``tasks`` and ``creates`` are those of `work`.

        ``migrates`` says that a PostgreSQL database may be changed too.
        """
        from puntual.cli.loading import load_app
        from puntual.logs import quiet

        quiet(self.settings)
        self.keep_stdout()
        app = load_app(self.settings if tasks else None)
        app.configure(self.settings)
        if not creates:
            app.only_look()
        if migrates:
            app.may_migrate()
        async with app:
            yield app


def _check(settings: Settings) -> None:
    """What reading a setting alone does not show: that its zone exists, that an address can be taken apart.

    Raises:
        InvalidSettingError: one of them is of no use.
    """
    from puntual.model.errors import InvalidSettingError, InvalidZoneError

    if "TIMEZONE" in settings.sources:
        from puntual.timing.zone import load_zone

        try:
            load_zone(settings.timezone)
        except InvalidZoneError as error:
            text = f"TIMEZONE (from {settings.sources['TIMEZONE']}) cannot be used: {error.message}"
            raise InvalidSettingError(text, hint=error.hint, field="TIMEZONE") from error
    if settings.server is not None:
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(settings.server)
            usable = parts.hostname is not None and (parts.port is None or parts.port > 0)
        except ValueError:
            usable = False
        if not usable:
            raise InvalidSettingError(
                f"SERVER is {settings.server!r} (from {settings.sources.get('SERVER', 'the app')}); it must be an "
                "address like https://puntual.example.com or http://[::1]:8787.",
                field="SERVER",
            )


def _printable(text: str) -> str:
    """JSON whose control, bidirectional and invisible letters are escapes: they stand in its strings only."""
    import json

    return "".join(letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text)
