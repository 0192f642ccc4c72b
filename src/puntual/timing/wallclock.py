"""A time as the clock on the wall shows it, with no offset: seconds since 1970-01-01T00:00 there."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from puntual.model.errors import InvalidRuleError

_TEXT: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?", re.ASCII | re.IGNORECASE)


def parse_wall(text: str, *, field: str | None = None) -> int:
    """The wall second that ``2027-01-01T00:00`` or ``2027-01-01 00:00:30`` names.

    Raises:
        InvalidRuleError: the text is no such time.
    """
    shown = repr(text if len(text) <= 60 else text[:57] + "...")
    if not _TEXT.fullmatch(text):
        raise InvalidRuleError(f"{shown} is no time: write it like 2027-01-01T09:30, or with an offset", field=field)
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        raise InvalidRuleError(f"{shown} is no time: {error}", field=field) from error
    return int(moment.timestamp())


def format_wall(wall: int) -> str:
    """The wall second as ``2027-01-01T00:00:00``."""
    return datetime.fromtimestamp(wall, UTC).replace(tzinfo=None).isoformat()
