from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from puntual.engine import claim, execute
from puntual.engine.clock import SystemClock
from puntual.engine.edit import Moment, create
from puntual.engine.pace import Pace
from puntual.engine.pulse import Life, ThreadPulse
from puntual.model.attempt import OutcomeKind
from puntual.model.outcome import Outcome
from puntual.model.policy import Backoff, OnLostLease, RetryPolicy, RunPolicy
from puntual.model.run import Run, RunState
from puntual.model.schedule import Fate, Tick
from puntual.store.requests import Claimed, ClaimRequest, Page, RunEdit, RunFilter, Selection, TickFilter
from puntual.store.sqlite import SqliteStore
from tests.support.flaky import Deaf, FlakyStore, Handler, file_store, new_run, running, until
from tests.support.plans import every

QUICK = RunPolicy(retry=RetryPolicy(backoff=Backoff.FIXED, delay_us=1000, jitter=False))
DONE = Outcome(kind=OutcomeKind.SUCCEEDED, result="1")


async def succeed(run: Run) -> Outcome:
    """Does nothing, well."""
    return DONE


async def hang(run: Run) -> Outcome:
    """Never ends by itself."""
    await asyncio.Event().wait()
    return DONE


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """A store on a file."""
    store = file_store(tmp_path)
    await store.open()
    yield store
    await store.close()


def wall() -> int:
    """What the store would say."""
    return SystemClock().now()


async def ran(store: SqliteStore) -> list[Tick]:
    """The first tick, once it has run."""
    ticks = (await store.list_ticks(TickFilter(schedule="job", fates=(Fate.RAN,)), Page())).items
    return list(ticks[-1:])


async def ended(store: SqliteStore, run_id: str) -> Run | None:
    """The run, once it has ended."""
    run = await store.get_run(run_id)
    return run if run is not None and run.finished_at is not None else None


async def test_an_enqueued_run_is_done(store: SqliteStore) -> None:
    """The main path: claimed, executed, settled, in history."""
    run = new_run(1)
    async with running(store, Handler(succeed)):
        await store.enqueue([run])
        done = await until(lambda: ended(store, run.id))
    assert (done.state, done.result, done.attempt) == (RunState.SUCCEEDED, "1", 1)
    assert done.started_at <= done.finished_at


async def test_what_a_vanished_worker_held_goes_on_elsewhere(store: SqliteStore) -> None:
    """Its lease runs out, rescue ends it, and the attempt is charged as lost."""
    run = new_run(1, policy=QUICK)
    await store.enqueue([run])
    stuck = Handler(hang)
    async with running(store, stuck, roles=("worker",)) as node:
        await stuck.starts.get()
        await node.membership.heartbeat.stop()
        async with running(store, Handler(succeed)):
            done = await until(lambda: ended(store, run.id))
            assert node.membership.worker != ""
        await node.executor.drain(0)
    assert [attempt.outcome for attempt in done.attempts] == ["lost", "succeeded"]


async def test_a_worker_whose_lease_is_over_drops_all_and_joins_anew(store: SqliteStore) -> None:
    """It records nothing for the claims it had, and goes on under a new id."""
    run = new_run(1, policy=QUICK)
    await store.enqueue([run])
    first, gate = True, asyncio.Event()

    async def once_stuck(run: Run) -> Outcome:
        nonlocal first
        if first:
            first = False
            await gate.wait()
        return DONE

    handler = Handler(once_stuck)
    async with running(store, handler) as node:
        await handler.starts.get()
        old = node.membership.worker
        far = node.time.now() + 3_600_000_000
        await store.rescue(node.rescuer._decide, ends_until=2**62, now=far)
        await until(lambda: node.membership.worker != old)
        await store.edit_runs(RunFilter(ids=(run.id,)), RunEdit(due_at=0))
        done = await until(lambda: ended(store, run.id))
    assert [attempt.worker == old for attempt in done.attempts] == [True, False]
    assert done.state is RunState.SUCCEEDED


