"""A sentence that is a value: its template and what fills it, so that it can be said in another language later."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Said(msgspec.Struct, frozen=True):
    """A sentence in English, kept with its parts; ``str`` says it in English.

    A part that is itself a `Said` is said in the same language; any other is data and stays as it is.
    """

    template: str
    parts: dict[str, object]

    def __str__(self) -> str:
        return self.template.format(**self.parts)


def as_said(message: str | Said) -> Said:
    """A message as one that may be a part of another; a text is a sentence of its own, with nothing to fill in."""
    return message if isinstance(message, Said) else Said(message.replace("{", "{{").replace("}", "}}"), {})


def either(readings: Sequence[Said]) -> Said:
    """One of several readings: ``a``, ``a or b``, ``a or b or c``."""
    first, *rest = readings
    return said("{one} or {other}", one=first, other=either(rest)) if rest else first


def said(template: str, **parts: object) -> Said:
    """The sentence of a template in the syntax of `str.format`, for example ``said("{day} is no day", day=32)``."""
    return Said(template, parts)
