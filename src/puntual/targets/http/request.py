"""What an HTTP run asks for, checked so strictly that whatever passes can be sent and nothing can be injected."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Final, TypeAlias
from urllib.parse import SplitResult, urlsplit

import msgspec

from puntual.model.errors import InvalidError
from puntual.model.payload import safe_text
from puntual.targets.http.guard import Network, allowing, verdict

Scalar: TypeAlias = str | int | float | bool
Pairs: TypeAlias = dict[str, Scalar | tuple[Scalar, ...]]

#: Keys that later releases read. The value beside a name means what is done already, so it is accepted and dropped.
_LATER: Final[dict[str, object]] = {
    "auth": None,
    "ca": None,
    "client_cert": None,
    "expect": None,
    "files": None,
    "proxy": None,
    "redirects": 0,
    "sign": None,
    "verify": True,
}
_KNOWN: Final = ("method", "url", "query", "headers", "json", "form", "body")
_BODIES: Final = ("json", "form", "body")

_METHOD: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,31}", re.ASCII)
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}", re.ASCII)
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\U0010ffff]*")
_URL: Final = re.compile(r"[^\x00-\x20\x7f-\xa0\\<>\"{}^`|]{1,8000}")
_LABEL: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?|(?=.*[^\x00-\x7f])[\w-]{1,63}")
_NUMBER: Final = re.compile(r"\d+|0[xX][0-9A-Fa-f]*")

#: What the connection itself decides, and the key by which a receiver knows a run again.
_OURS: Final = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "idempotency-key",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The arguments of the task ``http``. ``json`` stays the text that it came as, so no number loses a digit.

    Without ``method`` it is POST when there is a body, else GET. ``query`` is added to what ``url`` has. At most one of
    ``json``, ``form`` (sent URL-encoded) and ``body`` (sent as it is, in UTF-8) is given.
    """

    url: str
    method: str = ""
    query: Pairs = {}
    headers: dict[str, str] = {}
    json: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    form: Pairs | msgspec.UnsetType = msgspec.UNSET
    body: str | msgspec.UnsetType = msgspec.UNSET


_DECODER: Final = msgspec.json.Decoder(HttpRequest)


def check_http(args: object, *, field: str, guard: Iterable[Network] | None = None) -> str:
    """The arguments of an ``http`` run as JSON text, normalised: what is sent is exactly what is kept.

    Args:
        args: a mapping with url, method, query, headers and one of json, form, body.
        field: where the mapping stands, for errors, for example ``schedules.nightly.http``.
        guard: the ranges that the operator opened, to refuse a blocked literal address now; None leaves it to the run.

    Raises:
        InvalidError: a key or value cannot be used; the error names its path.
    """
    if not isinstance(args, dict):
        raise InvalidError(f"{field} must be a mapping with at least a url.", field=field)
    try:
        text = msgspec.json.encode(_without_later_keys(args, field))
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{field} holds a value that JSON cannot carry: {safe_text(error)}."
        raise InvalidError(message, field=field) from None
    request = read_request(text, field=field)
    host = _split(request.url, field).hostname or ""
    if guard is not None and _is_address(host):
        networks = tuple(guard)
        if reason := verdict(host, networks):
            message = f"{field}.url leads to {host}, {reason}; to allow it set {allowing(host, networks)}."
            raise InvalidError(message, field=f"{field}.url")
    return msgspec.json.encode(request).decode()


def read_request(args: str | bytes, *, field: str = "args") -> HttpRequest:
    """The request that JSON arguments ask for, checked and with its method written out.

    Raises:
        InvalidError: a key or value cannot be used.
    """
    try:
        request = _DECODER.decode(args)
    except (ValueError, RecursionError) as error:
        raise _shape_error(args, error, field) from None
    _check_texts(request, field)
    _check_url(request.url, field)
    _check_headers(request.headers, f"{field}.headers")
    given = [name for name in _BODIES if getattr(request, name) is not msgspec.UNSET]
    if len(given) > 1:
        raise InvalidError(f"{field} has {' and '.join(given)}; a request has one body.", field=f"{field}.{given[1]}")
    method = request.method or ("POST" if given else "GET")
    if not _METHOD.fullmatch(method) or method.upper() == "CONNECT":
        raise InvalidError(f"{field}.method is {method!r}; it must be like GET or POST.", field=f"{field}.method")
    return msgspec.structs.replace(request, method=method.upper())


def _without_later_keys(args: dict[str, object], field: str) -> dict[str, object]:
    kept = {}
    for key, value in args.items():
        if key not in _LATER:
            kept[key] = value
        elif value != _LATER[key] or type(value) is not type(_LATER[key]):
            raise InvalidError(f"{field}.{key} is not in this release; leave it out.", field=f"{field}.{key}")
    return kept


