"""An answer is read no further than its cap, on the wire and decoded, and becomes an outcome that can be stored."""

from __future__ import annotations

import codecs
import re
import zlib
from http import HTTPStatus
from typing import Final, Protocol

import msgspec

from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.errors import InvalidInstantError
from puntual.model.instant import SECOND, from_datetime
from puntual.model.outcome import Evidence, Outcome

#: A result is read by people and by tasks that follow; what is larger is in the evidence.
_LARGEST_JSON: Final = 16 << 10
_EXCERPT: Final = 2 << 10
_DEEPEST: Final = 32
_TEXT_TYPES: Final = ("text/", "application/json", "application/xml", "application/x-www-form-urlencoded")
_GZIP_OR_ZLIB: Final = 47
#: Python knows more names, but some of them are no character sets (rot13, hex) or yield what cannot be stored.
_CHARSETS: Final = re.compile(
    r"utf-?8|utf-?16(le|be)|us-ascii|iso-8859-([1-9]|1[013456])|windows-125[0-8]|koi8-[ru]|shift_jis|euc-(jp|kr)|gbk|gb2312"
    r"|gb18030|big5",
    re.ASCII,
)


class Stream(Protocol):
    """What a body is read from."""

    async def read(self, n: int = -1) -> bytes:
        """At most ``n`` bytes, as soon as there are any; none at the end."""
        ...


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A status line and headers that came, and what of the body could be kept.

    ``truncated`` is the number of bytes known to be cut off; ``broken`` says that the body ended too early.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    truncated: int = 0
    broken: bool = False

    def header(self, name: str) -> str:
        """The first header of that (lower-case) name, or an empty text."""
        return next((value for key, value in self.headers if key.lower() == name), "")


async def read_capped(stream: Stream, cap: int, body: bytearray) -> bool:
    """Fills ``body`` up to ``cap`` bytes, with what came even if reading fails; True if there are more."""
    while part := await stream.read(cap + 1 - len(body)):
        body += part
        if len(body) > cap:
            del body[cap:]
            return True
    return False


def decoded(answer: Answer, cap: int) -> Answer:
    """The answer with a gzip or deflate body unpacked, to ``cap`` bytes and not one more; others stay as they came."""
    if answer.header("content-encoding").strip().lower() not in ("gzip", "x-gzip", "deflate"):
        return answer
    unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        body = unpacker.decompress(answer.body, cap + 1)
    except zlib.error:
        return answer
    truncated = max(answer.truncated, len(unpacker.unconsumed_tail), len(body) - cap, 0)
    return msgspec.structs.replace(answer, body=body[:cap], truncated=truncated)


def outcome_of(answer: Answer, *, timings: dict[str, float], now: int) -> Outcome:
    """Success for a complete 2xx, failure for all else; the status and what came of the body are kept either way.

    Args:
        answer: what came.
        timings: milliseconds by phase.
        now: the wall clock in microseconds, for a ``Retry-After`` that is a date.
    """
    error = _error(answer)
    return Outcome(
        kind=OutcomeKind.FAILED if error else OutcomeKind.SUCCEEDED,
        result=None if error else _result(answer),
        error=error,
        status_code=answer.status,
        timings=timings,
        retry_after_us=retry_after(answer.header("retry-after"), now) if error else None,
        evidence=Evidence(
            body=answer.body,
            content_type=answer.header("content-type") or None,
            headers=tuple((name, "***" if name.lower() == "set-cookie" else value) for name, value in answer.headers),
            truncated=answer.truncated,
        ),
    )


def retry_after(text: str, now: int) -> int | None:
    """Microseconds that a ``Retry-After`` asks to wait (RFC 9110, 10.2.3: seconds or a date); None if it says nothing.

    Args:
        text: the header's value.
        now: the wall clock, microseconds.
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return int(text[:9]) * SECOND
    if not text:
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - 15 ms that only a date in this header pays

    try:
        return max(from_datetime(parsedate_to_datetime(text)) - now, 0)
    except (ValueError, TypeError, OverflowError, InvalidInstantError):
        return None


def _error(answer: Answer) -> ErrorInfo | None:
    if not 200 <= answer.status < 300:
        return ErrorInfo("HTTPStatus", _status_line(answer.status) + _redirection(answer))
    if answer.broken:
        return ErrorInfo(
            "BrokenAnswer", f"{_status_line(answer.status)}, but the body broke off after {len(answer.body)} bytes"
        )
    return None


def _status_line(status: int) -> str:
    """The status with its registered words; the server's own words are not trusted to be text."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _redirection(answer: Answer) -> str:
    """Where a redirect pointed, without the query, which may carry tokens."""
    location = answer.header("location")
    if answer.status // 100 != 3 or not location:
        return ""
    path, question, _ = location.partition("?")
    shown = path.partition("#")[0][:200] + ("?..." if question else "")
    return f": it pointed to {shown}, and redirects are not followed"


def _result(answer: Answer) -> str:
    """The result of a success as JSON text: the status, and the body where it is JSON or text."""
    kind = answer.header("content-type").partition(";")[0].strip().lower()
    result: dict[str, object] = {"status": answer.status}
    if kind == "application/json" or kind.endswith("+json"):
        value = _json(answer)
        result["body"] = _excerpt(answer) if value is msgspec.UNSET else value
    elif answer.body and (not kind or kind.startswith(_TEXT_TYPES) or kind.endswith("+xml")):
        result["body"] = _excerpt(answer)
    return msgspec.json.encode(result).decode()


def _json(answer: Answer) -> object:
    """The body as a value that fits the payload profile, else UNSET."""
    body = answer.body
    if answer.truncated or len(body) > _LARGEST_JSON or b"\\u0000" in body:
        return msgspec.UNSET
    try:
        value: object = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return msgspec.UNSET
    return value if body.count(b"[") + body.count(b"{") <= _DEEPEST or _is_flat(value, _DEEPEST) else msgspec.UNSET


def _is_flat(value: object, levels: int) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_is_flat(item, levels - 1) for item in inner)
    return True


def _excerpt(answer: Answer) -> str:
    """The beginning of the body as text: any bytes in any declared character set give storable text."""
    charset = answer.header("content-type").lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    known = charset if _CHARSETS.fullmatch(charset) else "utf-8"
    # Incremental, so that a character cut in two by the excerpt's end leaves no mark.
    text = codecs.getincrementaldecoder(known)(errors="replace").decode(answer.body[:_EXCERPT])
    return text.replace("\0", "\ufffd").encode("utf-8", errors="replace").decode()
