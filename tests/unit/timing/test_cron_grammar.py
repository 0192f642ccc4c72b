"""Cron's grammar: what each dialect reads, and the column and the sentence of what it refuses."""

from __future__ import annotations

from itertools import pairwise

import pytest

from puntual.model.errors import InvalidRuleError
from puntual.timing.cron.fields import CronDialect
from puntual.timing.cron.grammar import parse_cron


def bits(mask: int) -> list[int]:
    """The numbers of a mask."""
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


@pytest.mark.parametrize(
    ("expr", "weekdays"),
    [
        ("0 0 * * 7", [0]),
        ("0 0 * * 0-7", [0, 1, 2, 3, 4, 5, 6]),
        ("0 0 * * 7-7", [0]),
        ("0 0 * * 5-7", [0, 5, 6]),
        ("0 0 * * 7-2", [0, 1, 2]),
        ("0 0 * * 6-0", [0, 6]),
        ("0 0 * * fri-MON", [0, 1, 5, 6]),
        ("0 0 * * FRI-MON/2", [0, 5]),
        ("0 0 * * */2", [0, 2, 4, 6]),
        ("0 0 * * MON,3,sun", [0, 1, 3]),
    ],
)
def test_unix_weekdays(expr: str, weekdays: list[int]) -> None:
    """Sunday is 0 and 7, names are of any case, ranges wrap round the week."""
    assert bits(parse_cron(expr, "unix", "").days.weekdays) == weekdays


@pytest.mark.parametrize(
    ("expr", "field", "values"),
    [
        ("0 0 0 ? * FRI-MON", "weekday", [0, 1, 5, 6]),
        ("0 0 0 ? * 1-7", "weekday", [0, 1, 2, 3, 4, 5, 6]),
        ("0 0 0 ? * L", "weekday", [6]),
        ("0 0 22-2 * * ?", "hour", [0, 1, 2, 22, 23]),
        ("0 50/5 0 * * ?", "minute", [50, 55]),
        ("0 0 0 1 NOV-FEB ?", "month", [1, 2, 11, 12]),
    ],
)
def test_quartz_counts_from_sunday_as_1_and_wraps_every_range(expr: str, field: str, values: list[int]) -> None:
    """Quartz's own numbers, and its ranges that run past the end."""
    assert bits(dict(parse_cron(expr, "quartz", "").fields)[field].mask) == values


@pytest.mark.parametrize(
    ("expr", "dialect", "column", "sentence"),
    [
        ("0 9 * * FOO", "unix", 9, "weekday: FOO is not within 0-7 or SUN-SAT"),
        ("  61 9 * * *", "unix", 3, "minute: 61 is not within 0-59"),
        ("1,2,99 * * * *", "unix", 5, "minute: 99 is not within 0-59"),
        ("*/90 * * * *", "unix", 1, "the step /90 is outside 1-59"),
        ("0 22-2 * * *", "unix", 3, "runs backwards: write 22-23,0-2"),
        ("0 0 ? * 1", "unix", 5, "? stands only in quartz"),
        ("0 0 * * 2/2", "unix", 9, "write a range, like 2-6/2"),
        ("0 0 * * 1#6", "unix", 9, "# takes 1 to 5"),
        ("0 0 L-31 * *", "unix", 5, "at most L-30"),
        ("0 0 30 2 *", "unix", 5, "never fires: no date has the day 30 in the month 2"),
        ("0 0 0 H * ?", "quartz", 7, "H is not part of quartz"),
        ("0 0 0 1 1 1", "quartz", 7, "needs ? in exactly one of day and weekday"),
        ("0 0 0 * * *", "quartz", 7, "needs ? in exactly one of day and weekday"),
        ("0 0 0 1 1 ? 2100", "quartz", 13, "year: 2100 is not within 1970-2099"),
        ("0 0 0 29 2 ? 2025-2027", "quartz", 7, "of 2025-2027"),
        ("@reboot", "unix", 1, "@reboot is no time"),
        ("@dayly", "unix", 1, "use @yearly, @annually"),
        ("0 9 * * \u00b2", "unix", 9, "is no part of a cron expression"),
        ("0 9 * * fr\u0131", "unix", 11, "is no part of a cron expression"),
    ],
)
def test_refusals_name_the_column_and_what_would_be_right(
    expr: str, dialect: CronDialect, column: int, sentence: str
) -> None:
    """One sentence with the field, what was wrong and what would be right."""
    with pytest.raises(InvalidRuleError) as caught:
        parse_cron(expr, dialect, "")
    assert sentence in caught.value.message
    assert caught.value.column == column


