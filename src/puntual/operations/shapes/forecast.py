"""A forecast as replies show it: minutes, the crowded ones with their schedules and hosts, and what would help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict
from urllib.parse import urlsplit

import msgspec

from puntual.engine.forecast import Crowd, Forecast
from puntual.model.duration import format_duration
from puntual.model.instant import MINUTE, format_instant
from puntual.model.run import HTTP_TASK
from puntual.model.schedule import Schedule

#: Of what a crowded minute is made, and whom an advice names, at most so many.
_SHOWN: Final = 10
_NAMED: Final = 100


class MinuteShape(TypedDict):
    """A minute with something in it: runs of ticks, and runs that are pending already."""

    minute: str
    ticks: int
    pending: int


class ShareShape(TypedDict):
    """What a schedule or a host has of a minute."""

    name: str
    runs: int


class CrowdShape(TypedDict):
    """A crowded minute; the largest shares come first."""

    minute: str
    runs: int
    schedules: list[ShareShape]
    hosts: list[ShareShape]


class AdviceShape(TypedDict):
    """The spread that would flatten the most crowded minute: for which schedules, of how many, and the peak by it."""

    spread: str
    schedules: list[str]
    count: int
    peak_before: int
    peak_after: int


class ForecastShape(TypedDict):
    """What is to come. ``pending_at_least`` says that there are more pending runs than were counted."""

    since: str
    until: str
    ticks: int
    pending: int
    pending_at_least: bool
    peak: MinuteShape | None
    minutes: list[MinuteShape]
    crowded: list[CrowdShape]
    advice: AdviceShape | None


def forecast_shape(
    told: Forecast, pending: Mapping[int, int], schedules: Sequence[Schedule], *, more: bool
) -> ForecastShape:
    """The reply.

    Args:
        told: what the schedules will ask for.
        pending: runs that are due, by the minute.
        schedules: those that it was made of, for their hosts.
        more: whether there are more pending runs than were counted.
    """
    window = told.window
    minutes: list[MinuteShape] = []
    for place, ticks in enumerate(told.minutes):
        at = window.since + place * MINUTE
        if ticks or pending.get(at):
            minutes.append({"minute": format_instant(at), "ticks": ticks, "pending": pending.get(at, 0)})
    hosts = {each.name: host for each in schedules if (host := _host(each)) is not None} if told.crowded else {}
    advice = told.advice
    return {
        "since": format_instant(window.since),
        "until": format_instant(window.until),
        "ticks": sum(told.minutes),
        "pending": sum(pending.values()),
        "pending_at_least": more,
        "peak": max(minutes, key=lambda each: each["ticks"] + each["pending"], default=None),
        "minutes": minutes,
        "crowded": [_crowd(crowd, hosts) for crowd in told.crowded],
        "advice": None
        if advice is None
        else {
            "spread": format_duration(advice.spread_us),
            "schedules": list(advice.schedules[:_NAMED]),
            "count": len(advice.schedules),
            "peak_before": advice.before,
            "peak_after": advice.after,
        },
    }


def _crowd(crowd: Crowd, hosts: Mapping[str, str]) -> CrowdShape:
    by_host: Counter[str] = Counter()
    for name, runs in crowd.schedules:
        if name in hosts:
            by_host[hosts[name]] += runs
    return {
        "minute": format_instant(crowd.minute),
        "runs": crowd.runs,
        "schedules": [{"name": name, "runs": runs} for name, runs in crowd.schedules[:_SHOWN]],
        "hosts": [{"name": name, "runs": runs} for name, runs in by_host.most_common(_SHOWN)],
    }


def _host(schedule: Schedule) -> str | None:
    """Whom a schedule calls, if it calls anybody."""
    target = schedule.spec.target
    if target.task != HTTP_TASK:
        return None
    request: Any = msgspec.json.decode(target.args)
    try:
        return urlsplit(str(request["url"])).hostname
    except (KeyError, TypeError, ValueError):
        return None
