"""The corpus of phrases: each gives exactly the ticks of its meaning, and each refusal says what it has to."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from puntual.model.errors import PuntualError
from puntual.model.instant import Instant, from_datetime, parse_instant
from puntual.timing import rule as rules
from puntual.timing.describe import LANGUAGES, sentences
from puntual.timing.parse import Parsed, RuleOptions, parse_rule
from puntual.timing.wallclock import parse_wall
from puntual.timing.zone import load_zone
from tests.support import phrase_walk

Entry = dict[str, Any]

NOW = parse_instant("2026-01-12T12:00:00Z")
FOLDER = Path(__file__).parents[1] / "cases"
CORPUS: dict[str, list[Entry]] = {
    lang: msgspec.json.decode((FOLDER / f"phrases_{lang}.json").read_bytes()) for lang in LANGUAGES
}
ACCEPTED = [(lang, entry) for lang, corpus in CORPUS.items() for entry in corpus if "meaning" in entry]
REFUSED = [(lang, entry) for lang, corpus in CORPUS.items() for entry in corpus if "mentions" in entry]
TICKS = 6


def read(entry: Entry, lang: str | None, **changes: object) -> Parsed:
    """The phrase, in the zone and with the anchor of its entry."""
    anchor = entry.get("anchor")
    options = RuleOptions(
        now=NOW,
        timezone=entry.get("timezone", "UTC"),
        lang=lang,
        anchor=None if anchor is None else local_midnight(anchor, entry["timezone"]),
    )
    return parse_rule(entry["phrase"], dialect="phrase", options=msgspec.structs.replace(options, **changes))


def local_midnight(day: str, zone: str) -> Instant:
    """The instant at which a date begins."""
    return load_zone(zone).resolve(parse_wall(f"{day}T00:00"), "boundary", "first")[0] * 1_000_000


def name(case: object) -> str | None:
    """The id of an entry, as the name of a test."""
    return case["id"] if isinstance(case, dict) else None


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_corpus_is_as_large_as_it_says(lang: str) -> None:
    """At least 300 phrases of 60 shapes, and 100 refusals beside them, each written once."""
    accepted = [entry for entry in CORPUS[lang] if "meaning" in entry]
    assert len({entry["shape"] for entry in accepted}) >= 60
    assert len(CORPUS[lang]) >= 300
    assert len(CORPUS[lang]) - len(accepted) >= 100
    assert len({(entry["phrase"], entry.get("anchor")) for entry in CORPUS[lang]}) == len(CORPUS[lang])


@pytest.mark.parametrize(("lang", "entry"), ACCEPTED, ids=name)
def test_a_phrase_has_the_ticks_of_its_meaning(lang: str, entry: Entry) -> None:
    """A walk over days and seconds finds the same."""
    after = datetime.fromisoformat(entry["after"]).astimezone(UTC)
    expected = [from_datetime(tick) for tick in phrase_walk.ticks(entry["meaning"], entry["timezone"], after, TICKS)]
    compiled = rules.compile(read(entry, lang).timetable)
    assert compiled.between(from_datetime(after), 1 << 60, TICKS) == expected
    assert compiled.count(from_datetime(after), expected[-1], 1_000) == TICKS
    assert compiled.previous(expected[-1]) == expected[-1]
    assert compiled.previous(expected[-1] - 1) == expected[-2]


@pytest.mark.parametrize(("lang", "entry"), ACCEPTED, ids=name)
def test_its_sentence_in_either_language_is_a_phrase_for_the_same_rule(lang: str, entry: Entry) -> None:
    """The sentence says all that the rule needs, its anchor included; and the rule is the same after JSON."""
    parsed = read(entry, lang)
    for other, sentence in sentences(parsed.timetable).items():
        again = read({**entry, "phrase": sentence}, other, anchor=None)
        assert again.timetable == parsed.timetable, sentence
        assert sentences(again.timetable)[other] == sentence
    stored = msgspec.json.encode(parsed.timetable)
    assert msgspec.json.decode(stored, type=rules.Timetable) == parsed.timetable


@pytest.mark.parametrize(("lang", "entry"), ACCEPTED, ids=name)
def test_its_language_is_recognised(lang: str, entry: Entry) -> None:
    """Undeclared, a phrase is read in the one language that can read it, or in both alike."""
    assert read(entry, None).timetable == read(entry, lang).timetable


@pytest.mark.parametrize(("lang", "entry"), REFUSED, ids=name)
def test_what_is_ambiguous_or_unknown_is_refused(lang: str, entry: Entry) -> None:
    """The sentence names what was wrong, or the readings that there are."""
    with pytest.raises(PuntualError) as caught:
        read(entry, lang)
    for mention in entry["mentions"]:
        assert mention in caught.value.message
    if caught.value.column is not None:
        assert 1 <= caught.value.column <= len(entry["phrase"]) + 1


@pytest.mark.parametrize(("lang", "entry"), REFUSED, ids=name)
def test_what_a_refusal_offers_can_be_read(lang: str, entry: Entry) -> None:
    """Each phrase after "write" is one, copied as it stands; with an anchor where a cycle needs one."""
    with pytest.raises(PuntualError) as caught:
        read(entry, lang)
    _, _, offers = caught.value.message.partition(": write '")
    for offer in re.findall(r"'([^']+)'", f"'{offers}"):
        if not offer.startswith("at: "):
            read({**entry, "phrase": offer}, lang, anchor=NOW)
