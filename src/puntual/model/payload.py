r"""The one codec: values become JSON text of a closed profile and come back the same, or are refused with one sentence.

The profile: UTF-8 without NUL or lone surrogates, finite numbers, integers kept exactly, text keys, no key twice, at
most 64 arrays and objects deep, and a size that the caller sets. Dates, times, UUID, Decimal, bytes, enums,
dataclasses, Structs, sets and tuples are written as JSON and come back by annotation.

Writing is fast because it is checked backwards: msgspec writes what it is given, and whatever it bent on the way (NaN
to null, a number as a key, a tuple to a list) makes the text read back unequal to the value. Only then is the value
walked. What equality cannot see is NUL, which stands in the text as ``\u0000``, and depth, which the count of brackets
bounds.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Final, TypeVar

import msgspec

from puntual.model.errors import InvalidPayloadError
from puntual.model.profile import MAX_DEPTH, refuse

MAX_PAYLOAD: Final = 256 * 1024
"""The default of the setting ``MAX_PAYLOAD``, in bytes."""

_RESULT_TEXT: Final = 2_000
_PLACE: Final = re.compile(r"(?P<what>.*?)(?: - at (?:the key|key|value)? ?.*?`\$(?P<place>.*)`)?", re.DOTALL)

T = TypeVar("T")


def _subclass(value: object) -> object:
    """Lets subclasses of text and numbers through as what they are; msgspec takes only the types themselves."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    raise NotImplementedError


_write = msgspec.json.Encoder(enc_hook=_subclass).encode
_read = msgspec.json.Decoder().decode
_write_sorted = msgspec.json.Encoder(order="deterministic").encode


def encode(value: object, *, field: str, max_bytes: int | None = None) -> str:
    """The value as compact JSON text.

    Args:
        value: plain JSON values and the rich types above; rich ones lose their type unless they are read by annotation.
        field: where the value stands, for errors.
        max_bytes: how long the text may be; None means no limit.

    Raises:
        InvalidPayloadError: the value is outside the profile; ``field`` is the path of the fault.
    """
    raw = write_plain(value)
    if raw is None:
        raw = write_rich(value, field=field)
    return sized(raw, field=field, max_bytes=max_bytes)


def write_plain(value: object) -> bytes | None:
    """The JSON of a value that is plain through and through, so that it reads back equal; None for any other."""
    try:
        raw = _write(value)
        if _read(raw) != value or b"\\u0000" in raw:
            return None
    except Exception:  # noqa: BLE001 - whatever a stranger's type raises here, the strict walk names it
        return None
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _too_deep(value):
        return None
    return raw


def write_rich(value: object, *, field: str) -> bytes:
    """The JSON of any value in the profile, walked whole.

    Raises:
        InvalidPayloadError: as `encode`.
    """
    try:
        refuse(value, field)
        return _write(value)
    except InvalidPayloadError:
        raise
    except Exception as error:
        raise InvalidPayloadError(f"{field} cannot be written as JSON: {safe_text(error)}.", field=field) from error


def sized(raw: bytes, *, field: str, max_bytes: int | None) -> str:
    """The text, if it is not too long.

    Raises:
        InvalidPayloadError: it is.
    """
    _refuse_size(raw, field, max_bytes)
    return raw.decode()


