"""A mapping gives the values of its known keys, and a fault for every other: unknown, not built yet, or said twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from puntual.manifest.errors import Faults, nearest, shown
from puntual.manifest.keys import KUBERNETES, RETRY, RETRY_KEYS, TASK, Key

#: What people write in a schedule itself, and where it stands.
_ELSEWHERE: Final = {
    "url": "http: {url: ...}",
    "method": "http: {method: ...}",
    "headers": "http: {headers: ...}",
    "shell": "command: {shell: ...}",
    "argv": "command: [...]",
    "env": "command: {argv: [...], env: {...}}",
}


class Values(msgspec.Struct, frozen=True):
    """Typed values by attribute, and the dotted names of those that nobody wrote."""

    values: Mapping[str, object]
    defaulted: tuple[str, ...]


def open_section(
    value: object, path: str, faults: Faults, *, known: Collection[str], later: Collection[str] = ()
) -> dict[str, object]:
    """The entries of a mapping whose keys are known; an empty value is an empty mapping.

    Args:
        value: what stands in the tree.
        path: where, dotted.
        faults: what takes the fault of each other key.
        known: the keys that may stand here.
        later: those that a later release will read.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        faults.refuse(f"it must be a mapping of keys to values, not {shown(value)}", path)
        return {}
    found: dict[str, object] = {}
    for key, item in value.items():
        field = f"{path}.{key}" if path else key
        ours = KUBERNETES.get(key, key)
        if ours in known:
            if ours in found:
                faults.refuse(f"{key} and {ours} say the same thing: keep one of them", field)
            found[ours] = f"{item}s" if key == "startingDeadlineSeconds" and _is_whole(item) else item
        elif key in later:
            faults.refuse(f"{key} is not in this release yet: leave it out", field)
        else:
            meant = _ELSEWHERE.get(key) if TASK in known else None
            meant = meant or nearest(key, [*known])
            way_out = f"did you mean {meant}?" if meant else f"the keys here are {', '.join(sorted(known))}"
            faults.refuse(f"there is no key {shown(key)} here: {way_out}", field)
    return found


def read_keys(keys: Sequence[Key], written: Mapping[str, object], path: str, faults: Faults) -> dict[str, object]:
    """The typed values of those keys that were written, by key; a wrong value becomes a fault and is left out."""
    found: dict[str, object] = {}
    for key in keys:
        if key.name in written:
            with faults.gathering():
                found[key.name] = key.kind.read(written[key.name], f"{path}.{key.name}" if path else key.name)
    return found


def read_retry(value: object, path: str, faults: Faults) -> dict[str, object]:
    """The typed values of a ``retry`` mapping that were written, under ``retry.NAME``."""
    section = open_section(value, path, faults, known=[key.name for key in RETRY_KEYS])
    return {f"{RETRY}.{name}": item for name, item in read_keys(RETRY_KEYS, section, path, faults).items()}


def fill(keys: Sequence[Key], read: Mapping[str, object], prefix: str, task: str | None) -> Values:
    """Every attribute of a struct: what was read where it was written, else the default for this kind of target."""
    values: dict[str, object] = {}
    defaulted = []
    for key in keys:
        name = prefix + key.name
        values[key.attribute] = read[name] if name in read else key.default_for(task)
        if name not in read:
            defaulted.append(name)
    return Values(values, tuple(defaulted))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
