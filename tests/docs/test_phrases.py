"""The page on phrases: both examples of a shape are one rule, and what it says is refused is refused."""

from __future__ import annotations

import re

import pytest

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import parse_instant
from puntual.timing.parse import RuleOptions, parse_rule
from puntual.timing.rule import Timetable
from tests.docs.blocks import page

PAGE = page("phrases")
SHAPES = re.findall(r"^\| [^|`]+ \| `([^`]+)` \| `([^`]+)` \|$", PAGE, re.MULTILINE)
REFUSED = [
    phrase
    for row in re.findall(r"^\| (`[^|]+`) \| [^|`]+(?:`\w+:`)?[^|`]* \|$", PAGE, re.MULTILINE)
    for phrase in re.findall(r"`([^`]+)`", row)
]


def timetable(phrase: str, lang: str | None = None) -> Timetable:
    """The phrase, with an anchor where it has none."""
    now = parse_instant("2026-05-28T12:00:00Z")
    anchor = None if re.search(r"\d{4}-", phrase) else now
    return parse_rule(phrase, dialect="phrase", options=RuleOptions(now=now, lang=lang, anchor=anchor)).timetable


def test_the_page_has_its_tables() -> None:
    """Each shape with an example in either language."""
    assert len(SHAPES) >= 80
    assert len(REFUSED) >= 15


@pytest.mark.parametrize(("english", "spanish"), SHAPES)
def test_both_examples_of_a_shape_are_one_rule(english: str, spanish: str) -> None:
    """Each in its declared language, and without one."""
    assert timetable(english, "en") == timetable(spanish, "es") == timetable(english) == timetable(spanish)


@pytest.mark.parametrize("phrase", REFUSED)
def test_what_the_page_calls_refused_is_refused(phrase: str) -> None:
    """Whatever the language."""
    with pytest.raises(InvalidRuleError):
        timetable(phrase)
