"""Whatever a command raises becomes an exit code and one sentence, or one JSON document, here and nowhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

import click

from puntual.cli.session import Session, colour
from puntual.cli.words import clean
from puntual.model.errors import InvalidError, PuntualError

FAILED: Final = 1
WRONG: Final = 2
WOULD_CHANGE: Final = 3
INTERRUPTED: Final = 130
_SHOWN: Final = 20


def json_asked(argv: Sequence[str]) -> bool:
    """Whether ``--json`` was said: known before the words are parsed, because an error in them is JSON then too."""
    words = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in words


def answer_of(command: Callable[[], object], session: Session) -> int:
    """Runs a command and returns the exit code: what it returned, or that of what it raised."""
    try:
        code = command()
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort, EOFError):
        return INTERRUPTED
    except BrokenPipeError:
        _close_stdout()
        return FAILED
    except click.ClickException as error:
        _report(session, {"code": "usage", "message": _sentence(error.format_message()), **_hint(error)})
        return WRONG
    except PuntualError as error:
        _report(session, error.as_dict())
        return WRONG if isinstance(error, InvalidError) else FAILED
    except Exception as error:  # noqa: BLE001 - the last place where it can be said in words
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


def _say(error: dict[str, object]) -> None:
    click.secho(f"Error: {clean(error['message'])}", err=True, fg="red", color=colour())
    if "hint" in error:
        click.echo(f"Hint: {clean(error['hint'])}", err=True)


def _report_bug(session: Session, error: Exception) -> None:
    """An error that nobody foresaw: the trace is what a report of it needs, and standard output stays what it was."""
    import traceback

    click.echo(clean("".join(traceback.format_exception(error)), keep="\n"), err=True)
    message = f"This is a bug in puntual: {type(error).__name__}: {error}"
    _report(session, {"code": "internal", "message": message, "hint": "Please report it with the lines above."})


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _hint(error: click.ClickException) -> dict[str, object]:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return {} if context is None else {"hint": f"See {context.command_path} --help."}


def _close_stdout() -> None:
    """Whoever read us has gone: nothing more is written, not even by the interpreter as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
