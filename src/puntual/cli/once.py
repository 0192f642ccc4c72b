"""What ``puntual worker --once`` takes, as its options say, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click
import msgspec

from puntual.cli.session import Session
from puntual.cli.words import plural
from puntual.model.duration import parse_duration
from puntual.model.errors import InvalidError

#: After so many runs that were lost twice a new process goes on: what one of them spoilt is left behind. Starting one
#: for each would cost seconds where a node that died has left thousands of innocent ones.
_MOST_ALONE: Final = 1_000


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Runs due for at least ``older_us``, at most ``most``, for ``longest_us``; or those that were lost twice."""

    older_us: int = 0
    most: int | None = None
    longest_us: int | None = None
    alone: bool = False


def limits_of(ctx: click.Context, said: Mapping[str, Any]) -> Limits:
    """The limits that were said.

    Raises:
        InvalidError: one of them is nothing, or no duration.
        UsageError: there is nothing to limit.
    """
    limits = Limits(
        older_us=_microseconds(said["older_than"], "--older-than"),
        most=_MOST_ALONE if said["alone"] else said["max_runs"],
        longest_us=_microseconds(said["longest"], "--for") if said["longest"] else None,
        alone=said["alone"],
    )
    if limits != Limits() and not (said["once"] or said["alone"]):
        raise click.UsageError("--older-than, --max-runs and --for need --once.", ctx)
    return limits


def give_taken(session: Session, taken: int) -> None:
    """Answers how many runs were taken."""
    session.give({"taken": taken}, lambda console: console.print(f"{plural(taken, 'run')} taken."))


def _microseconds(text: str | None, flag: str) -> int:
    if text is None:
        return 0
    us = parse_duration(text, field=flag)
    if us == 0:
        raise InvalidError(f"{flag} must be longer than nothing.", field=flag)
    return us
