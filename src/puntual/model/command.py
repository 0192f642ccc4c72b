"""What a run of the task ``command`` carries, checked before anything is stored or started."""

from __future__ import annotations

import difflib
from typing import Final

import msgspec

from puntual.model import payload
from puntual.model.errors import InvalidPayloadError


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One of ``argv`` (a program and its arguments) and ``shell`` (text for ``/bin/sh``).

    ``cwd`` is relative to the directory in which the worker was started. ``stdin`` is text for standard input; without
    it the command finds ``args`` there, as JSON. ``success_codes`` are the exit codes that count as success.
    """

    argv: tuple[str, ...] | None = None
    shell: str | None = None
    cwd: str | None = None
    env: dict[str, str] = {}
    stdin: str | None = None
    args: dict[str, object] = {}
    success_codes: tuple[int, ...] = (0,)


_decode: Final = msgspec.json.Decoder(Command).decode


def check_command(command: object, *, field: str = "command", max_bytes: int | None = None) -> str:
    """The arguments of a ``command`` run as JSON text, from what a manifest, an API request or a caller gives.

    Args:
        command: an argument vector, or an object with the keys of `Command`.
        field: where it stands, for errors.
        max_bytes: how long the text may be.

    Raises:
        InvalidPayloadError: the sentence names the key, what is wrong and what would be right.
    """
    if isinstance(command, list | tuple):
        command = {"argv": list(command)}
    text = payload.encode(command, field=field, max_bytes=max_bytes)
    return msgspec.json.encode(read_command(text, field=field)).decode()


def read_command(text: str, *, field: str = "args") -> Command:
    """The command that JSON text describes.

    Raises:
        InvalidPayloadError: as `check_command`.
    """
    try:
        command = _decode(text)
    except msgspec.ValidationError as error:
        raise _unknown_key(text, field) or payload.unfit(error, field) from None
    except msgspec.DecodeError as error:
        raise InvalidPayloadError(f"{field} is not JSON: {error}.", field=field) from None
    _check_program(command, field)
    for name, value in command.env.items():
        if not name or "=" in name or "\0" in name + value:
            raise _fault(field, "env", f"has the name {name!r}, which no environment can have")
    if command.stdin is not None and command.args:
        raise _fault(field, "stdin", "and args are both given, and both go to standard input: give one")
    if not command.success_codes:
        raise _fault(field, "success_codes", "is empty, so that nothing could succeed: leave it out or list exit codes")
    for code in command.success_codes:
        if not 0 <= code <= 255:
            raise _fault(field, "success_codes", f"has {code}; an exit code is 0 to 255")
    return command


def _unknown_key(text: str, field: str) -> InvalidPayloadError | None:
    given = msgspec.json.decode(text)
    known = Command.__struct_fields__
    for key in given if isinstance(given, dict) else ():
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}"
            return InvalidPayloadError(f"{field} has no key {key!r}: {hint}.", field=f"{field}.{key}")
    return None


def _check_program(command: Command, field: str) -> None:
    if (command.argv is None) == (command.shell is None):
        raise InvalidPayloadError(
            f"{field} must have either argv, like [/usr/bin/backup, --all], or shell, like 'backup --all | gzip'.",
            field=field,
        )
    if command.argv is not None and (not command.argv or not command.argv[0]):
        raise _fault(field, "argv", "is empty: its first item is the program")
    if command.shell is not None and not command.shell.strip():
        raise _fault(field, "shell", "is empty")
    for part in (*(command.argv or ()), command.shell or "", command.cwd or ""):
        if "\0" in part:
            raise InvalidPayloadError(
                f"{field} has a NUL character, which no command line can have: remove it.", field=field
            )


def _fault(field: str, key: str, what: str) -> InvalidPayloadError:
    return InvalidPayloadError(f"{field}.{key} {what}.", field=f"{field}.{key}")
