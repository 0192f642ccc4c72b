"""Plan: ticks become runs, each exactly once, and every tick that makes none is accounted for.

``plan`` decides, purely; the store applies it in the transaction in which it was read. The order of a decision:

1. ticks that a pause covered are passed over as skipped;
2. ticks that a calendar or a blackout closes are skipped too, at their own instant and not ahead of it;
3. late ticks (nobody planned them within ``LATE_US`` of their instant) are one misfire, decided at once with the rule's
   ``previous`` and ``count``, never by walking;
4. the rest is taken tick by tick up to the horizon. Ahead of its instant a tick is planned only if nothing of its
   schedule is live (or ``allow_all``); else it is decided at its own instant by the overlap policy.

A buffered tick is a tick not planned yet: the cursor stays, ``seen_at`` remembers that somebody looked, ``look_at``
comes back.
"""

from __future__ import annotations

from typing import Final

import msgspec

from puntual.engine.walk import HANDED_PER_ROUND, Walk
from puntual.model.instant import SECOND
from puntual.model.schedule import Fate, FateReason, Pause
from puntual.store.requests import PlanView, PlanWrite

#: How far ahead ticks become runs, so that a claim can precede the instant.
HORIZON_US: Final = 5 * SECOND
#: A waiting tick is looked at again after this, hint or not.
_LOOK_AGAIN_US: Final = SECOND
#: A schedule that cannot be planned is tried again after this.
_TROUBLED_US: Final = 60 * SECOND


def plan(
    view: PlanView, paused_all: Pause | None, now: int, horizon_us: int = HORIZON_US, *, closing: bool = False
) -> PlanWrite:
    """What comes of a schedule's ticks up to ``now + horizon_us``.

    Args:
        view: the schedule and its live runs, as read in this transaction.
        paused_all: the last pause of everything, active or over.
        now: the store's time.
        horizon_us: how far ahead to plan; 0 plans only what is owed.
        closing: this rule ends here (an edit follows): no tick up to now may stay undecided.
    """
    walk = Walk(view, now, closing=closing)
    # The earlier first: what came due under it is not owed because another pause began later.
    for pause in sorted(filter(None, (view.schedule.pause, paused_all)), key=lambda pause: pause.since):
        # What was due before the pause is owed as ever; only what came due under it is passed over.
        walk.until = min(pause.since, now)
        look_at = _take_all(walk, walk.until)
        if walk.undecided(walk.until):
            return walk.write(look_at=look_at)
        walk.until = now
        walk.pass_paused(now if pause.until is None else min(now, pause.until))
        if pause.active(now):
            return walk.write(look_at=pause.until)
    return walk.write(look_at=_take_all(walk, now + horizon_us))


def set_back(view: PlanView, now: int, trouble: str) -> PlanWrite:
    """A schedule that cannot be planned (its zone is unknown here, its rule unreadable): later again, and why.

    It holds up no other; its cursor stays where it is, so that nothing is lost once it can be planned.
    """
    cursor = view.schedule.cursor
    return PlanWrite(
        schedule_id=view.schedule.id,
        revision=view.schedule.revision,
        was_next_tick_at=cursor.next_tick_at,
        cursor=msgspec.structs.replace(cursor, look_at=now + _TROUBLED_US, trouble=trouble),
    )


def _take_all(walk: Walk, limit: int) -> int | None:
    """Takes tick after tick until the limit, a live run or the bound of one round; says when to look again."""
    now = walk.now
    while walk.next is not None:
        tick_due = walk.due(walk.next)
        if tick_due > limit:
            return tick_due - HORIZON_US
        if tick_due > now and (walk.blocked or walk.shut(walk.next)):
            return tick_due
        if len(walk.runs) < HANDED_PER_ROUND and walk.room:
            walk.take(walk.next, tick_due)
        elif walk.closing:
            walk.pass_due(Fate.MISSED, FateReason.DOWN)
        else:
            return now
        if walk.waiting:
            return now + _LOOK_AGAIN_US
    return None
