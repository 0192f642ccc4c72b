"""A schedule as somebody wrote it becomes a `ScheduleSpec`, by one reader for files, flags and requests."""

from __future__ import annotations

from collections.abc import Mapping
from keyword import iskeyword

import msgspec

from puntual.manifest.context import ManifestContext
from puntual.manifest.errors import Faults, ManifestErrors, Origin
from puntual.manifest.keys import (
    ARGS,
    LATER_SCHEDULE,
    PAUSED,
    POLICY_KEYS,
    RETRY,
    RETRY_KEYS,
    RULES,
    SIFT_KEYS,
    TARGETS,
    TIMES,
    ZONE_KEYS,
)
from puntual.manifest.kinds import Flag
from puntual.manifest.names import check_name
from puntual.manifest.rules import ReadRule, RulePlace, kept_timetable, read_rule, start_of
from puntual.manifest.sections import fill, open_section, read_keys, read_retry
from puntual.manifest.targets import read_target
from puntual.model.call import CallOptions
from puntual.model.duration import format_duration
from puntual.model.instant import Instant
from puntual.model.payload import encode
from puntual.model.policy import RetryPolicy
from puntual.model.schedule import MisfirePolicy, Overlap, ScheduleSpec, Target
from puntual.model.task import Task
from puntual.timing.rule import read_timetable
from puntual.timing.sift import written_at

SCHEDULE_KEYS = (
    *RULES,
    *(key.name for key in SIFT_KEYS),
    *TIMES,
    *(key.name for key in ZONE_KEYS),
    *TARGETS,
    ARGS,
    RETRY,
    *(key.name for key in POLICY_KEYS),
    PAUSED,
)

#: Options of a task whose attribute in a schedule has another name than their key.
_FIELDS = {"timeout": "timeout_us"}

_ONE_AT_A_TIME = (
    "misfire_policy fire_all makes a run of every tick that was missed, but with overlap skip only one of them runs "
    "at a time and the others are skipped: overlap buffer_all runs them one after the other"
)


class ManifestSchedule(msgspec.Struct, frozen=True):
    """A schedule, and whether ``paused`` was written: None leaves a pause made by hand as it is."""

    spec: ScheduleSpec
    paused: bool | None = None


class Around(msgspec.Struct, frozen=True):
    """What stands around the schedules of a document: owner, the values of ``defaults``, and what takes the faults."""

    owner: str | None
    shared: Mapping[str, object]
    faults: Faults


def keys_of(fields: Mapping[str, object]) -> dict[str, object]:
    """The keys that keyword arguments mean: ``except_`` is ``except``, which Python keeps for itself."""
    return {key[:-1] if iskeyword(key[:-1]) else key: value for key, value in fields.items()}


def read_schedule(name: str, written: Mapping[str, object], context: ManifestContext) -> ManifestSchedule:
    """The schedule of one mapping with the keys that it has in a manifest, as flags and requests bring it.

    Args:
        name: the schedule's name.
        written: its keys; times in it are local to its zone.
        context: what it is read against; ``code_owner`` becomes its owner.

    Raises:
        InvalidError: the one fault that it has; ``field`` is relative to the mapping.
        ManifestErrors: it has several.
    """
    faults = Faults(Origin())
    with faults.gathering():
        check_name(name, field="name")
    tree: dict[str, object] = {}
    for key, value in written.items():
        # Code may bring tuples, enums or datetimes; whatever it is, the reader sees what a file would have held.
        with faults.gathering():
            tree[key] = msgspec.json.decode(encode(value, field=key))
    schedule = read_one(name, tree, "", Around(context.code_owner, {}, faults), context)
    errors = faults.errors
    if len(errors) == 1:
        raise errors[0]
    if errors or schedule is None:
        raise ManifestErrors(errors)
    return schedule


