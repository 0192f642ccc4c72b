"""Executes one run of the task ``command``: off unless allowed, and blind to the worker's own settings."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.command import Command, read_command
from puntual.model.errors import ForbiddenError, InvalidError, PuntualError
from puntual.model.instant import SECOND, format_instant
from puntual.model.outcome import Evidence, Outcome
from puntual.model.payload import safe_text
from puntual.model.run import COMMAND_TASK, Run
from puntual.targets.command.output import Output
from puntual.targets.command.process import Ended, Launch
from puntual.targets.command.process import run as run_process
from puntual.targets.refused import REFUSED
from puntual.targets.signals import signal_name

_SHELL: Final = "/bin/sh"
#: What a program may expect to find; all else of the worker's environment is the worker's.
_PASSED_ON: Final = ("PATH", "HOME", "LANG", "TZ", "USER", "LOGNAME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
#: Why there was no start that says nothing of the program: the process or the machine had nothing to give.
_SPENT: Final = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EINTR)
#: Why a start failed that may go well the next time. All else is wrong with the program.
_MAY_PASS: Final = (errno.ETXTBSY, errno.EIO)
#: How long a command is put back that could not be started.
_PUT_BACK_US: Final = 5 * SECOND
_DEFAULT_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


class CommandSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator allows.

    ``allow`` is the setting ALLOW_COMMANDS: False, True, or the paths of the programs that may be run. ``max_output``
    is how many bytes of output are kept. ``cwd`` is where commands start and ``environ`` what they may take their own
    environment from; None means those of this process. ``grace_us`` is the time between SIGTERM and SIGKILL when a
    command is stopped.
    """

    allow: bool | tuple[str, ...] = False
    max_output: int = 64 * 1024
    cwd: str | None = None
    environ: Mapping[str, str] | None = None
    grace_us: int = 2 * SECOND


class CommandTarget:
    """The task ``command``."""

    def __init__(self, settings: CommandSettings) -> None:
        self._settings = settings
        self._cwd = Path(settings.cwd or "").absolute()
        self._environ = dict(os.environ if settings.environ is None else settings.environ)

    def tasks(self) -> tuple[str, ...]:
        """``command``, also where commands are off: such runs fail with a sentence and wait for no other worker."""
        return (COMMAND_TASK,)

    async def execute(self, run: Run) -> Outcome:
        """Runs the program to its end; see the contract."""
        try:
            command = read_command(run.args)
            launch = self._launch(command, run)
        except PuntualError as error:
            return _failed(type(error).__name__, error.message, final=True)
        output = Output(self._settings.max_output)
        try:
            ended = await run_process(launch, output, self._settings.grace_us / SECOND)
        except OSError as error:
            return _not_started(launch, error.errno or 0)
        except asyncio.CancelledError:
            # What it wrote is what tells why it had to be stopped.
            stopped = ErrorInfo(type="Stopped", message=f"{launch.argv[0]} was stopped before it ended.")
            return Outcome(kind=OutcomeKind.FAILED, error=stopped, evidence=_evidence(output))
        return _outcome(command, launch, ended, output)

    async def close(self) -> None:
        """Nothing is kept between commands."""

    def _launch(self, command: Command, run: Run) -> Launch:
        argv = command.argv or (_SHELL, "-c", command.shell or "")
        if self._settings.allow is False:
            raise ForbiddenError(
                f"Commands are off here, so {argv[0]!r} was not run: set ALLOW_COMMANDS to true or to its path."
            )
        if command.shell is not None and self._settings.allow is not True:
            raise ForbiddenError("Shell text may hold any program: it needs ALLOW_COMMANDS to be true, or use argv.")
        cwd = self._cwd / (command.cwd or "")
        if not cwd.is_dir():
            raise InvalidError(f"The directory {cwd} of cwd does not exist here.", field="cwd")
        env = self._environment(command, run)
        program = _find(argv[0], cwd, env.get("PATH", _DEFAULT_PATH))
        if self._settings.allow is not True and not _is_allowed(program, self._settings.allow):
            raise ForbiddenError(f"The program {program} is not one that ALLOW_COMMANDS names: add its path there.")
        return Launch(program=str(program), argv=argv, cwd=str(cwd), env=env, stdin=_stdin(command))

    def _environment(self, command: Command, run: Run) -> dict[str, str]:
        env = {"PATH": _DEFAULT_PATH, "LANG": "C.UTF-8"}
        env |= {name: value for name, value in self._environ.items() if name in _PASSED_ON or name.startswith("LC_")}
        env |= command.env
        return env | {
            "PUNTUAL_RUN_ID": run.id,
            "PUNTUAL_SCHEDULE": run.schedule or "",
            "PUNTUAL_TICK_AT": "" if run.tick_at is None else format_instant(run.tick_at),
            "PUNTUAL_DUE_AT": format_instant(run.due_at),
            "PUNTUAL_ATTEMPT": str(run.attempt),
        }


