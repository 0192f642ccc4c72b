"""Mutations of leases and outages: who is alive, who is gone, and what becomes of what the gone held."""

from __future__ import annotations

from puntual.engine import claim
from puntual.engine.heartbeat import Heartbeat
from puntual.engine.membership import Membership
from puntual.engine.settle import Settler
from puntual.engine.upkeep import rescue
from puntual.engine.upkeep.lease import Upkeep
from puntual.engine.upkeep.rescue import Rescuer
from tests.mutations.edits import code, constant, mutation, sql

MUTATIONS = (
    mutation(
        "lease: renewed after its end",
        "A heartbeat renews a lease that rescue has ended.",
        sql("beat", " AND ended_at IS NULL", ""),
    ),
    mutation(
        "lease: old id taken again",
        "A worker whose lease is over joins under the same id.",
        code(Membership.register, 'self.worker = f"', 'self.worker = self.worker or f"'),
    ),
    mutation(
        "lease: claims kept after its end",
        "A worker that hears that its lease is over keeps what it holds.",
        code(Membership.step, "self._hands.executor.forget(hold)", "pass"),
    ),
    mutation(
        "lease: ended by the passing of time",
        "Runs are taken from a worker whose lease has run out and was not ended.",
        sql("rescue_lost", "w.ended_at IS NOT NULL", "w.ended_at IS NOT NULL OR w.lease_until < ?1"),
    ),
    mutation(
        "lease: never ended",
        "No lease ever ends but by its own worker.",
        sql("rescue_overdue", "lease_until < ?1", "lease_until < 0 * ?1"),
    ),
    mutation(
        "lease: ended early",
        "A lease is ended when half of it has passed.",
        sql("rescue_overdue", "lease_until < ?1", "lease_until - lease_us / 2 < ?1"),
    ),
    mutation(
        "rescue: no wait after an outage",
        "Leases that ran out while the database was away are ended as soon as it is back.",
        code(Rescuer.round, "self._good_since = self._last = None\n", "pass\n"),
        constant(rescue, "_GAP", 1_000_000.0),
    ),
    mutation(
        "rescue: step of the clock not noticed",
        "Leases that only a clock set forward has ended are ended.",
        constant(rescue, "_STEP", 1_000_000.0),
    ),
    mutation(
        "rescue: loss not charged",
        "A run that takes its worker with it is given back as if it had not been started.",
        code(rescue.decide_lost, "if run.claim_at > lost.lease_ended_at >= (run.claimed_at or 0):", "if True:"),
    ),
    mutation(
        "lease: trusted from the answer on",
        "A worker counts its lease from when it heard of it, and not from before it asked.",
        code(
            Heartbeat._beat_once,
            "self._trusted_until = sent_at + self._lease",
            "self._trusted_until = self._clock.steady() + self._lease",
        ),
    ),
    mutation(
        "upkeep: kept by who cannot do it",
        "The upkeep lease is renewed although a duty has hung, or failed.",
        code(Upkeep.step, "if failure is not None or not await self._hold():", "if not await self._hold():"),
    ),
    mutation(
        "upkeep: only its holder ever",
        "Nobody takes over the upkeep lease of a holder that is gone.",
        sql("hold_upkeep", " OR leases.lease_until <= ?3 - ?4", ""),
    ),
    mutation(
        "outage: outcomes lost",
        "An outcome that could not be written at once is dropped.",
        code(
            Settler.step,
            "settled = await self._store.settle(settlements)\n    self._writing = []",
            "self._writing = []\n    settled = await self._store.settle(settlements)",
        ),
    ),
    mutation(
        "hints: needed",
        "Without hints nobody looks for work.",
        constant(claim, "_IDLE_POLL", 3600.0),
    ),
)