def read_one(name: str, value: object, path: str, around: Around, context: ManifestContext) -> ManifestSchedule | None:
    """The schedule at a dotted path; None after its faults were gathered."""
    faults = around.faults
    before = len(faults)
    written = open_section(value, path, faults, known=SCHEDULE_KEYS, later=LATER_SCHEDULE)
    read = dict(around.shared) | read_keys(POLICY_KEYS, written, path, faults)
    if RETRY in written:
        read |= read_retry(written[RETRY], f"{path}.{RETRY}" if path else RETRY, faults)
    paused = None
    with faults.gathering():
        paused = Flag().read(written[PAUSED], f"{path}.{PAUSED}" if path else PAUSED) if PAUSED in written else None
    rule = read_rule(written, RulePlace(name, path, around.shared), context, faults)
    target = None
    with faults.gathering():
        target = read_target(written, path, context)
    if len(faults) > before or rule is None or target is None:
        return None
    task = (context.checks.tasks or {}).get(target.task)
    return ManifestSchedule(_spec(name, around.owner, (rule, target, read), task), paused)


def _spec(
    name: str,
    owner: str | None,
    parts: tuple[ReadRule, Target, Mapping[str, object]],
    task: Task[..., object] | None,
) -> ScheduleSpec:
    rule, target, read = parts
    retry = fill(RETRY_KEYS, read, f"{RETRY}.", target.task)
    policies = fill(POLICY_KEYS, read, "", target.task)
    spec = ScheduleSpec(
        name=name,
        owner=owner,
        timetable=rule.timetable,
        source=rule.source,
        target=target,
        retry=msgspec.convert(retry.values, RetryPolicy),
        defaulted=(*rule.defaulted, *policies.defaulted, *retry.defaulted),
    )
    spec = msgspec.structs.replace(spec, **policies.values)
    if task is not None:
        spec = as_the_task_says(spec, task.defaults)
    return msgspec.structs.replace(spec, warnings=(*rule.warnings, *_surprises(spec)))


def as_the_task_says(spec: ScheduleSpec, options: CallOptions) -> ScheduleSpec:
    """The spec with the task's own options where nothing was written."""
    policy = options.policy
    own: dict[str, object] = {
        "queue": options.queue,
        "priority": options.priority,
        "tags": options.tags,
        "timeout": policy.timeout_us,
        "on_lost_lease": policy.on_lost_lease,
    }
    changes = {_FIELDS.get(name, name): value for name, value in own.items() if name in spec.defaulted}
    if sum(name.startswith("retry.") for name in spec.defaulted) == len(RetryPolicy.__struct_fields__):
        changes["retry"] = policy.retry
    return msgspec.structs.replace(spec, **changes)


def _surprises(spec: ScheduleSpec) -> list[str]:
    found = []
    if spec.misfire_policy is MisfirePolicy.FIRE_ALL and spec.overlap is Overlap.SKIP:
        found.append(_ONE_AT_A_TIME)
    if spec.retry.max_delay_us < spec.retry.delay_us:
        longest = format_duration(spec.retry.max_delay_us)
        found.append(f"retry.max_delay ({longest}) is shorter than retry.delay, so {longest} is what each retry waits")
    return found


def begin_now(spec: ScheduleSpec, now: Instant) -> ScheduleSpec:
    """The spec, written now: what it counts from its writing on is counted from here."""
    timetable = read_timetable(spec.timetable)
    begun = written_at(timetable, now)
    return spec if begun is timetable else msgspec.structs.replace(spec, timetable=msgspec.json.encode(begun).decode())


def keep_rule(new: ScheduleSpec, old: ScheduleSpec) -> ScheduleSpec:
    """``new`` with the timetable of ``old`` where both rules were written alike in one zone.

    So a schedule applied again, unchanged, keeps the anchor that it was given when it was first written. Warnings speak
    of the clock changes to come, so they alone are no change: then it is ``old`` itself that is given back.
    """
    if new.source == {**old.source, **start_of(old.timetable)}:
        # An export says where a count began.
        new = msgspec.structs.replace(new, source=old.source)
    timetable = kept_timetable(new.timetable, new.source, old.timetable, old.source)
    if timetable is None:
        return new
    kept = msgspec.structs.replace(new, timetable=timetable)
    return old if msgspec.structs.replace(kept, warnings=old.warnings) == old else kept
