"""Who may be meant by ``Host`` and ``Origin``: pure, and closed to every name that nobody gave this server.

A page of another site can make a browser send requests here under a name of its own (DNS rebinding), but not under an
address or under a name that is not its own: so addresses are let through, and of names only those of the settings.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from puntual.settings import Settings

_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253})(?::(\d{1,5}))?", re.ASCII)
_LOOPBACK_NAMES: Final = frozenset({"localhost"})


def allowed_names(settings: Settings) -> frozenset[str]:
    """The names under which this server is known."""
    public = urlsplit(settings.public_url).hostname if settings.public_url else None
    return _LOOPBACK_NAMES | {name.lower().rstrip(".") for name in (settings.host, public) if name}


def is_ours(host: str | None, names: frozenset[str]) -> bool:
    """Whether a ``Host`` header is an address, or one of our names."""
    found = _HOST.fullmatch(host or "")
    if found is None:
        return False
    name = found[1].lower().strip("[]").rstrip(".")
    if name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def same_origin(origin: str, host: str, public_url: str | None) -> bool:
    """Whether an ``Origin`` is the server itself, as the request or ``PUBLIC_URL`` names it."""
    if public_url is not None:
        public = urlsplit(public_url)
        if origin.lower() == f"{public.scheme}://{public.netloc}".lower():
            return True
    return origin.lower() in (f"http://{host}".lower(), f"https://{host}".lower())
