"""Logs go to standard error, for people or as JSON, from one place; standard output belongs to answers."""

from __future__ import annotations

import logging
import os
import sys
from typing import Final

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

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
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [_ToStructlog()]
    root.setLevel(max(level, _LIBRARIES))


def _json() -> list[Processor]:
    # Without the values of local variables: those of a handler may hold what no log may show.
    traces = structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False))
    return [traces, structlog.processors.JSONRenderer(default=str)]


def _console() -> list[Processor]:
    colours = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    renderer = structlog.dev.ConsoleRenderer(
        colors=colours, exception_formatter=structlog.dev.plain_traceback, pad_event_to=0
    )
    return [structlog.processors.format_exc_info, _harmless, renderer]


def _harmless(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Writes out the control characters of names and errors, which may be anybody's."""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            kept = "\n" if key == "exception" else ""
            event[key] = "".join(
                letter if letter.isprintable() or letter in kept else repr(letter)[1:-1] for letter in value
            )
    return event


class _ToStructlog(logging.Handler):
    """Hands what libraries log to the one place."""

    def emit(self, record: logging.LogRecord) -> None:
        """Hands one record on."""
        logger = structlog.get_logger(record.name)
        exception = {"exc_info": record.exc_info} if record.exc_info else {}
        logger.log(record.levelno, record.getMessage(), logger=record.name, **exception)
