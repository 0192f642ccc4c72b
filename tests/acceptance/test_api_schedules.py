"""Schedules over HTTP: written, changed under a revision, paused, triggered, applied and exported."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from puntual.model.ids import tick_run_id
from puntual.model.instant import DAY, HOUR
from puntual.model.run import NewRun, Origin
from puntual.operations import filters
from puntual.testing.conformance import build
from tests.support.api import COMMAND, DAILY, Answer, Served, serving

MANIFEST = """
owner: billing
queues: {mail: {concurrency: 3}}
schedules:
  report: {when: "0 2 * * *", timezone: America/Bogota, task: reports.daily, args: {n: 1}}
  ping: {every: 1h, http: {url: "https://example.com/ping"}}
"""


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    """A served API with default settings."""
    async with serving(tmp_path) as served:
        yield served


async def apply(api: Served, text: str = MANIFEST, **how: bool) -> Answer:
    """Applies one manifest."""
    return await api.ask("POST", "/apply", {"texts": [{"text": text, "source": "m.yaml"}], **how})


async def names(api: Served) -> list[str]:
    """The schedules that stand."""
    return [item["name"] for item in (await api.ask("GET", "/schedules")).body["items"]]


async def test_a_schedule_is_created_once(api: Served) -> None:
    """POST makes it and answers it with its revision as ETag; a second one of that name is a conflict."""
    made = await api.ask("POST", "/schedules", {"name": "daily", **DAILY})
    assert (made.status, made.headers["ETag"], made.body["revision"]) == (201, '"1"', 1)
    assert made.body["sentence"] == {
        "en": "At 00:00 every day (Europe/Madrid)",
        "es": "A las 00:00 todos los días (Europe/Madrid)",
    }
    assert made.body["target"] == {"task": "reports.daily", "args": {}}
    assert "queue" in made.body["defaults"]
    assert "timezone" not in made.body["defaults"]
    again = await api.ask("POST", "/schedules", {"name": "daily", **DAILY})
    assert (again.status, again.code) == (409, "changed")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"timezone": "Mars/Base"}, "timezone"),
        ({"when": "61 * * * *"}, "when"),
        ({"when": None, "cron": {"expr": "0 0 30 2 *"}}, "cron"),
        ({"ovrlap": "skip"}, "ovrlap"),
        ({"http": {"url": "https://example.com"}}, "task"),
        ({"task": None, "http": {"url": "http://10.0.0.1/"}}, "http.url"),
    ],
)
async def test_a_wrong_schedule_names_its_key(api: Served, change: dict[str, Any], field: str) -> None:
    """What cannot be used is one sentence with the key, and nothing is written."""
    body = {key: value for key, value in {**DAILY, **change}.items() if value is not None}
    answer = await api.ask("PUT", "/schedules/daily", body)
    assert (answer.status, answer.body["field"]) == (400, field)
    assert await names(api) == []


async def test_every_fault_of_a_schedule_is_listed(api: Served) -> None:
    """Two faults are two errors."""
    answer = await api.ask("PUT", "/schedules/daily", {**DAILY, "ovrlap": "skip", "queue": ""})
    assert {fault["field"] for fault in answer.body["errors"]} == {"ovrlap", "queue"}


async def test_an_update_needs_the_revision_that_stands(api: Served) -> None:
    """``If-Match`` that fits lets one writer through; the one that comes second gets 412 and changes nothing."""
    path = "/schedules/daily"
    assert (await api.ask("PUT", path, DAILY, if_match='"1"')).status == 412
    assert (await api.ask("PUT", path, DAILY, if_none_match="*")).status == 200
    assert (await api.ask("PUT", path, DAILY, if_none_match="*")).status == 412
    assert (await api.ask("PATCH", path, {"queue": "night"}, if_match='"1"')).headers["ETag"] == '"2"'
    late = await api.ask("PATCH", path, {"queue": "day"}, if_match='"1"')
    assert (late.status, late.code) == (412, "changed")
    assert (await api.ask("DELETE", path, if_match='"1"')).status == 412
    assert (await api.ask("GET", path)).body["queue"] == "night"
    assert (await api.ask("PUT", path, DAILY, if_match="*")).status == 200
    assert (await api.ask("PUT", path, DAILY, if_match="yes")).status == 400
    assert (await api.ask("PUT", "/schedules/none", DAILY, if_match="*")).status == 412


async def test_a_schedule_put_again_as_it_is_stays_untouched(api: Served) -> None:
    """Writing the same changes no revision."""
    await api.ask("PUT", "/schedules/daily", DAILY)
    assert (await api.ask("PUT", "/schedules/daily", DAILY)).headers["ETag"] == '"1"'


async def test_a_patch_changes_what_it_names(api: Served) -> None:
    """Mappings merge, null goes back to the default, one rule or target takes the place of another."""
    await api.ask(
        "PUT", "/schedules/a", {**DAILY, "args": {"n": 1, "m": 2}, "retry": {"max_attempts": 9, "delay": "1s"}}
    )
    patched = await api.ask("PATCH", "/schedules/a", {"args": {"m": None}, "retry": {"delay": None}, "tags": ["x"]})
    assert patched.body["target"]["args"] == {"n": 1}
    assert (patched.body["retry"]["max_attempts"], patched.body["retry"]["delay_ms"]) == (9, 5000)
    patched = await api.ask("PATCH", "/schedules/a", {"every": "1h", "http": {"url": "https://example.com/"}})
    assert (patched.status, patched.body["target"]["task"], patched.body["tags"]) == (200, "http", ["x"])
    assert patched.body["rule"]["type"] == "interval"


async def test_a_pause_survives_edits(api: Served) -> None:
    """A pause made by hand stays through PUT, PATCH and apply, unless ``paused`` is written."""
    await apply(api)
    paused = await api.ask("POST", "/schedules/report/pause", {"until": "2h", "reason": "holiday"})
    (shown,) = paused.body["items"]
    assert (shown["paused"], shown["pause_reason"], shown["paused_until"] is not None) == (True, "holiday", True)
    await apply(api, MANIFEST.replace("0 2", "0 3"))
    await api.ask("PATCH", "/schedules/report", {"tags": ["x"], "owner": "billing"})
    assert (await api.ask("GET", "/schedules/report")).body["paused"] is True
    (resumed,) = (await api.ask("POST", "/schedules/report/resume")).body["items"]
    assert (resumed["paused"], resumed["paused_until"]) == (False, None)


async def test_a_pause_that_was_written_stays_through_a_patch(api: Served) -> None:
    """PATCH of another key does not wake what a manifest keeps asleep."""
    await api.ask("PUT", "/schedules/a", {**DAILY, "paused": True})
    shown = (await api.ask("PATCH", "/schedules/a", {"tags": ["x"]})).body
    assert (shown["paused"], shown["next_due_at"], shown["tags"]) == (True, None, ["x"])


async def test_everything_is_paused_by_one_word(api: Served) -> None:
    """The answer tells the pause of everything; resuming ends it."""
    every = {"select": {"all": True}, "reason": "upgrade"}
    paused = (await api.ask("POST", "/schedules/pause", every)).body["all"]
    assert (paused["paused"], paused["reason"], paused["until"]) == (True, "upgrade", None)
    assert (await api.ask("POST", "/schedules/resume", {"select": {"all": True}})).body["all"]["paused"] is False


@pytest.mark.parametrize("select", [{}, {"names": []}, {"names": ["a"], "all": True}, {"name": "a"}, {"all": 1}])
async def test_a_pause_says_exactly_what(api: Served, select: dict[str, Any]) -> None:
    """Names, a tag or all: nothing is guessed."""
    assert (await api.ask("POST", "/schedules/pause", {"select": select})).status == 400


async def test_a_pause_cannot_end_in_the_past(api: Served) -> None:
    """An end that has passed is refused, as is a time without offset."""
    await api.ask("PUT", "/schedules/a", DAILY)
    for until in ("2020-01-01T00:00:00Z", "2090-01-01T00:00:00", "soon"):
        answer = await api.ask("POST", "/schedules/a/pause", {"until": until})
        assert (answer.status, answer.body["field"]) == (400, "until")


async def test_a_trigger_follows_the_overlap_policy(api: Served) -> None:
    """One run by hand is answered; a second beside it only if that is said."""
    await api.ask("PUT", "/schedules/a", {**DAILY, "args": {"n": 1}})
    made = await api.ask("POST", "/schedules/a/trigger", {"args": {"n": 2}})
    assert (made.status, made.body["origin"], made.body["schedule"], made.body["args"]) == (
        201,
        "trigger",
        "a",
        {"n": 2},
    )
    assert (await api.ask("POST", "/schedules/a/trigger")).status == 409
    assert (await api.ask("POST", "/schedules/a/trigger", {"overlap": "allow_all"})).status == 201
    assert (await api.ask("POST", "/schedules/a/trigger", {"overlap": "maybe"})).body["field"] == "overlap"
    removed = await api.ask("DELETE", "/schedules/a")
    assert (removed.body["removed"], len(removed.body["live"])) == ("a", 2)


async def test_manifests_are_applied_and_applied_again(api: Served) -> None:
    """The first time creates, the second changes nothing, and a dry run tells both without writing."""
    dry = await apply(api, dry_run=True)
    assert (dry.body["created"], dry.body["queues"], await names(api)) == (["report", "ping"], ["mail"], [])
    assert dry.body["requests"] == [{"schedule": "ping", "method": "GET", "url": "https://example.com/ping"}]
    first = await apply(api)
    assert {key: first.body[key] for key in first.body} == dry.body
    again = await apply(api)
    assert (again.body["unchanged"], again.body["changes"], again.body["queues"]) == (["report", "ping"], [], [])
    assert (await api.ask("GET", "/schedules/report")).body["revision"] == 1
    queues = {queue["name"]: queue["concurrency"] for queue in (await api.ask("GET", "/queues")).body["items"]}
    assert queues["mail"] == 3


async def test_a_dry_run_says_which_fields_and_fires_change(api: Served) -> None:
    """For each schedule that differs: the keys, the next fires and those that it had."""
    await apply(api)
    (change,) = (await apply(api, MANIFEST.replace("0 2", "0 3"), dry_run=True)).body["changes"]
    assert (change["name"], change["what"], change["fields"]) == ("report", "changed", ["when"])
    assert [fire[11:] for fire in change["next"]] == ["08:00:00Z"] * 3
    assert [fire[11:] for fire in change["next_before"]] == ["07:00:00Z"] * 3


async def test_one_fault_and_nothing_is_applied(api: Served) -> None:
    """A manifest with a wrong schedule writes neither its good ones nor its queues; the place is told."""
    answer = await apply(api, MANIFEST.replace("every: 1h", "every: 1x"))
    assert answer.status == 400
    assert "m.yaml:6" in answer.body["detail"]
    assert await names(api) == []
    assert (await api.ask("GET", "/queues")).body["items"] == []


async def test_anothers_schedule_is_taken_only_by_word(api: Served) -> None:
    """Writing it is refused whole, with PUT, PATCH and apply; ``take`` makes it the writer's."""
    await apply(api)
    other = MANIFEST.replace("billing", "shop").replace("ping", "pong")
    answer = await apply(api, other)
    assert (answer.status, answer.code, answer.body["field"]) == (403, "forbidden", "schedules.report")
    assert "billing" in answer.body["detail"]
    assert await names(api) == ["ping", "report"]
    assert (await api.ask("PUT", "/schedules/report", DAILY)).status == 403
    assert (await api.ask("PATCH", "/schedules/report", {"queue": "x"})).status == 403
    assert (await api.ask("PATCH", "/schedules/report?take=true", {"queue": "x"})).body["owner"] is None
    assert (await apply(api, other, take=True)).status == 200
    assert (await api.ask("GET", "/schedules?owner=shop")).body["items"][0]["name"] == "pong"


