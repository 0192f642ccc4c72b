"""The world of one scenario: its loop, its database, its machines and its users, and the record of what happened."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from math import log
from random import Random
from typing import Any

from puntual.model.errors import PuntualError
from puntual.simulate.clocks import SimClock
from puntual.simulate.database import Database
from puntual.simulate.loop import VirtualLoop, context_of
from puntual.simulate.record import Record
from puntual.simulate.scenario import Scenario
from puntual.simulate.watch import Watch
from puntual.store.contract import Store


class World:
    """What all parts of a simulation share.

    Args:
        scenario: what it is.
        make_database: makes the database on a clock.

    ``away_until`` is until when the database answers nobody; ``pending`` counts what is under way and will still come,
    whatever is healed meanwhile.
    """

    def __init__(self, scenario: Scenario, make_database: Callable[[SimClock], Database]) -> None:
        self.scenario = scenario
        self.loop = VirtualLoop(self.random("turns"))
        self.database = make_database(
            SimClock(self.loop, rate=scenario.database_rate, offset_us=scenario.database_offset_us)
        )
        self.record = Record(self.loop)
        self.watch = Watch(self.record, self.database.clock, lease=scenario.lease)
        self.away_until = 0.0
        self.pending = 0
        self._context = context_of(self.loop.world)
        self._draw = self.random("latency").random

    def random(self, purpose: str) -> Random:
        """Chance of its own for each purpose, so that one more draw here moves nothing there."""
        return Random(f"{self.scenario.seed}:{purpose}")  # noqa: S311 - a simulation has to be repeatable

    def later(self, seconds: float, callback: Callable[..., object], *args: object) -> None:
        """Has the world itself do something after a while, whatever becomes of who asked."""
        self.loop.call_later(seconds, callback, *args, context=self._context)

    def latency(self) -> float:
        """How long a message is under way, seconds."""
        mean = self.scenario.latency
        return min(-log(1.0 - self._draw()) * mean, 20 * mean)

    def do(self, who: str, operation: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:  # noqa: ANN401 - of any operation
        """Does an operation on the database now, on behalf of a process, and writes down what came of it.

        Raises:
            PuntualError: the store refused it.
        """
        seen = self.watch.looks_on(operation, args)

        def work(store: Store) -> Coroutine[Any, Any, Any]:
            done: Coroutine[Any, Any, Any] = getattr(store, operation)(*seen.args, **keywords)
            return done

        try:
            result = self.database.beat(seen.args[0]) if operation == "beat" else self.database.do(work, who=who)
        except PuntualError as error:
            self.record.tell(who, operation, error.code)
            raise
        except Exception as error:
            self.record.broken("engine", f"{operation} of {who} failed: {error!r}")
            raise
        self.watch.saw(who, operation, seen, result)
        return result
