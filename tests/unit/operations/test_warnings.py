"""Whoever asks for work that nobody will do is told so at once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import msgspec
import pytest

from puntual.model.errors import InvalidError, NotFoundError
from puntual.model.fleet import Worker
from puntual.model.instant import DAY
from puntual.model.task import TaskRegistry
from puntual.operations.local import LocalOperations
from puntual.testing import ManualApp

NOBODY = "no worker is alive: puntual worker or puntual serve starts one"


@pytest.fixture
async def manual() -> AsyncIterator[ManualApp]:
    """An app with one task, whose worker lives."""
    manual = ManualApp(start="2026-03-02T12:00:00Z")

    @manual.task(name="shop.send_invoice")
    def send() -> None:
        """Does nothing."""

    async with manual:
        yield manual


@pytest.fixture
def operations(manual: ManualApp) -> LocalOperations:
    """Its operations."""
    return LocalOperations(manual.app)


async def only(manual: ManualApp, *workers: Worker) -> None:
    """These workers live and no other."""
    for standing in await manual.app.store.list_workers():
        await manual.app.store.end_worker(standing.id)
    for worker in workers:
        await manual.app.store.register_worker(worker, lease_us=DAY)


async def test_what_will_be_done_has_no_warning(operations: LocalOperations) -> None:
    """The list is there, and empty."""
    assert (await operations.enqueue({"task": "shop.send_invoice"}))["warnings"] == []
    assert (await operations.enqueue_batch([{"task": "shop.send_invoice"}]))["warnings"] == []
    schedule = await operations.put_schedule("a", {"when": "@daily", "task": "shop.send_invoice", "timezone": "UTC"})
    assert schedule["warnings"] == []
    assert (await operations.trigger_schedule("a", {}))["warnings"] == []


async def test_a_misspelt_task_is_told_with_the_nearest(operations: LocalOperations) -> None:
    """By every way to ask for it; and that its retries and timeout are those of nobody."""
    unknown = "no living worker has a task shop.send_invoce; the nearest is shop.send_invoice"
    defaults = "the task shop.send_invoce is not registered here, so its own queue, retries and timeout are not known "
    said = [unknown, defaults + "and defaults apply: set PUNTUAL_APP=MODULE:APP, or say them"]
    body = {"task": "shop.send_invoce"}
    assert (await operations.enqueue(body))["warnings"] == said
    assert (await operations.enqueue_batch([body, body]))["warnings"] == said
    assert (await operations.enqueue({**body, "queue": "mail", "max_attempts": 2, "timeout": "1m"}))["warnings"] == [
        unknown
    ]


async def test_a_task_that_only_workers_elsewhere_know_is_asked_for_with_defaults(
    manual: ManualApp, operations: LocalOperations
) -> None:
    """Its code, where its options are, is not loaded here; those of ``http`` are known everywhere."""
    (worker,) = await manual.app.store.list_workers()
    await only(manual, msgspec.structs.replace(worker, id="other", tasks=("elsewhere", "http")))
    (text,) = (await operations.enqueue({"task": "elsewhere"}))["warnings"]
    assert "elsewhere is not registered here" in text
    assert (await operations.enqueue({"task": "http", "args": {"url": "https://example.com"}}))["warnings"] == []


async def test_a_schedule_of_a_task_that_is_unknown_here_leaves_its_options_to_defaults(
    manual: ManualApp, operations: LocalOperations
) -> None:
    """By every way to write it, with what would make them known; who says all of them hears nothing."""
    (worker,) = await manual.app.store.list_workers()
    await only(manual, msgspec.structs.replace(worker, id="other", tasks=("elsewhere",)))
    manual.app.registry = TaskRegistry()
    body = {"when": "@daily", "timezone": "UTC", "task": "elsewhere"}
    remedy = "its own queue, retries and timeout are not known and defaults apply: set PUNTUAL_APP=MODULE:APP"
    (text,) = (await operations.put_schedule("a", body))["warnings"]
    assert remedy in text
    applied = await operations.apply(
        [{"text": json.dumps({"schedules": {"b": body}})}], dry_run=False, prune=False, take=False
    )
    assert remedy in applied["warnings"][0]
    whole = {**body, "queue": "slow", "timeout": "1m", "retry": {"max_attempts": 2}}
    assert (await operations.put_schedule("a", whole))["warnings"] == []


async def test_a_queue_has_a_name_that_needs_no_quotes_whoever_names_it(operations: LocalOperations) -> None:
    """As in a manifest, with the same words."""
    says = "The queue 'a b' holds ' ': use letters, digits and"
    with pytest.raises(InvalidError, match=says):
        await operations.enqueue({"task": "shop.send_invoice", "queue": "a b"})
    with pytest.raises(InvalidError, match=says):
        await operations.set_queue("a b", {"concurrency": 1})
    with pytest.raises(InvalidError, match=says):
        await operations.edit_runs({}, {"queue": "a b"})


async def test_nobody_to_do_it_is_told(manual: ManualApp, operations: LocalOperations) -> None:
    """Once for all that is asked, also when a manifest is applied."""
    await only(manual)
    assert (await operations.enqueue({"task": "shop.send_invoice"}))["warnings"] == [NOBODY]
    text = "schedules: {a: {every: 1h, task: shop.send_invoice, anchor: '2026-01-01T00:00:00Z'}}"
    applied = await operations.apply([{"text": text, "source": "m.yaml"}], dry_run=False, prune=False, take=False)
    assert NOBODY in applied["warnings"]


async def test_a_pause_of_everything_is_told(operations: LocalOperations) -> None:
    """Until when, and why; no longer once it is resumed."""
    await operations.enqueue({"task": "shop.send_invoice"})
    await operations.pause_schedules({"all": True}, until="2h", reason="upgrade")
    (text,) = (await operations.enqueue({"task": "shop.send_invoice"}))["warnings"]
    assert text == "everything is paused until 2026-03-02T14:00:00Z (upgrade)"
    await operations.resume_schedules({"all": True})
    assert (await operations.enqueue({"task": "shop.send_invoice"}))["warnings"] == []


async def test_a_run_is_answered_with_the_times_of_its_row(operations: LocalOperations) -> None:
    """Those that the store wrote."""
    made = await operations.enqueue({"task": "shop.send_invoice", "delay": "1m"})
    row = await operations.get_run(made["id"])
    assert {**row, "warnings": []} == made


async def test_ticks_of_a_name_that_nobody_has_are_not_found(manual: ManualApp, operations: LocalOperations) -> None:
    """A slip in a name is no empty record; a schedule that has none yet says when its first is due."""
    with pytest.raises(NotFoundError, match="no schedule 'hourli'"):
        await operations.list_ticks({"schedule": "hourli"})
    await operations.put_schedule("hourly", {"when": "0 * * * *", "task": "shop.send_invoice"})
    none: dict[str, object] = {"items": [], "next_cursor": None, "next_due_at": "2026-03-02T13:00:00Z"}
    assert await operations.list_ticks({"schedule": "hourly"}) == none
    await manual.advance("1h")
    await operations.remove_schedule("hourly")
    assert len((await operations.list_ticks({"schedule": "hourly"}))["items"]) == 1
    assert (await operations.list_ticks({"schedule": "hourly", "fate": "missed"}))["items"] == []