async def test_a_claim_whose_answer_was_lost_is_given_back_uncharged(store: SqliteStore) -> None:
    """The heartbeat's comparison finds it; the run is done by its next claim."""
    flaky = FlakyStore(store)
    run = new_run(1)
    await store.enqueue([run])
    flaky.lose_answers["claim"] = 1
    async with running(flaky, Handler(succeed)):
        done = await until(lambda: ended(store, run.id))
    assert (done.state, done.attempt, done.released) == (RunState.SUCCEEDED, 2, 1)


async def test_a_settle_whose_answer_was_lost_is_written_once(store: SqliteStore) -> None:
    """The repeat finds the run gone, and the worker forgets it."""
    flaky = FlakyStore(store)
    run = new_run(1)
    await store.enqueue([run])
    flaky.lose_answers["settle"] = 1
    async with running(flaky, Handler(succeed)) as node:
        await until(lambda: flaky.calls.get("settle", 0) >= 2)
        await until(node.idle)
    done = await ended(store, run.id)
    assert done is not None
    assert len(done.attempts) == 1


async def test_nothing_ends_while_the_database_is_away(store: SqliteStore) -> None:
    """For longer than a lease: no loop exits, what runs is not killed, its end is written when the database is back."""
    flaky = FlakyStore(store)
    gate = asyncio.Event()

    async def wait(run: Run) -> Outcome:
        await gate.wait()
        return DONE

    handler = Handler(wait)
    run, later = new_run(1, policy=QUICK), new_run(2)
    await store.enqueue([run])
    async with running(flaky, handler) as node:
        await handler.starts.get()
        flaky.away = True
        await until(lambda: not node.membership.trusted())
        await until(lambda: any(loop.failures > 1 for loop in node.health()))
        gate.set()
        await store.enqueue([later])
        flaky.away = False
        done = await until(lambda: ended(store, run.id))
        await until(lambda: ended(store, later.id))
        await until(lambda: all(loop.good for loop in node.health()))
    assert [attempt.outcome for attempt in done.attempts] == ["succeeded"]


async def test_a_task_may_ask_to_be_stopped_when_the_lease_is_lost(store: SqliteStore) -> None:
    """``on_lost_lease: cancel`` stops the attempt as soon as the lease is not trusted; others run on."""
    flaky = FlakyStore(store)
    careful = new_run(1, policy=msgspec.structs.replace(QUICK, on_lost_lease=OnLostLease.CANCEL))
    careless = new_run(2, policy=QUICK)
    stopped: list[str] = []

    async def note(run: Run) -> Outcome:
        try:
            return await hang(run)
        except asyncio.CancelledError:
            stopped.append(run.id)
            raise

    handler = Handler(note)
    await store.enqueue([careful, careless])
    async with running(flaky, handler) as node:
        await handler.starts.get()
        await handler.starts.get()
        flaky.away = True
        await until(lambda: stopped)
        assert stopped == [careful.id]
        await until(lambda: node.executor.running == 1)
        flaky.away = False
        await node.drain()


async def test_draining_gives_back_what_runs_uncharged(store: SqliteStore) -> None:
    """After the grace a started attempt is stopped, and its run waits for the next worker with its budget whole."""
    run = new_run(1)
    await store.enqueue([run])
    handler = Handler(hang)
    async with running(store, handler) as node:
        await handler.starts.get()
        await node.drain()
        back = await store.get_run(run.id)
        assert back is not None
        assert (back.state, back.attempt, back.released, back.interrupted) == (RunState.PENDING, 1, 1, 1)


async def test_draining_gives_the_upkeep_back_before_the_attempts_end(store: SqliteStore) -> None:
    """However long an attempt takes that is waited for, another node looks after things at once."""
    await store.enqueue([new_run(1)])
    handler = Handler(hang)
    async with running(store, handler) as node:
        await handler.starts.get()
        await until(lambda: node.upkeep.holding)
        draining = asyncio.create_task(node.drain(grace=60))
        await until(lambda: not node.upkeep.holding)
        assert await store.hold_upkeep("another", lease_us=1_000_000)
        assert not draining.done()
        draining.cancel()
        await asyncio.gather(draining, return_exceptions=True)


