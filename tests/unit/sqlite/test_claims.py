"""Shares of a claim, and claims over many lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from puntual.model.run import Priority
from puntual.store.sqlite import SqliteStore
from puntual.store.sqlite.claims import _FEW_LANES, Shares, _Lane
from puntual.testing.conformance.build import add, join, new_run, take, uid

C, H, N, L = Priority
Candidates = Sequence[tuple[int, int, int]]


def _lane(priority: Priority, count: int, *, queue: str = "default", start: int = 0) -> _Lane:
    due = tuple((start + number, 1_000 * priority + start + number, 1) for number in range(count))
    return _Lane(priority, queue, "task", due, None)


def _order(
    lanes: list[_Lane], limit: int, shares: Shares | None = None, rooms: dict[str, int] | None = None
) -> Candidates:
    return (shares or Shares()).order(limit, lanes, rooms or {}, lambda lane: lane.due)


def _classes(lanes: list[_Lane], limit: int, shares: Shares | None = None) -> Counter[Priority]:
    return Counter(Priority(seq // 1_000) for _, seq, _ in _order(lanes, limit, shares))


class TestShares:
    """8 : 4 : 2 : 1."""

    @pytest.mark.parametrize("rounds", [1, 4])
    def test_a_full_round_is_shared_by_weight(self, rounds: int) -> None:
        """Fifteen slots are one round, wherever it begins."""
        shares = Shares()
        lanes = [_lane(priority, 200) for priority in Priority]
        for _ in range(3):
            assert _classes(lanes, 15 * rounds, shares) == {C: 8 * rounds, H: 4 * rounds, N: 2 * rounds, L: rounds}
            _order(lanes, 1, shares)

    def test_unused_turns_pass_down(self) -> None:
        """What critical leaves goes to the next below it, and what normal leaves to low."""
        assert _classes([_lane(H, 100), _lane(L, 100)], 15) == {H: 12, L: 3}

    def test_each_class_is_taken_in_its_order(self) -> None:
        """Whatever the mixture, the earliest of a class go first, over all its queues."""
        lanes = [_lane(N, 5, queue="a", start=10), _lane(N, 5, queue="b"), _lane(C, 5)]
        order = _order(lanes, 12)
        for priority in (C, N):
            times = [claim_at for claim_at, seq, _ in order if Priority(seq // 1_000) is priority]
            assert times == sorted(times)

    def test_the_room_of_a_queue_is_shared_too(self) -> None:
        """A limited queue never gets more than its room, all its classes together."""
        lanes = [_lane(C, 50, queue="slow"), _lane(L, 50, queue="slow"), _lane(N, 3)]
        taken = Counter(Priority(seq // 1_000) for _, seq, _ in _order(lanes, 40, rooms={"slow": 6}))
        assert taken[C] + taken[L] == 6
        assert taken[N] == 3

    @pytest.mark.parametrize("room", [0, -2])
    def test_a_full_queue_gives_nothing(self, room: int) -> None:
        """More may be running than is allowed, after the limit was lowered."""
        assert _order([_lane(N, 5)], 10, rooms={"default": room}) == []

    def test_only_a_lane_that_was_cut_and_is_wanted_is_read_again(self) -> None:
        """The deep lane of the upper class is; those that were read whole, and those of full queues, are not."""
        shares = Shares()
        _order([_lane(L, 1, queue=f"q{n}") for n in range(100)], 1, shares)
        share = shares.per_lane(90)
        deep = _lane(C, 200)
        lanes = [
            _Lane(C, "default", "task", deep.due[:share], None),
            _lane(N, share, queue="full"),
            *(_lane(L, 2, queue=f"q{n}", start=2 * n) for n in range(20)),
        ]
        read: list[_Lane] = []

        def again(lane: _Lane) -> Candidates:
            read.append(lane)
            return deep.due

        order = shares.order(90, lanes, {"full": 0}, again)
        assert read == [lanes[0]]
        assert len({seq for _, seq, _ in order}) == 90


class TestManyLanes:
    """With many queues a claim reads a share of each."""

    async def test_every_queue_is_served(self, store: SqliteStore) -> None:
        """The first claim learns how many there are; later ones take from all."""
        await join(store)
        queues = 5 * _FEW_LANES
        await add(store, *(new_run(n, queue=f"q{n % queues:02}") for n in range(queues * 20)))
        seen: Counter[str] = Counter()
        for _ in range(10):
            seen.update(run.queue for run in await take(store, limit=2 * queues))
        assert set(seen.values()) == {20}

    async def test_a_claim_is_filled_though_most_lanes_are_short(self, store: SqliteStore) -> None:
        """One deep lane among many short ones gives what the others do not have."""
        await join(store)
        await add(store, *(new_run(n, queue=f"q{n:02}") for n in range(3 * _FEW_LANES)))
        await add(store, *(new_run(1_000 + n, queue="deep") for n in range(200)))
        await take(store, limit=1)
        assert len(await take(store, limit=150)) == 150

    async def test_the_earliest_of_a_class_go_first_over_lanes_that_were_cut(self, store: SqliteStore) -> None:
        """A share that ran out is followed by the rest of its lane, not by what came later elsewhere."""
        await join(store)
        await add(store, *(new_run(n, queue=f"q{n:03}", due_at=n) for n in range(3 * _FEW_LANES)), now=1_000)
        await add(store, *(new_run(1_000 + n, queue="deep") for n in range(100)), now=2_000)
        await add(store, *(new_run(2_000 + n, queue="late") for n in range(100)), now=3_000)
        await take(store, limit=1)
        taken = await take(store, limit=100)
        assert Counter(run.queue for run in taken if run.queue in {"deep", "late"}) == {"deep": 101 - 3 * _FEW_LANES}

    async def test_concurrent_order_is_that_of_the_insert(self, store: SqliteStore) -> None:
        """Runs that became claimable at one instant go in the order in which they were enqueued."""
        await join(store)
        await add(store, *(new_run(n, task=f"t{n % 3}") for n in range(30)))
        taken = await take(store, tasks=("t0", "t1", "t2"))
        assert [run.id for run in taken] == [uid(n) for n in range(30)]
