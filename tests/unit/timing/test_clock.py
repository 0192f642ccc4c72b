"""Clock rules: free times, stretches, cycles and working days, whatever the clocks do."""

from __future__ import annotations

import msgspec
import pytest

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import DAY, MINUTE, SECOND, format_instant, parse_instant
from puntual.timing import rule as rules
from puntual.timing.clock import ClockRule


def compiled(rule: ClockRule, timezone: str = "UTC") -> rules.Compiled:
    """The rule in a zone."""
    return rules.compile(rules.Timetable(rule=rule, timezone=timezone))


def fires(rule: ClockRule, timezone: str, after: str, count: int) -> list[str]:
    """The next ticks as text."""
    return [format_instant(tick) for tick in compiled(rule, timezone).between(parse_instant(after), 1 << 60, count)]


GAP = "2026-03-28T12:00:00Z"
FOLD = "2026-10-24T22:00:00Z"


def test_several_times_of_one_gap_are_one_tick() -> None:
    """Both times are skipped in Madrid on 29 March 2026, and the change comes once."""
    rule = ClockRule(at=("02:10", "02:50", "09:15"))
    assert fires(rule, "Europe/Madrid", GAP, 2) == ["2026-03-29T01:00:00Z", "2026-03-29T07:15:00Z"]
    assert compiled(rule, "Europe/Madrid").count(parse_instant(GAP), parse_instant("2026-03-29T12:00:00Z"), 100) == 2


@pytest.mark.parametrize(
    ("fold", "expected"),
    [
        (None, ["2026-10-25T00:30:00Z", "2026-10-25T08:00:00Z"]),
        ("last", ["2026-10-25T01:30:00Z", "2026-10-25T08:00:00Z"]),
        ("both", ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]),
    ],
)
def test_a_time_that_comes_twice_follows_the_policy(fold: str | None, expected: list[str]) -> None:
    """As a cron rule's does."""
    rule = msgspec.convert({"type": "clock", "at": ["02:30", "09:00"], "dst_fold": fold}, ClockRule)
    assert fires(rule, "Europe/Madrid", FOLD, 2) == expected


def test_a_stretch_follows_elapsed_time() -> None:
    """It goes on through a fold, and lacks what the clocks skip."""
    rule = ClockRule(every_us=30 * MINUTE, since="01:30", until="03:00")
    assert fires(rule, "Europe/Madrid", GAP, 2) == ["2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"]
    assert fires(rule, "Europe/Madrid", FOLD, 6) == [
        f"2026-10-2{day}T{time}:00Z"
        for day, time in ((4, "23:30"), (5, "00:00"), (5, "00:30"), (5, "01:00"), (5, "01:30"), (5, "02:00"))
    ]


def test_a_cycle_goes_back_before_its_anchor() -> None:
    """Every third day, in both directions."""
    ticks = compiled(ClockRule(at=("09:00",), cycle_days=3, anchor="2026-01-10"))
    assert ticks.previous(parse_instant("2026-01-09T00:00:00Z")) == parse_instant("2026-01-07T09:00:00Z")
    assert ticks.next(parse_instant("2025-12-31T00:00:00Z")) == parse_instant("2026-01-01T09:00:00Z")


def test_counting_multiplies() -> None:
    """Eight thousand years of a tick per second are counted at once."""
    ticks = compiled(ClockRule(every_us=SECOND, since="00:00", until="23:59:59", cycle_days=2, anchor="2026-01-01"))
    low, high = parse_instant("2026-01-01T00:00:00Z"), parse_instant("9999-01-01T00:00:00Z")
    days = (high - low) // DAY
    assert ticks.count(low - 1, high - 1, 1 << 60) == (days + 1) // 2 * 86_400


def test_a_month_may_lack_a_working_day() -> None:
    """A month has 20 to 23 of them."""
    rule = ClockRule(at=("09:00",), working_days=(23,))
    assert fires(rule, "UTC", "2026-01-01T00:00:00Z", 2) == ["2026-07-31T09:00:00Z", "2026-12-31T09:00:00Z"]
    last = ClockRule(at=("18:00",), working_days=(-1,))
    assert fires(last, "UTC", "2026-01-31T00:00:00Z", 2) == ["2026-02-27T18:00:00Z", "2026-03-31T18:00:00Z"]


@pytest.mark.parametrize(
    ("changes", "right"),
    [
        ({"at": ()}, "needs a time"),
        ({"at": ("9:00",)}, "is no time like 09:30"),
        ({"at": ("24:00",)}, "is no time of day"),
        ({"at": (), "every_us": MINUTE, "since": "10:00", "until": "09:00"}, "goes forward"),
        ({"at": (), "every_us": 1, "since": "09:00", "until": "10:00"}, "whole seconds"),
        ({"day": "30", "month": "2"}, "never fires"),
        ({"working_days": (0,)}, "1 to 23 working days"),
        ({"cycle_days": 3, "anchor": "soon"}, "is no date"),
        ({"cycle_days": 3, "anchor": "2026-01-01", "weekday": "MON"}, "whole weeks"),
        ({"cycle_days": 10**6, "anchor": "2026-01-01"}, "a cycle has 1 to"),
    ],
)
def test_a_stored_rule_that_cannot_be_is_refused(changes: dict[str, object], right: str) -> None:
    """Whoever wrote it: the same checks hold for what comes back from a database."""
    with pytest.raises(InvalidRuleError, match=right):
        compiled(msgspec.structs.replace(ClockRule(at=("09:00",)), **changes))
