"""Mutations of plans and edits: what becomes of each tick."""

from __future__ import annotations

from puntual.engine import edit, plan
from puntual.engine.planner import Planner
from puntual.engine.walk import Walk
from puntual.store.sqlite import schedules
from puntual.timing.closures import ClosedTimes
from tests.mutations.edits import code, mutation, sql

MUTATIONS = (
    mutation(
        "tick: random id",
        "The run of a tick that is planned again after a failover has another id.",
        code(
            Walk.hand_out, "tick_run_id(self.schedule.id, tick)", "tick_run_id(f'{self.schedule.id}{self.now}', tick)"
        ),
    ),
    mutation(
        "tick: moved in another transaction",
        "The next tick is moved on before the runs are inserted, in a transaction of its own.",
        code(
            Planner.step,
            "planned = await self._store.plan(_decide, limit=_BATCH)",
            "made = []\n"
            "    planned = await self._store.plan(\n"
            "        lambda *given: [made.extend(write.runs) or write for write in _decide(*given)], limit=_BATCH\n"
            "    )\n"
            "    if made:\n"
            "        await self._store.enqueue(made)",
        ),
        code(
            schedules.plan,
            "_apply(tx, look.views, writes)",
            "_apply(tx, look.views, [msgspec.structs.replace(write, runs=()) for write in writes])",
        ),
    ),
    mutation(
        "edit: withdrawn runs not planned again",
        "The ticks of runs that an edit takes back are not given to the new rule.",
        code(edit._settle_up, "cursor = msgspec.structs.replace(cursor, last_tick_at=behind)", "pass"),
    ),
    mutation(
        "edit: withdraws what is claimed",
        "An edit takes back runs that somebody has claimed ahead.",
        sql("_view", "w.state = 'pending' AND w.origin = 'tick'", "w.origin = 'tick'"),
        sql("_view", "AND w.attempt = 0", "AND w.attempt < 2"),
        sql("change_withdraw", "state = 'pending' AND origin = 'tick' AND attempt = 0\n    AND", ""),
    ),
    mutation(
        "edit: old rule owes nothing",
        "An edit forgets the ticks that the old rule had up to it.",
        code(edit.change, "plan=owed, ", ""),
    ),
    mutation(
        "overlap skip: planned ahead",
        "A schedule that skips overlaps plans ticks ahead although a run of it is live.",
        code(Walk.take, "elif not self.blocked:", "elif not self.blocked or self.overlap is Overlap.SKIP:"),
        code(
            plan._take_all,
            "if tick_due > now and (walk.blocked or walk.shut(walk.next)):",
            "if tick_due > now and walk.blocked and walk.spec.overlap != 'skip':",
        ),
    ),
    mutation(
        "overlap skip: judged ahead",
        "A tick is skipped for an overlap before its instant.",
        code(
            plan._take_all,
            "if tick_due > now and (walk.blocked or walk.shut(walk.next)):",
            "if tick_due > now and walk.blocked and walk.spec.overlap != 'skip':",
        ),
    ),
    mutation(
        "overlap buffer_one: buffers all",
        "A schedule that keeps one waiting tick keeps them all.",
        code(Walk.take, "if waited and self.spec.overlap is Overlap.BUFFER_ONE:", "if False:"),
    ),
    mutation(
        "overlap buffer_all: buffers one",
        "A schedule that keeps all waiting ticks keeps one.",
        code(Walk.take, "self.spec.overlap is Overlap.BUFFER_ONE:", "True:"),
    ),
    mutation(
        "overlap buffer_all: planned ahead",
        "A schedule that buffers starts the next tick beside the live run.",
        code(plan._take_all, "if tick_due > now and (walk.blocked or walk.shut(walk.next)):", "if False:"),
        code(Walk.take, "elif not self.blocked:", "elif not self.blocked or self.overlap is Overlap.BUFFER_ALL:"),
    ),
    mutation(
        "overlap cancel_other: cancels nothing",
        "A schedule that cancels the other run waits for it.",
        code(Walk.wait, "self.cancel = self.live", "pass"),
    ),
    mutation(
        "overlap allow_all: blocked",
        "A schedule that allows overlaps waits for its live runs.",
        code(vars(Walk)["blocked"].fget, " and self.overlap is not Overlap.ALLOW_ALL", ""),
    ),
    mutation(
        "overlap: a waiting tick is a misfire",
        "A tick that waited for a live run is judged as late.",
        code(Walk.take, "waited = self.seen_at is not None and tick_due <= self.seen_at", "waited = False"),
    ),
    mutation(
        "overlap: a misfire is a waiting tick",
        "Where ticks may wait, one that nobody saw in time is handed out, whatever its misfire policy says.",
        code(
            Walk.take,
            "tick_due < self.now - LATE_US and not waited:",
            "tick_due < self.now - LATE_US and not waited and self.overlap in (Overlap.SKIP, Overlap.ALLOW_ALL):",
        ),
    ),
    mutation(
        "misfire: one too few",
        "A stretch of ticks that made no run counts one too few.",
        code(
            Walk._pass,
            "self.rule.count(first - 1, last, _CATCH_UP_CAP + 1)",
            "max(self.rule.count(first, last, _CATCH_UP_CAP + 1), 1)",
        ),
    ),
    mutation(
        "misfire: last one twice",
        "The last of the late ticks is both coalesced and handed out.",
        code(
            Walk._fire_once,
            "self.pass_until(self.rule.previous(latest - 1) or 0, Fate.COALESCED, None)\n    if self.next == latest:",
            "self.pass_until(latest, Fate.COALESCED, None)\n    if True:",
        ),
    ),
    mutation(
        "misfire: all handed out",
        "A schedule that fires once after an outage fires for every tick.",
        code(
            Walk._fire_once,
            "self.pass_until(self.rule.previous(latest - 1) or 0, Fate.COALESCED, None)",
            "return self._fire_all(last)",
        ),
    ),
    mutation(
        "misfire: grace ignored",
        "Late ticks out of their grace are handed out.",
        code(Walk._out_of_grace, "return grace is not None and self.now - self.due(tick) > grace", "return False"),
        code(Walk._fire_all, "if grace is not None:", "if False:"),
    ),
    mutation(
        "calendar: closed ticks run",
        "A tick on a day that a calendar closes, or within a blackout, makes a run.",
        code(Walk.shut, "None if closed is None else closed.reason(tick)", "None"),
    ),
    mutation(
        "calendar: judged ahead",
        "A tick is skipped for a calendar or a blackout before its instant.",
        code(
            plan._take_all,
            "if tick_due > now and (walk.blocked or walk.shut(walk.next)):",
            "if tick_due > now and walk.blocked:",
        ),
    ),
    mutation(
        "blackout: its end is in it",
        "The tick at which a blackout ends is skipped with those before it.",
        code(ClosedTimes._begun, "tick < begun + window.for_us", "tick <= begun + window.for_us"),
        code(ClosedTimes._edge, "begun + window.for_us", "begun + window.for_us + 1"),
    ),
    mutation(
        "pause: ignored by the plan",
        "Ticks of a paused schedule are planned.",
        code(plan.plan, "(view.schedule.pause, paused_all)", "(paused_all,)"),
    ),
    mutation(
        "pause: a flood at its end",
        "Ticks that came due under a pause are owed when it is over.",
        code(plan.plan, "walk.pass_paused(now if pause.until is None else min(now, pause.until))", "pass"),
    ),
    mutation(
        "pause of everything: ignored by the plan",
        "Ticks are planned while everything is paused.",
        code(plan.plan, "(view.schedule.pause, paused_all)", "(view.schedule.pause,)"),
        sql(
            "plan_read",
            "NOT EXISTS (SELECT 1 FROM pause_of_all WHERE json_extract(pause, '$.until') IS NULL)",
            "TRUE",
        ),
    ),
    mutation(
        "plan: stretches not kept",
        "Ticks that made no run leave nothing behind when a run follows them.",
        code(schedules._apply, "if stretches:", "if False:"),
    ),
    mutation(
        "plan: never looked at again",
        "A schedule with a tick that waits is not looked at again.",
        code(plan._take_all, "return now + _LOOK_AGAIN_US", "return now + 3_600_000_000"),
        sql("settle_wake_schedules", "look_at > ?2", "look_at < 0 * ?2"),
    ),
)
