"""Whatever a phrase can mean has one sentence in each language, and that sentence means the same again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puntual.model.errors import InvalidRuleError, PuntualError
from puntual.model.instant import HOUR, MINUTE, SECOND, from_datetime, parse_instant
from puntual.timing import rule as rules
from puntual.timing.clock import ClockRule, time_text
from puntual.timing.describe import describe, sentences
from puntual.timing.parse import RuleOptions, parse_rule
from puntual.timing.phrase import LANGUAGES, rule_of
from puntual.timing.phrase.meaning import ALL_WEEKDAYS, Cycle, Days, Meaning
from puntual.timing.zone import zone_names
from tests.support import phrase_walk
from tests.support import timing_oracle as oracle

OPTIONS = RuleOptions(now=parse_instant("2026-05-28T12:00:00Z"))
ANCHOR = "2026-05-28"

seconds = st.one_of(
    st.integers(0, 23).map(lambda hour: hour * 3_600),
    st.integers(0, 1_439).map(lambda minute: minute * 60),
    st.integers(0, 86_399),
)
weekdays = st.frozensets(st.integers(0, 6), min_size=1)
months = st.one_of(st.just(frozenset[int]()), st.frozensets(st.integers(1, 12), min_size=1, max_size=11))
numbers = st.frozensets(st.integers(1, 31), min_size=1, max_size=6)
month_days = st.one_of(
    st.builds(
        Days,
        numbers=numbers,
        before_last=st.frozensets(st.integers(0, 30), max_size=2),
        near=st.frozensets(st.integers(1, 31), max_size=2),
    ),
    st.builds(Days, before_last=st.frozensets(st.integers(0, 30), min_size=1, max_size=3)),
    st.builds(Days, working=st.frozensets(st.integers(-23, 23).filter(bool), min_size=1, max_size=4)),
    st.builds(
        Days,
        nth=st.frozensets(st.tuples(st.integers(0, 6), st.sampled_from((1, 2, 3, 4, 5, -1))), min_size=1, max_size=4),
    ),
)
days = st.one_of(
    st.fixed_dictionaries({"weekdays": weekdays, "months": months}),
    st.fixed_dictionaries({"days": month_days, "months": months}),
    st.fixed_dictionaries({"weekdays": weekdays, "cycle": st.builds(Cycle, st.integers(2, 50), st.just("week"))}),
    st.fixed_dictionaries({"cycle": st.builds(Cycle, st.integers(2, 400), st.just("day"))}),
    st.fixed_dictionaries(
        {"days": month_days, "cycle": st.builds(Cycle, st.sampled_from((2, 3, 4, 6, 12)), st.just("month"))}
    ),
)
even = st.sampled_from(
    [
        count * unit
        for unit, size in ((SECOND, 60), (MINUTE, 60), (HOUR, 24))
        for count in range(1, size)
        if size % count == 0
    ]
)
times = st.one_of(
    st.fixed_dictionaries({"times": st.frozensets(seconds, min_size=1, max_size=8)}),
    st.fixed_dictionaries(
        {
            "every_us": st.integers(1, 86_400).map(lambda second: second * SECOND),
            "window": st.tuples(seconds, seconds)
            .filter(lambda ends: ends[0] != ends[1])
            .map(lambda ends: (min(ends), max(ends))),
        }
    ),
    st.fixed_dictionaries({"every_us": even}),
    st.fixed_dictionaries(
        {
            "minutes": st.frozensets(st.integers(0, 59), min_size=1, max_size=5),
            "hours": st.frozensets(st.integers(0, 23), min_size=1, max_size=23),
        }
    ),
)


def rule_for(clock: dict[str, object], calendar: dict[str, object]) -> rules.CronRule | ClockRule | None:
    """The rule of a meaning; None if no date is such a day, or no phrase says this."""
    every_day = calendar.get("weekdays") == ALL_WEEKDAYS and not calendar.get("months")
    if "window" not in clock and "times" not in clock and ("cycle" in calendar or every_day):
        return None
    meaning = msgspec.structs.replace(Meaning(), **clock, **calendar)
    try:
        rule = rule_of(meaning, ANCHOR, None, None)
        rules.compile(rules.Timetable(rule=rule))
    except InvalidRuleError:
        return None
    return rule


@settings(max_examples=400, deadline=None)
@given(times, days)
def test_the_sentence_of_a_rule_gives_the_rule(clock: dict[str, object], calendar: dict[str, object]) -> None:
    """In both languages, for all times of day on all days that the grammar can say."""
    rule = rule_for(clock, calendar)
    if rule is None:
        return
    timetable = rules.Timetable(rule=rule)
    for lang, sentence in sentences(timetable).items():
        again = parse_rule(sentence, dialect="phrase", options=msgspec.structs.replace(OPTIONS, lang=lang))
        assert again.timetable == timetable, sentence


def near(random: Random, change: datetime, zone: str) -> list[int]:
    """Seconds of the day around the time at which a zone's clock changes."""
    local = change.astimezone(ZoneInfo(zone))
    return sorted(
        {(local.hour * 60 + local.minute + random.randint(-90, 90)) % 1_440 * 60 for _ in range(random.randint(2, 6))}
    )


