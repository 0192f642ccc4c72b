"""The line for a slot: claims in the order in which they came, those of a batch task side by side.

The first claim of a batch task takes a place for all that come until its turn: what is there then goes in one call,
and nobody waits for a call to be full. Claims whose timeouts differ never share one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from puntual.engine.held import Hold, Stage


class _Company:
    """Claims that may share a call, ``size`` of them at most."""

    __slots__ = ("holds", "key", "size")

    def __init__(self, key: tuple[str, int | None], size: int) -> None:
        self.key: Final = key
        self.size: Final = size
        self.holds: deque[Hold] = deque()


class Line:
    """Claims that wait for a slot; those that were withdrawn meanwhile drop out when their turn comes.

    Args:
        batch_of: how many runs of a task one call takes at most.
    """

    def __init__(self, batch_of: Callable[[str], int]) -> None:
        self._batch_of = batch_of
        self._turns: deque[Hold | _Company] = deque()
        self._companies: dict[tuple[str, int | None], _Company] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Hold]:
        for turn in self._turns:
            if isinstance(turn, Hold):
                yield turn
            else:
                yield from turn.holds

    def add(self, hold: Hold) -> None:
        """Takes a claim."""
        hold.stage = Stage.READY
        self._length += 1
        size = self._batch_of(hold.run.task)
        if size == 1 or hold.alone:
            self._turns.append(hold)
            return
        key = hold.run.task, hold.run.policy.timeout_us
        company = self._companies.get(key)
        if company is None:
            company = self._companies[key] = _Company(key, size)
            self._turns.append(company)
        company.holds.append(hold)

    def waiting(self, task: str) -> int:
        """How many of a batch task there are that can share calls."""
        return sum(len(company.holds) for (name, _), company in self._companies.items() if name == task)

    def put_first(self, holds: Sequence[Hold]) -> None:
        """Takes claims that go before all others, each by itself."""
        for hold in reversed(holds):
            hold.stage = Stage.READY
            hold.alone = True
            self._length += 1
            self._turns.appendleft(hold)

    def next(self) -> list[Hold]:
        """Those whose turn it is, to start in one call; none when nobody waits."""
        while self._turns:
            turn = self._turns.popleft()
            if isinstance(turn, Hold):
                self._length -= 1
                if turn.stage is Stage.READY:
                    return [turn]
            elif taken := self._take(turn):
                return taken
        return []

    def _take(self, company: _Company) -> list[Hold]:
        """A call's worth; what is left of them stands behind the others again."""
        taken: list[Hold] = []
        while company.holds and len(taken) < company.size:
            hold = company.holds.popleft()
            self._length -= 1
            if hold.stage is Stage.READY:
                taken.append(hold)
        if company.holds:
            self._turns.append(company)
        else:
            del self._companies[company.key]
        return taken
