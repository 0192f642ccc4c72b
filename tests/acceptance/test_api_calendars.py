"""Calendars over HTTP: written with the schedules that name them, found out from feeds, refused whole, exported."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from puntual.engine.plan import plan
from puntual.model.ids import tick_run_id
from puntual.model.instant import DAY, format_instant
from puntual.model.run import RunState
from puntual.model.schedule import Pause
from puntual.store.calendars import CalendarNote
from puntual.store.requests import PlanView, PlanWrite
from tests.support.api import Answer, Served, serving
from tests.support.fault_server import FaultServer, answer
from tests.support.http import LOOPBACK

NIGHTLY = "nightly: {every: 24h, timezone: UTC, task: reports.daily, calendars: {exclude: [closed]}}"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    """A served API that may ask loopback."""
    async with serving(tmp_path, allow_private_addresses=(LOOPBACK,)) as served:
        yield served


def ical(*dates: str) -> str:
    """A calendar of single days."""
    events = "".join(f"BEGIN:VEVENT\nDTSTART;VALUE=DATE:{date}\nEND:VEVENT\n" for date in dates)
    return f"BEGIN:VCALENDAR\n{events}END:VCALENDAR\n"


def manifest(calendars: str, schedules: str = NIGHTLY, owner: str = "shop") -> str:
    """A manifest of one owner."""
    return f"owner: {owner}\ncalendars: {{{calendars}}}\nschedules:\n  {schedules}\n"


async def apply(
    api: Served, text: str, *, scope: str = "admin", files: dict[str, str] | None = None, **how: bool
) -> Answer:
    """Applies one manifest, with the files that it names."""
    sent = {"text": text, "source": "m.yaml", "files": files or {}}
    return await api.ask("POST", "/apply", {"texts": [sent], **how}, scope=scope)


def date_of(api: Served, ahead: int) -> str:
    """The date of a day from now on, in UTC."""
    return format_instant(api.app.clock.now() + ahead * DAY)[:10]


def next_due(schedule: Any) -> str:
    """The date of the next tick."""
    return str(schedule["next_due_at"])[:10]


async def test_a_calendar_is_put_listed_shown_and_removed(api: Served) -> None:
    """Its ETag is its version; the days of a year are asked for by that year."""
    made = await api.ask("PUT", "/calendars/closed", {"dates": ["2026-12-24", "2031-01-01"], "weekdays": ["sunday"]})
    assert (made.status, made.headers["ETag"]) == (200, '"1"')
    assert (made.body["dates"], made.body["schedules"], made.body["changed"]) == (["2026-12-24", "2031-01-01"], [], [])
    (listed,) = (await api.ask("GET", "/calendars", scope="read")).body["items"]
    assert (listed["name"], listed["days"], listed["weekdays"], listed["until"]) == ("closed", 2, ["sunday"], None)
    assert listed["written"] == {"dates": ["2026-12-24", "2031-01-01"], "weekdays": ["sunday"]}
    assert "dates" not in listed
    shown = await api.ask("GET", "/calendars/closed?year=2031", scope="read")
    assert (shown.body["dates"], shown.body["days"]) == (["2031-01-01"], 2)
    assert (await api.ask("DELETE", "/calendars/closed")).body == {"removed": "closed"}
    gone = await api.ask("GET", "/calendars/closed")
    assert (gone.status, gone.code) == (404, "not_found")
    assert (await api.ask("DELETE", "/calendars/closed")).status == 404


async def test_a_calendar_put_again_as_it_is_changes_nothing(api: Served) -> None:
    """Its version stays, no schedule is edited, and what was wrong at the last look is over."""
    body = {"dates": ["2031-01-01"]}
    await api.ask("PUT", "/calendars/closed", body)
    schedule = {"every": "24h", "timezone": "UTC", "task": "reports.daily", "calendars": {"exclude": ["closed"]}}
    assert (await api.ask("PUT", "/schedules/nightly", schedule)).body["revision"] == 1
    await api.app.store.note_calendar(CalendarNote(name="closed", version=1, refreshed_at=1, trouble="It was away."))
    again = await api.ask("PUT", "/calendars/closed", body, if_match='"1"')
    assert (again.status, again.headers["ETag"], again.body["changed"]) == (200, '"1"', [])
    assert (again.body["trouble"], again.body["dates"]) == (None, ["2031-01-01"])
    assert (await api.ask("GET", "/calendars/closed")).body["trouble"] is None
    assert (await api.ask("GET", "/schedules/nightly")).body["revision"] == 1
    late = await api.ask("PUT", "/calendars/closed", body, if_match='"7"')
    assert late.status == 412


async def test_who_may_only_read_changes_nothing(api: Served) -> None:
    """Calendars say when things run: they are admin's, as schedules are."""
    for scope in ("read", "operate"):
        assert (await api.ask("PUT", "/calendars/a", {"weekdays": ["sunday"]}, scope=scope)).status == 403
        assert (await api.ask("DELETE", "/calendars/a", scope=scope)).status == 403


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, None),
        ({"holidays": "CO"}, "holidays"),
        ({"country": "XX"}, "country"),
        ({"dates": ["tomorrow"]}, "dates[0]"),
        ({"ical": "/etc/passwd"}, "ical"),
        ({"ical": "file:///etc/passwd"}, "ical"),
        ({"ical": "http://10.0.0.1/a.ics"}, "ical"),
        ({"ical": "BEGIN:VCALENDAR\n"}, "ical"),
        ({"weekdays": ["sunday"], "owner": 5}, "owner"),
    ],
)
async def test_a_wrong_calendar_names_its_key(api: Served, body: dict[str, Any], field: str | None) -> None:
    """What cannot be used is one sentence, and nothing is written; a path is never read here."""
    answer_ = await api.ask("PUT", "/calendars/a", body)
    assert (answer_.status, answer_.body.get("field")) == (400, field)
    assert (await api.ask("GET", "/calendars")).body["items"] == []


