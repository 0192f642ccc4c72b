"""The dead-letter list in bulk: all of it, each run once, and unique keys as everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

import pytest

import puntual
from puntual.model.attempt import OutcomeKind
from puntual.model.errors import ConflictError
from puntual.model.run import Origin, RunState
from puntual.settings import Settings
from puntual.store.requests import Page, Retention, RunFilter
from puntual.store.sqlite import SqliteStore
from puntual.testing.conformance.build import NOW, add, end, kill, new_run, take, uid
from puntual.testing.manual import ManualClock

DAY = 86_400_000_000
DEAD = RunFilter(states=(RunState.DEAD,))


@pytest.fixture
async def app() -> AsyncIterator[puntual.App]:
    """An app on a database in memory, whose clock stands still."""
    clock = ManualClock(NOW)
    retention = Retention(succeeded_us=DAY, dead_us=DAY, ticks_us=DAY)
    one = puntual.App(Settings())
    one.connect_to(SqliteStore(":memory:", clock=clock, retention=retention, inline=True), clock)
    async with one:
        yield one


async def test_runs_that_cannot_be_replayed_do_not_hide_those_behind_them(app: puntual.App) -> None:
    """Though the newest fill a whole transaction."""
    await kill(app.store, *(new_run(number) for number in range(10)))
    await kill(app.store, *(new_run(100 + number, unique_key=f"k{number}") for number in range(1_000)))
    await add(app.store, *(new_run(5_000 + number, unique_key=f"k{number}") for number in range(1_000)))
    answers = await app.dead.replay(RunFilter())
    assert Counter(answer.partition(":")[0] for answer in answers.values()) == {"replayed": 10, "held_by": 1_000}


async def test_a_run_that_dies_again_meanwhile_is_not_replayed_again(
    app: puntual.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay ends, however fast they die, and spends one attempt of each."""
    await kill(app.store, *(new_run(number) for number in range(1_100)))
    replay = app.store.replay

    async def and_all_die(where: RunFilter, *, limit: int = 1000, after: str | None = None) -> dict[str, str]:
        answers = await replay(where, limit=limit, after=after)
        for run in await take(app.store, limit=10_000):
            await end(app.store, run, OutcomeKind.FAILED, final=True)
        return answers

    monkeypatch.setattr(app.store, "replay", and_all_die)
    assert Counter((await app.dead.replay(RunFilter())).values()) == {"replayed": 1_100}
    assert {run.attempt for run in (await app.store.list_runs(DEAD, Page(limit=2_000))).items} == {2}


async def test_each_of_many_runs_named_is_answered(app: puntual.App) -> None:
    """More than one transaction takes, dead or not."""
    await kill(app.store, *(new_run(number) for number in range(1_100)))
    ids = tuple(uid(number) for number in range(1_200))
    answers = await app.dead.replay(RunFilter(ids=ids))
    assert Counter(answers.values()) == {"replayed": 1_100, "missing": 100}
    assert set(answers) == set(ids)


@pytest.mark.parametrize("where", [RunFilter(), RunFilter(ids=tuple(uid(number) for number in range(1_100)))])
async def test_discarding_takes_all_that_fit(app: puntual.App, where: RunFilter) -> None:
    """However many, each told once."""
    await kill(app.store, *(new_run(number) for number in range(1_100)))
    ids = await app.dead.discard(where)
    assert (len(ids), len(set(ids))) == (1_100, 1_100)
    assert await app.dead.find() == []


async def test_discarding_ends_though_more_keep_dying(app: puntual.App, monkeypatch: pytest.MonkeyPatch) -> None:
    """What dies later is for somebody to look at first."""
    await kill(app.store, *(new_run(number) for number in range(1_000)))
    discard, numbers = app.store.discard, iter(range(2_000, 10_000))

    async def and_more_die(where: RunFilter, *, limit: int = 1000, after: str | None = None) -> list[str]:
        ids = await discard(where, limit=limit, after=after)
        await kill(app.store, *(new_run(next(numbers)) for _ in range(1_000)))
        return ids

    monkeypatch.setattr(app.store, "discard", and_more_die)
    assert len(await app.dead.discard(RunFilter())) == 1_000


async def test_a_replay_with_other_arguments_has_the_key_of_the_old_run(app: puntual.App) -> None:
    """It stands for the same thing."""
    await kill(app.store, new_run(1, unique_key="k"))
    again = await app.runs.row(await app.dead.replay_edited(uid(1), '{"a":1}'))
    assert (again.unique_key, again.origin, again.replay_of, again.args) == ("k", Origin.REPLAY, uid(1), '{"a":1}')


async def test_a_replay_with_other_arguments_is_refused_while_the_key_is_held(app: puntual.App) -> None:
    """The live run is named, and nothing was made."""
    await kill(app.store, new_run(1, unique_key="k"))
    await add(app.store, new_run(2, unique_key="k"))
    with pytest.raises(ConflictError, match=uid(2)):
        await app.dead.replay_edited(uid(1), "{}")
    assert len(await app.runs.find()) == 2
