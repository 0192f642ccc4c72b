"""Mutations of plans and edits: what becomes of each tick."""

from __future__ import annotations

from puntual.engine import edit, plan
from puntual.engine.plan import _Walk
from puntual.engine.planner import Planner
from puntual.store.sqlite import schedules
from tests.mutations.edits import code, mutation, sql

MUTATIONS = (
    mutation(
        "tick: random id",
        "The run of a tick that is planned again after a failover has another id.",
        code(
            _Walk.hand_out, "tick_run_id(self.schedule.id, tick)", "tick_run_id(f'{self.schedule.id}{self.now}', tick)"
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
        sql("_view", "AND w.attempt = w.released", "AND w.attempt - w.released < 2"),
        sql("change_withdraw", "state = 'pending' AND origin = 'tick' AND attempt = released\n    AND", ""),
    ),
    mutation(
        "edit: old rule owes nothing",
        "An edit forgets the ticks that the old rule had up to it.",
        code(edit.change, "plan=owed, ", ""),
    ),
    mutation(
        "overlap skip: planned ahead",
        "A schedule that skips overlaps plans ticks ahead although a run of it is live.",
        code(_Walk.take, "elif not self.blocked:", "elif not self.blocked or self.overlap is Overlap.SKIP:"),
        code(
            plan._take_all,
            "if walk.blocked and tick_due > now:",
            "if walk.blocked and tick_due > now and walk.overlap is not Overlap.SKIP:",
        ),
    ),
    mutation(
        "overlap skip: judged ahead",
        "A tick is skipped for an overlap before its instant.",
        code(
            plan._take_all,
            "if walk.blocked and tick_due > now:",
            "if walk.blocked and tick_due > now and walk.overlap is not Overlap.SKIP:",
        ),
    ),
    mutation(
        "overlap buffer_one: buffers all",
        "A schedule that keeps one waiting tick keeps them all.",
        code(_Walk.take, "if waited and self.spec.overlap is Overlap.BUFFER_ONE:", "if False:"),
    ),
    mutation(
        "overlap buffer_all: buffers one",
        "A schedule that keeps all waiting ticks keeps one.",
        code(_Walk.take, "self.spec.overlap is Overlap.BUFFER_ONE:", "True:"),
    ),
    mutation(
        "overlap buffer_all: planned ahead",
        "A schedule that buffers starts the next tick beside the live run.",
        code(plan._take_all, "if walk.blocked and tick_due > now:", "if False:"),
        code(_Walk.take, "elif not self.blocked:", "elif not self.blocked or self.overlap is Overlap.BUFFER_ALL:"),
    ),
    mutation(
        "overlap cancel_other: cancels nothing",
        "A schedule that cancels the other run waits for it.",
        code(_Walk.wait, "self.cancel = self.live", "pass"),
    ),
    mutation(
        "overlap allow_all: blocked",
        "A schedule that allows overlaps waits for its live runs.",
        code(vars(_Walk)["blocked"].fget, " and self.overlap is not Overlap.ALLOW_ALL", ""),
    ),
    mutation(
        "overlap: a waiting tick is a misfire",
        "A tick that waited for a live run is judged as late.",
        code(_Walk.take, "waited = self.seen_at is not None and tick_due <= self.seen_at", "waited = False"),
    ),
    mutation(
        "misfire: one too few",
        "A stretch of ticks that made no run counts one too few.",
        code(
            _Walk.pass_until,
            "self.rule.count(first - 1, last, _CATCH_UP_CAP + 1)",
            "max(self.rule.count(first, last, _CATCH_UP_CAP + 1), 1)",
        ),
    ),
    mutation(
        "misfire: last one twice",
        "The last of the late ticks is both coalesced and handed out.",
        code(_Walk._fire_once, "self.rule.previous(last - 1) or 0", "last"),
    ),
    mutation(
        "misfire: all handed out",
        "A schedule that fires once after an outage fires for every tick.",
        code(
            _Walk._fire_once,
            "self.pass_until(self.rule.previous(last - 1) or 0, Fate.COALESCED, None)\n    self._late_tick(last, last)",
            "self._fire_all(last)",
        ),
    ),
    mutation(
        "misfire: grace ignored",
        "Late ticks out of their grace are handed out.",
        code(_Walk._out_of_grace, "return grace is not None and self.now - self.due(tick) > grace", "return False"),
        code(_Walk._fire_all, "if grace is not None:", "if False:"),
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
