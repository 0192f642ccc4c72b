"""One promise, held to every operation on the database as it happens, from what was asked and answered alone."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from puntual.simulate.clocks import SimClock
from puntual.simulate.record import Record
from puntual.store.requests import Rescued, Settled, Settlement

K = TypeVar("K")


class Done(msgspec.Struct, frozen=True):
    """An operation that was done: what it was asked, what was decided inside its transaction, what it answered."""

    args: tuple[Any, ...]
    decided: Sequence[Any]
    answer: Any


def written(done: Done) -> Sequence[Settlement]:
    """The settlements of a settle or a rescue that took effect."""
    match done.answer:
        case Settled(written=ids):
            asked = {one.id: one for one in done.args[0]}
            return [asked[run_id] for run_id in ids]
        case Rescued(runs=count) if count == len(done.decided):
            return done.decided
    return ()


#: Sees one kind of operation.
Eye = Callable[[Done], None]


class Judge(Generic[K]):
    """Knows only what committed operations told it; a failover takes back what came after the tail was lost.

    Args:
        record: where a broken promise is written down.
        clock: the database's.
        known: all that it knows, nothing at first.
    """

    def __init__(self, record: Record, clock: SimClock, known: K) -> None:
        self._record = record
        self._clock = clock
        self.known = known
        self._kept = copy.deepcopy(known)

    def eyes(self) -> Mapping[str, Eye]:
        """What it looks at, by the name of the operation."""
        raise NotImplementedError

    def keep(self) -> None:
        """A standby has received all that is committed now."""
        self._kept = copy.deepcopy(self.known)

    def fail_over(self) -> None:
        """What came after is lost."""
        self.known = copy.deepcopy(self._kept)
