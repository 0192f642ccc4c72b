"""The record of a simulation, kept outside the store: what happened when, what struck, and which effects were made."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from puntual.model.attempt import OutcomeKind
from puntual.simulate.loop import VirtualLoop
from puntual.simulate.scenario import Blow, Hit, ServerBlow

#: One line of a story: when (seconds), who, what, and more about it.
Line = tuple[float, str, str, str]


class Problem(msgspec.Struct, frozen=True):
    """A promise that was broken: which one, when (seconds), and how."""

    promise: str
    at: float
    what: str


class Effect(msgspec.Struct, kw_only=True):
    """A handler's call for one attempt, as the world outside saw it. ``ended_at`` None: it never came to an end.

    ``claim`` tells apart claims that were numbered alike, because a failover had lost the first of them.
    ``asked_to_stop`` says how often it was, so far.
    """

    run_id: str
    task: str
    attempt: int
    worker: str
    who: str
    claim: int
    started_at: float
    asked_to_stop: Callable[[], int] = int
    ended_at: float | None = None
    outcome: OutcomeKind | None = None


class Record:
    """What is written down, in the order in which it happened."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.lines: list[Line] = []
        self._by_claim: dict[tuple[str, int, str, int], Effect] = {}
        self._good: set[tuple[str, int]] = set()
        self.strikes: Counter[str] = Counter()
        self.visits: Counter[str] = Counter()
        self.operations = 0
        self.effects: list[Effect] = []
        self.problems: list[Problem] = []
        #: How often each claim was given out: more than once only where a failover had lost the first.
        self.claims: Counter[tuple[str, int, str]] = Counter()
        #: Runs that were put back by hand, and the claims that a failover lost, or the end of.
        self.replayed: set[str] = set()
        self.lost: set[tuple[str, int, str]] = set()

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self._loop.now

    def tell(self, who: str, what: str, detail: str = "") -> None:
        """One more line of the story."""
        self.lines.append((self._loop.now, who, what, detail))

    def struck(self, kind: Hit | Blow | ServerBlow, who: str, detail: str = "") -> None:
        """A strike has met its target."""
        self.strikes[kind] += 1
        self.tell(who, f"! {kind}", detail)
        if isinstance(kind, Hit):
            self.visited(f"{kind} ({detail})")

    def visited(self, transition: str, count: int = 1) -> None:
        """A run, tick or lease went this way."""
        self.visits[transition] += count

    def broken(self, promise: str, what: str) -> None:
        """A promise does not hold."""
        self.problems.append(Problem(promise, self._loop.now, what))
        self.tell("", f"BROKEN {promise}", what)

    def began(self, effect: Effect) -> Effect:
        """A handler was called."""
        key = (effect.run_id, effect.attempt, effect.worker, effect.claim)
        if key in self._by_claim:
            self.broken("G3", f"attempt {effect.attempt} of {effect.run_id} was called twice by {effect.worker}")
        before = self._by_claim.get((effect.run_id, effect.attempt, effect.worker, effect.claim - 1))
        if before is not None and _goes_on(before, self.now):
            self.broken("G3", f"attempt {effect.attempt} of {effect.run_id} was called again while it was under way")
        self._by_claim[key] = effect
        self.effects.append(effect)
        return effect

    def undone(self, effect: Effect) -> None:
        """A call of several has failed as a whole, and each of them is to be called again."""
        self.ended(effect, None)
        del self._by_claim[effect.run_id, effect.attempt, effect.worker, effect.claim]

    def made(self, run_id: str, attempt: int, worker: str) -> Effect | None:
        """What a claim's handler did, if it was called; a worker may have kept the claim that a failover lost."""
        claims = range(self.claims[run_id, attempt, worker], 0, -1)
        found = (self._by_claim.get((run_id, attempt, worker, claim)) for claim in claims)
        return next((effect for effect in found if effect is not None), None)

    def succeeded(self, run_id: str, attempt: int) -> bool:
        """Whether a handler of this attempt came to a good end."""
        return (run_id, attempt) in self._good

    def ended(self, effect: Effect, outcome: OutcomeKind | None) -> None:
        """A handler has come to an end; None: it was stopped."""
        effect.ended_at = self._loop.now
        effect.outcome = outcome
        if outcome is OutcomeKind.SUCCEEDED:
            self._good.add((effect.run_id, effect.attempt))

    def trace(self) -> str:
        """A digest of all that happened: a replay of the same scenario gives the same."""
        return hashlib.blake2b(msgspec.json.encode(self.lines), digest_size=8).hexdigest()


def _goes_on(effect: Effect, now: float) -> bool:
    """Whether a call is under way, or was stopped in this instant; one that does not heed its stop is past recall."""
    if effect.ended_at is None:
        return not effect.asked_to_stop()
    return effect.outcome is None and effect.ended_at == now


def told(lines: Sequence[Line]) -> list[str]:
    """Lines of a story as they are read."""
    return [f"{at:10.3f}  {who:<12} {what}{'  ' + detail if detail else ''}" for at, who, what, detail in lines]
