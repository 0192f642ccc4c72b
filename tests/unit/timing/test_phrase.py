"""Phrases: what is tolerated, what declares the language, where a cycle counts from, and how a refusal helps."""

from __future__ import annotations

import msgspec
import pytest

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import DAY, HOUR, MINUTE, parse_instant
from puntual.timing import rule as rules
from puntual.timing.clock import ClockRule
from puntual.timing.parse import Parsed, RuleOptions, parse_any, parse_rule
from puntual.timing.phrase import read

NOW = parse_instant("2026-03-10T15:20:30Z")
OPTIONS = RuleOptions(now=NOW)


def spoken(text: str, lang: str | None = None, **changes: object) -> Parsed:
    """The phrase, with some options changed."""
    return parse_rule(text, dialect="phrase", options=msgspec.structs.replace(OPTIONS, lang=lang, **changes))


def rule(text: str, lang: str | None = None, **changes: object) -> rules.Rule:
    """Its rule."""
    return spoken(text, lang, **changes).timetable.rule


def refusal(text: str, lang: str | None = None, **changes: object) -> InvalidRuleError:
    """Why it is refused."""
    with pytest.raises(InvalidRuleError) as caught:
        spoken(text, lang, **changes)
    return caught.value


def cron(expr: str) -> rules.CronRule:
    """A unix expression."""
    return rules.CronRule(expr=expr, dialect="unix")


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("every weekday at 9:30", cron("30 9 * * MON-FRI")),
        ("every day at 9:00 and 18:00", cron("0 9,18 * * *")),
        ("on the 1st and 15th of the month at 6", cron("0 6 1,15 * *")),
        ("last friday of the month at 5pm", cron("0 17 * * FRIL")),
        ("last day of the month at noon", cron("0 12 L * *")),
        ("every 10 minutes on weekends", cron("*/10 * * * SUN,SAT")),
        ("every 6 hours at minute 20", cron("20 */6 * * *")),
        ("every day at 9:00:30", rules.CronRule(expr="30 0 9 * * *", dialect="seconds")),
        ("every 15 minutes", rules.IntervalRule(period_us=15 * MINUTE, anchor=parse_instant("2026-03-10T00:00:00Z"))),
        (
            "every 2 hours every day",
            rules.IntervalRule(period_us=2 * HOUR, anchor=parse_instant("2026-03-10T00:00:00Z")),
        ),
        ("every day at 7:40 and 21:10", ClockRule(at=("07:40", "21:10"))),
        ("every hour from 9 to 17", ClockRule(every_us=HOUR, since="09:00", until="17:00")),
        ("second working day of the month at 9", ClockRule(at=("09:00",), working_days=(2,))),
    ],
)
def test_a_phrase_is_the_rule_that_cron_or_an_interval_would_be(phrase: str, expected: rules.Rule) -> None:
    """Only what neither can say becomes a rule of its own kind."""
    assert rule(phrase) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("every weekday at 9:30", "  EVERY\tweekday   at 9:30 "),
        ("todos los días a las 7 de la mañana", "TODOS LOS DIAS A LAS 7 DE LA MANANA"),
        ("cada miércoles a las 9", "cada mie\u0301rcoles a las 9"),
        ("every day at 9pm", "every day at 9 P.M."),
        ("mon-fri at 9", "mon \u2013 fri at 9:00"),
        ("el 1º de cada mes a las 6", "el 1.º de cada mes a las 6"),
        ("cada día a las 9 y media", "cada día a las nueve y media"),
        ("every twenty-five minutes on monday from 9 to 10", "every twenty five minutes on monday from 9 to 10"),
    ],
)
def test_case_space_accents_and_spelling_of_numbers_do_not_matter(one: str, other: str) -> None:
    """They are one phrase."""
    assert rule(one) == rule(other)


