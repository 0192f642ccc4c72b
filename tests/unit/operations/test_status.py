"""How things stand, on a clock that a test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import msgspec
import pytest

from puntual.model.duration import parse_duration
from puntual.model.fleet import COUNTED_TO
from puntual.model.instant import DAY
from puntual.operations.local import LocalOperations
from puntual.operations.local.health import unknown_words
from puntual.store.requests import Counted, PlanView, ScheduleWrite, Selection, Tally, WaitingTask
from puntual.testing import ManualApp


@pytest.fixture
async def manual() -> AsyncIterator[ManualApp]:
    """An app at noon, with a task that works and one that does not."""
    manual = ManualApp(start="2026-03-02T12:00:00Z")

    @manual.task(name="works")
    def works() -> None:
        """Does nothing."""

    @manual.task(name="fails", max_attempts=3)
    def fails() -> None:
        raise ValueError("no luck")

    async with manual:
        # Nothing beats on a clock that is moved by hand; the worker of this app lives however far it is moved.
        (worker,) = await manual.app.store.list_workers()
        await manual.app.store.register_worker(worker, lease_us=DAY)
        yield manual


async def leave(manual: ManualApp) -> None:
    """The lease of the worker has run out, and nobody is there to end it."""
    (worker,) = await manual.app.store.list_workers()
    await manual.app.store.register_worker(worker, lease_us=0)


def down(manual: ManualApp, duration: str) -> None:
    """Time passes while nothing plans."""
    manual.clock.move_to(manual.clock.now() + parse_duration(duration))


async def test_a_quiet_day_is_well(manual: ManualApp) -> None:
    """Nothing failed, late or missed: one sentence, and what is coming."""
    operations = LocalOperations(manual.app)
    await operations.put_schedule("hourly", {"when": "0 * * * *", "task": "works"})
    await manual.advance("3h")
    status = await operations.status("today")
    assert status["ok"] is True
    assert status["sentence"] == (
        "All is well since 2026-03-02T00:00:00Z: nothing failed, nothing was missed and nothing started more "
        "than a minute late; "
        "1 schedule is due within the hour."
    )
    assert status["coming"] == [{"schedule": "hourly", "due_at": "2026-03-02T16:00:00Z", "ticks": 1}]


async def test_downtime_is_told_with_what_it_cost(manual: ManualApp) -> None:
    """Ticks that nobody planned are missed, and the stretch in which nothing was there is named."""
    operations = LocalOperations(manual.app)
    await operations.put_schedule("often", {"when": "*/10 * * * *", "task": "works", "misfire_policy": "skip"})
    await manual.advance("30m")
    down(manual, "2h5m")
    await manual.run_due()
    status = await operations.status("24h")
    (missed,) = status["missed"]
    assert (missed["schedule"], missed["count"], missed["reason"]) == ("often", 12, "down")
    assert status["down"] == [{"since": "2026-03-02T12:40:00Z", "until": "2026-03-02T14:30:00Z", "ticks": 12}]
    assert status["sentence"].startswith("12 ticks were missed since ")
    assert status["ok"] is False


async def test_a_tick_made_good_late_is_told(manual: ManualApp) -> None:
    """The run that made up for the downtime is late by what it waited."""
    operations = LocalOperations(manual.app)
    await operations.put_schedule("hourly", {"when": "0 * * * *", "task": "works"})
    await manual.advance("5m")
    down(manual, "3h10m")
    await manual.run_due()
    status = await operations.status("24h")
    (late,) = status["late"]
    assert (late["tick_at"], late["lateness_ms"]) == ("2026-03-02T15:00:00Z", 15 * 60_000)
    assert status["down"] == [{"since": "2026-03-02T13:00:00Z", "until": "2026-03-02T14:00:00Z", "ticks": 2}]
    assert status["sentence"].startswith("1 tick ran late since ")


async def test_a_run_that_will_be_tried_again_says_when(manual: ManualApp) -> None:
    """Why, how often, and the next try; once it is dead there is none."""
    operations = LocalOperations(manual.app)
    await operations.enqueue({"task": "fails"})
    await manual.run_due()
    status = await operations.status("24h")
    (failed,) = status["failed"]
    assert (failed["state"], failed["why"], failed["tries"]) == ("pending", "ValueError: no luck", 1)
    assert failed["next_try_at"] > status["now"]
    assert status["sentence"].startswith("1 run failed and is being tried again since ")
    await manual.advance("1h")
    (failed,) = (await operations.status("24h"))["failed"]
    assert (failed["state"], failed["tries"], failed["next_try_at"]) == ("dead", 3, None)


async def test_what_happened_before_is_left_out(manual: ManualApp) -> None:
    """``since`` is where the look back ends."""
    operations = LocalOperations(manual.app)
    await operations.enqueue({"task": "fails", "max_attempts": 1})
    await manual.run_due()
    down(manual, "2h")
    assert (await operations.status("1h"))["failed"] == []
    assert len((await operations.status("3h"))["failed"]) == 1


async def test_a_paused_fleet_says_so(manual: ManualApp) -> None:
    """The pause of everything is in the sentence and in the detail."""
    operations = LocalOperations(manual.app)
    await operations.pause_schedules({"all": True}, reason="upgrade")
    status = await operations.status("24h")
    assert status["sentence"].startswith(
        "Everything is paused since 2026-03-02T12:00:00Z until it is resumed (upgrade); "
    )
    assert status["ok"] is True
    assert (status["paused"]["paused"], status["paused"]["reason"]) == (True, "upgrade")


async def test_a_schedule_applied_again_later_is_unchanged(manual: ManualApp) -> None:
    """A default anchor and the warnings of another day are no change."""
    operations = LocalOperations(manual.app)
    text = """
        defaults: {timezone: Europe/Madrid}
        schedules: {a: {every: 6h, task: works}, b: {when: '30 2 * * *', task: works}}
    """
    texts = [{"text": text, "source": "m.yaml"}]
    await operations.apply(texts, dry_run=False, prune=False, take=False)
    down(manual, "200d")
    again = await operations.apply(texts, dry_run=False, prune=False, take=False)
    assert again["unchanged"] == ["a", "b"]


async def test_counts_are_of_all_and_lists_of_the_newest(manual: ManualApp) -> None:
    """A thousand dead runs and more are counted, a hundred are listed, and nothing is well."""
    operations = LocalOperations(manual.app)
    bodies = [{"task": "fails", "max_attempts": 1}] * 1_050
    await operations.enqueue_batch(bodies)
    await manual.run_due()
    status = await operations.status("24h")
    assert status["sentence"].startswith("1,050 runs died since ")
    assert (status["counts"]["dead"], len(status["failed"]), status["ok"]) == ({"count": 1_050}, 100, False)


async def test_old_trouble_is_not_hidden_by_what_went_well_since(manual: ManualApp) -> None:
    """A late tick, a missed one and a run to be tried again are told, however many ticks and runs came after them."""
    operations = LocalOperations(manual.app)
    await operations.enqueue({"task": "fails", "max_attempts": 1})
    await operations.put_schedule("hourly", {"when": "0 * * * *", "task": "works"})
    await manual.advance("5m")
    down(manual, "3h10m")
    await manual.run_due()
    await operations.put_schedule("often", {"every": "2s", "task": "works", "queue": "often"})
    await manual.advance("40m")
    await operations.enqueue_batch([{"task": "later", "delay": "1h"}] * 1_100)
    status = await operations.status("24h")
    assert status["sentence"].startswith("1 run died and 1 tick ran late since ")
    assert [item["schedule"] for item in status["late"]] == ["hourly"]
    assert status["counts"] == {
        "dead": {"count": 1},
        "retrying": {"count": 0},
        "missed": {"count": 0},
        "late": {"count": 1},
        "unplanned": {"count": 0},
    }


async def test_what_was_not_counted_out_is_at_least_that_many(
    manual: ManualApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence never says less than there is as if it were all."""

    async def many(since: int, *, now: int | None = None) -> Tally:
        nothing = Counted()
        dead = Counted(count=10_000, at_least=True)
        return Tally(now=since, dead=dead, retrying=nothing, missed=nothing, late=nothing, unplanned=nothing)

    monkeypatch.setattr(manual.app.store, "tally", many)
    status = await LocalOperations(manual.app).status("24h")
    assert status["sentence"].startswith("At least 10,000 runs died since ")
    assert status["counts"]["dead"] == {"at_least": 10_000}


