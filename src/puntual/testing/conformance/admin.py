"""What the rest promises: queues, tokens, the snapshot, copies, opening and closing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from puntual.model.errors import ConflictError, StoreUnavailableError
from puntual.model.fleet import COUNTED_TO, Queue, Token
from puntual.model.schedule import Pause
from puntual.store.contract import Store
from puntual.store.requests import QueueEdit, RunFilter
from puntual.testing.conformance.build import (
    LEASE,
    MINUTE,
    NOW,
    SECOND,
    add,
    end,
    fetch,
    join,
    kill,
    new_run,
    start,
    take,
    uid,
)


def _token(number: int) -> Token:
    return Token(
        id=f"t{number}",
        name="ci ñ",
        prefix="pt_abc",
        digest=f"{number:064x}",
        scope="operate",
        created_at=NOW,
        expires_at=NOW + MINUTE,
    )


class TestQueues:
    """Lanes and their settings."""

    async def test_a_queue_exists_as_soon_as_a_run_names_it(self, store: Store) -> None:
        """Nobody has to configure one."""
        await add(store, new_run(1, queue="mail"))
        assert await _queues(store) == {"mail": Queue(name="mail", pending=1, due=1, oldest_due_at=NOW)}

    async def test_settings_are_kept_and_changed(self, store: Store) -> None:
        """What is given is written, and what is not stays; a queue without runs is shown too."""
        await store.put_queue(QueueEdit(name="mail", paused=True, pause_reason="ñ", concurrency=3))
        assert await _queues(store) == {"mail": Queue(name="mail", paused=True, pause_reason="ñ", concurrency=3)}
        await store.put_queue(QueueEdit(name="mail", concurrency=None))
        assert await _queues(store) == {"mail": Queue(name="mail", paused=True, pause_reason="ñ")}
        await store.put_queue(QueueEdit(name="mail", concurrency=5))
        await store.put_queue(QueueEdit(name="mail", paused=False))
        assert await _queues(store) == {"mail": Queue(name="mail", concurrency=5)}

    async def test_edits_at_once_lose_nothing(self, store: Store) -> None:
        """Who pauses and who limits a queue at the same moment both find their setting there."""
        for number in range(20):
            name = f"q{number}"
            await asyncio.gather(
                store.put_queue(QueueEdit(name=name, paused=True)),
                store.put_queue(QueueEdit(name=name, concurrency=3)),
            )
            assert (await _queues(store))[name] == Queue(name=name, paused=True, concurrency=3)

    async def test_counts_tell_pending_due_running_and_dead(self, store: Store) -> None:
        """Each run is counted where it stands; successes are not."""
        one, _ = await start(store, new_run(1), new_run(2))
        await end(store, one)
        await kill(store, new_run(3))
        await add(store, new_run(4, delay_us=MINUTE), new_run(5, due_at=NOW - SECOND))
        queue = (await _queues(store))["default"]
        assert (queue.pending, queue.due, queue.running, queue.dead) == (2, 1, 1, 1)
        assert queue.oldest_due_at is not None

    async def test_discarded_runs_are_not_counted(self, store: Store) -> None:
        """The dead-letter list is what needs somebody."""
        (run,) = await kill(store, new_run(1))
        await add(store, new_run(2))
        await store.discard(RunFilter(ids=(run.id,)), now=NOW)
        assert (await _queues(store))["default"].dead == 0


class TestSnapshot:
    """The store at a glance."""

    async def test_no_queue_is_counted_without_bound(self, store: Store) -> None:
        """``COUNTED_TO`` stands for that many and for any number above."""
        for first in range(0, COUNTED_TO + 1_000, 5_500):
            await add(store, *(new_run(first + number, task=f"t{number % 3}") for number in range(5_500)))
        (queue,) = (await store.snapshot(now=NOW)).queues
        assert (queue.pending, queue.due) == (COUNTED_TO, COUNTED_TO)

    async def test_an_empty_store(self, store: Store) -> None:
        """Nothing there is told as nothing."""
        seen = await store.snapshot(now=NOW)
        assert (seen.now, seen.queues, seen.workers, seen.paused, seen.upkeep_until) == (NOW, (), (), None, None)
        assert seen.schema >= 1

    async def test_workers_pause_and_upkeep_are_told(self, store: Store) -> None:
        """Who lives, whether everything is paused, and until when somebody does the upkeep."""
        await join(store, "w1", "w2")
        await store.end_worker("w2", now=NOW)
        await store.pause_all(Pause(since=NOW, reason="r"), now=NOW)
        await store.hold_upkeep("a", lease_us=LEASE, now=NOW)
        seen = await store.snapshot(now=NOW)
        assert [found.id for found in seen.workers] == ["w1"]
        assert (seen.paused, seen.upkeep_until) == (Pause(since=NOW, reason="r"), NOW + LEASE)

    async def test_what_is_due_is_told_by_task(self, store: Store) -> None:
        """How many runs of each task wait, since when; those of later are left out."""
        await add(store, new_run(1, task="b", queue="q"), new_run(2, task="b"), new_run(3, task="a", due_at=NOW - 1))
        await add(store, new_run(4, task="a", delay_us=LEASE), new_run(5, task="c", delay_us=LEASE))
        found = (await store.snapshot(now=NOW)).waiting
        assert [(each.task, each.due, each.oldest_due_at) for each in found] == [("a", 1, NOW), ("b", 2, NOW)]

    async def test_without_a_given_time_the_store_tells_its_own(self, store: Store) -> None:
        """Its clock does not go back."""
        first, second = (await store.snapshot()).now, (await store.snapshot()).now
        assert 0 < first <= second


class TestReadiness:
    """Whether it answers, and what time it is, without looking at anything else."""

    async def test_an_open_store_answers(self, store: Store) -> None:
        """A ping says nothing, and raises nothing."""
        await store.ping()

    async def test_a_closed_store_does_not(self, store: Store) -> None:
        """Whoever asks is told that the database is not to be had."""
        await store.close()
        with pytest.raises(StoreUnavailableError):
            await store.ping()

    async def test_its_time_is_that_of_its_operations(self, store: Store) -> None:
        """Between two looks at its clock an operation that is given no time happens."""
        before = await store.now()
        await store.enqueue([new_run(1)])
        created_at = (await fetch(store, uid(1))).created_at
        assert before <= created_at <= await store.now()


class TestTokens:
    """Digests of API tokens."""

    async def test_tokens_are_kept(self, store: Store) -> None:
        """As they were given."""
        await store.put_token(_token(1))
        await store.put_token(_token(2))
        assert sorted(await store.list_tokens(), key=lambda token: token.id) == [_token(1), _token(2)]

    async def test_a_revoked_token_is_forgotten(self, store: Store) -> None:
        """Once; a second time there is none."""
        await store.put_token(_token(1))
        assert await store.revoke_token("t1")
        assert not await store.revoke_token("t1")
        assert await store.list_tokens() == []


class TestLife:
    """Opening, looking after, closing."""

    async def test_a_healthy_store_checks_out(self, store: Store) -> None:
        """Each line of ``check`` names what it looked at, and says a sentence."""
        lines = await store.check()
        assert lines
        assert all(what and sentence for what, _, sentence in lines)

    async def test_closing_twice_does_nothing(self, store: Store) -> None:
        """The second close is no error."""
        await store.close()
        await store.close()


class TestBackup:
    """Copies, of stores that make them."""

    async def test_a_backup_says_its_size(self, store: Store, tmp_path: Path) -> None:
        """The copy is a file of that many bytes, and the store works on."""
        await add(store, new_run(1))
        target = tmp_path / "copy.db"
        assert await store.backup(str(target)) == target.stat().st_size > 0
        await join(store)
        assert [run.id for run in await take(store)] == [uid(1)]

    async def test_a_backup_never_writes_over_a_file(self, store: Store, tmp_path: Path) -> None:
        """What is there stays as it was."""
        target = tmp_path / "copy.db"
        target.write_text("mine", encoding="ascii")
        with pytest.raises(ConflictError):
            await store.backup(str(target))
        assert target.read_text(encoding="ascii") == "mine"


async def _queues(store: Store) -> dict[str, Queue]:
    return {queue.name: queue for queue in (await store.snapshot(now=NOW)).queues}
