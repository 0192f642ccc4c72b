"""Each reader turns what somebody wrote into a typed value, or says in half a sentence what would be right.

A reader takes a text (environment, command line) or a value of TOML, and raises `Wrong` with the words that follow
"it must be".
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Final, TypeAlias

from puntual.model.duration import format_duration, parse_duration
from puntual.model.errors import InvalidDurationError

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Reader: TypeAlias = Callable[[object], object]

_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})
_SIZES: Final = {"": 1, "B": 1, "KB": 1 << 10, "KIB": 1 << 10, "MB": 1 << 20, "MIB": 1 << 20}
_SIZE: Final = re.compile(r"(\d{1,12})\s*([KM]I?B|B|)", re.ASCII | re.IGNORECASE)
_APP: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}(%\w+)?", re.ASCII)
_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}", re.ASCII)
_NAME: Final = re.compile(r"[^\s,]{1,200}")
_TOKEN: Final = re.compile(r"[!-~]{1,500}", re.ASCII)
_WEB_URL: Final = re.compile(r"(https?)://[A-Za-z0-9._\-\[\]:]+(/[^\s?#]*)?", re.ASCII | re.IGNORECASE)


class Wrong(ValueError):
    """A value that cannot be used; the text completes the sentence "it must be ..."."""


class Hidden:
    """A text that no repr, str or encoder shows."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the one place that sends it."""
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hidden) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


def boolean(value: object) -> bool:
    """True, yes, on, 1 and their opposites."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise Wrong("true or false")


def whole(low: int, high: int) -> Reader:
    """A whole number from ``low`` to ``high``."""

    def read(value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"\s*\d{1,12}\s*", value, re.ASCII):
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise Wrong(f"a whole number from {low} to {high}")

    return read


def duration(low: str, high: str) -> Reader:
    """Microseconds, from a text like ``15s`` between two others."""
    least, most = parse_duration(low), parse_duration(high)

    def read(value: object) -> int:
        right = f"a duration from {low} to {high}, for example 15s, 5m, 1h30m or 7d"
        if not isinstance(value, str):
            raise Wrong(right)
        try:
            size = parse_duration(value)
        except InvalidDurationError as error:
            raise Wrong(right) from error
        if not least <= size <= most:
            raise Wrong(right)
        return size

    return read


def size(low: int, high: int) -> Reader:
    """Bytes: a number of them, or ``256KB`` and ``1MB``, counted by 1024."""

    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
        count = int(found[1]) * _SIZES[found[2].upper()] if found else -1
        if not low <= count <= high:
            raise Wrong(f"a size from {show_size(low)} to {show_size(high)}, for example 64KB or 1MB")
        return count

    return read


def one_of(*words: str) -> Reader:
    """One of these words, in any case."""

    def read(value: object) -> str:
        if isinstance(value, str) and value.strip().lower() in words:
            return value.strip().lower()
        raise Wrong(" or ".join((", ".join(words[:-1]), words[-1])))

    return read


def some_of(*words: str) -> Reader:
    """Some of these words, at least one, in the order of ``words``."""

    def read(value: object) -> tuple[str, ...]:
        found = {item.lower() for item in _items(value, f"a list out of {', '.join(words)}")}
        if not found or not found <= set(words):
            raise Wrong(f"a list out of {', '.join(words)}")
        return tuple(word for word in words if word in found)

    return read


def names(value: object) -> tuple[str, ...]:
    """A list of names, each once."""
    right = "a list of names, without spaces inside a name"
    found = tuple(dict.fromkeys(_items(value, right)))
    if not all(_NAME.fullmatch(name) for name in found):
        raise Wrong(right)
    return found


def networks(value: object) -> tuple[Network, ...]:
    """A list of addresses and CIDR ranges."""
    right = "a list of addresses or CIDR ranges, for example 10.0.0.0/8, fd00::/8 or 127.0.0.1/32"
    try:
        return tuple(ipaddress.ip_network(item) for item in _items(value, right))
    except ValueError as error:
        raise Wrong(right) from error


def commands(value: object) -> bool | tuple[str, ...]:
    """False, true, or a list of absolute program paths."""
    right = "false, true or a list of absolute program paths, for example /usr/bin/backup"
    try:
        return boolean(value)
    except Wrong:
        found = _items(value, right)
    if not found or not all(path.startswith("/") for path in found):
        raise Wrong(right)
    return found


def matching(pattern: re.Pattern[str], right: str) -> Reader:
    """A text of that shape."""

    def read(value: object) -> str:
        if isinstance(value, str) and pattern.fullmatch(value.strip()):
            return value.strip()
        raise Wrong(right)

    return read


app = matching(_APP, "MODULE:APP, for example shop.tasks:app")
host = matching(_HOST, "an address or a host name without scheme and port, for example 127.0.0.1")
zone = matching(_ZONE, "an IANA time zone, for example America/Bogota or UTC")
_web_url = matching(
    _WEB_URL, "an http or https URL without user, query and fragment, for example https://jobs.example.com"
)


def web_url(value: object) -> str:
    """An http or https URL, without its last slash."""
    return str(_web_url(value)).rstrip("/")


def token(value: object) -> Hidden:
    """A token, hidden from now on."""
    if isinstance(value, str) and _TOKEN.fullmatch(value.strip()):
        return Hidden(value.strip())
    raise Wrong("a token as `puntual token create` prints it, without spaces inside")


def show_size(count: int) -> str:
    """Bytes as they are written: ``64KB``, ``1MB``, ``100B``."""
    for unit in ("MB", "KB"):
        if count and count % _SIZES[unit] == 0:
            return f"{count // _SIZES[unit]}{unit}"
    return f"{count}B"


def show(value: object) -> str:
    """A value as it would be written, for people."""
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value)
    return str(value)


def show_duration(value: object) -> str:
    """Microseconds as ``1h30m``."""
    return format_duration(value) if isinstance(value, int) else str(value)


def _items(value: object, right: str) -> tuple[str, ...]:
    """The items of a list: comma-separated in a text, an array of texts in TOML."""
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(",") if item.strip())
    if isinstance(value, list | tuple) and all(isinstance(item, str) and item.strip() for item in value):
        return tuple(str(item).strip() for item in value)
    raise Wrong(right)
