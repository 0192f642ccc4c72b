"""Mutations of what becomes of runs: attempts, cancels, replays and keys."""

from __future__ import annotations

from puntual.engine.execute import Executor
from puntual.model import transitions
from puntual.model.policy import RetryPolicy
from puntual.store.rows import settling
from puntual.store.sqlite import cancel, enqueue
from tests.mutations.edits import code, mutation, schema, sql

MUTATIONS = (
    mutation(
        "budget: snooze charged",
        "A snooze takes an attempt from the budget.",
        code(
            transitions.decide,
            "now + max(outcome.retry_after_us or 0, 0), released=1)",
            "now + max(outcome.retry_after_us or 0, 0))",
        ),
    ),
    mutation(
        "budget: drain charged",
        "A run that was stopped because its worker drained is charged for it.",
        code(transitions.decide, "outcome.kind is OutcomeKind.CANCELLED and not _charges(run)", "False"),
    ),
    mutation(
        "budget: one more",
        "A run is tried once more than its policy allows.",
        code(transitions._dead_reason, "run.charged >= run.max_attempts", "run.charged > run.max_attempts"),
    ),
    mutation(
        "budget: one fewer",
        "A run is dead with an attempt left.",
        code(
            transitions._dead_reason, "run.charged >= run.max_attempts", "run.charged >= max(run.max_attempts - 1, 1)"
        ),
    ),
    mutation(
        "backoff: none",
        "What failed is tried again at once.",
        code(transitions._wait, "return run.policy.retry.wait(max(run.charged, 1), random)", "return 0"),
    ),
    mutation(
        "backoff: no bound",
        "The wait of a retry grows beyond what its policy allows.",
        code(RetryPolicy.wait, "wait = min(wait, self.max_delay_us)", "pass"),
    ),
    mutation(
        "command: started twice",
        "A command that may be started once is given back, and started again, when its worker drains.",
        code(
            transitions._charges,
            "run.interrupted >= FREE_INTERRUPTIONS or (run.task == COMMAND_TASK and once)",
            "run.interrupted >= FREE_INTERRUPTIONS",
        ),
    ),
    mutation(
        "cancel: retried",
        "A run whose cancel was asked for is tried again.",
        code(transitions.decide, "if cancel_requested:", "if False:"),
        code(settling.goes_on, " and not settlement.cancel_seen", ""),
    ),
    mutation(
        "cancel: running taken for pending",
        "A run that somebody holds is ended by a cancel.",
        code(
            cancel.cancel, "if one.state is RunState.PENDING]", "if one.state in (RunState.PENDING, RunState.RUNNING)]"
        ),
    ),
    mutation(
        "replay: no fresh budget",
        "A dead run that is put back has no attempts left.",
        sql(
            "replay_runs",
            "h.max_attempts + coalesce(json_extract(h.policy, '$.retry.max_attempts'), ?2)",
            "h.max_attempts + 0 * ?2",
        ),
    ),
    mutation(
        "replay: numbered from the start",
        "The attempts of a run that is put back are numbered from one again.",
        sql("replay_runs", "h.started_at, h.attempt,", "h.started_at, 0,"),
    ),
    mutation(
        "replay: left in history",
        "A dead run that is put back stays in history too.",
        sql("replay_delete", "WHERE id IN", "WHERE 0 AND id IN"),
    ),
    mutation(
        "enqueue: history not looked at",
        "A request that is repeated after its run has ended makes it again.",
        sql("enqueue_known", "\n    OR EXISTS (SELECT 1 FROM run_history WHERE run_history.id = given.id)", ""),
    ),
    mutation(
        "enqueue: unique key not held",
        "A run is made although another one of the same unique key is live.",
        code(enqueue._choose, "elif row[_KEY] is not None and key in held:", "elif False:"),
        schema("CREATE UNIQUE INDEX runs_unique_key", "CREATE INDEX runs_unique_key"),
    ),
    mutation(
        "release: wait not kept",
        "A claim given back before it was due can be claimed at once.",
        code(transitions.release, "claim_at=max(run.claim_at, now)", "claim_at=now"),
    ),
    mutation(
        "deadline: none",
        "An attempt that hangs is never stopped.",
        code(Executor._start, "if timeout_us is not None:", "if False:"),
    ),
)