def _find(name: str, cwd: Path, search: str) -> Path:
    """The program that a name stands for: a path is taken from ``cwd``, any other name is looked for in PATH.

    Raises:
        InvalidError: there is none, or it may not be executed.
    """
    if "/" not in name:
        found = shutil.which(name, path=search)
        if found is None:
            raise InvalidError(f"There is no program {name!r} in PATH ({search}): give its full path.", field="argv")
        return Path(found).absolute()
    path = cwd / name
    if not path.is_file():
        raise InvalidError(f"There is no program {path} here.", field="argv")
    if not os.access(path, os.X_OK):
        raise InvalidError(f"The program {path} is not executable for this user.", field="argv")
    return path


def _is_allowed(program: Path, allowed: tuple[str, ...]) -> bool:
    """Whether the operator named this program, by this path or by that of the file that it links to.

    A path that the operator named is not followed further: where many programs are links to one file, naming one of
    them allows one.
    """
    named = {_in_real_directory(Path(path)) for path in allowed}
    return _in_real_directory(program) in named or program.resolve() in named


def _in_real_directory(path: Path) -> Path:
    return path.parent.resolve() / path.name


def _stdin(command: Command) -> bytes:
    if command.stdin is not None:
        return command.stdin.encode()
    return msgspec.json.encode(command.args) if command.args else b""


def _outcome(command: Command, launch: Launch, ended: Ended, output: Output) -> Outcome:
    evidence = _evidence(output)
    if ended.errno is not None:
        return _not_started(launch, ended.errno)
    if ended.code is None:
        message = f"{launch.argv[0]} was stopped, for the process that watches over it was killed."
        error = ErrorInfo(type="Killed", message=message)
        return Outcome(kind=OutcomeKind.FAILED, error=error, evidence=evidence)
    if ended.code in command.success_codes:
        result = msgspec.json.encode({"exit_code": ended.code}).decode()
        return Outcome(kind=OutcomeKind.SUCCEEDED, result=result, status_code=ended.code, evidence=evidence)
    if ended.code < 0:
        error = ErrorInfo(type="Killed", message=f"{launch.argv[0]} was killed by {signal_name(-ended.code)}.")
        return Outcome(kind=OutcomeKind.FAILED, error=error, evidence=evidence)
    said = safe_text(output.last_line(), limit=300)
    message = f"{launch.argv[0]} ended with exit code {ended.code}" + (f": {said}" if said else ".")
    error = ErrorInfo(type="ExitCode", message=message)
    return Outcome(kind=OutcomeKind.FAILED, error=error, status_code=ended.code, evidence=evidence)


def _evidence(output: Output) -> Evidence:
    return Evidence(body=output.bytes(), content_type="text/plain", truncated=output.truncated)


def _not_started(launch: Launch, number: int) -> Outcome:
    # An event loop that runs out of files may tell -1.
    known = number in errno.errorcode
    why = os.strerror(number) if known else "the system did not say why"
    told = f"{launch.program} could not be started: {why}."
    if known and number not in _SPENT:
        return _failed("OSError", told, final=number not in _MAY_PASS)
    if number == errno.EAGAIN:
        REFUSED.set()
    # It was never started, which is no attempt.
    error = ErrorInfo(type="OSError", message=told)
    return Outcome(kind=OutcomeKind.SNOOZED, error=error, retry_after_us=_PUT_BACK_US)


def _failed(kind: str, message: str, *, final: bool = False) -> Outcome:
    return Outcome(kind=OutcomeKind.FAILED, error=ErrorInfo(type=kind, message=message), final=final)
