"""What two connections to one database promise each other: nothing twice, nothing lost, nothing over a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing, suppress

from msgspec.structs import replace

from puntual.model.attempt import OutcomeKind
from puntual.model.errors import ChangedError
from puntual.model.run import RunState
from puntual.model.schedule import Pause
from puntual.store.calendars import CalendarRead, CalendarUse, CalendarWrite
from puntual.store.contract import Store
from puntual.store.requests import (
    Beat,
    BeatReply,
    Page,
    PlanView,
    QueueEdit,
    RunFilter,
    ScheduleWrite,
    Selection,
)
from puntual.testing.conformance.build import (
    FOREVER,
    LEASE,
    NOW,
    SECOND,
    add,
    after,
    deciding,
    end,
    fetch,
    join,
    lose,
    named,
    new_run,
    plan_to,
    put,
    schedule,
    start,
    take,
    tick,
    uid,
    writing,
)
from puntual.testing.conformance.calendars import calendar, naming

Pair = tuple[Store, Store]


class TestTwoStores:
    """Two store objects, each with connections of its own, on one database; the ``pair`` fixture opens them."""

    async def test_what_one_writes_the_other_reads(self, pair: Pair) -> None:
        """A commit is seen by everybody at once."""
        one, two = pair
        (run,) = await start(one, new_run(1))
        assert await fetch(two, uid(1)) == run
        await end(two, run)
        assert (await fetch(one, uid(1))).state is RunState.SUCCEEDED

    async def test_no_run_is_claimed_twice(self, pair: Pair) -> None:
        """Claimers that race split the backlog."""
        await join(pair[0], "w0", "w1")
        await add(pair[0], *(new_run(number) for number in range(1_000)))

        async def drain(number: int) -> list[str]:
            taken: list[str] = []
            while runs := await take(pair[number], f"w{number}", limit=20):
                taken += [run.id for run in runs]
            return taken

        ids = [id for taken in await asyncio.gather(drain(0), drain(1)) for id in taken]
        assert len(ids) == len(set(ids)) == 1_000

    async def test_a_queue_limit_is_of_the_fleet(self, pair: Pair) -> None:
        """Two claimers together never run more than the queue allows."""
        await join(pair[0], "w0", "w1")
        await pair[0].put_queue(QueueEdit(name="default", concurrency=3))
        await add(pair[0], *(new_run(number) for number in range(60)))
        for _ in range(10):
            answers = await asyncio.gather(*(take(pair[n % 2], f"w{n % 2}", limit=2) for n in range(6)))
            held = [run for runs in answers for run in runs]
            assert len(held) <= 3
            held += await take(pair[0], "w0")
            assert len(held) == 3
            await pair[1].settle([after(run, OutcomeKind.SUCCEEDED) for run in held], now=NOW)

    async def test_a_unique_key_is_of_the_database(self, pair: Pair) -> None:
        """Callers on both sides agree on the one run."""
        for key in range(20):
            runs = [new_run(100 * key + number, unique_key=f"k{key}") for number in range(6)]
            calls = [pair[number % 2].enqueue([run], now=NOW) for number, run in enumerate(runs)]
            answers = [answer for (answer,) in await asyncio.gather(*calls)]
            assert len({answer.id for answer in answers}) == 1
            assert sum(not answer.existing for answer in answers) == 1

    async def test_many_keys_in_opposite_order_do_not_block_each_other(self, pair: Pair) -> None:
        """Two bulk calls over the same keys both end, and each key has one run."""
        keys = range(200)
        up = [new_run(number, unique_key=f"k{number}") for number in keys]
        down = [new_run(1_000 + number, unique_key=f"k{number}") for number in reversed(keys)]
        await asyncio.gather(pair[0].enqueue(up, now=NOW), pair[1].enqueue(down, now=NOW))
        runs = (await pair[0].list_runs(RunFilter(), Page(limit=1_000))).items
        assert sorted(run.unique_key or "" for run in runs) == sorted(f"k{number}" for number in keys)

    async def test_an_id_is_of_the_database(self, pair: Pair) -> None:
        """A call repeated over another connection inserts nothing again."""
        runs = [new_run(number) for number in range(100)]
        answers = await asyncio.gather(*(store.enqueue(runs, now=NOW) for store in pair))
        assert sum(not answer.existing for part in answers for answer in part) == 100

    async def test_a_tick_is_planned_once(self, pair: Pair) -> None:
        """Planners that race hand out each tick once, and number on without a hole."""
        await put(pair[0], *(schedule(f"s{number}") for number in range(30)))
        decide = deciding(
            lambda seen: plan_to(seen, seen.cursor.last_number + 1) if seen.cursor.last_number < 5 else None
        )
        for now in (NOW, tick(2), tick(3), tick(4), tick(5)):
            rounds = await asyncio.gather(*(pair[n % 2].plan(decide, now=now) for n in range(4)))
            assert sum(planned.runs for planned in rounds) == 30
        runs = (await pair[0].list_runs(RunFilter(), Page(limit=1_000))).items
        assert sorted((run.schedule or "", run.tick_number or 0) for run in runs) == sorted(
            (f"s{number}", at) for number in range(30) for at in range(1, 6)
        )

    async def test_one_settlement_counts(self, pair: Pair) -> None:
        """The same outcome sent over two connections is written once."""
        runs = await start(pair[0], *(new_run(number) for number in range(100)))
        batch = [after(run, OutcomeKind.SUCCEEDED) for run in runs]
        answers = await asyncio.gather(*(store.settle(batch, now=NOW) for store in pair))
        assert sum(len(settled.written) for settled in answers) == 100
        assert sum(len(settled.gone) for settled in answers) == 100

    async def test_cancel_and_settle_agree(self, pair: Pair) -> None:
        """Whoever comes first, nothing is both cancelled and retried."""
        runs = await start(pair[0], *(new_run(number) for number in range(50)))
        settling = (pair[0].settle([after(run, OutcomeKind.FAILED)], now=NOW) for run in runs)
        cancelling = (pair[1].cancel([run.id], now=NOW) for run in runs)
        settled = asyncio.gather(*settling)
        answers = await asyncio.gather(*cancelling)
        written = {id for answer in await settled for id in answer.written}
        for run, answer in zip(runs, answers, strict=True):
            expected = "cancelled" if answer[run.id] == "cancelled" else "requested"
            assert answer == {run.id: expected}
            assert (run.id in written) == (expected == "cancelled")

    async def test_cancel_and_claim_agree(self, pair: Pair) -> None:
        """A run is either claimed and asked to stop, or cancelled and never claimed."""
        await join(pair[0])
        await add(pair[0], *(new_run(number) for number in range(100)))
        claiming = [take(pair[0], limit=10) for _ in range(10)]
        cancelling = [pair[1].cancel([uid(number)], now=NOW) for number in reversed(range(100))]
        claims = asyncio.gather(*claiming)
        answers = await asyncio.gather(*cancelling)
        claimed = {run.id for runs in await claims for run in runs}
        for answer in answers:
            ((id, said),) = answer.items()
            assert said == ("requested" if id in claimed else "cancelled")

    async def test_rescue_on_both_sides_charges_once(self, pair: Pair) -> None:
        """Any worker may do rescue at any time."""
        await start(pair[0], *(new_run(number) for number in range(50)))
        rescued = await asyncio.gather(
            *(store.rescue(lose, ends_until=FOREVER, now=NOW + LEASE + SECOND) for store in pair)
        )
        assert sum(one.runs for one in rescued) == 50
        assert sorted(name for one in rescued for name in one.workers) == ["w1"]

    async def test_one_side_holds_the_upkeep(self, pair: Pair) -> None:
        """The lease is of the database."""
        held = await asyncio.gather(*(pair[n % 2].hold_upkeep(f"h{n}", lease_us=LEASE, now=NOW) for n in range(6)))
        assert sum(held) == 1

    async def test_a_name_goes_to_one_schedule(self, pair: Pair) -> None:
        """Two who create the same name at once: one gets it, the other is refused."""
        both = (schedule(id=uid(1)), schedule(id=uid(2)))
        answers = await asyncio.gather(
            *(put(store, made) for store, made in zip(pair, both, strict=True)), return_exceptions=True
        )
        assert sum(answer is None for answer in answers) == 1
        assert (await named(pair[0], "nightly")).id == both[answers.index(None)].id

    async def test_a_pause_reaches_the_other_side(self, pair: Pair) -> None:
        """Claims elsewhere stop at once."""
        await join(pair[0])
        await add(pair[0], new_run(1))
        await pair[1].pause_all(Pause(since=NOW), now=NOW)
        assert await take(pair[0]) == ()

    async def test_replay_on_both_sides_puts_back_once(self, pair: Pair) -> None:
        """The budget is raised once."""
        (run,) = await start(pair[0], new_run(1))
        await end(pair[0], run, OutcomeKind.FAILED, final=True)
        answers = await asyncio.gather(*(store.replay(RunFilter(ids=(uid(1),)), now=NOW) for store in pair))
        assert sorted(answer[uid(1)] for answer in answers) == ["not_dead", "replayed"]
        assert (await fetch(pair[0], uid(1))).max_attempts == 10

    async def test_heartbeats_pass_between_the_writes_of_others(self, pair: Pair) -> None:
        """While one side writes in bulk the other's lease is renewed all the same."""
        one, two = pair
        await join(two, now=(await two.snapshot()).now)

        def beat() -> list[BeatReply]:
            with closing(two.heartbeat_line()) as line:
                return [line.beat(Beat(worker="w1", lease_us=LEASE, held=0)) for _ in range(20)]

        bulk = asyncio.create_task(one.enqueue([new_run(number) for number in range(20_000)]))
        beats = await asyncio.to_thread(beat)
        await bulk
        assert all(reply.alive for reply in beats)

    async def test_one_of_two_makes_a_calendar(self, pair: Pair) -> None:
        """Who expects that there is none yet, or a version, is right alone."""
        for version in range(1, 6):
            made = CalendarWrite(name="co", calendar=calendar("co", version), was=version - 1)
            asked = (each.change_schedules(Selection(names=()), writing(), calendars=[made], now=NOW) for each in pair)
            answers = await asyncio.gather(*asked, return_exceptions=True)
            assert sorted(type(answer).__name__ for answer in answers) == ["ChangedError", "list"]
            assert [each.version for each in await pair[0].list_calendars()] == [version]

    async def test_no_schedule_misses_a_change_of_its_calendar(self, pair: Pair) -> None:
        """One that is made while the calendar changes is among those that follow it, or is refused."""
        one, two = pair

        async def follow(version: int) -> None:
            newer = calendar("co", version)

            def decide(views: Sequence[PlanView], _pause: Pause | None, _now: int) -> list[ScheduleWrite]:
                follows = [(view.schedule, naming(view.schedule.name, newer)) for view in views]
                return [ScheduleWrite(name=old.name, schedule=replace(old, spec=new.spec)) for old, new in follows]

            write = CalendarWrite(name="co", calendar=newer, was=version - 1)
            await one.change_schedules(Selection(calendars=("co",)), decide, calendars=[write], now=NOW)

        async def make(version: int) -> None:
            made = naming(f"made-{version}", calendar("co", version))
            write = ScheduleWrite(name=made.name, schedule=made)
            reads = [CalendarRead(name="co", was=version)]
            with suppress(ChangedError):
                await two.change_schedules(Selection(names=(made.name,)), writing(write), calendars=reads, now=NOW)

        await follow(1)
        for version in range(1, 21):
            await asyncio.gather(make(version), follow(version + 1))
            uses = await one.calendar_uses()
            assert uses == [CalendarUse(use.schedule, "co", version + 1) for use in uses]
