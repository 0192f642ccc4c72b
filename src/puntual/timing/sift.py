"""What a rule leaves out and counts, as it was written, becomes one `SelectRule` around it.

An exception is a date or two of them (``2026-12-24``, ``2026-12-24..2027-01-02``), a time, or a rule. A rule without
times (``weekends``, ``first monday of the month``, ``25 de diciembre``, and in cron ``* * 25 12 *``) means whole days,
and so does a period of days; any other takes away the ticks that it shares with the rule, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import DAY, SECOND, Instant, format_instant, parse_instant
from puntual.model.said import Said, said
from puntual.timing import phrase
from puntual.timing import rule as rules
from puntual.timing.clock import LONGEST_CYCLE, ClockRule, day_number
from puntual.timing.cron.grammar import parse_cron
from puntual.timing.options import Read, RuleOptions, alone
from puntual.timing.spoken import read_spoken
from puntual.timing.wallclock import format_wall, parse_wall

MOST_EXCEPTIONS: Final = 1_000
_DATES: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:\s*\.\.\s*(\d{4}-\d\d-\d\d))?", re.ASCII)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?([zZ]|[+-]\d\d:\d\d)?", re.ASCII)
_NO_TIME: Final = "it is not said at what time"

Reader = Callable[[str, RuleOptions], Read]


def selected(rule: rules.PlainRule | rules.AnyRule, options: RuleOptions, read: Reader) -> rules.Rule:
    """The rule with all that the options leave out and count; the rule itself where they say nothing of the kind.

    Args:
        rule: what it is taken from.
        options: the exceptions and the numbers.
        read: what reads a text as ``when`` does.

    Raises:
        InvalidRuleError: an exception is not understood, or a number is out of its range; ``field`` names the key.
    """
    counts = options.every_nth != 1 or options.max_ticks is not None
    if not counts and not options.without:
        return rule
    if len(options.without) > MOST_EXCEPTIONS:
        raise InvalidRuleError(said("a rule has at most {most} exceptions", most=MOST_EXCEPTIONS), field="except")
    return rules.SelectRule(
        rule=rule,
        without=tuple(_exceptions(options, read)),
        every_nth=options.every_nth,
        max_ticks=options.max_ticks,
        counted_from=(begin(options.now) if options.start is None else options.start) if counts else None,
    )


def begin(now: Instant) -> Instant:
    """Where counting begins that was written now: the next whole second, so that no tick counts that is over."""
    return (now // SECOND + 1) * SECOND


def counted_by_writing(timetable: rules.Timetable) -> Instant | None:
    """Where the ticks of a timetable are counted from, if that is the moment of its writing; else None."""
    rule = timetable.rule
    return rule.counted_from if isinstance(rule, rules.SelectRule) and timetable.start is None else None


def written_at(timetable: rules.Timetable, now: Instant) -> rules.Timetable:
    """The timetable as if it were written now: what is counted from the writing is counted from here."""
    if counted_by_writing(timetable) is None:
        return timetable
    rule = msgspec.structs.replace(timetable.rule, counted_from=begin(now))
    return msgspec.structs.replace(timetable, rule=rule)


def check_left(rule: rules.Rule, options: RuleOptions) -> None:
    """Refuses exceptions that leave nothing from now on of a rule that goes on.

    Raises:
        InvalidRuleError: as said.
    """
    if not isinstance(rule, rules.SelectRule) or not rule.without:
        return
    left = rules.SelectRule(rule=rule.rule, without=rule.without)
    whole, rest = (rules.compile(rules.Timetable(rule=each, timezone=options.timezone)) for each in (rule.rule, left))
    if rest.next(options.now) is None and whole.next(options.now) is not None:
        raise InvalidRuleError(said("this never fires: what it leaves out is all that it has"), field="except")


def sifting_surprises(rule: rules.Rule, options: RuleOptions) -> Iterator[Said]:
    """What may surprise in what a rule leaves out and counts."""
    if not isinstance(rule, rules.SelectRule):
        return
    if rule.counted_from is not None and options.start is None:
        yield said("no start is given, so its ticks are counted from when the rule was written or changed last")
    whole = rules.compile(rules.Timetable(rule=rule.rule, timezone=options.timezone))
    for each in rule.without:
        if isinstance(each, rules.OnceRule):
            times = rules.compile(rules.Timetable(rule=each, timezone=options.timezone))
            time = times.previous(1 << 62)
            if time is None or whole.previous(time) != time:
                shown = each.wall or format_instant(each.instant or 0)
                yield said("except {time} takes nothing away: the rule has no tick then", time=shown)


def _exceptions(options: RuleOptions, read: Reader) -> Iterator[rules.PlainRule | rules.DaysRule]:
    own = alone(options)
    for place, text in enumerate(options.without):
        field = f"except[{place}]" if len(options.without) > 1 else "except"
        try:
            yield _exception(text.strip(), own, read)
        except InvalidRuleError as error:
            error.field = field
            raise


def _exception(text: str, options: RuleOptions, read: Reader) -> rules.PlainRule | rules.DaysRule:
    return _written_out(text) or _ruled(text, options, read)


def _written_out(text: str) -> rules.DaysRule | rules.OnceRule | None:
    """A date, two of them, or a time; None if it is something else."""
    if (dates := _DATES.fullmatch(text)) is not None:
        first, last = dates[1], dates[2] or dates[1]
        if day_number(first) > day_number(last):
            raise InvalidRuleError(said("{last} lies before {first}", last=last, first=first))
        if day_number(last) - day_number(first) > LONGEST_CYCLE:
            raise InvalidRuleError(
                said(
                    "{first}..{last} is longer than ten years: say with start or end where the rule ends",
                    first=first,
                    last=last,
                )
            )
        return rules.DaysRule(first=first, last=last)
    if (time := _TIME.fullmatch(text)) is None:
        return None
    if time[1] is not None:
        return rules.OnceRule(instant=parse_instant(text.replace(" ", "T")))
    return rules.OnceRule(wall=format_wall(parse_wall(text)))


def _ruled(text: str, options: RuleOptions, read: Reader) -> rules.PlainRule | rules.DaysRule:
    try:
        found = read(text, msgspec.structs.replace(options, dst_gap=None, dst_fold=None)).rule
    except InvalidRuleError as error:
        return _days_or(error, text, options)
    if isinstance(found, rules.IntervalRule) and not found.period_us % DAY:
        return _spoken_days(text, options) or found
    if isinstance(found, rules.CronRule) and (days := _whole_days(found)) is not None:
        return days
    assert not isinstance(found, rules.AnyRule)
    return found


def _whole_days(rule: rules.CronRule) -> rules.DaysRule | None:
    """The days of an expression that has each minute of them."""
    spec = parse_cron(rule.expr, rule.dialect, rule.hash_key)
    if spec.minute.mask.bit_count() < 60 or spec.hour.mask.bit_count() < 24 or spec.hashed or spec.years:
        return None
    return rules.DaysRule(day=spec.day.text, month=spec.month.text, weekday=spec.weekday.text)


def _days_or(error: InvalidRuleError, text: str, options: RuleOptions) -> rules.DaysRule:
    """The days that a text without a time means, or why it means nothing at all."""
    try:
        days = _spoken_days(text, options)
    except InvalidRuleError as other:
        if other.field == "anchor":
            how = "an exception says itself from when it counts: 'every other friday counted from 2027-01-01'"
            raise InvalidRuleError(said(how)) from other
        # What was missing is no time; then the other reading knows better what is.
        raise (other if error.message.startswith(_NO_TIME) else error) from None
    if days is None:
        raise error
    return days


def _spoken_days(text: str, options: RuleOptions) -> rules.DaysRule | None:
    """The days of a phrase that says no time; None where languages differ about them.

    Raises:
        InvalidRuleError: no language reads it so.
    """
    found: list[rules.DaysRule] = []
    faults: list[InvalidRuleError] = []
    for lang, lexicon in phrase.LANGUAGES.items():
        if options.lang in (None, lang):
            at_midnight = f"{text} {lexicon.example('at', times='0:00')}"
            try:
                found.append(_days_of(read_spoken(at_midnight, msgspec.structs.replace(options, lang=lang)).rule))
            except InvalidRuleError as error:
                faults.append(error)
    if not found:
        raise next((fault for fault in faults if fault.field == "anchor"), faults[0])
    return found[0] if all(each == found[0] for each in found) else None


def _days_of(rule: rules.Rule) -> rules.DaysRule:
    if isinstance(rule, ClockRule) and rule.at == ("00:00",):
        return rules.DaysRule(
            day=rule.day,
            month=rule.month,
            weekday=rule.weekday,
            working_days=rule.working_days,
            cycle_days=rule.cycle_days,
            anchor=rule.anchor,
        )
    if isinstance(rule, rules.CronRule) and rule.expr.startswith("0 0 "):
        _, _, day, month, weekday = rule.expr.split()
        return rules.DaysRule(day=day, month=month, weekday=weekday)
    raise InvalidRuleError(said("it means no days"))
