"""What a manifest is read against: the operator's zone and limits, the moment of writing, and who checks targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from puntual.model.instant import Instant
from puntual.model.task import Task
from puntual.timing.calendar import CalendarDays


class Check(Protocol):
    """Checks the request of a target and gives it back as the JSON text that its runs will carry."""

    def __call__(self, args: object, /, *, field: str) -> str:
        """The JSON text; raises a `PuntualError` whose ``field`` begins with the one given."""
        ...


class TargetChecks(msgspec.Struct, frozen=True, kw_only=True):
    """Who knows what a target may be. ``tasks`` are those registered here, by name; None where they are not known."""

    http: Check
    command: Check
    tasks: Mapping[str, Task[..., object]] | None = None


class ManifestContext(msgspec.Struct, frozen=True, kw_only=True):
    """All that a manifest does not say itself.

    Args:
        now: when it is written; anchors and warnings refer to it.
        checks: who checks targets.
        timezone: the operator's ``TIMEZONE``, for schedules that name none.
        zone_given: whether the operator chose it; if nobody did, a rule that names an hour is warned about.
        code_owner: the owner of what is declared without one, for example ``app:shop.jobs``.
        max_payload: the operator's ``MAX_PAYLOAD`` in bytes.
        calendars: what each calendar that a schedule may name means.
    """

    now: Instant
    checks: TargetChecks
    timezone: str = "UTC"
    zone_given: bool = False
    code_owner: str | None = None
    max_payload: int = 256 << 10
    calendars: Mapping[str, CalendarDays] = msgspec.field(default_factory=dict)
