"""Whether ticks had the fate that was theirs, by the clock of the database and the policies of their time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from puntual.model.instant import SECOND
from puntual.model.schedule import Fate, FateReason, MisfirePolicy, Overlap, ScheduleSpec
from puntual.simulate.promises.grid import Grid
from puntual.simulate.promises.history import Decision, Past, Reign

#: A tick that nobody looked at for so long after its instant is late.
_LATE: Final = 5 * SECOND
#: Nothing is planned earlier than this before it is due.
_AHEAD: Final = 5 * SECOND
#: A schedule with a waiting tick is looked at again after this.
_AGAIN: Final = SECOND
_NEVER: Final = 2**62
_WAITING: Final = frozenset({Overlap.BUFFER_ONE, Overlap.BUFFER_ALL, Overlap.CANCEL_OTHER})


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive ticks of one rule with one fate, decided by one write.

    ``before`` is the write that decided those before them, if the rule was the same then; ``following`` is the first
    tick after them that no blackout keeps from running.
    """

    grid: Grid
    reign: Reign
    decision: Decision
    before: Decision | None
    ticks: Sequence[int]
    following: int | None
    fate: Fate
    reason: FateReason | None
    ran: bool


def waits(spec: ScheduleSpec) -> bool:
    """Whether a tick may wait for a live run."""
    return spec.overlap in _WAITING


def wrong_fate(what: Decided, past: Past) -> str | None:
    """What is wrong with their fate, if something is."""
    paused = _paused(what, what.ticks, past)
    if (what.fate, what.reason) == (Fate.SKIPPED, FateReason.PAUSED):
        return None if paused == len(what.ticks) else f"{len(what.ticks) - paused} of them came due under no pause"
    if paused:
        return f"{paused} of them came due under a pause that was known"
    return _overlooked(what, past) or _against_blackouts(what) or _against_policy(what, past)


def undecided(reign: Reign, decision: Decision | None, past: Past) -> int:
    """Until when, by the database, every tick of the rule in force must have been decided, if none may wait."""
    if decision is not None and not decision.whole:
        return 0
    return max((now for now, awake in _looks(reign, decision, past, None) if awake), default=0)


def _against_blackouts(what: Decided) -> str | None:
    shut = sum(map(what.grid.shut, what.ticks))
    if what.reason is FateReason.BLACKOUT:
        return f"{len(what.ticks) - shut} of them lay in no blackout" if shut < len(what.ticks) else _early(what)
    return f"{shut} of them lay in a blackout" if shut else None


def _early(what: Decided) -> str | None:
    return "it was decided before its instant" if what.grid.due(what.ticks[-1]) > what.decision.now else None


def _against_policy(what: Decided, past: Past) -> str | None:
    spec = what.reign.spec
    if what.ran:
        return _wrong_run(what, spec, past)
    if what.reason is FateReason.BLACKOUT:
        return None
    if what.reason is not FateReason.OVERLAP:
        return _wrong_loss(what, spec, past)
    if spec.unique_key is not None:
        return None  # Whoever holds the key is in the way, even ahead of the instant.
    if spec.overlap is Overlap.ALLOW_ALL:
        return "its policy lets runs overlap"
    return _early(what)


def _wrong_run(what: Decided, spec: ScheduleSpec, past: Past) -> str | None:
    now = what.decision.now
    due = what.grid.due(what.ticks[0])
    if due > now + _AHEAD:
        return f"it was planned {(due - now) / SECOND:.3f} s ahead"
    seen = _first_seen(what, due, past) if waits(spec) else now
    if seen - due <= _LATE:
        return None
    late = f"it was {'seen' if waits(spec) else 'planned'} {(seen - due) / SECOND:.3f} s late"
    grace = spec.misfire_grace_us
    if spec.misfire_policy is MisfirePolicy.SKIP:
        return f"{late}, and its policy skips such ticks"
    if grace is not None and seen - due > grace:
        return f"{late}, beyond its grace"
    if spec.misfire_policy is MisfirePolicy.FIRE_ONCE and _superseded(what, past, seen):
        return f"{late}, and was not the latest"
    return None