async def test_prune_removes_what_its_owner_dropped(api: Served) -> None:
    """Only schedules of the manifest's owner go; without an owner nothing is pruned."""
    await apply(api)
    await api.ask("PUT", "/schedules/mine", DAILY)
    less = "\n".join(line for line in MANIFEST.splitlines() if "ping" not in line)
    dry = await apply(api, less, prune=True, dry_run=True)
    assert (dry.body["removed"], await names(api)) == (["ping"], ["mine", "ping", "report"])
    assert (await apply(api, less, prune=True)).body["removed"] == ["ping"]
    assert await names(api) == ["mine", "report"]
    refused = await apply(api, less.replace("owner: billing", ""), prune=True)
    assert (refused.status, refused.body["field"]) == (400, "owner")


async def test_a_command_that_would_not_run_is_warned_about(api: Served, tmp_path: Path) -> None:
    """Where ALLOW_COMMANDS does not let it, the warning says what to set."""
    answer = await apply(api, f"schedules: {{b: {{when: '@daily', command: {COMMAND['command']}}}}}")
    (warning,) = [text for text in answer.body["warnings"] if "command" in text]
    assert "PUNTUAL_ALLOW_COMMANDS=/bin/true" in warning


async def test_an_export_is_applied_elsewhere_to_the_same(api: Served, tmp_path: Path) -> None:
    """What one server exports makes the same schedules on another."""
    await apply(api)
    await api.ask("PUT", "/schedules/mine", {**DAILY, "overlap": "buffer_one", "paused": True})
    manifest = (await api.ask("GET", "/export")).body["manifest"]
    (tmp_path / "other").mkdir()
    async with serving(tmp_path / "other") as other:
        assert (await apply(other, manifest)).status == 200
        assert (await other.ask("GET", "/export")).body["manifest"] == manifest


