"""What is legal in a rule and may surprise whoever wrote it: kept with the schedule, shown beside the next ticks."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from puntual.model.instant import SECOND, Instant, format_instant
from puntual.timing import rule as rules
from puntual.timing.clock import ClockRule, clock_pattern, clock_spec
from puntual.timing.cron.grammar import CronSpec, parse_cron
from puntual.timing.cron.wall import Pattern
from puntual.timing.wallclock import format_wall, parse_wall
from puntual.timing.zone import Fold, Gap, load_zone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from puntual.timing.cron.items import Values

_AHEAD: Final = 3 * 366 * 86_400
"""How many seconds ahead clock changes are looked for: two of each kind, even where a year has none."""

_EVEN: Final = {"second": 60, "minute": 60, "hour": 24, "month": 12}
_MONTHS_WITHOUT: Final = {29: {2}, 30: {2}, 31: {2, 4, 6, 9, 11}}


def warnings_of(timetable: rules.Timetable, *, now: Instant, zone_given: bool) -> list[str]:
    """The sentences, in a fixed order and each once.

    Args:
        timetable: one that compiles.
        now: the moment of writing: clock changes are looked for from here, and ticks that are all past are noted.
        zone_given: whether somebody chose the zone.
    """
    found: dict[str, None] = {}
    parts = timetable.rule.rules if isinstance(timetable.rule, rules.AnyRule) else (timetable.rule,)
    for part in parts:
        if isinstance(part, rules.CronRule):
            spec = parse_cron(part.expr, part.dialect, part.hash_key)
            found.update(dict.fromkeys(_of_cron(spec, part, timetable, now)))
            if not zone_given and not spec.hour.wild:
                found[_no_zone(timetable.timezone)] = None
        elif isinstance(part, ClockRule):
            found.update(dict.fromkeys(_of_clock(part, timetable, now)))
            if not zone_given:
                found[_no_zone(timetable.timezone)] = None
        elif isinstance(part, rules.OnceRule) and part.wall is not None:
            found.update(dict.fromkeys(_clock_change(parse_wall(part.wall), part, timetable.timezone)))
            if not zone_given:
                found[_no_zone(timetable.timezone)] = None
    compiled = rules.compile(timetable)
    if compiled.next(now) is None and (last := compiled.previous(now)) is not None:
        found[f"its last tick was {format_instant(last)}: it will not fire again"] = None
    return list(found)


def _no_zone(timezone: str) -> str:
    return f"no time zone is given, so its hours are those of {timezone}"


def _of_cron(spec: CronSpec, rule: rules.CronRule, timetable: rules.Timetable, now: Instant) -> Iterator[str]:
    yield from _day_rule(spec)
    for name, values in spec.fields:
        yield from _steps(name, values)
    yield from _missing_days(spec)
    if spec.second.mask.bit_count() > 1:
        yield f"it fires {spec.second.mask.bit_count()} times in each minute that matches"
    if spec.hashed and not rule.hash_key:
        yield "H is spread by the schedule's name, and none is known here: the times will be others under a name"
    if not spec.elapsed:
        yield from _clock_changes(spec.pattern(), rule, timetable.timezone, now)


def _of_clock(rule: ClockRule, timetable: rules.Timetable, now: Instant) -> Iterator[str]:
    yield from _missing_days(clock_spec(rule).fields)
    if not rule.elapsed:
        yield from _clock_changes(clock_pattern(rule), rule, timetable.timezone, now)


def _day_rule(spec: CronSpec) -> Iterator[str]:
    day, weekday = spec.day.text, spec.weekday.text
    if not spec.days.both:
        yield f"day {day} and weekday {weekday} are both set, so it fires on days that match either (as crontab has it)"
    elif day not in ("*", "?", "*/1") and weekday not in ("*", "?", "*/1"):
        yield f"day {day} and weekday {weekday} must both match, since one of them begins with * (as crontab has it)"


def _steps(name: str, values: Values) -> Iterator[str]:
    for item in values.text.split(","):
        base, _, step = item.partition("/")
        if not step or step == "1":
            continue
        if base == "*" and name in ("day", "weekday"):
            whole = "month" if name == "day" else "week"
            yield f"{name} {item} begins anew with each {whole}, so the last gap is not {step} days"
        elif base in ("*", "H") and name in _EVEN and _EVEN[name] % int(step):
            yield f"{name} {item} is uneven: {step} does not divide {_EVEN[name]}, so the last gap is shorter"
        elif values.open_step and "-" not in base and base not in ("*", "H") and not base.startswith("H("):
            yield f"{name} {item} is read as every {step} from {base} on, which not every cron does"


def _missing_days(spec: CronSpec) -> Iterator[str]:
    rule = spec.days
    if spec.weekday.mask and not rule.both:
        return
    months = {month for month in range(1, 13) if rule.months >> month & 1}
    for day in [*(int(item) for item in spec.day.text.split(",") if item.isdigit()), *rule.near]:
        without = months & _MONTHS_WITHOUT.get(day, set())
        if day == 29 and months == {2}:
            yield "29 February comes only in leap years, every 4 years and at times after 8"
        elif without:
            yield f"months without a day {day} are skipped; L is the last day of each month"
    if any(day in (1, 29, 30, 31) for day in rule.near):
        yield "W stays within its month: near its ends it moves up to two days the other way"


def _clock_changes(pattern: Pattern, rule: rules.CronRule | ClockRule, timezone: str, now: Instant) -> Iterator[str]:
    """The next gap and the next fold that hold a time of the rule, told with what will happen there."""
    second = now // SECOND
    zone = load_zone(timezone).stretches(second + _AHEAD)
    told: set[bool] = set()
    for stretch in range(bisect_right(zone.starts, second), bisect_right(zone.starts, second + _AHEAD)):
        start, before, after = zone.starts[stretch], zone.offsets[stretch - 1], zone.offsets[stretch]
        forward = after > before
        wall = None if forward in told else pattern.first(start + min(before, after))
        if wall is not None and wall < start + max(before, after):
            told.add(forward)
            yield from _clock_change(wall, rule, timezone)


def _clock_change(wall: int, rule: rules.CronRule | ClockRule | rules.OnceRule, timezone: str) -> Iterator[str]:
    """What happens to a wall time that does not exist or comes twice; nothing is said about any other."""
    zone = load_zone(timezone)
    time = format_wall(wall).replace("T", " ")
    gap: Gap = rule.dst_gap or "boundary"
    fold: Fold = rule.dst_fold or "first"
    real = zone.resolve(wall, "skip", "both")
    if not real:
        moved = zone.resolve(wall, gap, fold)
        what = f"it fires at {format_instant(moved[0] * SECOND)}" if moved else "it does not fire"
        yield f"{time} does not exist in {timezone}: {what} (dst_gap: {gap})"
    elif len(real) == 2:
        times = {"first": "the first time", "last": "the second time", "both": "both times"}[fold]
        yield f"{time} comes twice in {timezone}: it fires {times} (dst_fold: {fold})"
