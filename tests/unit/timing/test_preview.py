"""The reply of ``puntual next``, for one rule and for many."""

from __future__ import annotations

import msgspec
import pytest

from puntual.model.errors import InvalidError, InvalidRuleError
from puntual.model.instant import parse_instant
from puntual.timing.preview import PreviewRequest, preview, preview_batch

NOW = parse_instant("2026-01-01T00:00:00Z")


def test_a_reply_has_fires_description_rule_and_warnings() -> None:
    """The names are those of the command line's JSON."""
    request = PreviewRequest(expr="30 9 * * 1-5", timezone="America/Bogota", count=2)
    assert preview(request, now=NOW) == {
        "fires": ["2026-01-01T14:30:00Z", "2026-01-02T14:30:00Z"],
        "description": "At 09:30 on Monday to Friday (America/Bogota)",
        "sentence": {
            "en": "At 09:30 on Monday to Friday (America/Bogota)",
            "es": "A las 09:30 de lunes a viernes (America/Bogota)",
        },
        "rule": {"type": "cron", "expr": "30 9 * * 1-5", "dialect": "unix", "timezone": "America/Bogota"},
        "warnings": [],
    }


def test_the_description_is_in_the_language_of_the_request_or_in_the_usual_one() -> None:
    """A phrase may be read in one language and described in another."""
    weekly = "A las 09:00 los lunes (UTC)"
    asked = PreviewRequest(expr="cada lunes a las 9", timezone="UTC")
    assert preview(msgspec.structs.replace(asked, lang="es"), now=NOW)["description"] == weekly
    assert preview(asked, now=NOW)["description"] == "At 09:00 on Monday (UTC)"
    assert preview(asked, now=NOW, language="es")["description"] == weekly


def test_without_after_it_counts_from_now_and_without_zone_in_the_default_one() -> None:
    """And it says that no zone was given."""
    reply = preview(PreviewRequest(expr="0 9 * * *", count=1), now=NOW, default_timezone="Asia/Tokyo")
    assert reply["fires"] == ["2026-01-02T00:00:00Z"]
    assert reply["warnings"] == ["no time zone is given, so its hours are those of Asia/Tokyo"]


def test_an_anchor_may_be_a_date() -> None:
    """It is the local midnight of it, as in a phrase."""
    beside = PreviewRequest(expr="every 7h", anchor="2026-01-01", timezone="America/Bogota", count=1)
    within = PreviewRequest(expr="every 7 hours counted from 2026-01-01", timezone="America/Bogota", count=1)
    assert preview(beside, now=NOW)["rule"] == preview(within, now=NOW)["rule"]
    with pytest.raises(InvalidRuleError, match="2026-02-30"):
        preview(msgspec.structs.replace(beside, anchor="2026-02-30"), now=NOW)


def test_a_rule_that_has_ended_gives_fewer_ticks_than_asked_for() -> None:
    """The list ends with the last tick."""
    request = PreviewRequest(expr="0 0 0 1 1 ? 2027,2028", dialect="quartz", count=5)
    assert preview(request, now=NOW)["fires"] == ["2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"]


GOOD: dict[str, object] = {"id": "good", "expr": "@hourly", "count": 1, "after": "2026-01-01T00:00:00Z"}
BAD: list[object] = [
    *(None, 5, "0 9 * * *", [], {}, {"id": "x"}, {"expr": None}, {"expr": 5}, {"expr": ["0 9 * * *"]}),
    *({**GOOD, "count": 0}, {**GOOD, "count": 1_001}, {**GOOD, "count": "3"}, {**GOOD, "count": 1.5}),
    *({**GOOD, "dialect": "cron"}, {**GOOD, "dialect": 1}, {**GOOD, "timezone": "EDT"}, {**GOOD, "timezone": 0}),
    *({**GOOD, "after": "2026-01-01T00:00:00"}, {**GOOD, "after": 0}, {**GOOD, "anchor": "midnight"}),
    *({**GOOD, "dst_gap": "jump"}, {**GOOD, "dst_fold": "second"}, {**GOOD, "lang": "xx"}, {**GOOD, "timezon": "UTC"}),
    *(
        {**GOOD, "expr": "99 * * * *"},
        {**GOOD, "expr": "\ud800"},
        {**GOOD, "expr": "\0"},
        {**GOOD, "expr": "9" * 10**6},
    ),
]


def test_a_bad_item_never_spoils_the_others() -> None:
    """Whatever an item holds, it gets an error of its own with code and message, and the rest their ticks."""
    items = [part for bad in BAD for part in (GOOD, bad)]
    replies = preview_batch(items, now=NOW)
    assert len(replies) == len(items)
    for place, reply in enumerate(replies):
        if place % 2 == 0:
            assert reply == {"id": "good", "fires": ["2026-01-01T01:00:00Z"]}
        else:
            assert reply.keys() == {"id", "error"}
            error = reply["error"]
            assert isinstance(error, dict)
            assert isinstance(error["code"], str)
            assert 0 < len(error["message"]) < 500
    msgspec.json.encode([reply for reply in replies if "\ud800" not in str(reply)])


def test_an_item_may_carry_notes_of_the_sender() -> None:
    """Keys that are no option and look like none are left alone."""
    assert preview_batch([{**GOOD, "kind": "hourly", "expect": []}], now=NOW) == [
        {"id": "good", "fires": ["2026-01-01T01:00:00Z"]}
    ]


def test_the_id_comes_back_as_it_was_sent() -> None:
    """Numbers stay numbers, a missing id is null."""
    items = [{**GOOD, "id": 7}, {key: value for key, value in GOOD.items() if key != "id"}]
    assert [reply["id"] for reply in preview_batch(items, now=NOW)] == [7, None]


@pytest.mark.parametrize("items", [None, {}, "[]", 5])
def test_a_batch_is_a_list(items: object) -> None:
    """Anything else is refused as a whole."""
    with pytest.raises(InvalidError, match="a batch is a JSON list"):
        preview_batch(items, now=NOW)