def decode(text: str | bytes, *, field: str = "payload", max_bytes: int | None = None) -> object:
    """The plain value of a JSON text from anywhere.

    Raises:
        InvalidPayloadError: it is no JSON or outside the profile; a key that stands twice is named.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    _refuse_size(raw, field, max_bytes)
    try:
        raw.decode()
        value: object = _read(raw)
    except UnicodeDecodeError as error:
        raise InvalidPayloadError(f"{field} is not UTF-8 at byte {error.start}.", field=field) from None
    except (msgspec.MsgspecError, RecursionError, ValueError):
        raise _unreadable(raw, field) from None
    written = write_plain(value)
    if written is None:
        refuse(value, field)
    # A key that stood twice stands once in what was read, so the text of our own making proves that there was none.
    if written != raw:
        _refuse_twice(raw, field)
    return value


def check_text(text: str | bytes, *, field: str, max_bytes: int | None = None) -> str:
    """JSON text from outside (API, command line, manifest) in our compact form.

    Raises:
        InvalidPayloadError: as `decode`.
    """
    return encode(decode(text, field=field, max_bytes=max_bytes), field=field, max_bytes=max_bytes)


def convert(value: object, annotation: type[T], *, field: str) -> T:
    """The value that an annotation makes of plain JSON values.

    Raises:
        InvalidPayloadError: it does not fit; the message says what was expected.
    """
    try:
        return msgspec.convert(value, annotation)
    except msgspec.ValidationError as error:
        raise unfit(error, field) from None


def encode_result(value: object, *, max_bytes: int | None = None) -> str:
    """The JSON text of what a handler returned. Never fails: what is outside the profile becomes its text."""
    try:
        return encode(value, field="result", max_bytes=max_bytes)
    except Exception:  # noqa: BLE001 - the run has succeeded, and no result may change that
        return _write(safe_text(value, as_repr=True)).decode()


def digest(text: str) -> str:
    """SHA-256, in hexadecimal, of a JSON text in its canonical form: order of keys and white space do not count."""
    return hashlib.sha256(_write_sorted(_read(text))).hexdigest()


def safe_text(value: object, *, limit: int = _RESULT_TEXT, as_repr: bool = False) -> str:
    """What str or repr say, as text that every store takes: no NUL, no lone surrogate, not endless. Never fails.

    Args:
        value: anything.
        limit: how many characters are kept.
        as_repr: its repr, not its str.
    """
    try:
        text = repr(value) if as_repr else str(value)
    except BaseException as error:  # noqa: BLE001 - a broken __str__ may raise anything, and its text is never worth a run
        text = f"<{type(value).__name__} whose text cannot be shown: {type(error).__name__}>"
    if len(text) > limit:
        text = f"{text[:limit]}... ({len(text):,} characters)"
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def unfit(error: msgspec.ValidationError, field: str) -> InvalidPayloadError:
    """Our error for one of msgspec's, with the path it names put behind ``field``."""
    found = _PLACE.fullmatch(str(error))
    what, place = (found["what"], found["place"] or "") if found else (str(error), "")
    path = field + place
    return InvalidPayloadError(f"{path} does not fit: {what[:1].lower()}{what[1:]}.", field=path)


def _refuse_size(raw: bytes, field: str, max_bytes: int | None) -> None:
    if max_bytes is not None and len(raw) > max_bytes:
        raise InvalidPayloadError(
            f"{field} is {len(raw):,} bytes as JSON; at most {max_bytes:,} are allowed.",
            field=field,
            hint="Keep large data elsewhere and pass a reference, or raise MAX_PAYLOAD.",
        )


def _unreadable(raw: bytes, field: str) -> InvalidPayloadError:
    """Why msgspec would not read it; Python's reader is laxer and tells more."""
    try:
        refuse(json.loads(raw.decode()), field)
    except InvalidPayloadError as error:
        return error
    except json.JSONDecodeError as error:
        return InvalidPayloadError(
            f"{field} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.",
            field=field,
            column=error.colno,
        )
    except (RecursionError, ValueError):
        pass
    return InvalidPayloadError(
        f"{field} is outside the JSON profile: nested deeper than {MAX_DEPTH}, or a number that is too long.",
        field=field,
    )


def _refuse_twice(raw: bytes, field: str) -> None:
    def pairs(items: list[tuple[str, object]]) -> None:
        seen = set()
        for key, _ in items:
            if key in seen:
                raise InvalidPayloadError(
                    f"{field} has the key {safe_text(key, limit=60)!r} twice in one object.", field=field
                )
            seen.add(key)

    json.loads(raw.decode(), object_pairs_hook=pairs)


def _too_deep(value: object) -> bool:
    """Whether plain arrays and objects are nested deeper than the profile allows."""
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for held in level:
            if isinstance(held, dict):
                below.extend(part for part in held.values() if isinstance(part, dict | list))
            elif isinstance(held, list):
                below.extend(part for part in held if isinstance(part, dict | list))
        if not below:
            return False
        level = below
    return True
