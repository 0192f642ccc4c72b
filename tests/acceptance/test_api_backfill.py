"""Backfill over HTTP: what is asked, what is answered, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from puntual.model.instant import DAY, format_instant
from tests.support.api import Answer, Served, serving

HOURLY = {"every": "1h", "anchor": "2026-01-01T00:00:00Z", "task": "reports.hourly", "timezone": "America/Bogota"}
SPAN = {"since": "2026-01-01T00:00:00Z", "until": "2026-01-01T10:00:00Z"}


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    """A served API with a schedule of every hour."""
    async with serving(tmp_path) as served:
        assert (await served.ask("PUT", "/schedules/hourly", HOURLY)).status == 200
        yield served


async def backfill(api: Served, scope: str = "operate", **body: Any) -> Answer:
    """Asks for one."""
    return await api.ask("POST", "/schedules/hourly/backfill", {**SPAN, **body}, scope=scope)


async def runs(api: Served) -> list[dict[str, Any]]:
    """The runs that backfills made."""
    found: list[dict[str, Any]] = (await api.ask("GET", "/runs?origin=backfill&schedule=hourly")).body["items"]
    return found


async def test_a_dry_run_says_what_the_real_one_does(api: Served) -> None:
    """The same numbers and the same ticks, and nothing is made before it is asked for."""
    dry = (await backfill(api, dry_run=True)).body
    assert await runs(api) == []
    real = (await backfill(api)).body
    assert {**dry, "dry_run": False} == real
    assert (real["schedule"], real["since"], real["until"]) == ("hourly", *SPAN.values())
    assert (real["ticks"], real["runs"], real["existing"], real["skipped"]) == (10, 10, 0, {})
    assert real["first"] == [f"2026-01-01T0{hour}:00:00Z" for hour in (0, 1, 2)]
    assert real["last"] == [f"2026-01-01T0{hour}:00:00Z" for hour in (7, 8, 9)]
    made = await runs(api)
    assert [run["tick_at"] for run in made] == [f"2026-01-01T0{hour}:00:00Z" for hour in reversed(range(10))]
    assert {run["state"] for run in made} == {"pending"}


async def test_a_repeat_is_safe(api: Served) -> None:
    """Sent twice, each run is made once; the answer tells."""
    await backfill(api)
    again = (await backfill(api)).body
    assert (again["runs"], again["existing"], len(await runs(api))) == (0, 10, 10)
    dry = (await backfill(api, dry_run=True)).body
    assert (dry["runs"], dry["existing"]) == (0, 10)


async def test_it_may_be_done_in_pieces(api: Served) -> None:
    """``next_since`` is where to go on, null in the end."""
    first = (await backfill(api, limit=4)).body
    assert (first["runs"], first["next_since"]) == (4, "2026-01-01T04:00:00Z")
    rest = (await backfill(api, since=first["next_since"])).body
    assert (rest["runs"], rest["next_since"]) == (6, None)


async def test_dates_are_those_of_the_schedule(api: Served) -> None:
    """A date, and a time without an offset, are read in its zone; others are instants."""
    local = (await backfill(api, since="2026-01-01", until="2026-01-01T02:00", dry_run=True)).body
    assert (local["since"], local["until"]) == ("2026-01-01T05:00:00Z", "2026-01-01T07:00:00Z")


async def test_the_end_is_now_where_nothing_is_said(api: Served) -> None:
    """And what is asked back from now is read as everywhere."""
    found = (await api.ask("POST", "/schedules/hourly/backfill", {"since": "5h", "dry_run": True})).body
    assert (found["ticks"], found["runs"]) == (5, 5)


async def test_queue_and_priority_may_be_others(api: Served) -> None:
    """So that the past does not stand before the present."""
    await backfill(api, queue="past", priority="low")
    assert {(run["queue"], run["priority"]) for run in await runs(api)} == {("past", "low")}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"since": "2099-01-01T00:00:00Z"}, "since"),
        ({"until": "2099-01-01T00:00:00Z"}, "until"),
        ({"until": "2025-01-01T00:00:00Z"}, "since"),
        ({"since": "1990-01-01T00:00:00Z"}, "since"),
        ({"since": "soon"}, "since"),
        ({"until": "2026-02-30"}, "until"),
        ({"overlap": "maybe"}, "overlap"),
        ({"priority": "urgent"}, "priority"),
        ({"queue": ""}, "queue"),
        ({"limit": 0}, "limit"),
        ({"limit": 100_001}, "limit"),
        ({"dryrun": True}, "dryrun"),
        ({"dry_run": "yes"}, "dry_run"),
    ],
)
async def test_what_is_wrong_is_named(api: Served, change: dict[str, Any], field: str) -> None:
    """One sentence with the key, and nothing is made."""
    answer = await backfill(api, **change)
    assert (answer.status, answer.body["field"]) == (400, field)
    assert await runs(api) == []


async def test_a_live_run_is_in_the_way_if_that_is_asked(api: Served) -> None:
    """409 names it."""
    made = (await api.ask("POST", "/schedules/hourly/trigger")).body
    refused = await backfill(api, overlap="skip")
    assert (refused.status, made["id"] in refused.body["detail"]) == (409, True)
    assert (await backfill(api)).body["runs"] == 10


async def test_a_pause_is_told_and_holds_back_nothing(api: Served) -> None:
    """The runs are made; whoever paused the schedule hears of it."""
    await api.ask("POST", "/schedules/hourly/pause")
    answer = await backfill(api)
    assert answer.body["runs"] == 10
    assert "hourly is paused: that holds back its ticks to come, and not these runs" in answer.body["warnings"]


async def test_who_may_and_for_what(api: Served) -> None:
    """It makes runs, so it is for operate; it is no request that takes a key, and the schedule must be there."""
    assert (await backfill(api, scope="read")).status == 403
    path = "/schedules/hourly/backfill"
    assert (await api.ask("POST", path, SPAN, idempotency_key="k")).body["field"] == "Idempotency-Key"
    assert (await api.ask("POST", "/schedules/other/backfill", SPAN)).status == 404
    assert (await api.ask("POST", path)).body["field"] == "since"


async def test_a_year_of_hours_is_one_request(api: Served) -> None:
    """In pieces inside, so that others are served meanwhile."""
    now = await api.app.store.now()
    found = (await backfill(api, since=format_instant(now - 365 * DAY), until="now")).body
    assert (found["runs"], len(found["first"]), len(found["last"])) == (365 * 24, 3, 3)
