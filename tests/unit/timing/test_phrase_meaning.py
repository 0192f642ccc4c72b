"""A phrase is read as what it says: parts that contradict each other, or that could mean two things, are refused."""

from __future__ import annotations

import msgspec
import pytest

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import MINUTE, parse_instant
from puntual.timing import rule as rules
from puntual.timing.clock import ClockRule
from puntual.timing.parse import RuleOptions, parse_interval, parse_rule

OPTIONS = RuleOptions(now=parse_instant("2026-03-10T15:20:30Z"))
RULED = "write a list of them, one for each"


def rule(text: str, dialect: str | None = None) -> rules.Rule:
    """The rule of a text."""
    return parse_rule(text, dialect=dialect, options=OPTIONS).timetable.rule


def refusal(text: str, dialect: str | None = None) -> InvalidRuleError:
    """Why it is refused."""
    with pytest.raises(InvalidRuleError) as caught:
        rule(text, dialect)
    return caught.value


@pytest.mark.parametrize("dialect", [None, "phrase", "interval"])
@pytest.mark.parametrize("text", ["every" + " " * 60_000 + "x", "every " + "monday " * 10_000, "x" * 301])
def test_a_long_text_is_refused_for_its_length(text: str, dialect: str | None) -> None:
    """No text of more than 300 characters that is no cron is read any further."""
    if dialect == "interval" and not text.startswith("every"):
        text = f"every {text}"
    message = refusal(text, dialect).message
    assert "has at most 300 characters" in message


def test_a_long_period_is_refused_for_its_length() -> None:
    """The key ``every`` has the same limit."""
    with pytest.raises(InvalidRuleError, match="has at most 300 characters"):
        parse_interval("monday " * 10_000, options=OPTIONS)


def test_a_long_cron_list_is_still_cron() -> None:
    """Cron has its own limit, so that long lists of numbers are read."""
    minutes = ",".join(str(minute) for minute in range(60)) + ",59" * 50
    assert isinstance(rule(f"{minutes} 9 * * *"), rules.CronRule)


def test_letters_that_cron_has_alone_and_in_names_are_read_in_one_way() -> None:
    """A long run of H, L and W is no cron, and is found to be none without trying all its readings."""
    assert "has at most" not in refusal("* " + "HLW" * 40 + "!").message


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("every 2 weeks on monday at 9 counted from 9999-12-31", {}),
        ("every 2 days at 9", {"anchor": parse_instant("0001-01-01T00:00:00Z"), "timezone": "America/New_York"}),
        ("every 2 days at 9", {"anchor": parse_instant("9999-12-31T23:59:59Z"), "timezone": "Asia/Tokyo"}),
        ("every 2 months on day 1 at 9", {"anchor": parse_instant("9999-12-31T23:59:59Z"), "timezone": "Asia/Tokyo"}),
        ("every 2 months on day 1 at 9", {"now": parse_instant("9999-12-15T00:00:00Z")}),
        ("every 2 weeks on monday at 9", {"now": parse_instant("9999-12-30T00:00:00Z")}),
    ],
)
def test_an_anchor_at_the_ends_of_time_is_refused(text: str, changes: dict[str, object]) -> None:
    """What would begin outside the years 1 to 9999 names the anchor."""
    with pytest.raises(InvalidRuleError) as caught:
        parse_rule(text, options=msgspec.structs.replace(OPTIONS, **changes))
    assert caught.value.field == "anchor"


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        ("at 9 every night", "0 21 * * *"),
        ("a las 9 todas las noches", "0 21 * * *"),
        ("at 7 every morning", "0 7 * * *"),
        ("at 9pm every evening", "0 21 * * *"),
        ("every night at midnight", "0 0 * * *"),
        ("every evening at 8:30", "30 20 * * *"),
        ("every night at 08:00 pm", "0 20 * * *"),
    ],
)
def test_a_part_of_the_day_moves_the_time_before_and_behind_it(text: str, expr: str) -> None:
    """In either order a part of the day says the same."""
    assert rule(text) == rules.CronRule(expr=expr, dialect="unix")


