"""The tasks of a simulated world: what their handlers do is drawn from the seed, the run and the attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Protocol

from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.ids import follow_up_id
from puntual.model.instant import SECOND
from puntual.model.outcome import Outcome
from puntual.model.run import COMMAND_TASK, NewRun, Run
from puntual.simulate.record import Effect, Record

#: How many runs one call of the batch task takes.
_BATCH = 5
_DONE = Outcome(kind=OutcomeKind.SUCCEEDED, result="null")


class Body(Protocol):
    """What a handler can do to the process that runs it."""

    who: str

    def crash(self) -> None:
        """Ends it, now."""
        ...

    def block(self, seconds: float) -> None:
        """Keeps its event loop busy."""
        ...


def _failed(kind: str = "Failure", *, final: bool = False) -> Outcome:
    return Outcome(kind=OutcomeKind.FAILED, error=ErrorInfo(kind, "The handler failed."), final=final)


class SimTarget:
    """As ``puntual.targets.contract.Target``.

    Args:
        seed: of the scenario.
        body: the process.
        record: where effects are written down.
        starting: called with each run before its handler begins.
    """

    def __init__(self, seed: int, body: Body, record: Record, starting: Callable[[Run], None]) -> None:
        self._seed = seed
        self._body = body
        self._record = record
        self._starting = starting

    def tasks(self) -> tuple[str, ...]:
        """Those that there are."""
        return tuple(_DOINGS)

    async def execute(self, run: Run) -> Outcome:
        """Does what the seed says for this attempt."""
        record, effect = self._record, self._begin(run)
        try:
            outcome = await _DOINGS[run.task](run, Random(f"{self._seed}:{run.id}:{run.attempt}"), self._body)  # noqa: S311 - repeatable
        except asyncio.CancelledError:
            record.ended(effect, None)
            raise
        record.ended(effect, outcome.kind)
        return outcome

    def _begin(self, run: Run) -> Effect:
        """A handler is called."""
        self._starting(run)
        task = asyncio.current_task()
        assert task is not None, "a handler runs in a task"
        return self._record.began(
            Effect(
                run_id=run.id,
                task=run.task,
                attempt=run.attempt,
                worker=run.worker or "",
                who=self._body.who,
                claim=self._record.claims[run.id, run.attempt, run.worker or ""],
                started_at=self._record.now,
                asked_to_stop=task.cancelling,
            )
        )

    def batch_of(self, task: str) -> int:
        """As ``BatchTarget.batch_of``."""
        return _BATCH if task == "batched" else 1

    async def execute_batch(self, runs: Sequence[Run]) -> Sequence[Outcome]:
        """Does many in one call, which fails as a whole now and then: then each is called by itself."""
        effects = [self._begin(run) for run in runs]
        random = Random(f"{self._seed}:{runs[0].id}:{runs[0].attempt}:{len(runs)}")  # noqa: S311 - repeatable
        try:
            await asyncio.sleep(random.uniform(0, 2))
        except asyncio.CancelledError:
            for effect in effects:
                self._record.ended(effect, None)
            raise
        if random.random() < 0.2:
            for effect in effects:
                self._record.undone(effect)
            return ()
        outcomes = [_DONE if random.random() < 0.8 else _failed() for _ in runs]
        for effect, outcome in zip(effects, outcomes, strict=True):
            self._record.ended(effect, outcome.kind)
        return outcomes

    async def close(self) -> None:
        """There is nothing to close."""


async def _quick(_: Run, random: Random, __: Body) -> Outcome:
    await asyncio.sleep(random.uniform(0, 0.5))
    return _DONE


async def _slow(_: Run, random: Random, __: Body) -> Outcome:
    await asyncio.sleep(random.uniform(2, 20))
    return _DONE if random.random() < 0.9 else _failed()


async def _flaky(_: Run, random: Random, __: Body) -> Outcome:
    await asyncio.sleep(random.uniform(0, 2))
    draw = random.random()
    if draw < 0.45:
        return _failed()
    if draw < 0.5:
        return _failed("Hopeless", final=True)
    if draw < 0.55:
        return Outcome(kind=OutcomeKind.SNOOZED, retry_after_us=random.randrange(10 * SECOND))
    if draw < 0.6:
        return Outcome(kind=OutcomeKind.UNKNOWN, error=ErrorInfo("NoAnswer", "Nobody knows what became of it."))
    return _DONE


async def _chained(run: Run, random: Random, __: Body) -> Outcome:
    await asyncio.sleep(random.uniform(0, 1))
    if random.random() < 0.2:
        return _failed()
    then = NewRun(id=follow_up_id(run.id, 0), task="quick", max_attempts=3, policy=run.policy)
    return Outcome(kind=OutcomeKind.SUCCEEDED, result="1", follow_ups=(then,))


async def _hanging(_: Run, random: Random, __: Body) -> Outcome:
    if random.random() < 0.5:
        await asyncio.get_running_loop().create_future()
    return _DONE


async def _deaf(_: Run, random: Random, __: Body) -> Outcome:
    """Ignores being stopped, for a while or for long."""
    loop = asyncio.get_running_loop()
    until = loop.time() + random.choice((1.0, 4.0, 12.0, 25.0))
    while (left := until - loop.time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue
    return _DONE if random.random() < 0.7 else _failed()


async def _blocking(_: Run, random: Random, body: Body) -> Outcome:
    """Keeps the whole loop to itself, now and then for longer than a lease."""
    body.block(random.choice((0.2, 1.0, 3.0, 25.0)))
    await asyncio.sleep(0)
    return _DONE


async def _deadly(_: Run, random: Random, body: Body) -> Outcome:
    """Takes its process with it, mostly not at the first attempt."""
    await asyncio.sleep(random.uniform(0, 1))
    if random.random() < 0.3:
        body.crash()
        await asyncio.sleep(0)
    return _DONE


async def _poison(_: Run, random: Random, body: Body) -> Outcome:
    """Takes its process with it, always."""
    await asyncio.sleep(random.uniform(0, 0.5))
    body.crash()
    await asyncio.sleep(0)
    return _DONE


_DOINGS: dict[str, Callable[[Run, Random, Body], Awaitable[Outcome]]] = {
    "quick": _quick,
    "slow": _slow,
    "flaky": _flaky,
    "chained": _chained,
    "batched": _quick,
    "hanging": _hanging,
    "deaf": _deaf,
    "blocking": _blocking,
    "deadly": _deadly,
    "poison": _poison,
    COMMAND_TASK: _slow,
}
TASKS = tuple(_DOINGS)
