"""Whatever a command raises becomes an exit code and one sentence, or one JSON document, here and nowhere else."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Final

import click

from puntual.cli.session import Session, colour
from puntual.cli.words import clean
from puntual.model.errors import InvalidError, InvalidSettingError, PuntualError

FAILED: Final = 1
WRONG: Final = 2
WOULD_CHANGE: Final = 3
INTERRUPTED: Final = 130
_SHOWN: Final = 20
#: A message that ends with another sentence's end.
_DOUBLED_END: Final = re.compile(r"([.?!])\.$")
#: What a write to a full or closed standard output ends with.
_NOT_WRITTEN: Final = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
#: The options that set the same as a setting.
_FLAGS: Final = {
    "APP": "--app",
    "CONCURRENCY": "--concurrency",
    "HOST": "--host",
    "PORT": "--port (0 takes any free one)",
    "QUEUES": "--queues",
    "ROLES": "--roles",
}


def json_asked(argv: Sequence[str]) -> bool:
    """Whether ``--json`` was said: known before the words are parsed, because an error in them is JSON then too."""
    words = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in words


def answer_of(command: Callable[[], object], session: Session) -> int:
    """Runs a command and returns the exit code: what it returned, or that of what it raised.

    Where nobody can read the answer, that is what went wrong, whatever else did.
    """
    try:
        return _told(command, session)
    except BrokenPipeError:
        _close_stdout()
    except OSError as error:
        _close_stdout()
        click.echo(f"Error: Standard output cannot be written: {error.strerror}.", err=True)
    return FAILED


def _told(command: Callable[[], object], session: Session) -> int:
    """The same; raises what keeps the answer from being written."""
    try:
        code = command()
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort, EOFError):
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except click.ClickException as error:
        _report(session, {"code": "usage", "message": _sentence(error.format_message()), **_hint(error)})
        return WRONG
    except PuntualError as error:
        _report(session, _with_setting(error))
        return WRONG if isinstance(error, InvalidError) else FAILED
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NOT_WRITTEN and error.filename is None:
            raise
        if isinstance(error, KeyError | TypeError | AttributeError) and session.asks_a_server:
            _report(session, _no_puntual(session, error))
        else:
            _report_bug(session, error)
        return FAILED
    return code if isinstance(code, int) else 0


def _report(session: Session, error: dict[str, object]) -> None:
    if session.as_json:
        session.print_json({"error": error})
        return
    faults = error.get("errors")
    if not isinstance(faults, list):
        _say(error)
        return
    for fault in faults[:_SHOWN]:
        _say(fault)
    if len(faults) > _SHOWN:
        click.echo(f"... and {len(faults) - _SHOWN} more.", err=True)


def _with_setting(error: PuntualError) -> dict[str, object]:
    """The error; one about a setting says how that is set, if it does not say so itself."""
    found = error.as_dict()
    name = error.field or ""
    if isinstance(error, InvalidSettingError) and name.isupper() and error.hint is None:
        ways = [way for way in (f"PUNTUAL_{name}", _FLAGS.get(name)) if way is not None]
        if len(ways) > 1 or ways[0] not in error.message:
            found["hint"] = f"It is set by {' or '.join(ways)}."
    return found


def _no_puntual(session: Session, error: Exception) -> dict[str, object]:
    """A server's answer lacked what every puntual's answer has."""
    return {
        "code": "store_unavailable",
        "message": f"{session.settings.server} is not a puntual server: its answer lacks {error}.",
        "hint": "PUNTUAL_SERVER is the address that `puntual serve` prints, without a path.",
    }


def _say(error: dict[str, object]) -> None:
    message = _DOUBLED_END.sub(r"\1", clean(error["message"]))
    click.secho(f"Error: {message}", err=True, fg="red", color=colour())
    if "hint" in error:
        click.echo(f"Hint: {clean(error['hint'])}", err=True)


def _report_bug(session: Session, error: Exception) -> None:
    """An error that nobody foresaw: the trace is what a report of it needs, and standard output stays what it was."""
    import traceback

    click.echo(clean("".join(traceback.format_exception(error)), keep="\n"), err=True)
    message = f"This is a bug in puntual: {type(error).__name__}: {error}"
    _report(session, {"code": "internal", "message": message, "hint": "Please report it with the lines above."})


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _hint(error: click.ClickException) -> dict[str, object]:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return {} if context is None else {"hint": f"See {context.command_path} --help."}


def _close_stdout() -> None:
    """Nobody can read us: nothing more is written, not even by the interpreter as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