@pytest.mark.parametrize(
    "text",
    [
        "at 9pm every morning",
        "at 13:00 every night",
        "every evening at 9am",
        "every night at 11 am",
        "every night at noon",
        "at noon every night",
        "todas las noches a las 9 de la mañana",
        "every night at 08:00",
        "at 08:00 every night",
    ],
)
def test_a_time_outside_of_the_part_of_the_day_is_refused(text: str) -> None:
    """A time that is sure by itself is never moved into a part of the day."""
    assert "whose hours are" in refusal(text).message


def test_a_padded_hour_is_offered_as_the_later_one() -> None:
    """Whose night has an 08:00 meant 20:00."""
    assert "'every night at 20:00'" in refusal("every night at 08:00").message


def test_numbers_in_a_month_could_be_hours_or_days() -> None:
    """Only "of" counts days of a month; "in" leaves both open, and both are offered."""
    message = refusal("every 15 minutes from 9 to 17 in march").message
    assert "'every 15 minutes from 9:00 to 17:00 in march'" in message
    assert "'every 15 minutes from 9 to 17 of march'" in message


def test_hours_with_a_colon_in_a_month_are_hours() -> None:
    """What is offered is read as offered."""
    expected = ClockRule(every_us=15 * MINUTE, since="09:00", until="17:00", month="3")
    assert rule("every 15 minutes from 9:00 to 17:00 in march") == expected
    assert rule("every 15 minutes from 9 to 17 of march") == rules.CronRule(expr="*/15 * 9-17 3 *", dialect="unix")


@pytest.mark.parametrize(
    "text",
    [
        "the first monday of january and the third thursday of the month at 9",
        "the third thursday of the month and the first monday of january at 9",
        "on march 1 and the 15th of the month at 9",
        "el primer lunes de enero y el tercer jueves del mes a las 9",
    ],
)
def test_days_of_one_month_and_of_each_are_two_rules(text: str) -> None:
    """A month that one of the days names is not forced on the other."""
    assert RULED in refusal(text).message


@pytest.mark.parametrize(
    "text",
    [
        "every 3 days at 9 starting 2030-01-01",
        "every 3 days at 9 beginning on 2030-01-01",
        "every 2 months on day 1 at 9 starting 2030-01-01",
        "every 7 hours starting 2030-01-01",
        "cada 3 días a las 9 a partir del 2030-01-01",
        "cada 3 días a las 9 empezando el 2030-01-01",
        "every 3 days at 9:00 starting 2030-01-01 (UTC)",
    ],
)
def test_a_beginning_that_lies_ahead_is_refused(text: str) -> None:
    """A rule counts in both directions, so that a beginning in its words would not hold."""
    message = refusal(text).message
    assert "counted from" in message
    assert "start:" in message


@pytest.mark.parametrize(
    "text", ["every 3 days at 9 counted from 2030-01-01", "every 3 days at 9 starting 2026-03-10", "every day at 9"]
)
def test_what_counts_from_a_date_may_lie_ahead(text: str) -> None:
    """Where to count from is no beginning, and a beginning that has come is none any more."""
    assert isinstance(rule(text), ClockRule | rules.CronRule)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("on the first working day of the month every 5 minutes", "from 00:00 to 23:59"),
        ("every 2 weeks on monday every hour counted from 2026-03-02", "from 00:00 to 23:59"),
        ("on the first working day of the month every 30 seconds", "from 00:00 to 23:59:59"),
        ("on the first working day of the month every hour at minute 20", "times"),
        ("on the first working day of the month at minute 20 of hours 9 to 17", "times"),
    ],
)
def test_a_repetition_on_days_that_cron_cannot_say_needs_its_stretch(text: str, what: str) -> None:
    """The refusal is one of the phrase, with what would be right."""
    error = refusal(text)
    assert "on such days" in error.message
    assert what in error.message