def _first_seen(what: Decided, due: int, past: Past) -> int:
    """When it was settled what may become of a tick that waits, however long it waits from then on.

    That is when a planner first looked at it on its instant or after it; one that stood in line behind another by then
    had been seen.
    """
    looks = past.looks(what.reign.order, what.decision.order)
    asleep = _asleep_until(what.reign)
    found = next(((order, now) for order, now, awake in looks if awake and now >= max(due, asleep)), None)
    if found is None:
        return what.decision.now
    in_line = what.before is not None and what.before.order > found[0]
    return due if in_line else found[1]


def _wrong_loss(what: Decided, spec: ScheduleSpec, past: Past) -> str | None:
    """Of ticks that were missed, or coalesced into another."""
    now = what.decision.now
    if not what.decision.whole:
        return None
    last = what.grid.due(what.ticks[-1])
    if not _late(what, what.ticks[-1]):
        return f"it was not late, {(now - last) / SECOND:.3f} s after it was due"
    grace, policy = spec.misfire_grace_us, spec.misfire_policy
    match what.fate, what.reason:
        case Fate.MISSED, FateReason.DOWN:
            return None if policy is MisfirePolicy.SKIP else f"its policy is {policy}"
        case Fate.MISSED, FateReason.GRACE:
            good = policy is not MisfirePolicy.SKIP and grace is not None and now - last > grace
            return None if good else f"its policy is {policy} with a grace of {grace}"
        case Fate.COALESCED, None:
            good = policy is MisfirePolicy.FIRE_ONCE and _superseded(what, past, now)
            return None if good else "no later tick could run for it"
    return "there is no such fate"


def _superseded(what: Decided, past: Past, now: int) -> bool:
    """Whether the tick after them was as late by then, and under no pause, nor behind one: it ends what came before."""
    following = what.following
    if following is None or what.grid.due(following) > now - _LATE or _paused(what, (following,), past):
        return False
    last, after = what.grid.due(what.ticks[-1]), what.grid.due(following)
    pauses = (what.reign.pause, past.pause_at(what.decision.order))
    return not any(pause is not None and last <= pause.since < after for pause in pauses)


def _late(what: Decided, tick: int) -> bool:
    return what.grid.due(tick) <= what.decision.now - _LATE


def _paused(what: Decided, ticks: Sequence[int], past: Past) -> int:
    """How many of these came due under a pause that stood when they were decided."""
    found: set[int] = set()
    for pause in (what.reign.pause, past.pause_at(what.decision.order)):
        if pause is not None:
            since = what.grid.due_by(ticks, pause.since)
            until = what.grid.due_by(ticks, _NEVER if pause.until is None else pause.until)
            found.update(range(since, until))
    return len(found)


def _overlooked(what: Decided, past: Past) -> str | None:
    """Whoever looks decides all that is due, unless it may wait for a live run."""
    if what.before is not None and not what.before.whole:
        return None
    waiting = waits(what.reign.spec)
    if waiting and what.fate not in (Fate.MISSED, Fate.COALESCED):
        return None
    first, looked = what.grid.due(what.ticks[0]), None
    for now, awake in _looks(what.reign, what.before, past, what.decision):
        due = what.grid.due_by(what.ticks, now - _AGAIN if waiting else now)
        if due and awake and (not waiting or now - what.grid.due(what.ticks[due - 1]) <= _LATE):
            looked = now
        elif now < first:
            looked = None  # The clock was set back to before their instant: it is to come once more.
    if looked is None:
        return None
    return f"a planner looked {(looked - first) / SECOND:.3f} s after it was due, and did not decide it"


def _looks(reign: Reign, after: Decision | None, past: Past, before: Decision | None) -> Iterator[tuple[int, bool]]:
    """The looks of planners between two decisions, that of the first included, and whether it could be planned then."""
    asleep = _asleep_until(reign)
    first = reign.order if after is None else max(reign.order, after.order - 1)
    for _, now, awake in past.looks(first, None if before is None else before.order):
        yield now, awake and now >= asleep


def _asleep_until(reign: Reign) -> int:
    """Until when nothing of the schedule is planned."""
    if reign.pause is None:
        return 0
    return _NEVER if reign.pause.until is None else reign.pause.until