async def test_a_write_may_expect_a_version(api: Served) -> None:
    """Who comes second is told, and changes nothing."""
    body = {"weekdays": ["sunday"]}
    assert (await api.ask("PUT", "/calendars/a", body, if_none_match="*")).status == 200
    assert (await api.ask("PUT", "/calendars/a", body, if_none_match="*")).status == 412
    other = {"weekdays": ["saturday"]}
    assert (await api.ask("PUT", "/calendars/a", other, if_match='"1"')).body["version"] == 2
    assert (await api.ask("PUT", "/calendars/a", body, if_match='"1"')).status == 412
    assert (await api.ask("DELETE", "/calendars/a", if_match='"1"')).status == 412
    assert (await api.ask("PUT", "/calendars/a", body, if_match="x")).status == 400
    assert (await api.ask("DELETE", "/calendars/a", if_match="*")).status == 200
    assert (await api.ask("DELETE", "/calendars/a", if_match="*")).status == 412


async def test_a_manifest_writes_calendars_and_the_schedules_that_name_them(api: Served) -> None:
    """Whole, whatever comes first in it; again it changes nothing, and days are not found out again."""
    text = manifest(f"closed: {{dates: ['{date_of(api, 1)}']}}, co: {{country: CO}}")
    dry = await apply(api, text, dry_run=True)
    assert {each["name"]: each["what"] for each in dry.body["calendars"]} == {"closed": "created", "co": "created"}
    assert (await api.ask("GET", "/calendars")).body["items"] == []
    assert (await apply(api, text)).body["created"] == ["nightly"]
    listed = (await api.ask("GET", "/calendars")).body["items"]
    assert [(each["name"], each["owner"], each["schedules"]) for each in listed] == [
        ("closed", "shop", 1),
        ("co", "shop", 0),
    ]
    assert next_due((await api.ask("GET", "/schedules/nightly")).body) == date_of(api, 2)
    again = await apply(api, text)
    assert (again.body["unchanged"], again.body["calendars"]) == (["nightly"], [])
    assert [each["version"] for each in (await api.ask("GET", "/calendars")).body["items"]] == [1, 1]


async def test_a_calendar_that_changes_moves_the_next_tick(api: Served) -> None:
    """A dry run tells how; then the schedule that names it is edited, though no manifest has it any more."""
    await apply(api, manifest(f"closed: {{dates: ['{date_of(api, 5)}']}}"))
    other = f"owner: shop\ncalendars: {{closed: {{dates: ['{date_of(api, 1)}', '{date_of(api, 2)}']}}}}\n"
    dry = await apply(api, other, dry_run=True)
    (change,) = dry.body["changes"]
    assert (change["name"], change["what"], change["fields"]) == ("nightly", "changed", ["calendars"])
    assert (change["next_before"][0][:10], change["next"][0][:10]) == (date_of(api, 1), date_of(api, 3))
    assert next_due((await api.ask("GET", "/schedules/nightly")).body) == date_of(api, 1)
    assert (await apply(api, other)).body["changed"] == ["nightly"]
    assert next_due((await api.ask("GET", "/schedules/nightly")).body) == date_of(api, 3)
    put = await api.ask("PUT", "/calendars/closed", {"dates": [date_of(api, 1)], "owner": "shop"})
    assert put.body["changed"] == ["nightly"]
    assert next_due((await api.ask("GET", "/schedules/nightly")).body) == date_of(api, 2)


