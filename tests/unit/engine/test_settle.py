"""What the settler does with the store's answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from puntual.engine.clock import SystemClock, SystemRandom
from puntual.engine.held import Held, Hold, StoreTime
from puntual.engine.settle import Settler
from puntual.model.attempt import OutcomeKind
from puntual.model.outcome import Outcome
from puntual.store.contract import Store
from puntual.store.requests import Settled, Settlement
from puntual.wake.local import LocalWake
from tests.support.runs import claimed


class Answering:
    """A store of which only ``settle`` is asked, with the answers that it will give."""

    def __init__(self, *answers: Settled) -> None:
        self._answers = list(answers)
        self.asked: list[list[str]] = []

    async def settle(self, settlements: Sequence[Settlement]) -> Settled:
        """The next answer."""
        self.asked.append([one.id for one in settlements])
        return self._answers.pop(0)


async def test_a_run_whose_follow_up_waits_for_a_key_is_settled_again_as_it_was() -> None:
    """It is held until then, and is written with whatever else has ended meanwhile."""
    hold = Hold(claimed())
    run_id = hold.run.id
    store = Answering(Settled(waiting=(run_id,), now=1), Settled(written=(run_id,), now=2))
    held, time = Held(), StoreTime(SystemClock())
    held.add(hold)
    settler = Settler(cast("Store", store), LocalWake(), time=time, held=held, random=SystemRandom())
    settler.put(hold, Outcome(kind=OutcomeKind.SUCCEEDED, started_at=0, finished_at=1))
    assert await settler.step() == 0
    assert (len(held), settler.empty) == (1, False)
    await settler.step()
    assert (len(held), settler.empty) == (0, True)
    assert store.asked == [[run_id], [run_id]]
    assert not hold.cancel_requested
