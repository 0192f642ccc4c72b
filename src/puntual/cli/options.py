"""Options that many commands share, each declared once: ``--json`` everywhere, filters and pages of lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click

from puntual.cli.session import Session

F = TypeVar("F", bound=Callable[..., Any])

STATES: Final = ("pending", "running", "succeeded", "dead", "cancelled")
#: Those that this release makes runs by.
ORIGINS: Final = ("tick", "event", "trigger", "backfill", "replay")
FATES: Final = ("ran", "skipped", "missed", "coalesced", "planned")
OVERLAPS: Final = ("skip", "buffer_one", "buffer_all", "cancel_other", "allow_all")
PRIORITIES: Final = ("critical", "high", "normal", "low")


def _note_json(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    session = ctx.find_object(Session)
    if wanted and session is not None:
        session.as_json = True


JSON_FLAG: Final = click.Option(
    ["--json"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_note_json,
    help="Answer with one JSON document; errors too.",
)


class Command(click.Command):
    """A command that takes ``--json``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - handed on to click as they are
        super().__init__(*args, **kwargs)
        self.params.append(JSON_FLAG)


class Group(click.Group):
    """A group whose commands take ``--json``, as it does itself."""

    command_class = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - handed on to click as they are
        super().__init__(*args, **kwargs)
        self.params.append(JSON_FLAG)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Its commands, in the order in which they are written."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the words.

        Raises:
            UsageError: the command of this group is missing.
        """
        if not self.invoke_without_command and not [word for word in args if word != "--json"]:
            ctx.fail(f"The command is missing: {', '.join(self.list_commands(ctx))}.")
        return super().parse_args(ctx, args)


def apply_all(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """One decorator that does what several do, the first outermost."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


paging = apply_all(
    click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="At most this many."),
    click.option("--cursor", help="Go on where an earlier answer said next_cursor."),
)

period = apply_all(
    click.option("--since", metavar="T", help="From this time on: an instant, 24h, today, yesterday."),
    click.option("--until", metavar="T", help="Before this time."),
)

#: Filters of runs that have neither a state nor a queue of their own choosing.
narrow = apply_all(
    click.option("--schedule", multiple=True, metavar="NAME", help="Of this schedule (repeatable)."),
    click.option("--task", multiple=True, metavar="NAME", help="Of this task (repeatable)."),
    click.option("--tag", multiple=True, metavar="TAG", help="With this tag (repeatable)."),
    click.option("--origin", multiple=True, type=click.Choice(ORIGINS), help="Made by this (repeatable)."),
    period,
)

queues = click.option("--queue", multiple=True, metavar="NAME", help="In this queue (repeatable).")
states = click.option("--state", multiple=True, type=click.Choice(STATES), help="In this state (repeatable).")
processes = click.option(
    "--processes",
    "number",
    type=click.IntRange(1, 100),
    metavar="N",
    help="So many processes under a supervisor, which starts again what dies.",
)
yes = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
timeout = click.option("--timeout", metavar="D", help="Wait at most this long; then exit 1, and the run goes on.")


def longest(said: str | None) -> int | None:
    """The microseconds of ``--timeout``.

    Raises:
        InvalidDurationError: it is none.
    """
    if said is None:
        return None
    from puntual.model.duration import parse_duration

    return parse_duration(said, field="--timeout")


def where(given: Mapping[str, object]) -> dict[str, Any]:
    """The filter, or the body, that options make: only what was said, repeated ones as lists."""
    said = {name: value for name, value in given.items() if value is not None and value != ()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}


def json_value(text: str | None, flag: str) -> Any:  # noqa: ANN401 - any JSON value
    """What a JSON argument holds; None where it was not given.

    Raises:
        InvalidPayloadError: it is no JSON.
    """
    if text is None:
        return None
    from puntual.model import payload

    return payload.decode(payload.check_text(text, field=flag), field=flag)
