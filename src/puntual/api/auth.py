"""Bearer tokens, known from a copy of the store's that is at most two seconds old: a revoked one ends by then."""

from __future__ import annotations

import asyncio
import hmac
from contextlib import suppress
from typing import Final

from puntual.app import App
from puntual.model.errors import StoreError, UnauthorizedError
from puntual.model.fleet import Token
from puntual.operations import tokens

#: The copy is read again after this, in seconds.
FRESH: Final = 2.0
#: Whoever takes a token from an old copy waits this long for a new one, in seconds.
_PATIENCE: Final = 1.0
#: An unknown token has it read again once it is this old: a new one works soon, and guessing costs one read a second.
UNKNOWN_FRESH: Final = 1.0


class TokenBook:
    """The tokens of an app's database, by digest."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._by_digest: dict[str, Token] = {}
        self._read_at: float | None = None
        self._reading = asyncio.Lock()

    async def bearer(self, authorization: str | None, *, stale: bool = False) -> Token:
        """The token that an ``Authorization`` header carries.

        Args:
            authorization: the header.
            stale: while the database is away, a token that was good when it last answered still is.

        Raises:
            UnauthorizedError: there is none, or it is unknown, expired or revoked.
            StoreError: the database does not tell.
        """
        scheme, _, text = (authorization or "").partition(" ")
        text = text.strip()
        if scheme.lower() != "bearer" or not text:
            raise UnauthorizedError("This needs a token: send the header Authorization: Bearer ptl_...")
        token = await self._find(text, stale=stale) if tokens.is_token(text) else None
        if token is None or not tokens.allows(token, "read", self._app.clock.now()):
            raise UnauthorizedError("The token is unknown, expired or revoked: puntual token create makes one.")
        return token

    def forget(self) -> None:
        """A token was made or revoked here: look again at the next request."""
        self._read_at = None

    async def _find(self, text: str, *, stale: bool) -> Token | None:
        digest = tokens.digest_of(text)
        if stale and digest in self._by_digest:
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    await self._refresh(FRESH)
        else:
            await self._refresh(FRESH if digest in self._by_digest else UNKNOWN_FRESH)
        # Found by its SHA-256, which tells a guesser nothing; compared in constant time all the same.
        token = self._by_digest.get(digest)
        return token if token is not None and hmac.compare_digest(token.digest, digest) else None

    async def _refresh(self, at_most: float) -> None:
        if not self._older_than(at_most):
            return
        async with self._reading:
            if self._older_than(at_most):
                asked_at = self._app.clock.steady()
                found = await self._app.store.list_tokens()
                self._by_digest = {token.digest: token for token in found}
                self._read_at = asked_at

    def _older_than(self, seconds: float) -> bool:
        return self._read_at is None or self._app.clock.steady() - self._read_at > seconds