def _shape_error(args: str | bytes, error: Exception, field: str) -> InvalidError:
    """An error in our words: unknown keys with the nearest known one, else the path and what the decoder expected."""
    try:
        raw = msgspec.json.decode(args)
    except (ValueError, RecursionError):
        raw = None
    if not isinstance(raw, dict):
        return InvalidError(f"{field} must be a JSON mapping with at least a url.", field=field)
    for key in raw:
        if key not in _KNOWN:
            later = "is not in this release" if key in _LATER else f"is no key of http{_nearest(key)}"
            return InvalidError(f"{field}.{key} {later}.", field=f"{field}.{key}")
    if "url" not in raw:
        return InvalidError(f"{field} has no url; write where to send the request.", field=f"{field}.url")
    what, _, path = str(error).partition(" - at `$")
    place = field + path.rstrip("`").replace("[...]", "")
    return InvalidError(f"{place} cannot be used: {what[:1].lower() + what[1:]}.", field=place)


def _check_url(url: str, field: str) -> None:
    parts = _split(url, field)
    wrong = None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        wrong = "be absolute, like https://example.com/path"
    elif "@" in parts.netloc:
        wrong = "hold no user or password; send them in a header, like Authorization"
    elif "#" in url:
        wrong = "have no part after #, which is never sent; write a # that is meant as %23"
    elif not _is_host(parts.hostname):
        wrong = "name a host by its domain or by its usual address, like example.com, 93.184.215.14 or [2606:2800::1]"
    if wrong:
        raise InvalidError(f"{field}.url is {_short(_masked(url))}; it must {wrong}.", field=f"{field}.url")


def _split(url: str, field: str) -> SplitResult:
    """The parts of a URL of allowed characters; what `urlsplit` would strip or repair is refused before."""
    wrong = "have no spaces, quotes, braces, backslashes or control characters; percent-encode them"
    if _URL.fullmatch(url):
        try:
            parts = urlsplit(url)
            if parts.port != 0:
                return parts
        except ValueError:
            # What is between brackets is no address, or what follows the colon is no port.
            pass
        wrong = "have a host and a port from 1 to 65535, like https://example.com:8443/path"
    raise InvalidError(f"{field}.url is {_short(_masked(url))}; it must {wrong}.", field=f"{field}.url")


def _masked(url: str) -> str:
    """A URL that an error may repeat: without user and password."""
    return re.sub(r"//.*@", "//***@", url, flags=re.DOTALL)


def _is_host(host: str) -> bool:
    """Whether every reader takes the host for the same thing.

    A last label that is a number makes it an address (WHATWG URL, "ends in a number"), which then has to be written in
    the usual way: decimal, octal and hexadecimal spellings mean other addresses to other readers.
    """
    if _is_address(host):
        return "%" not in host
    labels = host.removesuffix(".").split(".")
    return len(host) <= 253 and all(map(_LABEL.fullmatch, labels)) and not _NUMBER.fullmatch(labels[-1])


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _check_headers(headers: dict[str, str], field: str) -> None:
    seen: set[str] = set()
    for name, value in headers.items():
        place = f"{field}.{name}"
        lower = name.lower()
        if not _HEADER.fullmatch(name):
            raise InvalidError(f"{field} has the name {_short(name)}, which is no header name.", field=field)
        if lower in seen:
            raise InvalidError(f"{place} is given twice; header names do not tell case apart.", field=place)
        if lower in _OURS:
            raise InvalidError(f"{place} is set by puntual for each request; leave it out.", field=place)
        if not _HEADER_VALUE.fullmatch(value):
            raise InvalidError(f"{place} has a line break or control character; a header is one line.", field=place)
        seen.add(lower)


def _check_texts(request: HttpRequest, field: str) -> None:
    for name, text in _texts(request):
        if "${" in text:
            message = f"{field}.{name} holds ${{...}}; filling in values is not in this release."
            raise InvalidError(message, field=f"{field}.{name}")


def _texts(request: HttpRequest) -> Iterator[tuple[str, str]]:
    """Every text that goes out, with the key that it stands under."""
    yield "url", request.url
    for name, pairs in (("query", request.query), ("headers", request.headers), ("form", request.form)):
        if isinstance(pairs, dict):
            yield from ((f"{name}.{key}", f"{key} {value}") for key, value in pairs.items())
    if isinstance(request.body, str):
        yield "body", request.body
    if isinstance(request.json, msgspec.Raw):
        yield "json", bytes(request.json).decode()


def _nearest(key: str) -> str:
    close = get_close_matches(key, [*_KNOWN, *_LATER], n=1)
    return f"; the nearest one is {close[0]}" if close else f"; it has {', '.join(_KNOWN)}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