def clock_of(random: Random, change: datetime, zone: str) -> tuple[ClockRule, phrase_walk.Meaning]:
    """A random clock rule around a clock change, and its meaning as plain data."""
    seconds = near(random, change, zone)
    names = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
    some = sorted(random.sample(range(7), random.randint(1, 7)))
    meaning: phrase_walk.Meaning = {"weekdays": [names[day].lower() for day in some]}
    rule = ClockRule(weekday=",".join(names[day] for day in some))
    if random.random() < 0.4:
        day = (change.date() - timedelta(days=random.randint(0, 40))).isoformat()
        meaning |= {"weeks": 2, "anchor": day}
        rule = msgspec.structs.replace(rule, cycle_days=14, anchor=day)
    if random.random() < 0.5:
        meaning["times"] = at = [time_text(second) for second in seconds]
        return msgspec.structs.replace(rule, at=tuple(at)), meaning
    step, first, last = random.choice((60, 420, 900, 1_800, 3_600)), time_text(seconds[0]), time_text(seconds[-1])
    meaning |= {"every": step, "from": first, "to": last}
    return msgspec.structs.replace(rule, every_us=step * SECOND, since=first, until=last), meaning


@pytest.mark.parametrize("seed", range(6))
def test_a_clock_rule_agrees_with_a_walk_around_clock_changes(seed: int) -> None:
    """In zones of all sorts: fixed times once, what repeats in elapsed time."""
    random = Random(seed)
    for _ in range(40):
        zone = random.choice(sorted(zone_names()))
        found = oracle.changes(zone, first := random.choice((1985, 2000, 2010, 2024, 2036)), first + 2)
        change = random.choice(found or (datetime(first, 5, 5, 1, 30, tzinfo=UTC),))
        rule, meaning = clock_of(random, change, zone)
        low, high = change - timedelta(days=3), change + timedelta(days=3)
        compiled = rules.compile(rules.Timetable(rule=rule, timezone=zone))
        expected = [from_datetime(tick) for tick in phrase_walk.between(meaning, zone, low, high)]
        what = f"seed {seed}: {zone} {change} {rule}"
        assert compiled.between(from_datetime(low), from_datetime(high), 20_000) == expected, what
        assert compiled.count(from_datetime(low), from_datetime(high), 20_000) == len(expected), what