def test_the_language_is_declared_or_recognised() -> None:
    """Undeclared, exactly one language has to read it; one that reads it helps where another was declared."""
    assert rule("cada lunes a las 9") == rule("every monday at 9") == cron("0 9 * * MON")
    assert refusal("every monday at 9", "es").hint == "It can be read with lang: en."
    assert refusal("cada lunes a las 9", "en").hint == "It can be read with lang: es."
    assert refusal("hola", "en").hint is None
    assert refusal("every monday", "fr").field == "lang"


@pytest.mark.parametrize(
    ("phrase", "part"),
    [
        ("cada 5 minutoss", "'minutos'"),
        ("every 5 minuts", "'minutes'"),
        ("favor de avisar cada lunes a las 9", "todos los días"),
        ("please call me every monday at 9", "every day"),
        ("xyzzy", "every day"),
    ],
)
def test_what_no_language_reads_is_explained_in_the_one_that_knows_most_of_its_words(phrase: str, part: str) -> None:
    """However early its first unknown word stands; English where they know as many."""
    assert part in refusal(phrase).message


@pytest.mark.parametrize(
    ("phrase", "offers"),
    [
        (
            "every third friday at 5pm",
            ["on the third friday of the month at 17:00", "every 3 weeks on friday at 17:00"],
        ),
        ("every first and third monday at 9", ["on the first and third monday of the month at 09:00"]),
        ("every week at 8:15", ["every week on monday at 08:15"]),
        ("every 3 months at 9", ["every 3 months on day 1 at 09:00"]),
        ("cada semana a las 7 y media", ["cada semana los lunes a las 07:30"]),
        ("every afternoon", ["every afternoon at 5:00"]),
        ("por la noche", ["todas las noches a las 9:00"]),
        ("every monday", ["every monday at 9:00"]),
        ("biweekly at 18:20", ["every 2 weeks on monday at 18:20", "every monday and thursday at 18:20"]),
        ("every 40 minutes on weekdays", ["every 40 minutes on weekdays from 9:00 to 17:00"]),
        ("every day at 9 and 10pm", ["every day at 09:00 and 22:00", "every day at 21:00 and 22:00"]),
        ("every day at 12 at night", ["every day at 00:00"]),
        ("every third weekday at 9", ["on the third weekday of the month at 09:00"]),
        (
            "the first monday of january and the third thursday at 9",
            ["the first monday and the third thursday of january at 9"],
        ),
        ("el 1 de enero y el 15 a las 9", ["el 1 y el 15 de enero a las 9"]),
        ("march 1 and the last day at 9", []),
        ("every third friday every 10 minutes", []),
        ("every 5 years on march 1 at 9", []),
        ("5 times a day", []),
        ("tonight at 9", []),
    ],
)
def test_what_is_offered_keeps_what_was_said(phrase: str, offers: list[str]) -> None:
    """The user's time, how often, the days and the part of the day; nothing is offered that would lose them."""
    _, _, behind = refusal(phrase).message.partition(": write ")
    assert behind == " or ".join(f"'{offer}'" for offer in offers)


@pytest.mark.parametrize(
    ("phrase", "column"),
    [("every day at 9:00 in Europe/Madrid", 22), ("todos los días a las 9:00 UTC", 27), ("every day at 9 gmt+2", 16)],
)
def test_a_zone_in_words_is_told_its_key(phrase: str, column: int) -> None:
    """Whatever its place: a phrase names none."""
    error = refusal(phrase)
    assert "say the zone with timezone: or --timezone" in error.message
    assert error.column == column


@pytest.mark.parametrize(
    ("phrase", "column"),
    [
        ("every mondey at 9", 7),
        ("cada día a las 25:00", 16),
        ("every monday at 9 please", 19),
        ("every monday at", 16),
        ("every day at 9 and 10pm", 14),
        ("every 3rd friday", 7),
    ],
)
def test_a_refusal_points_at_the_word(phrase: str, column: int) -> None:
    """Columns count characters as they were written, from 1."""
    assert refusal(phrase).column == column


