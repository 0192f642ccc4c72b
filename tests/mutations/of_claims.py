"""Mutations of claims and guards: who may have a run, and whose word about it counts."""

from __future__ import annotations

from puntual.engine.claim import Claimer
from puntual.engine.execute import Executor
from puntual.engine.membership import Membership
from puntual.store.sqlite import claims, settle
from tests.mutations.edits import code, mutation, sql

MUTATIONS = (
    mutation(
        "settle: worker not guarded",
        "A worker settles an attempt of the same number that another one holds.",
        sql("settle_guard", " OR r.worker <> given.worker", ""),
    ),
    mutation(
        "settle: attempt not guarded",
        "An attempt that was given back is settled after the same worker has claimed its run again.",
        sql("settle_guard", " OR r.attempt <> given.attempt", ""),
    ),
    mutation(
        "settle: state not guarded",
        "A claim is settled again although its run was put back.",
        sql(
            "settle_guard",
            "r.state <> 'running' OR r.attempt <> given.attempt OR r.worker <> given.worker",
            "r.attempt <> given.attempt OR coalesce(r.worker, given.worker) <> given.worker",
        ),
    ),
    mutation(
        "settle: wish not guarded",
        "A cancel asked for between claim and settle is not seen, and the run is tried again.",
        sql("settle_guard", "WHEN r.cancel_requested <> given.cancel_seen THEN 1", ""),
    ),
    mutation(
        "settle: nothing deleted",
        "A run that ended is written into history and stays among the live ones.",
        code(settle.end_runs, 'tx.change("end_delete", encode([row[0] for row in rows]))', "pass"),
    ),
    mutation(
        "settle: follow-ups before the guard",
        "Follow-ups of an attempt are inserted although its settle is refused.",
        code(settle.settle, "_follow_up(tx, [one for one, _ in mine])", "_follow_up(tx, settlements)"),
    ),
    mutation(
        "settle: attempt number reused",
        "A claim that was given back leaves its number to the next one.",
        sql(
            "put_back_runs",
            "released = runs.released + given.released,",
            "attempt = runs.attempt - given.released, released = runs.released,",
        ),
    ),
    mutation(
        "settle: release charged",
        "A claim that was given back counts as a start.",
        sql("put_back_runs", "runs.released + given.released", "runs.released"),
    ),
    mutation(
        "claim: lease not checked",
        "A worker whose lease is over claims all the same.",
        code(claims.claim, "if offer.worker is None or offer.worker.ended:", "if offer.worker is None:"),
    ),
    mutation(
        "claim: draining not checked",
        "A worker that was asked to drain goes on claiming.",
        code(claims.claim, "offer.worker.draining or ", ""),
    ),
    mutation(
        "claim: pause of everything ignored",
        "Runs are claimed while everything is paused.",
        code(claims.claim, " or (offer.pause is not None and offer.pause.active(tx.now))", ""),
    ),
    mutation(
        "claim: pause of a queue ignored",
        "Runs of a paused queue are claimed.",
        sql("claim_lanes", "AND lane.queue NOT IN (SELECT name FROM queues WHERE paused = 1)", ""),
    ),
    mutation(
        "claim: limit of a queue ignored",
        "More runs of a queue are under way than it allows.",
        code(claims._in_time, "if left > 0:", "if True:"),
    ),
    mutation(
        "claim: counted twice",
        "A claim takes two attempts from the budget.",
        sql("claim_runs", "attempt = attempt + 1", "attempt = attempt + 2"),
    ),
    mutation(
        "claim: lonely process takes everything",
        "A process for runs that were lost twice takes any run.",
        code(Claimer._request, "alone=self.lonely", "alone=False"),
        code(Claimer._room, "int(self._executor.empty) if self.lonely else self._executor.room()", "5"),
    ),
    mutation(
        "claim: lost twice, tried in company",
        "A run that took two workers with it is claimed together with others.",
        sql("_lane", "lost < 2", "lost < 99", times=4),
        sql("claim_lanes", "lost < 2", "lost < 99", times=2),
    ),
    mutation(
        "claim: given again, started again",
        "A claim that a database without its tail gives out once more is started once more.",
        code(Executor.accept, "if known.run.attempt == run.attempt:", "if False:"),
    ),
    mutation(
        "claim: answer of an old worker taken",
        "What a claim gave to a worker whose lease has ended meanwhile is started.",
        code(Claimer._claim, "if request.worker != self.worker:", "if False:"),
    ),
    mutation(
        "start: lease not checked",
        "A worker that was frozen past its lease starts what its timers hold.",
        code(Executor._fill, "if self._line and self.trusted():", "if self._line:"),
    ),
    mutation(
        "start: before it is due",
        "What is claimed ahead is started at once.",
        code(Executor._place, "if hold.run.claim_at <= now:", "if True:"),
    ),
    mutation(
        "start: stale claims kept",
        "A full worker gives nothing back while others are idle.",
        code(Executor.stale, "_startable_at(hold) < limit", "False"),
    ),
    mutation(
        "comparison: not made",
        "A claim whose answer was lost is held for ever.",
        code(Membership._heard, "if reply.claims is not None:", "if False:"),
    ),
    mutation(
        "comparison: not confirmed",
        "A claim that one comparison did not find is given back at once.",
        code(Membership._compare, "confirmed = self._suspects.confirmed_by(found)", "confirmed = found"),
    ),
)
