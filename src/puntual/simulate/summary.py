"""Adds up what many seeds gave, and says what never happened though it must have: what is not tried is not proven."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import msgspec

from puntual.simulate.draw import AT_COMMIT
from puntual.simulate.order import NODES, Order, Outcome
from puntual.simulate.scenario import Blow, Hit, ServerBlow

#: Fewer seeds are not judged by what never happened in them.
JUDGED: Final = 300
#: A seed in which less happened is hardly a trial.
LEAST_OPERATIONS: Final = 500
LEAST_FAULTS: Final = 10
#: Every way of a run, a tick or a lease that one seed in thirty or more comes by: chance alone leaves out none in 300.
EXPECTED_VISITS: Final = (
    *(f"{kind} ({write})" for kind, write in AT_COMMIT),
    "beat refused: lease over",
    "beat: asked to drain",
    "beat: cancels heard",
    "cancel: cancelled",
    "cancel: ended",
    "cancel: requested",
    "claim lost with the tail",
    "claim refused: lease over",
    "dead → discarded",
    "enqueued again: it stands",
    "lease ended",
    "loop blocked",
    "pending → running (ahead)",
    "pending → running (alone)",
    "pending → running (now)",
    "process for lonely runs",
    "replay: held_by",
    "replay: replayed",
    "run withdrawn by an edit",
    "running → cancelled (cancelled)",
    "running → cancelled (failed)",
    "running → cancelled (lost)",
    "running → cancelled (released, not started)",
    "running → cancelled (timed_out)",
    "running → dead (failed, attempts)",
    "running → dead (failed, error)",
    "running → dead (lost, attempts)",
    "running → dead (timed_out, attempts)",
    "running → dead (unknown, attempts)",
    "running → pending (failed)",
    "running → pending (interrupted)",
    "running → pending (lost)",
    "running → pending (released, not started)",
    "running → pending (snoozed)",
    "running → pending (timed_out)",
    "running → pending (unknown)",
    "running → succeeded (succeeded)",
    "settle again: cancelled",
    "settle refused: no longer mine",
    "tick waits for a live run",
    "tick → run",
    "ticks coalesced (late)",
    "ticks missed (down)",
    "ticks missed (grace)",
    "ticks skipped (overlap)",
    "ticks skipped (paused)",
)


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A seed in which a promise was broken: which one first, when (seconds), how, and how many breaks came after it."""

    seed: int
    promise: str
    trace: str
    at: float
    what: str
    more: int


class Summary:
    """What the seeds gave so far.

    Args:
        order: how each was lived through.

    ``seconds`` is how long it took, ``story`` that of the last seed, if it was wished for.
    """

    def __init__(self, order: Order) -> None:
        self.order = order
        self.seconds = 0.0
        self.story: list[str] = []
        self.failures: list[Failure] = []
        self.strikes: Counter[str] = Counter()
        self.visits: Counter[str] = Counter()
        #: In how many seeds each of them came.
        self.seeds_with: Counter[str] = Counter()
        #: Of each seed, by its number.
        self.operations: dict[int, int] = {}
        self.struck: dict[int, int] = {}

    @property
    def seeds(self) -> int:
        """How many there were."""
        return len(self.operations)

    @property
    def pace(self) -> float:
        """Seeds a second; 0 as long as that is not known."""
        return self.seeds / self.seconds if self.seconds else 0.0

    def add(self, outcome: Outcome) -> None:
        """One more seed."""
        self.story = outcome.story
        self.strikes.update(outcome.strikes)
        self.visits.update(outcome.visits)
        self.seeds_with.update({*outcome.strikes, *outcome.visits})
        self.operations[outcome.seed] = outcome.operations
        self.struck[outcome.seed] = sum(outcome.strikes.values())
        if outcome.problems:
            first = outcome.problems[0]
            self.failures.append(
                Failure(
                    seed=outcome.seed,
                    promise=first.promise,
                    trace=outcome.trace,
                    at=first.at,
                    what=first.what,
                    more=len(outcome.problems) - 1,
                )
            )
            # They come in the order in which they end.
            self.failures.sort(key=lambda failure: failure.seed)

    def never(self) -> list[str]:
        """The faults and transitions that did not happen once; of few seeds, or of fewer nodes, nothing is said."""
        if not self._judged:
            return []
        expected = (*Hit, *Blow, *EXPECTED_VISITS, *(ServerBlow if self.order.database_url is not None else ()))
        return [str(name) for name in expected if name not in self.seeds_with]

    def scant(self) -> list[str]:
        """The seeds with the fewest operations and faults, where those are too few; judged where `never` is."""
        found = []
        for what, least, counts in (
            ("operations", LEAST_OPERATIONS, self.operations),
            ("faults", LEAST_FAULTS, self.struck),
        ):
            count, seed = min(((count, seed) for seed, count in counts.items()), default=(least, 0))
            if self._judged and count < least:
                found.append(f"seed {seed} had {count} {what}, fewer than {least}")
        return found

    @property
    def _judged(self) -> bool:
        return self.seeds >= JUDGED and self.order.nodes >= NODES

    def document(self) -> dict[str, Any]:
        """All of it as JSON values; names in their order."""
        return {
            "seeds": self.seeds,
            "failures": [msgspec.structs.asdict(failure) for failure in self.failures],
            "strikes": dict(sorted(self.strikes.items())),
            "visits": dict(sorted(self.visits.items())),
            "never": self.never(),
            "scant": self.scant(),
            "operations": sum(self.operations.values()),
            "fewest": {
                "operations": min(self.operations.values(), default=0),
                "strikes": min(self.struck.values(), default=0),
            },
            "seconds": round(self.seconds, 1),
            "seeds_per_second": round(self.pace, 2),
            "story": self.story,
        }
