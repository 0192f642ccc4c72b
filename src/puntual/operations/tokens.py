"""Tokens: 256 random bits behind a prefix, of which only the SHA-256 is kept."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Final

from puntual.model.errors import InvalidError
from puntual.model.fleet import Token

PREFIX: Final = "ptl_"
#: Each scope includes those before it.
SCOPES: Final = ("read", "operate", "admin")
RANDOM_BYTES: Final = 32

_TOKEN: Final = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}", re.ASCII)
_SHOWN: Final = len(PREFIX) + 6


def token_text(random: bytes) -> str:
    """The token of 32 random bytes."""
    return PREFIX + base64.urlsafe_b64encode(random).decode().rstrip("=")


def is_token(text: str) -> bool:
    """Whether a text has the shape of a token."""
    return _TOKEN.fullmatch(text) is not None


def digest_of(text: str) -> str:
    """The SHA-256 of a token, in hexadecimal. 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(text.encode()).hexdigest()


def new_token(text: str, *, name: str, scope: str, now: int, expires_at: int | None = None) -> Token:
    """What is kept of a token. Its id is a function of its text, so that keeping it twice is keeping it once.

    Raises:
        InvalidError: there is no such scope.
    """
    if scope not in SCOPES:
        raise InvalidError(f"scope is {scope[:60]!r}; it must be read, operate or admin.", field="scope")
    digest = digest_of(text)
    return Token(
        id=hashlib.sha256(f"id\0{digest}".encode()).hexdigest()[:16],
        name=name,
        prefix=text[:_SHOWN],
        digest=digest,
        scope=scope,
        created_at=now,
        expires_at=expires_at,
    )


def allows(token: Token, scope: str, now: int) -> bool:
    """Whether a token that has not expired has at least this scope."""
    live = token.expires_at is None or token.expires_at > now
    return live and SCOPES.index(token.scope) >= SCOPES.index(scope)
