"""Every failure that puntual reports: one base class, one class per cause, data as attributes.

A message is one sentence that names what was wrong and what would be right. ``code`` is stable and is what the CLI and
the API print; ``hint`` is the way out, ``field`` the dotted path of the bad value, ``column`` its 1-based place in a
rule.
"""

from __future__ import annotations

from typing import ClassVar

from puntual.model.said import Said


class PuntualError(Exception):
    """Base of every error raised on purpose.

    Args:
        message: one sentence: what was wrong and what would be right.
        hint: what to do next, if the message does not say it.
        field: dotted path of the bad value, for example ``schedules.nightly.timezone``.
        column: 1-based column in the text of a rule.
    """

    code: ClassVar[str] = "error"

    def __init__(
        self, message: str, *, hint: str | None = None, field: str | None = None, column: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.field = field
        self.column = column

    def as_dict(self) -> dict[str, object]:
        """The error as the CLI and the API print it, without the parts that are not set."""
        parts = {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "field": self.field,
            "column": self.column,
        }
        return {name: value for name, value in parts.items() if value is not None}


class InvalidError(PuntualError):
    """The request was wrong: nothing was done, and the same request will fail again."""

    code = "invalid"


class InvalidRuleError(InvalidError):
    """A rule that cannot be read, or that can never fire; ``said`` is its message, to be said in other languages."""

    code = "invalid_rule"

    def __init__(
        self, message: str | Said, *, hint: str | None = None, field: str | None = None, column: int | None = None
    ) -> None:
        super().__init__(str(message), hint=hint, field=field, column=column)
        self.said = message

    def say(self, message: str) -> None:
        """Puts the message into other words."""
        self.message = message
        self.args = (message,)


class InvalidZoneError(InvalidError):
    """A name that is no IANA time zone."""

    code = "invalid_zone"


class InvalidInstantError(InvalidError):
    """A text that is no instant, or one without an offset where one is needed."""

    code = "invalid_instant"


class InvalidDurationError(InvalidError):
    """A text that is no duration."""

    code = "invalid_duration"


class InvalidPayloadError(InvalidError):
    """A value outside the JSON profile: not UTF-8, NUL, lone surrogates, NaN, too large or too deep."""

    code = "invalid_payload"


class InvalidSettingError(InvalidError):
    """A setting that cannot be used."""

    code = "invalid_setting"


class InvalidManifestError(InvalidError):
    """A manifest with an unknown key, a bad value or a duplicate name."""

    code = "invalid_manifest"


class NotFoundError(PuntualError):
    """There is no such thing."""

    code = "not_found"


class ConflictError(PuntualError):
    """The thing is not in a state in which that can be done, or somebody else changed it first."""

    code = "conflict"


class ChangedError(ConflictError):
    """The thing is not at the revision that the caller saw: somebody changed it first."""

    code = "changed"


class ForbiddenError(PuntualError):
    """The caller, or the operator's settings, do not allow it."""

    code = "forbidden"


class UnauthorizedError(PuntualError):
    """No token, or one that is unknown, expired or revoked."""

    code = "unauthorized"


class TaskUnknownError(PuntualError):
    """No such task is registered here."""

    code = "task_unknown"


class RunDeadError(PuntualError):
    """A run that somebody waits for ended without success."""

    code = "run_dead"


class WaitTimeoutError(PuntualError):
    """A run did not end within the time that the caller wanted to wait."""

    code = "wait_timeout"


class CalendarError(PuntualError):
    """The days of a calendar cannot be found out now: its feed does not answer, or a library is missing."""

    code = "calendar"


class StoreError(PuntualError):
    """The database could not do what was asked."""

    code = "store"


class StoreUnavailableError(StoreError):
    """The database cannot be reached or answers with an error that will pass: try again."""

    code = "store_unavailable"


class StoreBusyError(StoreUnavailableError):
    """Another writer holds the database for longer than we wait."""

    code = "store_busy"


class StoreFullError(StoreUnavailableError):
    """The disk is full: claims stop until there is room."""

    code = "store_full"


class StoreDataError(StoreError):
    """The database refused a value: the batch that holds it is halved until the bad row is alone."""

    code = "store_data"


class StoreUnusableError(StoreError):
    """The database is not one we can work with: no database, read-only, too new, or on a network file system."""

    code = "store_unusable"