async def test_the_next_fires_and_a_rule_are_told(api: Served) -> None:
    """``next`` counts as asked, ``parse`` reads a rule without writing anything."""
    await api.ask("PUT", "/schedules/a", DAILY)
    assert len((await api.ask("GET", "/schedules/a/next?count=7")).body["fires"]) == 7
    for count in ("0", "1001", "x"):
        assert (await api.ask("GET", f"/schedules/a/next?count={count}")).status == 400
    parsed = await api.ask("POST", "/parse", {"expr": "*/5 * * * *", "count": 2, "timezone": "UTC"})
    assert (parsed.body["description"], len(parsed.body["fires"])) == ("Every 5 minutes (UTC)", 2)
    phrase = await api.ask("POST", "/parse", {"expr": "cada lunes a las 9", "lang": "es", "timezone": "UTC"})
    assert phrase.body["sentence"] == {"en": "At 09:00 on Monday (UTC)", "es": "A las 09:00 los lunes (UTC)"}
    assert phrase.body["rule"] == {"type": "cron", "expr": "0 9 * * MON", "dialect": "unix", "timezone": "UTC"}
    wrong = await api.ask("POST", "/parse", {"expr": "61 * * * *"})
    assert (wrong.status, wrong.code, wrong.body["column"]) == (400, "invalid_rule", 1)
    assert (await api.ask("POST", "/parse", {"expr": "@daily", "timezon": "UTC"})).body["field"] == "timezon"