async def test_draining_gives_back_what_was_claimed_ahead(store: SqliteStore) -> None:
    """A claim held for its instant was never started."""
    run = new_run(1, delay_us=1_000_000)
    await store.enqueue([run])
    async with running(store, Handler(succeed)) as node:
        await until(lambda: len(node.held) == 1)
        await node.drain()
        back = await store.get_run(run.id)
        assert back is not None
        assert (back.state, back.released, back.attempts) == (RunState.PENDING, 1, ())


async def test_what_a_busy_worker_cannot_start_is_given_back_to_others(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim that found no slot is not held until one is free: another worker does it meanwhile."""
    gate = asyncio.Event()

    async def wait(run: Run) -> Outcome:
        await gate.wait()
        return DONE

    runs = [new_run(number) for number in range(3)]
    busy = Handler(wait)
    async with running(store, busy, roles=("worker",), concurrency=1) as node:
        await store.enqueue(runs[:1])
        await busy.starts.get()
        monkeypatch.setattr(Pace, "expected", lambda self, *, busy: 2)
        await store.enqueue(runs[1:])
        await until(lambda: len(node.held) == 3)
        monkeypatch.undo()
        async with running(store, Handler(succeed), roles=("worker",)):
            await until(lambda: ended(store, runs[1].id))
            await until(lambda: ended(store, runs[2].id))
        gate.set()
        await until(lambda: ended(store, runs[0].id))


async def test_a_cancel_reaches_a_running_attempt(store: SqliteStore) -> None:
    """The heartbeat's answer carries it."""
    run = new_run(1)
    await store.enqueue([run])
    handler = Handler(hang)
    async with running(store, handler):
        await handler.starts.get()
        assert await store.cancel([run.id]) == {run.id: "requested"}
        done = await until(lambda: ended(store, run.id))
    assert done.state is RunState.CANCELLED


async def test_a_run_that_was_lost_twice_is_left_for_a_process_of_its_own(store: SqliteStore) -> None:
    """Nothing shares the fate of a run that may have killed its workers."""
    run = new_run(1, policy=QUICK)
    await store.enqueue([run])
    asked = asyncio.Event()
    handler = Handler(hang)
    for _ in range(2):
        async with running(store, handler, roles=("worker",)) as node:
            await handler.starts.get()
            await node.membership.heartbeat.stop()
            await store.rescue(node.rescuer._decide, ends_until=2**62, now=node.time.now() + 3_600_000_000)
            await store.edit_runs(RunFilter(ids=(run.id,)), RunEdit(due_at=0))
            for hold in node.held:
                node.executor.forget(hold)
    async with running(store, handler, alone=asked.set):
        await asked.wait()
        assert handler.starts.empty()


async def test_a_result_that_the_store_refuses_becomes_text_and_changes_nothing(store: SqliteStore) -> None:
    """The run has succeeded, whatever its result looked like."""

    async def odd(run: Run) -> Outcome:
        return Outcome(kind=OutcomeKind.SUCCEEDED, result='"\ud800"')

    run, other = new_run(1), new_run(2)
    await store.enqueue([run, other])
    async with running(store, Handler(odd)):
        done = await until(lambda: ended(store, run.id))
    assert done.state is RunState.SUCCEEDED
    assert "unstorable" in (done.result or "")


async def test_a_run_to_be_cancelled_whose_claim_was_never_heard_of_ends_cancelled(store: SqliteStore) -> None:
    """Given back by the comparison, it must not run after all."""
    flaky = FlakyStore(store)
    run = new_run(1)
    handler = Handler(succeed)
    await store.enqueue([run])
    flaky.lose_answers["claim"] = 1
    async with running(flaky, handler):
        await until(lambda: flaky.lose_answers["claim"] == 0)
        assert await store.cancel([run.id]) == {run.id: "requested"}
        done = await until(lambda: ended(store, run.id))
    assert done.state is RunState.CANCELLED
    assert handler.starts.empty()


async def test_without_any_hint_nothing_is_lost(store: SqliteStore) -> None:
    """Promise G5: polling finds what no hint announced, runs and ticks alike."""
    run = new_run(1)
    async with running(store, Handler(succeed), wake=Deaf()):
        await store.enqueue([run])
        await until(lambda: ended(store, run.id))
        await store.change_schedules(Selection(names=("job",)), lambda *_: [create(every(1), "id", Moment(now=wall()))])
        (tick,) = await until(lambda: ran(store))
    assert tick.schedule == "job"


async def test_a_node_that_is_stopped_leaves_no_attempt_behind(store: SqliteStore) -> None:
    """Whatever ended it, its handlers are told to stop, and their runs are for rescue to find."""
    run = new_run(1)
    await store.enqueue([run])
    stopped = asyncio.Event()

    async def note(run: Run) -> Outcome:
        try:
            return await hang(run)
        finally:
            stopped.set()

    handler = Handler(note)
    async with running(store, handler) as node:
        await handler.starts.get()
    assert stopped.is_set()
    assert node.executor.running == 0
    left = await store.get_run(run.id)
    assert left is not None
    assert left.state is RunState.RUNNING


async def test_one_slot_is_filled_again_as_soon_as_it_is_free(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker of concurrency 1 does not wait for its next poll: here there is none."""
    for poll in ("_BUSY_POLL", "_IDLE_POLL", "_ROOM_CHECK"):
        monkeypatch.setattr(claim, poll, 3600)
    monkeypatch.setattr(Pace, "expected", lambda self, *, busy: 0)
    runs = [new_run(number) for number in range(40)]
    await store.enqueue(runs)
    async with running(store, Handler(succeed), concurrency=1):
        await until(lambda: ended(store, runs[-1].id))


async def test_who_only_plans_has_a_lease_too(store: SqliteStore) -> None:
    """By it everybody sees that a scheduler lives; it takes no runs."""
    async with running(store, Handler(succeed), roles=("scheduler",)):
        (worker,) = await store.list_workers()
        assert (worker.roles, worker.tasks, worker.concurrency) == (("scheduler",), (), 0)
    assert await store.list_workers() == []


async def test_a_claim_that_hangs_keeps_no_other_work_waiting(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for a slot is given back on time, however long the database takes to answer the next claim."""
    monkeypatch.setattr(execute, "STALE_US", 20_000)
    gate = asyncio.Event()

    async def wait(run: Run) -> Outcome:
        await gate.wait()
        return DONE

    class Hanging(FlakyStore):
        """Answers one claim, and no other."""

        async def claim(self, request: ClaimRequest, **_: object) -> Claimed:
            """The first is asked for more than there is room for."""
            if self.calls.setdefault("claim", 0):
                await gate.wait()
            self.calls["claim"] += 1
            return await store.claim(msgspec.structs.replace(request, limit=3))

    runs = [new_run(number) for number in (1, 2, 3)]
    await store.enqueue(runs)
    handler = Handler(wait)
    async with running(Hanging(store), handler, concurrency=1):
        await handler.starts.get()

        async def given_back() -> bool:
            found = [await store.get_run(run.id) for run in runs]
            return sum(run is not None and run.released == 1 for run in found) == 2

        await until(given_back)
        gate.set()


async def test_a_heart_that_cannot_start_is_started_later(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that rejoins while no thread can be had is shown as failing, and tries until it is one again."""
    handler = Handler(succeed)
    async with running(store, handler) as node:
        real, refused, started = ThreadPulse.start, asyncio.Event(), asyncio.Event()

        def start(pulse: ThreadPulse, life: Life) -> None:
            if not refused.is_set():
                refused.set()
                raise RuntimeError("can't start new thread")
            real(pulse, life)
            started.set()

        monkeypatch.setattr(ThreadPulse, "start", start)
        node.membership.lease_is_over()
        await refused.wait()
        await started.wait()
        await store.enqueue([new_run(1)])
        await handler.starts.get()
