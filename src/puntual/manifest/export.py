"""Schedules are written back as a manifest that is read to the same schedules, on this server or on another."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import yaml

from puntual.manifest.document import plain_scalar
from puntual.manifest.keys import (
    ARGS,
    COMMAND,
    DESCRIPTION,
    HTTP,
    PAUSED,
    POLICY_KEYS,
    RETRY,
    RETRY_KEYS,
    RULES,
    TASK,
    TIMES,
    ZONE_KEYS,
    Key,
)
from puntual.model.fleet import Queue
from puntual.model.run import COMMAND_TASK, HTTP_TASK
from puntual.model.schedule import Schedule, ScheduleSpec, Target
from puntual.timing.rule import Timetable

_Base: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def to_manifest(schedules: Sequence[Schedule], queues: Sequence[Queue] = ()) -> str:
    """A YAML text with one document for each owner, in a stable order; what was left to the defaults is left out.

    Only the time zone is always written, since another server's default may be another one. A pause without an end is
    written too; one with an end is not. Limits of queues stand in the first document.
    """
    owners: dict[str, dict[str, object]] = {}
    for schedule in sorted(schedules, key=lambda schedule: (schedule.spec.owner or "", schedule.name)):
        written = to_mapping(schedule.spec, paused=_paused(schedule))
        owners.setdefault(schedule.spec.owner or "", {})[schedule.name] = written
    limits = {queue.name: {"concurrency": queue.concurrency} for queue in queues if queue.concurrency is not None}
    documents = [
        {
            **({"owner": owner} if owner else {}),
            **({"queues": dict(sorted(limits.items()))} if limits and place == 0 else {}),
            "schedules": named,
        }
        for place, (owner, named) in enumerate((owners or {"": {}}).items())
    ]
    text: str = yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text


def to_mapping(spec: ScheduleSpec, *, paused: bool = False) -> dict[str, object]:
    """The keys and values of one schedule as a manifest holds them; `read_schedule` takes them back to the same."""
    about = [key for key in POLICY_KEYS if key.name == DESCRIPTION]
    written = _written(about, spec, "", spec)
    written |= {key: spec.source[key] for key in (*RULES, *TIMES) if key in spec.source}
    written["timezone"] = msgspec.json.decode(spec.timetable, type=Timetable).timezone
    written |= {key.name: spec.source[key.name] for key in ZONE_KEYS if key.name in spec.source}
    written |= _target(spec.target)
    retry = _written(RETRY_KEYS, spec.retry, f"{RETRY}.", spec)
    if retry:
        written[RETRY] = retry
    written |= _written([key for key in POLICY_KEYS if key.name != DESCRIPTION], spec, "", spec)
    if paused:
        written[PAUSED] = True
    return written


def _written(keys: Sequence[Key], struct: msgspec.Struct, prefix: str, spec: ScheduleSpec) -> dict[str, object]:
    """The keys that somebody wrote, and those whose value is not the usual one, wherever it came from."""
    written: dict[str, object] = {}
    for key in keys:
        value = getattr(struct, key.attribute)
        if prefix + key.name not in spec.defaulted or value != key.default_for(spec.target.task):
            written[key.name] = key.kind.write(value)
    return written


def _target(target: Target) -> dict[str, object]:
    args: object = msgspec.json.decode(target.args)
    if target.task == HTTP_TASK:
        return {HTTP: args}
    if target.task == COMMAND_TASK:
        return {COMMAND: args["argv"] if isinstance(args, dict) and [*args] == ["argv"] else args}
    return {TASK: target.task, **({ARGS: args} if args else {})}


def _paused(schedule: Schedule) -> bool:
    return schedule.pause is not None and schedule.pause.until is None


#: Wide enough that no text is folded, whatever it is.
_WIDTH = 1 << 30


class _Dumper(_Base):  # type: ignore[valid-type, misc]  # which of the two it is depends on how PyYAML was built
    """Writes plain trees without anchors, and every text so that no reader takes it for something else."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the question is PyYAML's
        """Whether a value that stands twice is written twice: always."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if not isinstance(plain_scalar(text), str):
        style = "'"
    elif "\n" in text and all(line.isprintable() for line in text.split("\n")) and not text.startswith((" ", "\n")):
        style = "|"
    elif not text.isprintable():
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