def test_words_are_shown_as_they_were_written() -> None:
    """With accents, and in the case of the user."""
    assert "'Mañanita'" in refusal("Mañanita a las 9").message
    assert "'sábadoo'" in refusal("cada sa\u0301badoo a las 9").message
    assert "'el último viernes del mes a las 17:00'" in refusal("el último viernes a las 17:00").message


def test_a_cycle_counts_from_its_anchor_in_whole_weeks() -> None:
    """The first week begins on the anchor's local date; equal cycles are equal rules."""
    friday = ClockRule(at=("12:00",), weekday="FRI", cycle_days=14, anchor="2026-03-13")
    for anchor in ("2026-03-10T15:20:30Z", "2026-03-07T00:00:00Z", "2026-03-13T23:59:59Z"):
        assert rule("every other friday at noon", anchor=parse_instant(anchor)) == friday
    later = rule("every other friday at noon", anchor=parse_instant("2026-03-14T00:00:00Z"))
    assert later == msgspec.structs.replace(friday, anchor="2026-03-20")


def test_the_anchors_date_is_local() -> None:
    """Late in the evening in Bogota it is the next day in UTC."""
    anchor = parse_instant("2026-03-14T03:00:00Z")
    found = rule("every other friday at noon", anchor=anchor, timezone="America/Bogota")
    assert isinstance(found, ClockRule)
    assert found.anchor == "2026-03-13"


def test_a_month_behind_several_days_is_of_all_of_them() -> None:
    """Behind the first of two it could be of that one alone: that is refused, with both readings."""
    assert rule("the first monday and the third thursday of january at 9") == rules.CronRule(
        expr="0 9 * 1 MON#1,THU#3", dialect="unix"
    )
    assert "each month" in refusal("the first monday of january and the third thursday at 9").message


def test_an_anchor_may_stand_in_the_phrase_but_not_another_beside_it() -> None:
    """It is said once; where nothing counts it says nothing."""
    phrase = "every other friday at noon, counted from 2026-03-13"
    assert rule(phrase) == rule(phrase, anchor=parse_instant("2026-03-13T00:00:00Z"))
    assert refusal(phrase, anchor=parse_instant("2026-03-14T00:00:00Z")).field == "anchor"
    assert "nothing counts" in refusal("every friday at noon, counted from 2026-03-13").message
    assert refusal("every 2 days at 9 starting 2026-02-30").message.endswith("day is out of range for month")


@pytest.mark.parametrize(
    ("phrase", "anchors"),
    [
        ("every other friday at noon", ["2026-03-13T00:00:00Z", "2026-03-20T00:00:00Z"]),
        ("every 3 days at 9", ["2026-03-10T00:00:00Z", "2026-03-11T00:00:00Z", "2026-03-12T00:00:00Z"]),
        ("every 6 months on day 1 at 9", ["2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z"]),
    ],
)
def test_without_an_anchor_the_next_starts_are_offered(phrase: str, anchors: list[str]) -> None:
    """Each line can be copied, and gives the start that it says."""
    error = refusal(phrase)
    assert error.field == "anchor"
    assert " or ".join(f"anchor: {anchor}" for anchor in anchors) in error.message


def test_months_that_repeat_are_fixed_by_the_anchor() -> None:
    """A number of months that divides a year needs no cycle afterwards."""
    assert rule("every 3 months on day 1 at 9", anchor=NOW) == cron("0 9 1 3,6,9,12 *")


def test_an_anchor_without_use_is_told() -> None:
    """And one that is used is not."""
    assert "anchor says nothing here" in spoken("every friday at noon", anchor=NOW).warnings[0]
    assert spoken("every 3 months on day 1 at 9", anchor=NOW).warnings == []


