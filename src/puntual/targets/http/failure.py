"""Why no answer came, as an outcome: failed while nothing can have been sent, unknown from then on."""

from __future__ import annotations

import os
import ssl

import aiohttp

from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.outcome import Outcome
from puntual.model.payload import safe_text
from puntual.targets.http.exchange import Exchange
from puntual.targets.http.guard import Networks, allowing


def failure_of(error: Exception, exchange: Exchange, host: str, allowed: Networks) -> Outcome:
    """The outcome of a request that got no readable answer.

    Args:
        error: what the client raised.
        exchange: how far the request came.
        host: as the URL names it.
        allowed: the ranges that the operator opened.
    """
    if exchange.connected:
        message = f"The request was sent to {host}, but no readable answer came: {_words(error)}"
        return _outcome(OutcomeKind.UNKNOWN, ErrorInfo("ConnectionError", message), exchange)
    if exchange.refused and not exchange.tried:
        info = ErrorInfo("BlockedAddress", _refusal(exchange.refused, host, allowed))
        return _outcome(OutcomeKind.FAILED, info, exchange, final=True)
    match error:
        case aiohttp.InvalidURL():
            info = ErrorInfo("InvalidRequest", f"The host {host} cannot be used: {_words(error)}")
            return _outcome(OutcomeKind.FAILED, info, exchange, final=True)
        case aiohttp.ClientConnectorDNSError():
            info = ErrorInfo("DNSError", f"The name {host} cannot be resolved: {_words(error.os_error)}")
        case aiohttp.ClientSSLError():
            info = ErrorInfo("TLSError", f"No safe connection to {host}: {_words(error)}")
        case _:
            info = ErrorInfo("ConnectionError", f"No connection to {host}: {_words(error)}")
    return _outcome(OutcomeKind.FAILED, info, exchange)


def _outcome(kind: OutcomeKind, error: ErrorInfo, exchange: Exchange, *, final: bool = False) -> Outcome:
    return Outcome(kind=kind, error=error, timings=exchange.timings(), final=final)


def _refusal(refused: dict[str, str], host: str, allowed: Networks) -> str:
    address, reason = next(iter(refused.items()))
    try:
        way_out = f"; to allow it set {allowing(address, allowed)}"
    except ValueError:
        way_out = ""
    leads = f"{host} is {reason}" if host == address else f"{host} leads to {address}, {reason}"
    return f"{leads}, so nothing was sent{way_out}"


def _words(error: BaseException) -> str:
    """What went wrong in the words of the lowest layer that says anything; never empty."""
    match error:
        case aiohttp.ClientConnectorError():
            return _words(error.os_error)
        case ssl.SSLCertVerificationError():
            return safe_text(error.verify_message)
        case aiohttp.ClientResponseError():
            return safe_text(error.message).partition("\n")[0][:100].rstrip(":") or type(error).__name__
        case OSError(errno=int(number)) if number > 0:
            return os.strerror(number)
        case OSError() if error.strerror:
            return safe_text(error.strerror)
        case _:
            return safe_text(error) or type(error).__name__
