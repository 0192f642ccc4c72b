"""Runs and dead letters over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from puntual.model.run import RunState
from puntual.store.requests import Page, RunFilter
from tests.support.api import Served, dead_run, serving


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    """A served API with default settings."""
    async with serving(tmp_path) as served:
        yield served


async def test_a_run_asked_for_is_answered_and_found(api: Served) -> None:
    """The reply to POST and the run that GET finds are the same, their times too; the reply warns besides."""
    body = {"task": "mail.send", "args": {"to": "a"}, "queue": "mail", "priority": "high", "tags": ["x"], "delay": "1h"}
    made = await api.ask("POST", "/runs", body)
    found = await api.ask("GET", f"/runs/{made.body['id']}")
    assert (made.status, found.status) == (201, 200)
    assert made.body.pop("warnings") != []
    assert made.body == found.body
    assert (found.body["state"], found.body["origin"], found.body["lateness_ms"]) == ("pending", "event", None)


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({}, "task", "task is missing"),
        ({"tsk": "x"}, "tsk", "did you mean task?"),
        ({"task": 7}, "task", "expected `str`"),
        ({"task": "_alerts"}, "task", "puntual's own"),
        ({"task": "x", "args": [1]}, "args", "expected `object`"),
        ({"task": "x", "priority": "urgent"}, "priority", "critical, high, normal or low"),
        ({"task": "x", "delay": "soon"}, "delay", "is no duration"),
        ({"task": "x", "delay": "1h", "at": "2027-01-01T00:00:00Z"}, "delay", "delay or at"),
        ({"task": "x", "at": "2027-01-01T00:00:00"}, "at", "no offset"),
        ({"task": "x", "id": "7"}, "id", "is no run id"),
        ({"task": "x", "max_attempts": 0}, "max_attempts", "from 1 to"),
        ({"task": "http", "args": {"url": "http://169.254.169.254/"}}, "args.url", "metadata"),
        ({"task": "http", "args": {"link": "https://example.com"}}, "args.link", "url"),
        ({"task": "command", "args": {"argv": []}}, "args.argv", "program"),
        ({"task": "command", "args": {"arg": ["/bin/true"]}}, "args.arg", "argv"),
    ],
)
async def test_a_wrong_run_is_one_sentence_that_names_the_field(
    api: Served, body: dict[str, object], field: str, words: str
) -> None:
    """Nothing is made of it, and the problem says which key and what would be right."""
    answer = await api.ask("POST", "/runs", body)
    assert (answer.status, answer.body["field"]) == (400, field)
    assert words in answer.body["detail"]
    assert (await api.ask("GET", "/runs")).body["items"] == []


async def test_arguments_must_fit_a_task_that_is_known_here(api: Served) -> None:
    """A registered task's signature is checked and its options hold; an unknown task is taken as it is."""

    @api.app.task(name="charge", queue="money", max_attempts=9)
    def charge(invoice: int) -> None:
        """Never runs."""

    wrong = await api.ask("POST", "/runs", {"task": "charge", "args": {"invoce": 1}})
    assert (wrong.status, wrong.body["field"]) == (400, "args.invoce")
    assert "did you mean 'invoice'" in wrong.body["detail"]
    right = await api.ask("POST", "/runs", {"task": "charge", "args": {"invoice": 1}})
    assert (right.body["queue"], right.body["max_attempts"]) == ("money", 9)
    assert (await api.ask("POST", "/runs", {"task": "elsewhere", "args": {"any": 1}})).status == 201


