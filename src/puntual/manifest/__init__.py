"""Schedules and queues as people write them: read strictly, described to editors, written back to read the same."""

from __future__ import annotations

from puntual.manifest.context import Check, ManifestContext, TargetChecks
from puntual.manifest.errors import ManifestErrors
from puntual.manifest.export import to_manifest, to_mapping
from puntual.manifest.flags import ScheduleFlags, schedule_from_flags
from puntual.manifest.read import Manifest, QueueSettings, Text, gather_texts, read_manifest, read_manifests
from puntual.manifest.schedules import ManifestSchedule, as_the_task_says, keep_rule, read_schedule
from puntual.manifest.schema import manifest_schema

__all__ = [
    "Check",
    "Manifest",
    "ManifestContext",
    "ManifestErrors",
    "ManifestSchedule",
    "QueueSettings",
    "ScheduleFlags",
    "TargetChecks",
    "Text",
    "as_the_task_says",
    "gather_texts",
    "keep_rule",
    "manifest_schema",
    "read_manifest",
    "read_manifests",
    "read_schedule",
    "schedule_from_flags",
    "to_manifest",
    "to_mapping",
]