@pytest.mark.parametrize("seed", range(4))
def test_the_sentence_of_a_cron_expression_is_refused_or_means_the_same(seed: int) -> None:
    """A sentence that is no phrase is never read as another rule."""
    random = Random(seed)
    read = 0
    for _ in range(150):
        drawn = oracle.draw_rule(random)
        try:
            rule = rules.CronRule(expr=drawn.unix, dialect="unix")
            timetable = rules.Timetable(rule=rule)
            compiled = rules.compile(timetable)
        except InvalidRuleError:
            continue
        for lang in LANGUAGES:
            sentence = describe(timetable, lang)
            try:
                again = parse_rule(sentence, dialect="phrase", options=msgspec.structs.replace(OPTIONS, lang=lang))
            except InvalidRuleError:
                continue
            read += 1
            found = rules.compile(again.timetable)
            assert found.between(OPTIONS.now, 1 << 60, 20) == compiled.between(OPTIONS.now, 1 << 60, 20), sentence
    assert read > 30, f"seed {seed}: too few to say anything"


def place_of(text: str, error: PuntualError) -> None:
    """A refusal points into the text, or just behind it."""
    assert error.column is None or 1 <= error.column <= len(text) + 1, (text, error.message, error.column)


WORDS = {lang: sorted({*lexicon.words, *lexicon.refused}) for lang, lexicon in LANGUAGES.items()}
CASES = Path(__file__).parents[1] / "cases"
PHRASES: dict[str, list[list[str]]] = {
    lang: [entry["phrase"].split() for entry in msgspec.json.decode((CASES / f"phrases_{lang}.json").read_bytes())]
    for lang in LANGUAGES
}


def damaged(draw: Callable[[st.SearchStrategy[Any]], Any], lang: str) -> str:
    """A phrase of the corpus in which a word is left out, doubled, moved, or another one."""
    words = [*draw(st.sampled_from(PHRASES[lang]))]
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.integers(0, len(words)))
        other = draw(
            st.one_of(st.sampled_from(WORDS[lang]), st.integers(0, 60).map(str), st.sampled_from(words or [""]))
        )
        words[place : place + draw(st.integers(0, 1))] = draw(st.sampled_from(([other], [])))
    return " ".join(words)


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_any_row_of_words_is_refused_with_a_place_or_read_as_its_sentence(data: st.DataObject) -> None:
    """Nothing that a person can write ends in another error, and what is read has a sentence that is read alike."""
    lang = data.draw(st.sampled_from(sorted(WORDS)))
    text = damaged(data.draw, lang)
    try:
        parsed = parse_rule(
            text, dialect="phrase", options=msgspec.structs.replace(OPTIONS, lang=lang, anchor=OPTIONS.now)
        )
    except PuntualError as error:
        place_of(text, error)
        return
    again = parse_rule(parsed.description, dialect="phrase", options=msgspec.structs.replace(OPTIONS, lang="en"))
    assert again.timetable == parsed.timetable


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40), st.sampled_from([*LANGUAGES, None]))
def test_any_text_is_read_or_refused(text: str, lang: str | None) -> None:
    """Whatever the characters are."""
    try:
        parse_rule(text, dialect="phrase", options=msgspec.structs.replace(OPTIONS, lang=lang))
    except PuntualError as error:
        place_of(text, error)


@pytest.mark.parametrize("zone", ["Europe/Madrid", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut"])
@settings(max_examples=60, deadline=None)
@given(times, days, st.integers(0, 400 * 86_400), st.data())
def test_ticks_are_counted_as_they_are_walked(
    zone: str, clock: dict[str, object], calendar: dict[str, object], start: int, data: st.DataObject
) -> None:
    """Through clock changes and under every policy: count, next and previous agree, and ticks strictly increase."""
    rule = rule_for(clock, calendar)
    if rule is None:
        return
    rule = msgspec.structs.replace(
        rule,
        dst_gap=data.draw(st.sampled_from((None, "boundary", "shift", "skip"))),
        dst_fold=data.draw(st.sampled_from((None, "first", "last", "both"))),
    )
    compiled = rules.compile(rules.Timetable(rule=rule, timezone=zone))
    after = OPTIONS.now + start * SECOND
    found = compiled.between(after, 1 << 60, 60)
    assert found == sorted(set(found))
    if found:
        assert compiled.count(after, found[-1], 1_000) == len(found)
        assert [compiled.previous(tick) for tick in found] == found
        assert [compiled.previous(tick - 1) for tick in found[1:]] == found[:-1]
