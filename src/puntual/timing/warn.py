"""What is legal in a rule and may surprise whoever wrote it: kept with the schedule, shown beside the next ticks."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, TypeAlias

from puntual.model.instant import SECOND, Instant, format_instant
from puntual.model.said import Said, said
from puntual.timing import rule as rules
from puntual.timing.clock import ClockRule, clock_pattern, clock_spec
from puntual.timing.cron.grammar import CronSpec, parse_cron
from puntual.timing.cron.wall import Pattern
from puntual.timing.messages import say
from puntual.timing.recurrence.rule import RruleRule, rrule_pattern
from puntual.timing.wallclock import format_wall, parse_wall
from puntual.timing.zone import Fold, Gap, load_zone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from puntual.timing.cron.items import Values

_Fixed: TypeAlias = rules.CronRule | ClockRule | RruleRule
_AHEAD: Final = 3 * 366 * 86_400
"""How many seconds ahead clock changes are looked for: two of each kind, even where a year has none."""

_EVEN: Final = {"second": 60, "minute": 60, "hour": 24, "month": 12}
_LEAP_DAYS: Final = said("29 February comes only in leap years, every 4 years and at times after 8")
_MONTHS_WITHOUT: Final = {29: {2}, 30: {2}, 31: {2, 4, 6, 9, 11}}


def warnings_of(timetable: rules.Timetable, *, now: Instant, zone_given: bool, lang: str = "en") -> list[str]:
    """The sentences, in a fixed order and each once.

    Args:
        timetable: one that compiles.
        now: the moment of writing: clock changes are looked for from here, and ticks that are all past are noted.
        zone_given: whether somebody chose the zone.
        lang: the language of the sentences.
    """
    found: dict[str, None] = {}
    for part in rules.parts_of(timetable.rule):
        found.update(dict.fromkeys(say(warning, lang) for warning in _of_part(part, timetable, now)))
        if not zone_given and _names_hours(part):
            no_zone = said("no time zone is given, so its hours are those of {zone}", zone=timetable.timezone)
            found[say(no_zone, lang)] = None
    compiled = rules.compile(timetable)
    if compiled.next(now) is None and (last := compiled.previous(now)) is not None:
        over = said("its last tick was {instant}: it will not fire again", instant=format_instant(last))
        found[say(over, lang)] = None
    return list(found)


def _of_part(part: rules.PlainRule, timetable: rules.Timetable, now: Instant) -> Iterator[Said]:
    match part:
        case rules.CronRule():
            yield from _of_cron(parse_cron(part.expr, part.dialect, part.hash_key), part, timetable, now)
        case ClockRule():
            yield from _of_clock(part, timetable, now)
        case RruleRule():
            yield from _of_rrule(part, timetable, now)
        case rules.OnceRule(wall=str(wall)):
            yield from _clock_change(parse_wall(wall), part, timetable.timezone)


def _names_hours(part: rules.PlainRule) -> bool:
    """Whether a rule says hours of the clock, so that its zone matters to whoever wrote it."""
    match part:
        case rules.CronRule():
            return not parse_cron(part.expr, part.dialect, part.hash_key).hour.wild
        case RruleRule():
            return not part.elapsed
        case rules.OnceRule():
            return part.wall is not None
        case _:
            return isinstance(part, ClockRule)


def surprises_of(spec: CronSpec) -> Iterator[Said]:
    """What may surprise in the fields of an expression, whatever the zone and the moment of writing."""
    yield from _day_rule(spec)
    for name, values in spec.fields:
        yield from _steps(name, values)
    yield from _missing_days(spec)


def _of_cron(spec: CronSpec, rule: rules.CronRule, timetable: rules.Timetable, now: Instant) -> Iterator[Said]:
    yield from surprises_of(spec)
    if spec.second.mask.bit_count() > 1:
        yield said("it fires {n} times in each minute that matches", n=spec.second.mask.bit_count())
    if spec.hashed and not rule.hash_key:
        yield said("H is spread by the schedule's name, and none is known here: the times will be others under a name")
    if not spec.elapsed:
        yield from _clock_changes(spec.pattern(), rule, timetable.timezone, now)


def _of_clock(rule: ClockRule, timetable: rules.Timetable, now: Instant) -> Iterator[Said]:
    yield from _missing_days(clock_spec(rule).fields)
    if not rule.elapsed:
        yield from _clock_changes(clock_pattern(rule), rule, timetable.timezone, now)


def _of_rrule(rule: RruleRule, timetable: rules.Timetable, now: Instant) -> Iterator[Said]:
    spec = rule.completed
    months = set(spec.by_month) or set(range(1, 13))
    longest = max(spec.by_month_day, default=0)
    if longest == 29 and months == {2}:
        yield _LEAP_DAYS
    elif len(spec.by_month_day) == 1 and months & _MONTHS_WITHOUT.get(longest, set()):
        yield said("months without a day {day} are skipped; BYMONTHDAY=-1 is the last day of each month", day=longest)
    if spec.freq == "YEARLY" and spec.by_month_day and not (spec.by_month or spec.by_week_no or spec.by_year_day):
        yield said("BYMONTHDAY without BYMONTH comes in each month of the year, as FREQ=MONTHLY does")
    pattern = rrule_pattern(rule.expr, rule.dtstart)
    if rule.dtstart and (first := pattern.first(parse_wall(rule.dtstart))) != parse_wall(rule.dtstart):
        alone = "DTSTART ({start}) is no time of the rule itself"
        later = "DTSTART ({start}) is no time of the rule itself: its first one is {first}"
        shown = "" if first is None else format_wall(first)
        yield said(later if shown else alone, start=rule.dtstart, first=shown)
    if not rule.elapsed:
        yield from _clock_changes(pattern, rule, timetable.timezone, now)


def _day_rule(spec: CronSpec) -> Iterator[Said]:
    day, weekday = spec.day.text, spec.weekday.text
    if not spec.days.both:
        yield said(
            "day {day} and weekday {weekday} are both set, so it fires on days that match either (as crontab has it)",
            day=day,
            weekday=weekday,
        )
    elif day not in ("*", "?", "*/1") and weekday not in ("*", "?", "*/1"):
        yield said(
            "day {day} and weekday {weekday} must both match, since one of them begins with * (as crontab has it)",
            day=day,
            weekday=weekday,
        )


def _steps(name: str, values: Values) -> Iterator[Said]:
    for item in values.text.split(","):
        base, _, step = item.partition("/")
        if not step or step == "1":
            continue
        if base == "*" and name in ("day", "weekday"):
            yield said(
                "{field} {item} begins anew with each {whole}, so the last gap is not {step} days",
                field=said(name),
                item=item,
                whole=said("month" if name == "day" else "week"),
                step=step,
            )
        elif base in ("*", "H") and name in _EVEN and _EVEN[name] % int(step):
            yield said(
                "{field} {item} is uneven: {step} does not divide {size}, so the last gap is shorter",
                field=said(name),
                item=item,
                step=step,
                size=_EVEN[name],
            )
        elif values.open_step and "-" not in base and base not in ("*", "H") and not base.startswith("H("):
            yield said(
                "{field} {item} is read as every {step} from {base} on, which not every cron does",
                field=said(name),
                item=item,
                step=step,
                base=base,
            )


def _missing_days(spec: CronSpec) -> Iterator[Said]:
    rule = spec.days
    if spec.weekday.mask and not rule.both:
        return
    months = {month for month in range(1, 13) if rule.months >> month & 1}
    for day in [*(int(item) for item in spec.day.text.split(",") if item.isdigit()), *rule.near]:
        without = months & _MONTHS_WITHOUT.get(day, set())
        if day == 29 and months == {2}:
            yield _LEAP_DAYS
        elif without:
            yield said("months without a day {day} are skipped; L is the last day of each month", day=day)
    if any(day in (1, 29, 30, 31) for day in rule.near):
        yield said("W stays within its month: near its ends it moves up to two days the other way")


def _clock_changes(pattern: Pattern, rule: _Fixed, timezone: str, now: Instant) -> Iterator[Said]:
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


def _clock_change(wall: int, rule: _Fixed | rules.OnceRule, timezone: str) -> Iterator[Said]:
    """What happens to a wall time that does not exist or comes twice; nothing is said about any other."""
    zone = load_zone(timezone)
    time = format_wall(wall).replace("T", " ")
    gap: Gap = rule.dst_gap or "boundary"
    fold: Fold = rule.dst_fold or "first"
    real = zone.resolve(wall, "skip", "both")
    if not real:
        moved = zone.resolve(wall, gap, fold)
        at = (
            said("it fires at {instant}", instant=format_instant(moved[0] * SECOND))
            if moved
            else said("it does not fire")
        )
        yield said("{time} does not exist in {zone}: {at} (dst_gap: {gap})", time=time, zone=timezone, at=at, gap=gap)
    elif len(real) == 2:
        times = {"first": "the first time", "last": "the second time", "both": "both times"}[fold]
        yield said(
            "{time} comes twice in {zone}: it fires {times} (dst_fold: {fold})",
            time=time,
            zone=timezone,
            times=said(times),
            fold=fold,
        )