async def test_a_schedule_that_cannot_be_planned_is_told_everywhere(
    manual: ManualApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its own warnings, in the list, in the status and in the health."""
    operations = LocalOperations(manual.app)
    await operations.put_schedule("odd", {"when": "0 * * * *", "task": "works"})
    standing = await manual.app.store.get_schedule("odd")
    assert standing is not None
    cursor = msgspec.structs.replace(standing.cursor, trouble="the zone Mars/Base is gone")

    def trouble(views: Sequence[PlanView], _pause: object, _now: int) -> list[ScheduleWrite]:
        schedule = msgspec.structs.replace(views[0].schedule, cursor=cursor)
        return [ScheduleWrite(name="odd", schedule=schedule)]

    await manual.app.store.change_schedules(Selection(names=("odd",)), trouble)
    said = "cannot be planned: the zone Mars/Base is gone"
    assert said in (await operations.get_schedule("odd"))["warnings"]
    assert said in (await operations.list_schedules({}))["items"][0]["warnings"]
    status = await operations.status("24h")
    assert (status["unplanned"], status["ok"]) == (["odd"], False)
    assert status["sentence"].startswith("1 schedule cannot be planned since ")
    (check,) = [check for check in (await operations.health())["checks"] if check["name"] == "schedules"]
    assert (check["ok"], "schedule show odd" in check["text"]) == (False, True)


async def test_a_run_that_waits_is_no_good_sign(manual: ManualApp) -> None:
    """Nobody keeps up: it is due and does not start."""
    operations = LocalOperations(manual.app)
    await operations.enqueue({"task": "works", "queue": "mail"})
    down(manual, "5m")
    status = await operations.status("24h")
    assert status["ok"] is False
    assert status["sentence"].startswith("The oldest due run has waited 5m, in queue mail; nothing failed, ")


async def test_when_the_only_server_is_killed_it_is_said_first(manual: ManualApp) -> None:
    """No heartbeat, no planner, and nobody to end the lease: twenty seconds later it is known all the same."""
    operations = LocalOperations(manual.app)
    await operations.put_schedule("often", {"every": "1s", "task": "works"})
    await leave(manual)
    down(manual, "20s")
    status = await operations.status("24h")
    assert status["ok"] is False
    assert status["sentence"].startswith("No worker and no scheduler is alive (puntual serve starts them); ")
    assert [worker["overdue"] for worker in (await operations.list_workers())["items"]] == [True]
    checks = {check["name"]: check["ok"] for check in (await operations.health())["checks"]}
    assert (checks["workers"], checks["scheduler"]) == (False, False)


async def test_a_worker_alone_plans_nothing(manual: ManualApp) -> None:
    """With schedules and no scheduler nothing is well; without schedules nobody misses one."""
    operations = LocalOperations(manual.app)
    (both,) = await manual.app.store.list_workers()
    await leave(manual)
    alone = msgspec.structs.replace(both, id="alone", roles=("worker",))
    await manual.app.store.register_worker(alone, lease_us=DAY)
    assert (await operations.status("24h"))["ok"] is True
    await operations.put_schedule("daily", {"when": "@daily", "task": "works"})
    status = await operations.status("24h")
    assert status["sentence"].startswith("No scheduler is alive ")
    assert status["ok"] is False


async def test_schedules_that_nobody_plans_are_told(manual: ManualApp) -> None:
    """A scheduler lives and does not keep up; while everything is paused there is nothing to plan."""
    operations = LocalOperations(manual.app)
    await operations.put_schedule("often", {"every": "10s", "task": "works"})
    await operations.put_schedule("later", {"every": "1h", "task": "works"})
    down(manual, "3m")
    status = await operations.status("24h")
    assert status["sentence"].startswith("1 schedule has not been planned for ")
    assert "(often)" in status["sentence"]
    (check,) = [check for check in (await operations.health())["checks"] if check["name"] == "schedules"]
    assert check["ok"] is False
    await operations.pause_schedules({"all": True})
    assert (await operations.status("24h"))["ok"] is True


async def test_a_run_for_a_task_that_no_worker_has_is_told_at_once(manual: ManualApp) -> None:
    """With the task that was perhaps meant; it will wait for ever."""
    operations = LocalOperations(manual.app)
    await operations.enqueue({"task": "work"})
    status = await operations.status("24h")
    assert status["sentence"].startswith("1 due run waits for tasks that no living worker has: work; ")
    (unknown,) = status["unknown"]
    assert (unknown["task"], unknown["due"], unknown["nearest"], status["ok"]) == ("work", 1, "works", False)
    (check,) = [check for check in (await operations.health())["checks"] if check["name"] == "lag"]
    assert check["ok"] is False


async def test_what_was_counted_no_further_is_told_as_at_least_so_much(manual: ManualApp) -> None:
    """The count of a long backlog ends somewhere, and says so."""
    waiting = (
        WaitingTask(task="work", due=COUNTED_TO, oldest_due_at=0),
        WaitingTask(task="more", due=1, oldest_due_at=0),
    )
    snapshot = msgspec.structs.replace(await manual.app.store.snapshot(), waiting=waiting)
    told = "at least 10,001 due runs wait for tasks that no living worker has: more and 1 more"
    assert unknown_words(snapshot) == told


async def test_equal_failures_are_told_together(manual: ManualApp) -> None:
    """How often, and why the last time."""
    operations = LocalOperations(manual.app)
    await operations.enqueue_batch([{"task": "fails", "max_attempts": 1}] * 12)
    await manual.run_due()
    status = await operations.status("24h")
    (group,) = status["failures"]
    assert (group["name"], group["state"], group["count"]) == ("fails", "dead", 12)
    assert "(fails 12 times, last: ValueError: no luck)" in status["sentence"]