@pytest.mark.parametrize(
    "item",
    [
        *(
            "",
            ",",
            "1,",
            ",1",
            "1,,2",
            "-",
            "1-",
            "-1",
            "1-2-3",
            "/5",
            "*/",
            "*/0",
            "*/-1",
            "*/1.5",
            "1/",
            "**",
            "*5",
            "5*",
        ),
        *(
            "0x1",
            "1e1",
            "+1",
            "L",
            "W",
            "H(",
            "H()",
            "H(1)",
            "H(5-1)",
            "H(0-99)",
            "H/0",
            "H/60",
            "?",
            "#",
            "1#1",
            "00060",
        ),
        *("99999999999999999999", "*/99999999999999999999", "\u0661", "1;2", "1 - 2", "mon", "1L", "1W"),
    ],
)
def test_an_item_that_is_no_minute_is_refused(item: str) -> None:
    """Nothing that the grammar does not fully understand is accepted."""
    with pytest.raises(InvalidRuleError):
        parse_cron(f"{item} * * * *", "unix", "k")


def test_an_expression_of_any_length_is_answered_at_once() -> None:
    """Beyond a thousand characters it is refused by its length."""
    with pytest.raises(InvalidRuleError, match="at most 1000 characters"):
        parse_cron("*," * 100_000 + "* * * * *", "unix", "")


@pytest.mark.parametrize("dialect", ["unix", "seconds", "quartz"])
@pytest.mark.parametrize("count", [0, 1, 4, 8, 50])
def test_a_wrong_number_of_fields_is_told_with_the_layout(dialect: CronDialect, count: int) -> None:
    """The sentence lists the dialect's fields."""
    with pytest.raises(InvalidRuleError, match=r"has the fields '(second )?minute hour day month weekday"):
        parse_cron(" ".join(["*"] * count), dialect, "")


def test_h_is_stable_within_its_range_and_differs_by_name() -> None:
    """The same name gets the same values for ever; other names are spread over the whole range."""
    spec = parse_cron("H H(2-5) H * H", "unix", "nightly-report")
    # Fixed numbers: a change here would move every schedule that has an H.
    assert [bits(values.mask) for name, values in spec.fields if name != "month"] == [[0], [9], [5], [2], [0]]
    minutes = {bits(parse_cron("H * * * *", "unix", f"job-{number}").minute.mask)[0] for number in range(2_000)}
    assert minutes == set(range(60))


@pytest.mark.parametrize("name", [f"job-{number}" for number in range(20)])
def test_h_with_a_step_keeps_the_step(name: str) -> None:
    """H/15 fires four times an hour, 15 minutes apart, from a start of its own."""
    minutes = bits(parse_cron("H/15 * * * *", "unix", name).minute.mask)
    assert len(minutes) == 4
    assert {later - earlier for earlier, later in pairwise(minutes)} == {15}
    assert all(10 <= minute <= 30 for minute in bits(parse_cron("H(10-30)/5 * * * *", "unix", name).minute.mask))


@pytest.mark.parametrize(
    ("expr", "elapsed"),
    [
        ("0 9 * * *", False),
        ("0-59 9 * * *", False),
        ("0/5 9 * * *", False),
        ("*/5 9 * * *", True),
        ("30 * * * *", True),
        ("0 */2 * * *", True),
        ("H/10 9 * * *", True),
        ("H H * * *", False),
    ],
)
def test_a_wildcard_minute_or_hour_means_elapsed_time(expr: str, elapsed: bool) -> None:  # noqa: FBT001 - a table's column
    """Only * and */n repeat by themselves; a list or a range is a set of fixed times."""
    assert parse_cron(expr, "unix", "k").elapsed is elapsed