async def test_a_schedule_may_say_its_rule_in_a_phrase(api: Served) -> None:
    """It is kept as it was written, with its language; another rule takes the place of both."""
    made = await api.ask(
        "PUT", "/schedules/a", {"when": "cada lunes a las 9", "lang": "es", "timezone": "UTC", "task": "x"}
    )
    assert made.body["sentence"] == {"en": "At 09:00 on Monday (UTC)", "es": "A las 09:00 los lunes (UTC)"}
    assert {"when": "cada lunes a las 9", "lang": "es"}.items() <= made.body["written"].items()
    changed = await api.ask("PATCH", "/schedules/a", {"every": "1h"})
    assert (changed.status, "lang" in changed.body["written"]) == (200, False)


async def test_a_schedule_may_leave_out_and_count(api: Served) -> None:
    """A change of something else keeps the count; ``parse`` reads the keys, and names one that is wrong."""
    keys = {"when": "0 9 * * *", "except": "weekends", "max_ticks": 3, "timezone": "UTC", "task": "x"}
    made = await api.ask("POST", "/schedules", {"name": "few", **keys})
    assert (made.status, len((await api.ask("GET", "/schedules/few/next")).body["fires"])) == (201, 3)
    changed = await api.ask("PATCH", "/schedules/few", {"queue": "slow"})
    assert (changed.status, changed.body["rule"], changed.body["queue"]) == (200, made.body["rule"], "slow")
    wrong = await api.ask("PATCH", "/schedules/few", {"except": "every day"})
    assert (wrong.status, wrong.code, wrong.body["field"]) == (400, "invalid_rule", "except")
    rule = {"expr": "0 9 * * *", "timezone": "UTC"}
    parsed = await api.ask("POST", "/parse", {**rule, "except": ["weekends", "2026-12-24"], "every_nth": 2})
    assert parsed.body["description"].startswith(
        "At 09:00 every day, except on Saturday and Sunday; on 2026-12-24 (UTC)"
    )
    assert (await api.ask("POST", "/parse", {**rule, "except": "9"})).body["field"] == "except"
    assert (await api.ask("POST", "/parse", {**rule, "excepts": "9"})).body["field"] == "excepts"


