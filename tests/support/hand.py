"""An engine by hand over any store: it plans, works, edits and prunes when a test says, and never waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import msgspec

from puntual.engine import edit
from puntual.engine.edit import Moment
from puntual.engine.plan import plan
from puntual.model.attempt import OutcomeKind
from puntual.model.run import Run, RunState
from puntual.model.schedule import Pause, Schedule, ScheduleSpec, Tick
from puntual.store.contract import Store
from puntual.store.requests import Page, PlanView, PlanWrite, RunFilter, ScheduleWrite, Selection, TickFilter
from puntual.testing.conformance.build import after, join, named, wanting

#: How an attempt comes out: well, badly with more to come, badly for good; None goes on.
_ENDS = (
    (OutcomeKind.SUCCEEDED, False),
    (OutcomeKind.SUCCEEDED, False),
    (OutcomeKind.FAILED, False),
    (OutcomeKind.FAILED, True),
    None,
)
_ROUNDS = 12


class Hand:
    """One schedule, ``job``, and one worker.

    Args:
        store: open and empty.
        spec: of the schedule, which is created now.
        now: what time it is.
        random: how attempts come out.
    """

    def __init__(self, store: Store, spec: ScheduleSpec, now: int, random: Random) -> None:
        self._store = store
        self._spec = spec
        self.now = now
        self._random = random
        self._held: dict[str, Run] = {}

    async def begin(self) -> None:
        """Creates the schedule and registers the worker."""
        await join(self._store, now=self.now, lease_us=2**52)
        await self.change(lambda _view, moment: edit.create(self._spec, "0" * 32, moment), there=False)

    async def schedule(self) -> Schedule:
        """As it stands."""
        return await named(self._store, self._spec.name)

    async def plan(self) -> None:
        """Plans until nothing is due to be looked at."""
        for _ in range(_ROUNDS * 10):
            planned = await self._store.plan(_plan, now=self.now)
            if planned.next_look_at is None or planned.next_look_at > self.now:
                return

    async def live(self) -> None:
        """Plans and works in turn, until there is nothing to do or for a while."""
        for _ in range(_ROUNDS):
            await self.plan()
            if not await self.work():
                return

    async def work(self) -> bool:
        """One claim, and an end for most of what is held; says whether anything was done."""
        claimed = await self._store.claim(wanting(limit=500), now=self.now)
        self._held |= {run.id: run for run in claimed.runs}
        drawn = [(run, self._random.choice(_ENDS)) for run in self._held.values()]
        ended = [(run, *end) for run, end in drawn if end is not None]
        await self._settle(ended)
        return bool(claimed.runs or ended)

    async def hold(self, ahead_us: int = 5_000_000) -> None:
        """Claims what is due now or so soon, and lets it go on."""
        claimed = await self._store.claim(wanting(limit=500, ahead_us=ahead_us), now=self.now)
        self._held |= {run.id: run for run in claimed.runs}

    @property
    def held(self) -> list[Run]:
        """What the worker holds, as it was claimed."""
        return list(self._held.values())

    async def end(self, run: Run, kind: OutcomeKind = OutcomeKind.SUCCEEDED, *, final: bool = False) -> None:
        """One run comes out so; it hears by then if it shall stop, and is told so in time to write that down."""
        await self._settle([(run, kind, final)])
        if run.id in self._held:
            await self._settle([(self._held[run.id], kind, final)])

    async def end_all(self) -> None:
        """Every run that is held succeeds."""
        await self._settle([(run, OutcomeKind.SUCCEEDED, False) for run in self._held.values()])

    async def cancel(self) -> None:
        """Cancels what is pending."""
        found = await self._store.list_runs(RunFilter(states=(RunState.PENDING,)), Page(limit=5))
        await self._store.cancel([run.id for run in found.items], now=self.now)

    async def replay(self) -> None:
        """Puts some of the dead back."""
        await self._store.replay(RunFilter(), limit=2, now=self.now)

    async def prune(self) -> None:
        """Removes what need not be kept any longer."""
        while await self._store.prune(limit=500, now=self.now) >= 500:
            pass

    async def change(self, what: Callable[[PlanView, Moment], ScheduleWrite | None], *, there: bool = True) -> None:
        """Writes what a change makes of the schedule."""

        def decide(views: Sequence[PlanView], paused_all: Pause | None, now: int) -> list[ScheduleWrite]:
            assert len(views) == there
            moment = Moment(now=now, paused_all=paused_all)
            view = views[0] if there else None
            write = what(view, moment)  # type: ignore[arg-type]  # there is none to see where it is created
            return [] if write is None else [write]

        await self._store.change_schedules(Selection(names=(self._spec.name,)), decide, now=self.now)

    async def edit(self, **fields: object) -> bool:
        """Changes the spec; says whether anything was changed."""
        before, self._spec = self._spec, msgspec.structs.replace(self._spec, **fields)
        await self.change(lambda view, moment: edit.change(view, self._spec, moment))
        return self._spec != before

    async def pause(self, until: int | None) -> None:
        """Pauses the schedule."""
        pause = Pause(since=self.now, until=until)
        await self.change(lambda view, moment: edit.pause(view, pause, moment))

    async def resume(self) -> None:
        """Resumes it."""
        await self.change(edit.resume)

    async def pause_all(self, until: int | None) -> None:
        """Pauses everything; paused again while paused, it began when it began."""
        standing = await self._store.paused_all()
        since = standing.since if standing is not None and standing.active(self.now) else self.now
        await self._store.pause_all(Pause(since=since, until=until), now=self.now)

    async def resume_all(self) -> None:
        """Resumes everything."""
        standing = await self._store.paused_all()
        if standing is not None and standing.active(self.now):
            await self._store.pause_all(msgspec.structs.replace(standing, until=self.now), now=self.now)

    async def record(self) -> list[Tick]:
        """The whole record, oldest first."""
        rows: list[Tick] = []
        page = Page(limit=1000)
        while True:
            part = await self._store.list_ticks(TickFilter(schedule=self._spec.name), page)
            rows += part.items
            if part.next is None:
                return sorted(rows, key=lambda row: row.number)
            page = Page(limit=1000, after=part.next)

    async def _settle(self, ended: Sequence[tuple[Run, OutcomeKind, bool]]) -> None:
        if ended:
            settled = await self._store.settle(
                [after(run, kind, now=self.now, final=final) for run, kind, final in ended], now=self.now
            )
            changed = set(settled.changed)
            for run, _, _ in ended:
                if run.id in changed:
                    self._held[run.id] = _wished(run)
                else:
                    del self._held[run.id]


def _plan(views: Sequence[PlanView], paused_all: Pause | None, now: int) -> list[PlanWrite]:
    return [plan(view, paused_all, now) for view in views]


def _wished(run: Run) -> Run:
    """The run, now that it is known that it shall stop."""
    return msgspec.structs.replace(run, cancel_requested=True)