async def test_a_run_planned_for_a_day_that_closes_is_taken_back(api: Served) -> None:
    """A tick that was planned ahead and falls on a day that is closed now runs no more, and is told as skipped."""
    await apply(api, manifest("closed: {dates: ['2001-01-01']}"))
    store, schedule = api.app.store, (await api.app.schedules.get("nightly"))
    tick = schedule.cursor.next_tick_at
    assert tick is not None
    await store.plan(_plan, now=tick - 1_000_000)
    planned = tick_run_id(schedule.id, tick)
    found = await store.get_run(planned)
    assert found is not None
    assert found.state is RunState.PENDING
    put = await api.ask("PUT", "/calendars/closed", {"dates": [format_instant(tick)[:10]], "owner": "shop"})
    assert put.body["changed"] == ["nightly"]
    assert await store.get_run(planned) is None
    await store.plan(_plan, now=tick)
    (told,) = (await api.ask("GET", "/schedules/nightly/ticks")).body["items"]
    assert (told["tick_at"], told["fate"], told["reason"]) == (format_instant(tick), "skipped", "calendar")


def _plan(views: Sequence[PlanView], pause: Pause | None, now: int) -> list[PlanWrite]:
    return [plan(view, pause, now) for view in views]


async def test_a_feed_is_asked_when_it_is_written(api: Served) -> None:
    """And not again by a manifest that says the same."""
    async with FaultServer() as server:
        server.answers["/fair.ics"] = answer(body=ical("20270301", "20270302").encode())
        text = manifest(f"closed: {{ical: '{server.url('/fair.ics')}'}}")
        await apply(api, text)
        await apply(api, text)
        assert len(server.requests) == 1
        shown = await api.ask("GET", "/calendars/closed")
        assert shown.body["dates"] == ["2027-03-01", "2027-03-02"]
        assert shown.body["schedules"] == ["nightly"]


async def test_a_feed_that_does_not_answer_refuses_the_manifest(api: Served) -> None:
    """A calendar without its days would close nothing: 502, with the place of the key; what stood stays."""
    async with FaultServer() as server:
        server.answers["/fair.ics"] = answer("503 Service Unavailable")
        refused = await apply(api, manifest(f"closed: {{ical: '{server.url('/fair.ics')}'}}"))
        assert (refused.status, refused.code, refused.body["field"]) == (502, "calendar", "calendars.closed.ical")
        assert refused.body["detail"].startswith("m.yaml:2: ")
        assert (await api.ask("GET", "/schedules")).body["items"] == []
        put = await api.ask("PUT", "/calendars/closed", {"ical": server.url("/fair.ics")})
        assert (put.status, put.code) == (502, "calendar")
    assert (await api.ask("GET", "/calendars")).body["items"] == []


async def test_whoever_may_only_look_makes_the_server_ask_nobody(api: Served) -> None:
    """A dry run by read or operate says that it did not ask; one by admin does."""
    async with FaultServer() as server:
        server.answers["/fair.ics"] = answer(body=ical("20270301").encode())
        text = manifest(f"closed: {{ical: '{server.url('/fair.ics')}'}}")
        for scope in ("read", "operate"):
            dry = await apply(api, text, scope=scope, dry_run=True)
            assert dry.body["created"] == ["nightly"]
            assert any("was not asked" in warning for warning in dry.body["warnings"])
            kept = await apply(api, text.replace("exclude", "include"), scope=scope, dry_run=True)
            assert kept.body["created"] == ["nightly"]
        assert server.requests == []
        assert not any("was not asked" in text for text in (await apply(api, text, dry_run=True)).body["warnings"])
        assert len(server.requests) == 1


async def test_a_file_comes_along_as_text(api: Served) -> None:
    """Its days are found without anybody reading a path."""
    text = manifest("closed: {ical: fair.ics}")
    assert (await apply(api, text)).body["field"] == "calendars.closed.ical"
    assert (await apply(api, text, files={"fair.ics": ical("20270301")})).status == 200
    assert (await api.ask("GET", "/calendars/closed")).body["dates"] == ["2027-03-01"]
    (listed,) = (await api.ask("GET", "/calendars")).body["items"]
    assert listed["written"] == {"ical": "BEGIN:VCALENDAR"}


async def test_a_feed_is_asked_anew_while_the_app_runs(api: Served) -> None:
    """By the upkeep of a node; the schedules that name it follow."""
    async with FaultServer() as server:
        server.answers["/fair.ics"] = answer(body=ical("20270301").encode())
        await apply(api, manifest(f"closed: {{ical: '{server.url('/fair.ics')}'}}"))
        (standing,) = await api.app.store.list_calendars()
        note = CalendarNote(name="closed", version=1, refreshed_at=standing.refreshed_at - 2 * DAY)
        await api.app.store.note_calendar(note)
        server.answers["/fair.ics"] = answer(body=ical(date_of(api, 1).replace("-", "")).encode())
        server.received.clear()
        async with api.app.running(roles=("scheduler",)):
            await server.received.wait()
            node = api.app.node
            assert node is not None
            assert node.calendars is not None
            await node.calendars.done()
    assert (await api.ask("GET", "/calendars/closed")).body["version"] == 2
    assert next_due((await api.ask("GET", "/schedules/nightly")).body) == date_of(api, 2)


