r"""Each line of a crontab is a comment, a variable, an entry, or unread with the reason.

As crontab(5) has it: a line that reads ``name = value`` is a variable; the command is the rest of an entry's line up
to the first ``%``; what follows is its standard input, in which each further ``%`` is the end of a line; and ``\%`` is
a percent sign anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

#: Of characters; no cron takes as many.
LONGEST_LINE: Final = 1 << 16
_WHY_REBOOT: Final = "@reboot is no time but the start of a machine: leave it to what starts services there"

_VARIABLE: Final = re.compile(r"""[ \t]*(?:"([^"]+)"|'([^']+)'|([^ \t="'][^ \t=]*))[ \t]*=[ \t]*(.*)""", re.DOTALL)
_QUOTED: Final = re.compile(r"""(?:"([^"]*)"|'([^']*)')[ \t]*""")
_AT: Final = re.compile(r"(@[^ \t]+)(?:[ \t]+(.*))?", re.DOTALL)
_FIELDS: Final = re.compile(r"((?:[^ \t]+[ \t]+){4}[^ \t]+)(?:[ \t]+(.*))?", re.DOTALL)
_BLANKS: Final = re.compile(r"[ \t]+")
_USER: Final = re.compile(r"([^ \t]+)(?:[ \t]+(.*))?", re.DOTALL)
_COMMAND: Final = re.compile(r"((?:[^\\%]++|\\.)*+\\?)(?:%(.*))?", re.DOTALL)
_LINE_END: Final = re.compile(r"(?<!\\)%")


class Remark(msgspec.Struct, frozen=True):
    """A comment as it stands, or an empty line."""

    text: str


class Variable(msgspec.Struct, frozen=True):
    """``name=value``, which holds for the entries below it."""

    text: str
    name: str
    value: str


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One command and when it is due: five fields, or an ``@name``; ``stdin`` is empty where there is none."""

    number: int
    text: str
    when: str
    command: str
    stdin: str = ""
    user: str | None = None


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """A line that does not carry over; ``wrong`` where it could not be read, rather than has no place in puntual."""

    number: int
    text: str
    reason: str
    wrong: bool = True


Line: TypeAlias = Remark | Variable | Entry | Unread


def read_lines(data: bytes, *, system: bool) -> Iterator[Line]:
    """The lines in order; ``system`` says that a user stands before each command."""
    rows = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not rows[-1]:
        rows.pop()
    for number, row in enumerate(rows, 1):
        raw = row.removesuffix(b"\r")
        text = raw.decode("utf-8", "backslashreplace")
        if not text.strip(" \t") or text.lstrip(" \t").startswith("#"):
            yield Remark(text)
        elif (reason := _unreadable(raw, text)) is not None:
            yield Unread(number=number, text=text, reason=reason)
        else:
            yield _variable(text) or _entry(number, text, system=system)


def _unreadable(raw: bytes, text: str) -> str | None:
    if b"\0" in raw:
        return "it holds a NUL character, which no command can have"
    if len(text) > LONGEST_LINE:
        return f"it has {len(text):,} characters, and {LONGEST_LINE:,} are the most"
    try:
        raw.decode()
    except UnicodeDecodeError:
        return "it is not UTF-8: save the crontab in that encoding"
    return None


def _variable(text: str) -> Variable | None:
    """The variable that a line sets; None where it is none, or the quotes of its value do not close."""
    found = _VARIABLE.fullmatch(text)
    if found is None:
        return None
    value = found[4].rstrip(" \t")
    if value[:1] in ("'", '"'):
        quoted = _QUOTED.fullmatch(value)
        if quoted is None:
            return None
        value = next(part for part in quoted.groups() if part is not None)
    return Variable(text.strip(), next(part for part in found.groups()[:3] if part is not None), value)


def _entry(number: int, text: str, *, system: bool) -> Entry | Unread:
    def unread(reason: str) -> Unread:
        return Unread(number=number, text=text.strip(), reason=reason)

    # cronie: a minus before an entry keeps it out of the log.
    body = text.strip(" \t").removeprefix("-")
    found = (_AT if body.startswith("@") else _FIELDS).fullmatch(body)
    if found is None:
        return unread("it is neither an entry (five fields or an @name, then a command) nor a variable (NAME=value)")
    when, rest = _BLANKS.sub(" ", found[1]), found[2] or ""
    if when.lower() == "@reboot":
        return Unread(number=number, text=text.strip(), reason=_WHY_REBOOT, wrong=False)
    user = None
    if system and (owned := _USER.fullmatch(rest)) is not None:
        user, rest = owned[1], owned[2] or ""
    if not rest:
        return unread("the command is missing" + (": in a system crontab a user stands before it" if system else ""))
    command, stdin = _split_input(rest)
    if not command.strip():
        return unread("its command is empty: the first % that has no backslash before it ends the command")
    return Entry(number=number, text=text.strip(), when=when, command=command, stdin=stdin, user=user)


def _split_input(rest: str) -> tuple[str, str]:
    """The command, and what it finds on standard input; a last line that is not ended is ended, as cron does."""
    found = _COMMAND.match(rest)
    assert found is not None, "any text is a command"
    command, given = found[1].replace("\\%", "%"), found[2] or ""
    stdin = _LINE_END.sub("\n", given).replace("\\%", "%")
    return command, stdin + "\n" if stdin and not stdin.endswith("\n") else stdin
