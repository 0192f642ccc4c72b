"""What a person wrote becomes one timetable, or one sentence that says why not; nothing is guessed.

``when`` is read in this order: an ``@name``; five cron fields (``unix``); ``every <duration>``; else a phrase. Six
fields mean one thing with seconds first and another in quartz, so they need a declared dialect; so do recurrence rules.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, get_args

import msgspec

from puntual.model.duration import parse_duration
from puntual.model.errors import InvalidDurationError, InvalidRuleError
from puntual.model.instant import EARLIEST, SECOND, format_instant, parse_instant
from puntual.model.said import as_said, said
from puntual.timing import phrase
from puntual.timing import rule as rules
from puntual.timing.cron.fields import LAYOUTS, CronDialect
from puntual.timing.cron.grammar import parse_cron
from puntual.timing.describe import describe
from puntual.timing.messages import say
from puntual.timing.options import Read, RuleOptions, interval_of
from puntual.timing.phrase.tokens import LONGEST
from puntual.timing.recurrence.read import read_rrule
from puntual.timing.sift import check_left, selected, sifting_surprises
from puntual.timing.spoken import read_spoken
from puntual.timing.wallclock import format_wall, parse_wall
from puntual.timing.warn import warnings_of
from puntual.timing.zone import Fold, Gap, load_zone

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Dialect", "Parsed", "RuleOptions", "parse_any", "parse_interval", "parse_once", "parse_rule", "parse_times"]

Dialect = Literal["unix", "seconds", "quartz", "phrase", "interval", "rrule"]

_CRON_START: Final = re.compile(r"[\d*?/,.-]|H(?:[(/]|$)", re.ASCII | re.IGNORECASE)
# A run of letters is read in one way or not at all, so that no text makes this slow.
_CRON_WORD: Final = re.compile(r"(?:[\d*?/,.#()-]|(?>(?:[A-Z]{3}|[HLW]){1,4}(?![A-Z])))+", re.ASCII | re.IGNORECASE)
_CRON_NUMBERS: Final = re.compile(r"[\d*?/,.#()HLW-]+", re.ASCII | re.IGNORECASE)
MOST_TIMES: Final = 1_000
_RRULE_START: Final = re.compile(r"FREQ=|RRULE[:;]|DTSTART[:;]", re.IGNORECASE)
_HOW: Final = (
    "write five cron fields, an @name such as @daily, 'every <duration>' such as 'every 15 minutes', "
    "or a phrase such as 'every weekday at 9:30'"
)


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """A rule understood: the timetable to store, a sentence that says it, and what may surprise.

    ``anchored`` says whether an anchor means anything to it, ``spoken`` whether some of it is a phrase.
    """

    timetable: rules.Timetable
    description: str
    warnings: list[str]
    anchored: bool = False
    spoken: bool = False


def parse_rule(text: str, *, dialect: str | None = None, options: RuleOptions) -> Parsed:
    """The timetable of a rule's text.

    Args:
        text: what was written as ``when``, or, with a dialect, as its expression.
        dialect: the declared grammar; None reads ``text`` as ``when``.
        options: zone, policies, anchor and the moment of writing.

    Raises:
        InvalidRuleError: the text is not understood, could mean two things, or can never fire.
        InvalidZoneError: the zone is no IANA name.
    """
    return _parsed(_rule(text, dialect, options), options)


def parse_any(texts: Sequence[str], *, options: RuleOptions) -> Parsed:
    """The timetable of a list of rules: due when any of them is, once where they agree.

    Raises:
        InvalidRuleError: the list is empty, or one of them is refused; the sentence says which.
    """
    if not texts:
        raise InvalidRuleError("a list of rules needs at least one rule")
    parts: list[Read] = []
    for place, text in enumerate(texts):
        try:
            parts.append(_rule(text, None, options))
        except InvalidRuleError as error:
            raise InvalidRuleError(
                said("rule {place} of the list: {fault}", place=place + 1, fault=as_said(error.said)),
                column=error.column,
                field=error.field,
            ) from error
    if len(parts) == 1:
        return _parsed(parts[0], options)
    plain = tuple(part.rule for part in parts if not isinstance(part.rule, rules.AnyRule))
    anchored, spoken = any(part.anchored for part in parts), any(part.spoken for part in parts)
    zoned = any(part.zoned for part in parts)
    return _parsed(Read(rules.AnyRule(rules=plain), anchored, spoken, zoned), options)


def parse_once(text: str, *, options: RuleOptions) -> Parsed:
    """The timetable of one time: an instant with an offset, or a wall time in the options' zone.

    Raises:
        InvalidRuleError: it is no time, or a clock change skips it and ``dst_gap`` is ``skip``.
    """
    return parse_times([text], options=options)


def parse_times(texts: Sequence[str], *, options: RuleOptions) -> Parsed:
    """The timetable of some times, each as `parse_once` has it; one that stands twice comes once.

    Raises:
        InvalidRuleError: there is none, there are more than 1,000, or one of them is none; the sentence says which.
    """
    if not 1 <= len(texts) <= MOST_TIMES:
        raise InvalidRuleError(said("a list of times has 1 to {most} of them", most=MOST_TIMES))
    times = []
    for place, text in enumerate(texts):
        try:
            times.append(_once(text.strip(), options))
        except InvalidRuleError as error:
            if len(texts) == 1:
                raise
            raise InvalidRuleError(
                said("time {place} of the list: {why}", place=place + 1, why=as_said(error.said)), field=error.field
            ) from error
    return _parsed(Read(times[0] if len(times) == 1 else rules.AnyRule(rules=tuple(times))), options)


def _once(text: str, options: RuleOptions) -> rules.OnceRule:
    if re.search(r"(?:[zZ]|[+-]\d\d:\d\d)$", text, re.ASCII):
        return rules.OnceRule(instant=parse_instant(text))
    return rules.OnceRule(wall=format_wall(parse_wall(text)), dst_gap=options.dst_gap, dst_fold=options.dst_fold)


def parse_interval(text: str, *, options: RuleOptions) -> Parsed:
    """The timetable of a period alone, as the key ``every`` has it: ``90s``, ``2 weeks``.

    Raises:
        InvalidRuleError: it is no period of a second or more, or it needs an anchor.
    """
    return _parsed(_interval(text, options), options)


def _parsed(read: Read, options: RuleOptions) -> Parsed:
    for field, value, known in (
        ("dst_gap", options.dst_gap, get_args(Gap)),
        ("dst_fold", options.dst_fold, get_args(Fold)),
    ):
        if value is not None and value not in known:
            raise InvalidRuleError(f"{value!r} is no {field}: use one of {', '.join(known)}", field=field)
    rule = selected(read.rule, options, _when)
    check_left(rule, options)
    timetable = rules.Timetable(rule=rule, timezone=options.timezone, start=options.start, end=options.end)
    if options.start is not None and options.end is not None and options.start > options.end:
        message = said(
            "end ({end}) lies before start ({start})",
            end=format_instant(options.end),
            start=format_instant(options.start),
        )
        raise InvalidRuleError(message)
    warn_from = options.now if options.warn_from is None else options.warn_from
    bounded = options.start is not None or options.end is not None
    if rules.compile(timetable).next(EARLIEST - 1) is None:
        why = "it has no tick between its start and its end" if bounded else "the clocks skip that time (dst_gap: skip)"
        if isinstance(rule, rules.SelectRule) and rule.counted_from is not None and not bounded:
            why = "it has no tick from now on"
        raise InvalidRuleError(said("this never fires: {why}", why=said(why)))
    return Parsed(
        timetable=timetable,
        description=describe(timetable),
        warnings=[
            *(say(idle, options.tongue) for idle in _idle_options(read, options)),
            *(say(surprise, options.tongue) for surprise in sifting_surprises(rule, options)),
            *warnings_of(timetable, now=warn_from, zone_given=options.zone_given or read.zoned, lang=options.tongue),
        ],
        anchored=read.anchored,
        spoken=read.spoken,
    )


def _idle_options(read: Read, options: RuleOptions) -> Iterator[str]:
    parts = read.rule.rules if isinstance(read.rule, rules.AnyRule) else (read.rule,)
    if options.anchor is not None and not read.anchored:
        yield "anchor says nothing here: only an interval, a cycle or a recurrence rule has one"
    if (options.dst_gap or options.dst_fold) and all(isinstance(part, rules.IntervalRule) for part in parts):
        yield "dst_gap and dst_fold say nothing here: an interval counts elapsed time"


def _rule(text: str, dialect: str | None, options: RuleOptions) -> Read:
    load_zone(options.timezone)
    if dialect is None:
        return _when(text, options)
    if dialect in LAYOUTS:
        return _cron(text, dialect, options)
    if dialect == "interval":
        return _every(text, options)
    if dialect == "phrase":
        return _phrase(text, options)
    if dialect == "rrule":
        return read_rrule(text, options)
    known = ", ".join(get_args(Dialect))
    raise InvalidRuleError(f"{dialect[:60]!r} is no dialect: use one of {known}", field="dialect")


def _when(text: str, options: RuleOptions) -> Read:
    words = text.split()
    if not words:
        raise InvalidRuleError(said("the rule is empty: {how}", how=said(_HOW)))
    if _RRULE_START.match(words[0]):
        raise InvalidRuleError(said("a recurrence rule is declared: rrule in a manifest, --dialect rrule in a shell"))
    cron_like = bool(_CRON_START.match(words[0])) and all(_CRON_WORD.fullmatch(word) for word in words)
    if not cron_like:
        _check_length(text)
    if words[0].lower() == "@every" or (words[0].lower() == "every" and _is_duration(text.split(maxsplit=1)[1:])):
        return _every(text, options)
    if words[0].startswith("@"):
        return _cron(text, "unix", options)
    # Two fields of numbers and as many words as cron has: cron's fault says more than a phrase's.
    nearly = len(words) in (5, 6, 7) and all(_CRON_NUMBERS.fullmatch(word) for word in words[:2])
    if not (cron_like or (nearly and _CRON_START.match(words[0]))):
        return _phrase(text, options)
    if len(words) in (6, 7):
        raise _undeclared(words)
    return _cron(text, "unix", options)


def _phrase(text: str, options: RuleOptions) -> Read:
    _check_length(text)
    read = read_spoken(text, options)
    if read.anchored:
        # Only the zone that a printed sentence ends with has a bracket.
        meaning = phrase.read(text.partition("(")[0], options.lang)
        if meaning.starts and _lies_ahead(str(meaning.since), read.rule, options):
            message = said(
                "{date} lies ahead, and a rule counts from a date in both directions: say 'counted from' "
                "('contando desde') for that, or start: for when it begins",
                date=meaning.since,
            )
            raise InvalidRuleError(message)
    return read


def _lies_ahead(since: str, rule: rules.Rule, options: RuleOptions) -> bool:
    if isinstance(rule, rules.IntervalRule):
        return rule.anchor > options.now
    today = format_wall(options.now // SECOND + load_zone(options.timezone).offset(options.now))
    return since[:10] > today[:10]


def _check_length(text: str) -> None:
    if len(text) > LONGEST:
        message = said(
            "a rule that is no cron has at most {most} characters, this one has {n}", most=LONGEST, n=len(text)
        )
        raise InvalidRuleError(message)


def _is_duration(rest: list[str]) -> bool:
    try:
        parse_duration("".join(rest))
    except InvalidDurationError:
        return False
    return True


def _undeclared(words: list[str]) -> InvalidRuleError:
    expr = " ".join(words)
    readings = []
    for dialect in ("seconds", "quartz"):
        try:
            parse_cron(expr, dialect, "")
        except InvalidRuleError as error:
            readings.append(f"as {dialect} it is wrong ({error.message})")
        else:
            sentence = describe(rules.Timetable(rule=rules.CronRule(expr=expr, dialect=dialect)))
            readings.append(f"as {dialect} it means {sentence!r}")
    return InvalidRuleError(
        f"{len(words)} fields need a declared dialect: " + "; ".join(readings),
        hint="declare dialect: seconds or dialect: quartz",
    )


def _cron(text: str, dialect: CronDialect, options: RuleOptions) -> Read:
    words = text.split()
    if words and words[0].lower() == "@every":
        return _every(text, options)
    spec = parse_cron(text, dialect, options.hash_key)
    return Read(
        rules.CronRule(
            expr=" ".join(words),
            dialect=dialect,
            hash_key=options.hash_key if spec.hashed else "",
            dst_gap=options.dst_gap,
            dst_fold=options.dst_fold,
        )
    )


def _every(text: str, options: RuleOptions) -> Read:
    _check_length(text)
    word, *period = text.split(maxsplit=1) or [""]
    if word.lower() not in ("every", "@every"):
        raise InvalidRuleError(f"an interval is written 'every <duration>', like 'every 90s', not {text[:60]!r}")
    return _interval("".join(period), options)


def _interval(period: str, options: RuleOptions) -> Read:
    _check_length(period)
    try:
        period_us = parse_duration(period)
    except InvalidDurationError as error:
        raise InvalidRuleError(
            f"an interval needs a duration, like 'every 90s' or 'every 2 weeks': {error.message}"
        ) from error
    return interval_of(period_us, options)
