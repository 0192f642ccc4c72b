from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import puntual
from puntual.model.errors import ConflictError
from puntual.settings import Settings
from puntual.testing.fixtures import manual_app
from puntual.testing.manual import ManualApp

__all__ = ["manual_app"]


async def test_a_day_of_a_schedule_runs_in_no_time(manual_app: ManualApp) -> None:
    """Each tick runs at its own instant, in order."""
    seen: list[str] = []

    @manual_app.schedule("0 */6 * * *")
    @manual_app.task
    async def report(run: puntual.Run) -> None:
        assert run.tick_at is not None
        seen.append(f"{run.tick_at:%H:%M} at {manual_app.now:%H:%M}")

    await manual_app.app.declare()
    assert await manual_app.advance("1d") == 4
    assert seen == ["06:00 at 06:00", "12:00 at 12:00", "18:00 at 18:00", "00:00 at 00:00"]


async def test_a_schedule_in_code_may_be_a_phrase(manual_app: ManualApp) -> None:
    """In either language, declared or not."""
    seen: list[str] = []

    @manual_app.schedule("every day at 9:30", timezone="UTC", name="english")
    @manual_app.schedule("cada 12 horas", lang="es", name="spanish")
    @manual_app.task
    async def report(run: puntual.Run) -> None:
        seen.append(f"{manual_app.now:%H:%M}")

    await manual_app.app.declare()
    await manual_app.advance("1d")
    assert sorted(seen) == ["00:00", "09:30", "12:00"]


async def test_a_failed_run_is_tried_again_after_its_wait(manual_app: ManualApp) -> None:
    """The policy's waits pass as time is moved, and not before."""
    starts: list[str] = []

    @manual_app.task(max_attempts=3, backoff=puntual.fixed("10m"))
    async def flaky() -> str:
        starts.append(f"{manual_app.now:%H:%M}")
        if len(starts) < 3:
            raise OSError("not yet")
        return "done"

    handle = await flaky.enqueue()
    await manual_app.run_due()
    assert starts == ["00:00"]
    await manual_app.advance("1h")
    assert len(starts) == 3
    assert await handle.result() == "done"


async def test_runs_are_found_by_task_and_state(manual_app: ManualApp) -> None:
    """Including what is not due yet."""

    @manual_app.task(name="mail")
    async def mail(to: str) -> None: ...

    await mail.enqueue(to="ana@example.com")
    await mail.options(delay="1h").enqueue(to="eva@example.com")
    await manual_app.run_due()
    (sent,) = await manual_app.runs(task="mail", state="succeeded")
    (waiting,) = await manual_app.runs(task="mail", state="pending")
    assert (sent.args, waiting.args) == ({"to": "ana@example.com"}, {"to": "eva@example.com"})


async def test_follow_ups_run_after_the_run_that_asked_for_them(manual_app: ManualApp) -> None:
    """``run.then`` is inserted with the success, and not without it."""
    order: list[str] = []

    @manual_app.task
    async def second() -> None:
        order.append("second")

    @manual_app.task(max_attempts=1)
    async def first(run: puntual.Run, fail: bool) -> None:  # noqa: FBT001 - a task's argument
        run.then(second.call())
        order.append("first")
        if fail:
            raise ValueError("no")

    await first.enqueue(fail=True)
    await manual_app.run_due()
    assert order == ["first"]
    await first.enqueue(fail=False)
    await manual_app.run_due()
    assert order == ["first", "first", "second"]


def test_it_works_without_async_too() -> None:
    """The twins wait in a background thread."""
    with ManualApp(start="2026-03-02T08:59:00Z") as manual:

        @manual.schedule("0 9 * * *")
        @manual.task
        def report() -> int:
            return 7

        manual.app.declare_sync()
        assert manual.advance_sync("2m") == 1
        (run,) = manual.runs_sync(state="succeeded")
        assert run.row.result == "7"


async def test_a_closed_manual_app_says_so() -> None:
    """And what to do."""
    with pytest.raises(ConflictError, match="async with ManualApp"):
        await ManualApp().run_due()


async def test_more_runs_than_slots_are_each_run_once(manual_app: ManualApp) -> None:
    """However many are due at once."""
    seen: list[int] = []

    @manual_app.task
    async def note(number: int) -> None:
        await asyncio.sleep(0)
        seen.append(number)

    await manual_app.app.enqueue_many([note.call(number) for number in range(400)])
    assert await manual_app.run_due() == 400
    assert sorted(seen) == list(range(400))


async def test_a_handler_that_hangs_is_stopped_by_its_timeout(manual_app: ManualApp) -> None:
    """A deadline takes real time: the one thing that a clock moved by hand cannot know."""

    @manual_app.task(timeout="20ms", max_attempts=1)
    async def hang() -> None:
        await asyncio.Event().wait()

    await hang.enqueue()
    await manual_app.run_due()
    (run,) = await manual_app.runs(state="dead")
    assert run.row.attempts[0].outcome == "timed_out"


async def test_an_app_that_failed_to_open_by_hand_is_as_it_was(tmp_path: Path) -> None:
    """One failing test does not break the next: neither an open store nor a clock that stands still stays behind."""
    app = puntual.App(Settings(database_url=f"sqlite:///{tmp_path}/jobs.db"))
    clock = app.clock

    @app.schedule("not a rule")
    @app.task
    async def bad() -> None: ...

    for _ in range(2):
        with pytest.raises(puntual.PuntualError, match="bad"):
            await ManualApp(app).__aenter__()
        assert app.clock is clock
    app.declared.clear()
    async with ManualApp(app) as manual:
        assert await manual.run_due() == 0
    assert app.clock is clock


async def test_a_rule_in_code_leaves_out_and_counts(manual_app: ManualApp) -> None:
    """The keys of a manifest, with an underscore behind Python's own word; declared again, the count goes on."""
    seen: list[str] = []

    @manual_app.schedule("every hour", except_=["every day at 2:00", "0 4 * * *"], every_nth=2, max_ticks=3)
    @manual_app.task
    async def report(run: puntual.Run) -> None:
        seen.append(f"{manual_app.now:%H:%M}")

    await manual_app.app.declare()
    await manual_app.advance("6h")
    await manual_app.app.declare()
    await manual_app.advance("1d")
    assert seen == ["01:00", "05:00", "07:00"]