def test_the_zone_behind_a_sentence_has_to_be_the_rules_own() -> None:
    """A printed sentence may be written as it is; another zone is not taken over silently."""
    assert rule("At 09:00 on Monday (Europe/Madrid)", timezone="Europe/Madrid") == cron("0 9 * * MON")
    error = refusal("At 09:00 on Monday (Europe/Madrid)", timezone="UTC")
    assert "names the zone Europe/Madrid, but its zone is UTC" in error.message
    assert error.column == 21


@pytest.mark.parametrize(
    ("phrase", "part"),
    [
        ("on day 31 of the month at 9", "months without a day 31 are skipped"),
        ("every day at 2:30", "2026-03-29 02:30:00 does not exist in Europe/Madrid"),
        ("every day at 7:15 and 2:30", "2026-10-25 02:30:00 comes twice in Europe/Madrid"),
        ("second working day of the month at 9", None),
        ("every 15 minutes from 1 to 4", None),
    ],
)
def test_warnings_are_those_of_cron(phrase: str, part: str | None) -> None:
    """Days that some months lack, and clock changes; what follows elapsed time is not concerned."""
    found = spoken(phrase, timezone="Europe/Madrid").warnings
    assert any(part in warning for warning in found) if part else not found


def test_an_hour_without_a_zone_is_warned_about() -> None:
    """A phrase that names an hour needs a zone; a period does not."""
    for phrase in ("every day at 9", "every day at 7:40 and 21:10", "every hour from 9 to 17"):
        assert "no time zone is given" in spoken(phrase, zone_given=False).warnings[0]
    assert spoken("every 15 minutes", zone_given=False).warnings == []
    assert spoken("every day at 9 (UTC)", zone_given=False).warnings == []
    listed = ["every day at 9 (UTC)", "every friday at 10"]
    assert parse_any(listed, options=RuleOptions(now=NOW, zone_given=False)).warnings == []


def test_policies_reach_the_rule() -> None:
    """As in every other dialect."""
    found = rule("every day at 7:40 and 2:10", dst_gap="skip", dst_fold="both")
    assert found == ClockRule(at=("02:10", "07:40"), dst_gap="skip", dst_fold="both")


def test_a_list_may_mix_phrases_and_cron() -> None:
    """Each is read by itself."""
    parsed = parse_any(
        ["every friday at 10", "0 9 * * MON", "cada 2 días a las 9"], options=RuleOptions(now=NOW, anchor=NOW)
    )
    assert isinstance(parsed.timetable.rule, rules.AnyRule)
    assert [type(part).__name__ for part in parsed.timetable.rule.rules] == ["CronRule", "CronRule", "ClockRule"]
    assert parsed.warnings == []
    with pytest.raises(InvalidRuleError, match="rule 2 of the list: it is not said from when on") as caught:
        parse_any(["every friday at 10", "every 2 days at 9"], options=OPTIONS)
    assert caught.value.field == "anchor"


def test_very_long_phrases_are_refused_before_they_are_read() -> None:
    """The work is bounded."""
    assert "at most 300 characters" in refusal("every day at 9, " * 30).message
    assert "too large" in refusal("every 99999999 days at 9").message


@pytest.mark.parametrize(
    ("lang", "phrase", "seconds"),
    [
        ("en", "every day at half past nine in the evening", 77_400),
        ("es", "todos los días a las 9 y media de la noche", 77_400),
    ],
)
def test_a_meaning_is_plain_data(lang: str, phrase: str, seconds: int) -> None:
    """Both languages say it with the same sets."""
    meaning = read(phrase, lang)
    assert meaning.times == {seconds}
    assert meaning == read("every day at 21:30", "en")


def test_the_longest_period_is_a_hundred_years() -> None:
    """As for the key ``every``."""
    assert rule("every 36600 days", anchor=NOW) == rules.IntervalRule(period_us=36_600 * DAY, anchor=NOW)
    assert "hundred years" in refusal("every 36601 days", anchor=NOW).message