async def test_a_calendar_that_is_named_is_not_removed(api: Served) -> None:
    """Neither by hand nor by a manifest that has it no more; together with the schedule it goes."""
    await apply(api, manifest("closed: {weekdays: [sunday]}"))
    refused = await api.ask("DELETE", "/calendars/closed")
    assert (refused.status, refused.code) == (409, "conflict")
    assert "named by nightly" in refused.body["detail"]
    body = {"every": "1h", "task": "a.b", "calendars": {"exclude": ["closed"]}}
    assert (await api.ask("PUT", "/schedules/mine", body)).status == 200
    for dry in (True, False):
        pruned = await apply(api, "owner: shop\n", prune=True, dry_run=dry)
        assert (pruned.status, pruned.code) == (409, "conflict")
        assert "named by mine" in pruned.body["detail"]
    assert (await api.ask("DELETE", "/schedules/mine")).status == 200
    pruned = await apply(api, "owner: shop\n", prune=True)
    assert (pruned.body["removed"], pruned.body["calendars"]) == (
        ["nightly"],
        [{"name": "closed", "what": "removed", "days": 0}],
    )


async def test_another_owners_calendar_is_left_alone(api: Served) -> None:
    """Unless it is taken; then it has a new owner, and its days stay."""
    await apply(api, manifest("closed: {weekdays: [sunday]}"))
    theirs = "owner: bank\ncalendars: {closed: {weekdays: [sunday]}}\n"
    refused = await apply(api, theirs)
    assert (refused.status, refused.code) == (403, "forbidden")
    assert (await api.ask("PUT", "/calendars/closed", {"weekdays": ["monday"]})).status == 403
    taken = await apply(api, theirs, take=True)
    assert [each["what"] for each in taken.body["calendars"]] == ["changed"]
    shown = (await api.ask("GET", "/calendars/closed")).body
    assert (shown["owner"], shown["weekdays"]) == ("bank", ["sunday"])
    assert (await api.ask("PUT", "/calendars/closed?take=true", {"weekdays": ["monday"]})).body["owner"] is None


async def test_a_schedule_names_calendars_that_there_are(api: Served) -> None:
    """By PUT, by PATCH and from code; one that is not there is named, with the nearest."""
    await api.ask("PUT", "/calendars/closed", {"weekdays": ["sunday"]})
    body = {"every": "1h", "task": "a.b", "calendars": {"exclude": ["closd"]}}
    wrong = await api.ask("PUT", "/schedules/a", body)
    assert (wrong.status, "did you mean closed" in wrong.body["detail"]) == (400, True)
    assert (await api.ask("PUT", "/schedules/a", {**body, "calendars": {"exclude": ["closed"]}})).status == 200
    patched = await api.ask("PATCH", "/schedules/a", {"every": "2h"})
    assert patched.body["written"]["calendars"] == {"exclude": ["closed"]}
    put = await api.app.schedules.put("b", every="1h", task="a.b", calendars={"include": ["closed"]})
    assert put.spec.source["calendars"] == {"include": ["closed"]}


async def test_an_export_has_the_calendars(api: Served) -> None:
    """It is taken back without any file."""
    await apply(api, manifest("closed: {ical: fair.ics}, co: {country: CO}"), files={"fair.ics": ical("20270301")})
    text = (await api.ask("GET", "/export")).body["manifest"]
    again = await apply(api, text)
    assert (again.status, again.body["unchanged"], again.body["calendars"]) == (200, ["nightly"], [])


async def test_trouble_is_told_by_the_health(api: Served) -> None:
    """Beside what is well, and without making the server unready."""
    await api.ask("PUT", "/calendars/closed", {"weekdays": ["sunday"]})
    checks = {each["name"]: each for each in (await api.ask("GET", "/health")).body["checks"]}
    assert checks["calendars"] == {"name": "calendars", "ok": True, "text": "1 calendar is up to date."}
    (standing,) = await api.app.store.list_calendars()
    note = CalendarNote(name="closed", version=1, refreshed_at=standing.refreshed_at, trouble="It is away.")
    await api.app.store.note_calendar(note)
    checks = {each["name"]: each for each in (await api.ask("GET", "/health")).body["checks"]}
    assert checks["calendars"]["ok"] is False
    assert checks["calendars"]["text"].endswith("It is away.")
    assert (await api.ask("GET", "/calendars/closed")).body["trouble"] == "It is away."
