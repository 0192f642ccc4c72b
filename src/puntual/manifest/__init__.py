"""Schedules, calendars and queues as people write them: read strictly, described to editors, written back the same."""

from __future__ import annotations

from puntual.manifest.calendars import calendar_mapping, calendar_of
from puntual.manifest.context import Check, ManifestContext, TargetChecks
from puntual.manifest.errors import ManifestErrors
from puntual.manifest.export import to_manifest, to_mapping
from puntual.manifest.flags import ScheduleFlags, schedule_from_flags
from puntual.manifest.read import (
    Manifest,
    ManifestCalendar,
    Opened,
    QueueSettings,
    Text,
    declared_calendars,
    files_named,
    gather_texts,
    open_texts,
    read_manifest,
    read_manifests,
)
from puntual.manifest.schedules import ManifestSchedule, as_the_task_says, begin_now, keep_rule, keys_of, read_schedule
from puntual.manifest.schema import manifest_schema

__all__ = [
    "Check",
    "Manifest",
    "ManifestCalendar",
    "ManifestContext",
    "ManifestErrors",
    "ManifestSchedule",
    "Opened",
    "QueueSettings",
    "ScheduleFlags",
    "TargetChecks",
    "Text",
    "as_the_task_says",
    "begin_now",
    "calendar_mapping",
    "calendar_of",
    "declared_calendars",
    "files_named",
    "gather_texts",
    "keep_rule",
    "keys_of",
    "manifest_schema",
    "open_texts",
    "read_manifest",
    "read_manifests",
    "read_schedule",
    "schedule_from_flags",
    "to_manifest",
    "to_mapping",
]
