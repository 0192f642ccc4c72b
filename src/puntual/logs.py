"""Logs go to standard error, for people or as JSON, from one place; standard output belongs to answers."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from typing import Final

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from puntual.model.payload import safe_text
from puntual.settings import Settings

_LEVELS: Final = logging.getLevelNamesMapping()
#: What the libraries of the server say below this is about themselves.
_LIBRARIES: Final = logging.WARNING


def configure(settings: Settings) -> None:
    """Sets up the logs of a process that serves or works."""
    _set_up(settings, _LEVELS[settings.log_level.upper()])


def quiet(settings: Settings) -> None:
    """Sets up the logs of a command that answers and ends: only what should worry."""
    _set_up(settings, max(_LEVELS[settings.log_level.upper()], logging.WARNING))


def _set_up(settings: Settings, level: int) -> None:
    renderers = _json() if settings.log_format == "json" else _console()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=_Lines,
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [_ToStructlog()]
    root.setLevel(max(level, _LIBRARIES))


def _json() -> list[Processor]:
    # Without the values of local variables: those of a handler may hold what no log may show.
    traces = structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False))
    return [traces, structlog.processors.JSONRenderer(default=safe_text)]


def _console() -> list[Processor]:
    colours = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    renderer = structlog.dev.ConsoleRenderer(
        colors=colours, exception_formatter=structlog.dev.plain_traceback, pad_event_to=0
    )
    return [structlog.processors.format_exc_info, _harmless, renderer]


def _harmless(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Writes out the control characters of names and errors, which may be anybody's, however deep they lie."""
    told = {key: value for key, value in event.items() if value is not None}
    return {key: _clean(_plain(value), keep="\n" if key == "exception" else "") for key, value in told.items()}


def _plain(value: object) -> object:
    """A list of words as people write one."""
    if isinstance(value, list | tuple) and value and all(isinstance(held, str) for held in value):
        return ", ".join(value)
    return value


def _clean(value: object, *, keep: str = "") -> object:
    if isinstance(value, str):
        if value.isprintable():
            return value
        return "".join(letter if letter.isprintable() or letter in keep else repr(letter)[1:-1] for letter in value)
    if isinstance(value, dict):
        return {_clean(key): _clean(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(held) for held in value]
    return value if value is None or isinstance(value, int | float) else _clean(safe_text(value, as_repr=True))


class _Lines:
    """Writes lines to standard error as it is at that moment; one that cannot be written is nobody's error.

    A full disk behind a log, or a reader that has gone, would else end the loop that had something to tell.
    """

    def __init__(self, *_names: object) -> None:
        pass

    def msg(self, line: str) -> None:
        """Writes one line."""
        with contextlib.suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)  # noqa: T201 - this is where lines go

    debug = info = warning = error = critical = exception = log = msg


class _ToStructlog(logging.Handler):
    """Hands what libraries log to the one place."""

    def emit(self, record: logging.LogRecord) -> None:
        """Hands one record on. Whatever is wrong with it is not the matter of whoever logged it."""
        try:
            logger = structlog.get_logger(record.name)
            exception = {"exc_info": record.exc_info} if record.exc_info else {}
            logger.log(record.levelno, record.getMessage(), logger=record.name, **exception)
        except Exception:  # noqa: BLE001 - as the standard library's own handlers do it
            self.handleError(record)