async def test_the_same_idempotency_key_is_the_same_run(api: Served) -> None:
    """A repeat answers 200 with the first run; other arguments are a conflict; another token's key is its own."""
    body = {"task": "x", "args": {"b": 1, "a": 2}}
    first = await api.ask("POST", "/runs", body, idempotency_key="order 7")
    again = await api.ask("POST", "/runs", {"args": {"a": 2, "b": 1}, "task": "x"}, idempotency_key="order 7")
    assert (first.status, again.status, again.body["existing"]) == (201, 200, True)
    assert first.body["id"] == again.body["id"]
    other = await api.ask("POST", "/runs", {"task": "x", "args": {"a": 3}}, idempotency_key="order 7")
    assert (other.status, other.code) == (409, "conflict")
    stranger = await api.ask("POST", "/runs", body, idempotency_key="order 7", scope="operate")
    assert stranger.status == 201
    assert (await api.ask("POST", "/runs", body, idempotency_key=" ")).status == 400


async def test_a_batch_sent_twice_under_a_key_is_one_batch(api: Served) -> None:
    """Each run of the batch has its own id under the key."""
    batch = {"runs": [{"task": "x", "args": {"n": n}} for n in range(3)]}
    first = await api.ask("POST", "/runs/batch", batch, idempotency_key="k")
    again = await api.ask("POST", "/runs/batch", batch, idempotency_key="k")
    assert first.status == 201
    assert first.body == again.body
    assert len({*first.body["ids"]}) == 3
    assert len((await api.ask("GET", "/runs")).body["items"]) == 3


async def test_a_batch_is_all_or_nothing(api: Served) -> None:
    """One wrong run and none is made; the field says which."""
    answer = await api.ask("POST", "/runs/batch", {"runs": [{"task": "x"}, {"task": "y", "args": 1}]})
    assert (answer.status, answer.body["field"]) == (400, "runs.1.args")
    assert (await api.ask("GET", "/runs")).body["items"] == []


async def test_a_held_unique_key_answers_with_its_run(api: Served) -> None:
    """The run that stands is answered, as existing."""
    first = await api.ask("POST", "/runs", {"task": "x", "unique_key": "k"})
    second = await api.ask("POST", "/runs", {"task": "x", "unique_key": "k", "args": {"n": 2}})
    assert (second.status, second.body["id"], second.body["existing"]) == (200, first.body["id"], True)


async def test_pages_follow_their_cursor_to_the_end(api: Served) -> None:
    """Newest first, each once; the last page has no cursor."""
    ids = (await api.ask("POST", "/runs/batch", {"runs": [{"task": "x"} for _ in range(7)]})).body["ids"]
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await api.ask("GET", f"/runs?limit=3{f'&cursor={cursor}' if cursor else ''}")).body
        seen += [run["id"] for run in page["items"]]
        cursor = page["next_cursor"]
    assert seen == sorted(ids, reverse=True)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=many", "limit"),
        ("cursor=%00", "cursor"),
        ("cursor=!!!", "cursor"),
        ("state=done", "state"),
        ("sta=dead", "sta"),
        ("since=then", "since"),
        ("since=24h&since=1h", "since"),
        ("ids=7", "ids"),
    ],
)
async def test_a_wrong_filter_names_its_key(api: Served, query: str, field: str) -> None:
    """A filter is never silently ignored."""
    answer = await api.ask("GET", f"/runs?{query}")
    assert (answer.status, answer.body["field"]) == (400, field)


async def test_filters_narrow_the_list(api: Served) -> None:
    """Within one key any value fits, and every key must."""
    for queue, tag in (("a", "x"), ("b", "x"), ("c", "y")):
        await api.ask("POST", "/runs", {"task": "t", "queue": queue, "tags": [tag]})
    found = (await api.ask("GET", "/runs?queue=a&queue=c&tag=x&state=pending&since=1h&origin=event")).body["items"]
    assert [run["queue"] for run in found] == ["a"]
    assert (await api.ask("GET", "/runs?until=yesterday")).body["items"] == []