async def test_the_tick_record_is_paged_and_filtered(api: Served) -> None:
    """An empty record is an empty list; wrong fates and cursors are refused."""
    await api.ask("PUT", "/schedules/a", DAILY)
    assert (await api.ask("GET", "/schedules/a/ticks?fate=ran&since=24h")).body["items"] == []
    assert (await api.ask("GET", "/ticks?fate=done")).body["field"] == "fate"
    for place in ("x", "1:x:a", f"{10**30}:1:a"):
        assert (await api.ask("GET", f"/ticks?cursor={filters.cursor(place)}")).body["field"] == "cursor"


async def test_what_is_not_there_is_not_found(api: Served) -> None:
    """Every route of a schedule answers 404 for a name that nobody wrote."""
    for method, path in (
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("GET", "/next"),
        ("POST", "/trigger"),
        ("POST", "/pause"),
        ("POST", "/resume"),
    ):
        answer = await api.ask(method, f"/schedules/none{path}", None if method == "GET" else {})
        assert (answer.status, answer.code) == (404, "not_found"), path


async def test_a_removal_is_guarded_by_its_revision(api: Served) -> None:
    """The revision is looked at in the transaction that removes: an edit in between is never thrown away."""
    await api.ask("PUT", "/schedules/a", DAILY)
    read = api.operations.get_schedule

    async def edited_right_after(name: str) -> dict[str, Any]:
        seen = await read(name)
        await api.operations.patch_schedule(name, {"tags": ["mine"]})
        return seen

    api.operations.get_schedule = edited_right_after  # type: ignore[method-assign]  # somebody edits after every look
    refused = await api.ask("DELETE", "/schedules/a", if_match="*")
    api.operations.get_schedule = read  # type: ignore[method-assign]  # as it was
    assert (refused.status, refused.code) == (412, "changed")
    assert (await api.ask("DELETE", "/schedules/a", if_match='"1"')).status == 412
    assert (await api.ask("GET", "/schedules/a")).body["tags"] == ["mine"]
    assert (await api.ask("DELETE", "/schedules/a", if_match='"2"')).status == 200


@pytest.mark.parametrize("count", ["9" * 5_000, "%EF%BC%95", "1e3", "-1", "0", "1001", ""])
async def test_a_count_that_is_none_is_one_sentence(api: Served, count: str) -> None:
    """Other digits, signs and any length are refused alike."""
    await api.ask("PUT", "/schedules/a", DAILY)
    for path in (f"/schedules/a/next?count={count}", f"/runs?limit={count}", f"/ticks?limit={count}"):
        answer = await api.ask("GET", path)
        assert (answer.status, answer.body["field"] in ("count", "limit")) == (400, True)


async def test_a_change_names_the_runs_that_it_does_not_reach(api: Served) -> None:
    """Runs that a worker holds ahead of their time go on as they were planned, and the answer says which."""
    held = await held_ahead(api)
    for method, path, body in (
        ("PATCH", "/schedules/often", {"tags": ["x"]}),
        ("POST", "/schedules/pause", {"select": {"names": ["often"]}}),
        ("POST", "/schedules/pause", {"select": {"all": True}}),
        ("DELETE", "/schedules/often", None),
    ):
        assert (await api.ask(method, path, body)).body["claimed_ahead"] == [held]
    assert (await api.ask("PUT", "/schedules/other", DAILY)).body["claimed_ahead"] == []


async def held_ahead(api: Served) -> str:
    """A run of the schedule ``often`` that a worker has claimed and that is due in a while."""
    await api.ask("PUT", "/schedules/often", {"when": "@daily", "task": "task"})
    standing = await api.app.store.get_schedule("often")
    assert standing is not None
    tick = standing.cursor.next_tick_at
    assert tick is not None
    run = NewRun(
        id=tick_run_id(standing.id, tick),
        task="task",
        origin=Origin.TICK,
        schedule_id=standing.id,
        schedule="often",
        tick_at=tick,
        tick_number=1,
        due_at=tick,
    )
    await api.app.store.enqueue([run])
    await api.app.store.register_worker(build.worker("w"), lease_us=HOUR)
    claimed = await api.app.store.claim(build.wanting("w", ahead_us=2 * DAY))
    assert [held.id for held in claimed.runs] == [run.id]
    return run.id
