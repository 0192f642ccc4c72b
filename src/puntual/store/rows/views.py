"""Schedules as they are read for a plan or an edit, each by itself where one of them cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from puntual.model.schedule import Pause, Schedule
from puntual.store.requests import PlanView
from puntual.store.rows.codec import decode
from puntual.store.rows.readable import Unreadable, mended

_look = msgspec.json.Decoder(tuple[Pause | None, tuple[PlanView, ...]])
_raw_look = msgspec.json.Decoder(tuple[Pause | None, list[Any]])
_schedules = msgspec.json.Decoder(list[Schedule])
_raw_schedules = msgspec.json.Decoder(list[Any])


class Look(msgspec.Struct, frozen=True):
    """The pause of everything, what can be decided on, and the schedules that cannot be read.

    ``mended`` are views of those schedules, with what can be read of them: for whoever asked for one by its name.
    """

    pause: Pause | None
    views: Sequence[PlanView]
    unreadable: Sequence[Unreadable] = ()
    mended: Sequence[PlanView] = ()


def read_look(text: str) -> Look:
    """What ``plan_read`` and ``change_read_*`` answer."""
    try:
        return Look(*_look.decode(text))
    except msgspec.MsgspecError:
        pause, raws = decode(_raw_look, text)
    views: list[PlanView] = []
    unreadable: list[Unreadable] = []
    partly: list[PlanView] = []
    for raw in raws:
        try:
            views.append(msgspec.convert(raw, PlanView))
        except msgspec.MsgspecError as error:
            unreadable.append(Unreadable(str(raw["schedule"]["id"]), str(error)))
            schedule = _shown(raw["schedule"], str(error))
            if schedule is not None:
                partly.append(msgspec.convert({**raw, "schedule": schedule}, PlanView))
    return Look(pause, views, unreadable, partly)


def shown_schedules(text: str) -> list[Schedule]:
    """The schedules of a list; one that cannot be read is shown as far as it can be, with its trouble."""
    try:
        return _schedules.decode(text)
    except msgspec.MsgspecError:
        shown = (_one(raw) for raw in decode(_raw_schedules, text))
        return [schedule for schedule in shown if schedule is not None]


def _one(raw: object) -> Schedule | None:
    try:
        return msgspec.convert(raw, Schedule)
    except msgspec.MsgspecError as error:
        return _shown(raw, str(error))


def _shown(raw: object, why: str) -> Schedule | None:
    schedule = mended(raw, Schedule)
    if schedule is None:
        return None
    cursor = msgspec.structs.replace(schedule.cursor, trouble=f"It cannot be read: {why}.")
    return msgspec.structs.replace(schedule, cursor=cursor)
