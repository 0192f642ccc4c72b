"""The URL of a PostgreSQL database is checked before anything connects, and is never shown with its password."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from puntual.settings.values import Wrong

SCHEMES: Final = ("postgresql", "postgres")
EXAMPLE: Final = "postgresql://puntual@db.example.com:5432/puntual"
_SECRET: Final = frozenset({"password", "sslpassword"})
#: What may follow the question mark; anything else would be sent to the server, which refuses what it does not know.
OPTIONS: Final = frozenset(
    {"application_name", "dbname", "host", "passfile", "port", "sslcert", "sslcrl", "sslkey", "sslmode"}
    | {"sslnegotiation", "sslrootcert", "target_session_attrs", "user", "ssl_min_protocol_version"}
    | {"ssl_max_protocol_version", *_SECRET}
)
_SSL_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+(%\w+)?\]|[A-Za-z0-9._%-]+)(:(?P<port>\d{1,5}))?", re.ASCII)
_ESCAPES: Final = "in user and password write @ as %40, / as %2F, ? as %3F, # as %23 and % as %25"


def postgres_url(value: object) -> str:
    """The URL of a PostgreSQL database, as it was written; several hosts are separated by commas."""
    if not isinstance(value, str):
        raise Wrong(EXAMPLE)
    url = value.strip()
    scheme, separator, _ = url.partition("://")
    if scheme.lower() not in SCHEMES or not separator:
        raise Wrong(f"like {EXAMPLE}, without the name of a driver")
    if any(letter.isspace() or not letter.isprintable() for letter in url):
        raise Wrong(f"like {EXAMPLE}, without spaces and control characters")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise Wrong(f"like {EXAMPLE}; {_ESCAPES}") from error
    if parts.fragment or "#" in url or parts.netloc.count("@") > 1:
        raise Wrong(f"like {EXAMPLE}; {_ESCAPES}")
    options = _options(parts)
    _check_hosts(parts)
    if not parts.path.strip("/") and not options.get("dbname"):
        raise Wrong(f"like {EXAMPLE}, with the name of the database at its end")
    return url


def is_postgres(url: str) -> bool:
    """Whether a database URL is one of PostgreSQL."""
    return url.partition(":")[0].partition("+")[0].strip().lower() in SCHEMES


def shown_url(value: object) -> str:
    """A checked URL for people: no password, in whatever part of it one stands."""
    url = str(value)
    if not is_postgres(url):
        return url
    parts = urlsplit(url)
    who, at, hosts = parts.netloc.rpartition("@")
    user, colon, _ = who.partition(":")
    query = urlencode([(key, "***" if key in _SECRET else text) for key, text in parse_qsl(parts.query)], safe="*/,:")
    return parts._replace(netloc=f"{user}{colon and ':***'}{at}{hosts}", query=query).geturl()


def _options(parts: SplitResult) -> dict[str, str]:
    try:
        options = dict(parse_qsl(parts.query, strict_parsing=True, keep_blank_values=True)) if parts.query else {}
    except ValueError as error:
        raise Wrong(f"like {EXAMPLE}; {_ESCAPES}") from error
    if not options.keys() <= OPTIONS:
        raise Wrong(f"like {EXAMPLE}, with no other options than {', '.join(sorted(OPTIONS))}")
    if options.get("sslmode", _SSL_MODES[0]) not in _SSL_MODES:
        raise Wrong(f"a URL whose sslmode is one of {', '.join(_SSL_MODES)}")
    if not all(port.isdecimal() and 0 < int(port) < 65536 for port in options.get("port", "1").split(",")):
        raise Wrong("a URL whose ports are numbers from 1 to 65535")
    return options


def _check_hosts(parts: SplitResult) -> None:
    hosts = parts.netloc.rpartition("@")[2]
    for host in hosts.split(",") if hosts else ():
        found = _HOST.fullmatch(host)
        if found is None or not 0 < int(found["port"] or 5432) < 65536:
            raise Wrong(f"like {EXAMPLE}, its hosts separated by commas and its ports from 1 to 65535; {_ESCAPES}")
