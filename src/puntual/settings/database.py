"""A database URL names a file that lasts or a database of PostgreSQL, or is refused with the reason."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from puntual.settings.postgres import EXAMPLE, is_postgres, postgres_url
from puntual.settings.values import Wrong

_SQLITE: Final = "sqlite://"
_EXAMPLES: Final = "sqlite:///puntual.db for a file in the working folder, or sqlite:////var/lib/puntual/puntual.db"


def database_url(value: object) -> str:
    """The URL of a SQLite file or of a PostgreSQL database, as it was written."""
    if not isinstance(value, str) or "\0" in value:
        raise Wrong(f"{_EXAMPLES}, or {EXAMPLE}")
    url = value.strip()
    if is_postgres(url):
        return postgres_url(url)
    scheme = url.partition(":")[0].lower()
    if scheme == ":memory:" or url.endswith(":memory:") or "mode=memory" in url or url.rstrip("/") == "sqlite:":
        raise Wrong(f"a file, since a database in memory would lose every run at the end of the process: {_EXAMPLES}")
    if not url.lower().startswith(_SQLITE + "/"):
        raise Wrong(f"{_EXAMPLES}, or {EXAMPLE}")
    if "?" in url or "#" in url:
        raise Wrong(f"a path without options (write ? as %3F and # as %23): {_EXAMPLES}")
    path = database_path(url)
    if not path or path.endswith("/"):
        raise Wrong(f"the path of a file, not of a folder: {_EXAMPLES}")
    return url


def database_path(url: str) -> str:
    """The file that a checked URL names: relative after three slashes, absolute after four."""
    return unquote(url[len(_SQLITE) + 1 :])
