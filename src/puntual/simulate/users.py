"""Users of a simulated world: they enqueue, cancel, edit and pause at any moment, and repeat what nobody answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any

import msgspec

from puntual.engine import edit
from puntual.engine.edit import Moment
from puntual.model.errors import ConflictError, StoreError
from puntual.model.ids import run_ids
from puntual.model.instant import SECOND
from puntual.model.run import NewRun, Priority, RunState
from puntual.model.schedule import Overlap, Pause, ScheduleSpec
from puntual.simulate import draw
from puntual.simulate.hints import SimWake
from puntual.simulate.link import Link
from puntual.simulate.loop import Actor, context_of
from puntual.simulate.process import Fleet
from puntual.simulate.scenario import Act, Verb
from puntual.simulate.world import World
from puntual.store.requests import Page, PlanView, QueueEdit, RunEdit, RunFilter, ScheduleWrite, Selection

#: After so long nobody repeats a request any more, seconds.
_PATIENCE = 120.0
_PAUSE = 0.5


class Users:
    """All users of a world, over one link of their own."""

    def __init__(self, world: World, fleet: Fleet) -> None:
        self._world = world
        self._loop = world.loop
        self._context = context_of(Actor("users"))
        self.link = Link(world, "users", crash=_stays, freeze=_stays_too)
        self._store = self.link.store
        self.wake = SimWake(fleet.exchange, world, self._context)
        self._created: set[str] = set()
        self._does: dict[Verb, Callable[[Random], Awaitable[None]]] = {
            Verb.ENQUEUE: self._enqueue,
            Verb.CANCEL: self._cancel,
            Verb.REPLAY: self._replay,
            Verb.DISCARD: self._discard,
            Verb.MOVE: self._move,
            Verb.CREATE: self._create,
            Verb.CHANGE: self._change_one,
            Verb.PAUSE: self._pause,
            Verb.RESUME: self._resume,
            Verb.REMOVE: self._remove,
            Verb.TRIGGER: self._trigger,
            Verb.PAUSE_QUEUE: self._pause_queue,
            Verb.LIMIT_QUEUE: self._limit_queue,
            Verb.PAUSE_ALL: self._pause_all,
            Verb.DRAIN_WORKER: self._drain_worker,
        }

    def begin(self, acts: Sequence[Act]) -> None:
        """Lets users act when their time comes."""
        for act in acts:
            self._world.later(act.at, self._start, act)

    def _start(self, act: Act) -> None:
        self._world.pending += 1
        self._loop.begin(self._act(act), self._context)

    async def _act(self, act: Act) -> None:
        self._world.record.tell("users", f"> {act.verb}")
        try:
            await self._does[act.verb](self._world.random(f"act:{act.number}"))
        except (StoreError, ConflictError) as error:
            self._world.record.tell("users", f"> {act.verb} failed", error.code)
        finally:
            self._world.pending -= 1

    async def found(self, specs: Sequence[ScheduleSpec]) -> None:
        """Makes the schedules that there are from the beginning."""
        random = self._world.random("schedules")
        for spec in specs:
            await self._make(spec, random)

    async def _surely(self, request: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - of any request
        """Asks until somebody answers; only for what may be repeated."""
        until = self._loop.time() + _PATIENCE
        while True:
            try:
                return await request()
            except StoreError:
                if self._loop.time() > until:
                    raise
                await asyncio.sleep(_PAUSE)

    # Runs

    async def _enqueue(self, random: Random) -> None:
        now = await self._surely(self._store.now)
        task = draw.task(random)
        policy = self._world.scenario.policies[task]
        ids = run_ids(now, random.randbytes(10), random.choice((1, 1, 1, 2, 2, 5, 15)))
        key = random.choice(("a", "b", "c")) if random.random() < 0.15 else None
        delay_us = random.randrange(20 * SECOND) if random.random() < 0.3 else 0
        runs = [
            NewRun(
                id=run_id,
                task=task,
                queue=random.choice(draw.QUEUES),
                priority=random.choice(tuple(Priority)),
                delay_us=delay_us,
                max_attempts=policy.retry.max_attempts,
                policy=policy,
                unique_key=key,
            )
            for run_id in ids
        ]
        asked = 0

        async def once() -> list[Any]:
            nonlocal asked
            asked += 1
            return await self._store.enqueue(runs, repeat=asked > 1)

        await self._surely(once)
        self.wake.hint({run.queue for run in runs})

    async def _cancel(self, random: Random) -> None:
        ids = await self._some(random, (RunState.PENDING, RunState.RUNNING), 3)
        if ids:
            await self._surely(lambda: self._store.cancel(ids))
            self.wake.hint_cancels()

    async def _replay(self, random: Random) -> None:
        ids = await self._some(random, (RunState.DEAD,), 3)
        if ids:
            await self._surely(lambda: self._store.replay(RunFilter(ids=tuple(ids))))
            self.wake.hint(draw.QUEUES)

    async def _discard(self, random: Random) -> None:
        ids = await self._some(random, (RunState.DEAD,), 2)
        if ids:
            await self._surely(lambda: self._store.discard(RunFilter(ids=tuple(ids))))

    async def _move(self, random: Random) -> None:
        ids = await self._some(random, (RunState.PENDING,), 5)
        if ids:
            change = RunEdit(priority=random.choice(tuple(Priority)), queue=random.choice(draw.QUEUES))
            if random.random() < 0.3:
                now = await self._surely(self._store.now)
                change = RunEdit(due_at=now + random.randrange(-10 * SECOND, 20 * SECOND))
            await self._surely(lambda: self._store.edit_runs(RunFilter(ids=tuple(ids)), change))
            self.wake.hint(draw.QUEUES)

    async def _some(self, random: Random, states: Sequence[RunState], most: int) -> list[str]:
        """A few runs in these states."""
        page = await self._surely(lambda: self._store.list_runs(RunFilter(states=tuple(states)), Page(limit=50)))
        ids = [run.id for run in page.items]
        return random.sample(ids, min(len(ids), random.randint(1, most)))

    # Schedules

    async def _create(self, random: Random) -> None:
        await self._make(draw.schedule(random, f"made{random.randrange(1_000_000)}"), random)

    async def _make(self, spec: ScheduleSpec, random: Random) -> None:
        schedule_id = random.randbytes(16).hex()

        def create(views: Sequence[PlanView], pause: Pause | None, now: int) -> list[ScheduleWrite]:
            if views or spec.name in self._created:
                return []  # Somebody may have removed meanwhile what a lost answer had created.
            self._created.add(spec.name)
            return [edit.create(spec, schedule_id, Moment(now=now, paused_all=pause))]

        await self._surely(lambda: self._store.change_schedules(Selection(names=(spec.name,)), create))
        self.wake.hint_planner()

    async def _change_one(self, random: Random) -> None:
        def changed(view: PlanView, moment: Moment) -> ScheduleWrite | None:
            return edit.change(view, draw.changed(random, view.schedule.spec), moment)

        await self._edit(random, changed)

    async def _pause(self, random: Random) -> None:
        seconds = random.choice((None, 5, 30))

        def paused(view: PlanView, moment: Moment) -> ScheduleWrite:
            until = None if seconds is None else moment.now + seconds * SECOND
            return edit.pause(view, Pause(since=moment.now, until=until), moment)

        await self._edit(random, paused)

    async def _resume(self, random: Random) -> None:
        await self._edit(random, edit.resume)

    async def _remove(self, random: Random) -> None:
        await self._edit(random, edit.remove)

    async def _trigger(self, random: Random) -> None:
        run_id = run_ids(await self._surely(self._store.now), random.randbytes(10), 1)[0]
        overlap = random.choice((None, Overlap.ALLOW_ALL, Overlap.CANCEL_OTHER))

        def triggered(view: PlanView, moment: Moment) -> ScheduleWrite | None:
            return edit.trigger(view, run_id, moment, overlap=overlap)

        await self._edit(random, triggered)
        self.wake.hint(draw.QUEUES)

    async def _edit(self, random: Random, change: Callable[[PlanView, Moment], ScheduleWrite | None]) -> None:
        """Edits one schedule; whoever repeats it may meet what the lost answer had already done."""
        schedules = await self._surely(lambda: self._store.list_schedules(page=Page(limit=50)))
        if not schedules:
            return
        name = random.choice(schedules).name
        state = random.getstate()

        def decide(views: Sequence[PlanView], pause: Pause | None, now: int) -> list[ScheduleWrite]:
            random.setstate(state)
            found = [change(view, Moment(now=now, paused_all=pause)) for view in views]
            return [write for write in found if write is not None]

        await self._surely(lambda: self._store.change_schedules(Selection(names=(name,)), decide))
        self.wake.hint_planner()
        self.wake.hint_cancels()

    # The whole

    async def _pause_queue(self, random: Random) -> None:
        queue = random.choice(draw.QUEUES)
        await self._surely(lambda: self._store.put_queue(QueueEdit(name=queue, paused=True)))
        await asyncio.sleep(random.uniform(1, 40))
        await self._surely(lambda: self._store.put_queue(QueueEdit(name=queue, paused=False)))
        self.wake.hint([queue])

    async def _limit_queue(self, random: Random) -> None:
        queue = random.choice(draw.QUEUES)
        limit = random.choice((1, 2, 5))
        await self._surely(lambda: self._store.put_queue(QueueEdit(name=queue, concurrency=limit)))
        await asyncio.sleep(random.uniform(1, 60))
        await self._surely(lambda: self._store.put_queue(QueueEdit(name=queue, concurrency=None)))
        self.wake.hint([queue])

    async def _pause_all(self, random: Random) -> None:
        since = await self._surely(self._store.now)
        await self._surely(lambda: self._store.pause_all(Pause(since=since)))
        await asyncio.sleep(random.uniform(1, 20))
        now = await self._surely(self._store.now)
        await self._surely(lambda: self._store.pause_all(Pause(since=since, until=now)))
        self.wake.hint_planner()
        self.wake.hint(draw.QUEUES)

    async def _drain_worker(self, random: Random) -> None:
        workers = await self._surely(self._store.list_workers)
        if workers:
            worker = random.choice(sorted(one.id for one in workers))
            await self._surely(lambda: self._store.drain_worker(worker))

    async def heal(self) -> None:
        """Takes back whatever would keep the world from coming to rest."""
        now = await self._store.now()
        pause = await self._store.paused_all()
        if pause is not None and pause.active(now):
            await self._store.pause_all(msgspec.structs.replace(pause, until=now))
        for queue in draw.QUEUES:
            await self._store.put_queue(QueueEdit(name=queue, paused=False, concurrency=None))
        await self._store.change_schedules(
            Selection(everything=True),
            lambda views, pause, now: [
                edit.pause(view, Pause(since=now), Moment(now=now, paused_all=pause)) for view in views
            ],
        )


def _stays() -> None:
    """Users do not crash; their requests and answers get lost."""


def _stays_too(seconds: float) -> None:
    """As above."""