async def test_a_pending_run_is_edited_and_cancelled_once(api: Served) -> None:
    """PATCH changes it while it is pending; after its end that is a conflict."""
    path = f"/runs/{(await api.ask('POST', '/runs', {'task': 'x', 'delay': '1h'})).body['id']}"
    edited = await api.ask("PATCH", path, {"priority": "low", "queue": "later"})
    assert (edited.status, edited.body["priority"], edited.body["queue"]) == (200, "low", "later")
    assert (await api.ask("PATCH", path, {})).status == 400
    run_id = edited.body["id"]
    assert (await api.ask("POST", f"{path}/cancel")).body == {"answers": {run_id: "cancelled"}}
    assert (await api.ask("PATCH", path, {"priority": "low"})).status == 409
    assert (await api.ask("POST", "/runs/cancel", {"ids": [run_id]})).body == {"answers": {run_id: "ended"}}


async def test_changing_many_needs_a_word(api: Served) -> None:
    """An empty filter changes nothing: everything has to be said."""
    for path, body in (
        ("/dead/replay", {}),
        ("/dead/discard", {}),
        ("/runs/edit", {"where": {}, "edit": {"priority": "low"}}),
    ):
        answer = await api.ask("POST", path, body)
        assert (answer.status, answer.body["field"]) == (400, "all")
    assert (await api.ask("POST", "/dead/discard", {"all": True, "task": ["x"]})).status == 400


async def test_a_dead_run_is_listed_replayed_and_discarded(api: Served) -> None:
    """Unchanged it is put back under its id; with other arguments it is a new run; discarded it leaves the list."""
    run_id = await dead_run(api.app)
    (dead,) = (await api.ask("GET", "/dead")).body["items"]
    assert (dead["id"], dead["state"], dead["reason"], dead["attempts"][0]["outcome"]) == (
        run_id,
        "dead",
        "attempts",
        "failed",
    )
    assert dead["attempts"][0]["error"]["message"] == "no 7"
    assert dead["lateness_ms"] >= 0
    edited = await api.ask("POST", f"/runs/{run_id}/replay", {"args": {"n": 8}})
    assert (edited.body["origin"], edited.body["replay_of"], edited.body["args"]) == ("replay", run_id, {"n": 8})
    assert (await api.ask("POST", f"/runs/{run_id}/replay", {"args": {"m": 8}})).body["field"] == "args.m"
    assert (await api.ask("POST", "/dead/discard", {"task": "broken"})).body == {"ids": [run_id]}
    assert (await api.ask("GET", "/dead")).body["items"] == []
    assert (await api.ask("GET", f"/runs/{run_id}")).body["discarded_at"] is not None


async def test_a_dead_run_is_put_back_under_its_own_id(api: Served) -> None:
    """Its attempts are numbered on and its budget grows; while it is live it cannot be replayed again."""
    run_id = await dead_run(api.app)
    again = await api.ask("POST", f"/runs/{run_id}/replay")
    assert (again.body["id"], again.body["state"], again.body["max_attempts"]) == (run_id, "pending", 2)
    assert (await api.ask("POST", f"/runs/{run_id}/replay")).status == 409
    assert (await api.app.store.list_runs(RunFilter(states=(RunState.DEAD,)), Page())).items == ()


async def test_what_is_not_there_is_not_found(api: Served) -> None:
    """Unknown ids are 404, and texts that are no ids 400."""
    unknown = "0198c1f2-7d3a-7b0e-9c55-3f1d2a4b6c8d"
    for method, path in (("GET", ""), ("POST", "/cancel"), ("POST", "/replay"), ("GET", "/attempts/1/response")):
        assert (await api.ask(method, f"/runs/{unknown}{path}")).status == 404
        assert (await api.ask(method, f"/runs/7{path}")).status == 400
    assert (await api.ask("GET", f"/runs/{unknown}/attempts/x/response")).status == 400


async def test_many_callers_at_once_each_get_their_run(api: Served) -> None:
    """Concurrent requests share commits and never answers."""
    answers = await asyncio.gather(*(api.ask("POST", "/runs", {"task": "x", "args": {"n": n}}) for n in range(40)))
    assert [answer.body["args"]["n"] for answer in answers] == list(range(40))
    assert len({answer.body["id"] for answer in answers}) == 40
