"""Floors: nothing that a claimer could take is, or will ever be, below the floor of its lane."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puntual.model.run import Priority
from puntual.store.postgres import PostgresStore, claims, lanes
from puntual.store.postgres.lanes import LOWEST, Lanes, Seen, Sight, cumulative, shared
from puntual.store.rows.shares import PATTERN
from puntual.testing.conformance.build import join, wanting
from tests.support.databases import opened

#: The lane of the model: the one queue, shard 0, priority critical.
LANE = 0


@pytest.fixture
def untrailed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the second for clocks that are set, which would hide for a second what is wrong; every look counts."""
    monkeypatch.setattr(lanes, "TRAIL_US", 0)
    monkeypatch.setattr(lanes, "_NOTE_US", 0)
    monkeypatch.setattr(lanes, "_OTHERS", 0)
    monkeypatch.setattr(claims, "_FRESH", 0.0)


class _Look:
    """A look at work: its snapshot, then the time that it notes, then its own number, then the answer."""

    def __init__(self, model: _Model) -> None:
        rows = [row for row in model.committed if row >= model.lanes.floors[LANE]]
        self.head = min(rows, default=None)
        self.xmin = min(model.running, default=model.next)
        self.xmax = model.next
        self.noted = 0
        self.number: int | None = None


class _Model:
    """A database with one lane: writers with their numbers and rows, and two looks that may overtake each other."""

    def __init__(self) -> None:
        self.lanes = Lanes(["q"])
        self.clock = 1_000
        self.next = 10
        self.running: set[int] = set()
        self.committed: set[int] = set()
        self.writers: dict[int, tuple[int, list[int]]] = {}
        self.looks: dict[int, _Look] = {}

    def number(self) -> int:
        self.next += 1
        self.running.add(self.next)
        return self.next

    def write(self, who: int) -> None:
        number, rows = self.writers.get(who) or (self.number(), [])
        self.writers[who] = (number, [*rows, self.clock])

    def begin(self, who: int) -> None:
        if who not in self.writers:
            self.writers[who] = (self.number(), [])

    def end(self, who: int, *, commit: bool) -> None:
        if who in self.writers:
            number, rows = self.writers.pop(who)
            self.running.discard(number)
            self.committed |= set(rows) if commit else set()

    def claim(self) -> None:
        above = [row for row in self.committed if row >= self.lanes.floors[LANE]]
        if above:
            self.committed.discard(min(above))

    def look(self, which: int) -> None:
        """The next step of a look."""
        look = self.looks.get(which)
        if look is None:
            self.looks[which] = _Look(self)
        elif not look.noted:
            look.noted = self.clock
        elif look.number is None:
            look.number = self.number()
        else:
            del self.looks[which]
            self.running.discard(look.number)
            sight = Sight(look.noted, look.number, look.xmin, look.xmax, (), (), {}, alone_waiting=False)
            heads = () if look.head is None else ((LANE, look.head),)
            self.lanes.learn(Seen(look.noted, True, False, 0, 0, False, heads, sight), len(self.lanes.floors))

    def check(self) -> None:
        floor = self.lanes.floors[LANE]
        below = [row for row in self.committed if row < floor]
        below += [row for _, rows in self.writers.values() for row in rows if row < floor]
        assert not below, f"the floor is {floor}, and there are runs at {below}"


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "write", "commit", "abort", "claim", "look", "look", "look"]), st.integers(0, 3)
    ),
    max_size=200,
)


@settings(max_examples=300, deadline=None)
@given(steps=_STEPS)
def test_no_order_of_events_puts_a_run_below_its_floor(steps: list[tuple[str, int]]) -> None:
    """Whenever transactions begin, write, end or are rolled back, and however looks overtake each other."""
    patch = pytest.MonkeyPatch()
    with patch.context() as patched:
        patched.setattr(lanes, "TRAIL_US", 0)
        model = _Model()
        for step, who in steps:
            model.clock += 1
            match step:
                case "look":
                    model.look(who % 2)
                case "claim":
                    model.claim()
                case "commit" | "abort":
                    model.end(who, commit=step == "commit")
                case _:
                    getattr(model, step)(who)
            model.check()


def _seen(now: int, *heads: tuple[int, int], number: int | None, xmin: int) -> Seen:
    sight = Sight(now, number, xmin, xmin, (), (), {}, alone_waiting=False)
    return Seen(now, True, False, 0, 0, False, heads, sight)


class TestMemory:
    """What is remembered of lanes."""

    def test_a_floor_is_the_lesser_of_first_run_and_safe_time(self) -> None:
        """The lane with an old run keeps that run's time; the others have the noted time, less a second."""
        known = Lanes(["q"])
        known.learn(_seen(10_000_000, number=5, xmin=5), 128)
        assert known.floors == [LOWEST] * 128
        known.learn(_seen(11_000_000, (3, 77), number=9, xmin=6), 128)
        assert (known.floors[3], known.floors[0]) == (77, 9_000_000)

    def test_a_long_writer_holds_floors_back(self) -> None:
        """As long as a number below that of the note is open, the note is of no use; it is when it is over."""
        known = Lanes(["q"])
        for second in range(1, 400):
            known.learn(_seen(second * 1_000_000, number=100 + second, xmin=50), 128)
        assert known.floors == [LOWEST] * 128
        known.learn(_seen(400_000_000, number=900, xmin=899), 128)
        assert known.floors == [398_000_000] * 128

    def test_a_clock_that_was_set_back_forgets_floors(self) -> None:
        """New runs would be below them."""
        known = Lanes(["q"])
        known.learn(_seen(10_000_000, number=5, xmin=5), 128)
        known.learn(_seen(11_000_000, number=9, xmin=6), 128)
        known.learn(_seen(4_000_000, number=11, xmin=10), 128)
        assert known.floors == [LOWEST] * 128

    def test_an_idle_claimer_takes_a_number_only_when_others_took_many(self) -> None:
        """An idle fleet writes nothing, and one idle worker in a busy fleet keeps up."""
        known = Lanes(["q"])
        for now, number, xmin, wants in ((1, 500, 500, False), (2, None, 700, False), (3, None, 756, True)):
            known.now = now * 1_000_000
            known.learn(_seen(known.now, number=number, xmin=xmin), 128)
            known.now += 500_000
            assert known.wants_number() == wants

    def test_near_goes_round_from_home_but_first_to_what_is_a_second_older(self) -> None:
        """The shard 5 of its own comes first, unless a run elsewhere has waited a second longer."""
        known = Lanes(["q"])
        known.heads = {4 * shard + Priority.NORMAL: 5_000_000 for shard in (1, 5, 9)}
        assert [lane >> 2 for lane in known.near(5, 9_000_000)] == [5, 9, 1]
        known.heads[4 * 1 + Priority.NORMAL] = 3_000_000
        assert [lane >> 2 for lane in known.near(5, 9_000_000)] == [1, 5, 9]

    def test_lanes_that_were_walked_through_are_left_out(self) -> None:
        """What was taken from the third lane on says that the first two had no more."""
        known = Lanes(["q"])
        order = [2, 6, 10, 14]
        known.heads = dict.fromkeys(order, 1)
        known.took(order, [(2, 5), (10, 7)], [0, 0, 2, 0])
        assert known.heads == {10: 7, 14: 1}
        known.took([10, 14], [(14, 9)], [0, 0, 2, 0])
        assert known.heads == {}


class TestShares:
    """8 : 4 : 2 : 1, from whatever turn on."""

    @given(turn=st.integers(0, len(PATTERN) - 1), limit=st.integers(1, 1_000))
    def test_turns_are_those_of_the_pattern(self, turn: int, limit: int) -> None:
        """However many are asked for."""
        turns = [PATTERN[(turn + step) % len(PATTERN)] for step in range(limit)]
        assert cumulative(turn, limit) == [sum(one <= priority for one in turns) for priority in Priority]

    @given(
        turn=st.integers(0, len(PATTERN) - 1), limit=st.integers(1, 500), present=st.sets(st.integers(0, 3), min_size=1)
    )
    def test_nothing_goes_to_who_is_absent(self, turn: int, limit: int, present: set[int]) -> None:
        """The turns of classes that are not there go to those below, or from the lowest to the highest."""
        given = shared(turn, limit, present)
        assert sum(given) == limit
        assert all(share == 0 for priority, share in enumerate(given) if priority not in present)


WRITERS, CLAIMERS, ROUNDS = 24, 3, 24


async def _write(url: str, seed: int) -> None:
    """Transactions of up to some tens of milliseconds, each with its number before its time, some rolled back."""
    chance = random.Random(seed)
    connection = await asyncpg.connect(url)
    for _ in range(ROUNDS):
        transaction = connection.transaction()
        await transaction.start()
        await connection.fetchval("SELECT pg_current_xact_id()::text")
        for _ in range(chance.randint(1, 3)):
            await connection.execute("SELECT pg_sleep($1)", chance.random() * 0.02)
            await connection.execute(
                "INSERT INTO puntual.runs (id, task, args, queue, priority, max_attempts, claim_at) "
                "SELECT gen_random_uuid(), 'task', '{}', 'default', 2, 5, now + $1 "
                "FROM (SELECT puntual.now_us() AS now) AS clock",
                chance.choice((0, 0, chance.randint(0, 50_000))),
            )
        await connection.execute("SELECT pg_sleep($1)", chance.random() * 0.03)
        await (transaction.rollback() if chance.random() < 0.2 else transaction.commit())
    await connection.close()


async def _claim(store: PostgresStore, name: str, over: asyncio.Event) -> int:
    """Claims as an idle or a busy worker does, never sweeping, until the writers are done and nothing is left."""
    taken = 0
    while True:
        last = over.is_set()
        claimed = await store.claim(wanting(name))
        taken += len(claimed.runs)
        if last and not claimed.runs and claimed.next_claim_at is None:
            return taken


async def _rolled_back(url: str, over: asyncio.Event) -> None:
    """Takes runs and gives them up again by rolling back."""
    connection = await asyncpg.connect(url)
    while not over.is_set():
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(
            "UPDATE puntual.runs SET state = 'running', worker = 'x', claimed_at = 0, attempt = attempt + 1 "
            "WHERE id IN (SELECT id FROM puntual.runs WHERE state = 'pending' LIMIT 3 FOR UPDATE SKIP LOCKED)"
        )
        await connection.execute("SELECT pg_sleep(0.01)")
        await transaction.rollback()
    await connection.close()


async def _overlooked(url: str) -> tuple[int, int]:
    """How many runs claimers took, and how many they did not see."""
    over = asyncio.Event()
    async with opened(url) as store, opened(url) as other:
        await store.enqueue([])
        look = await asyncpg.connect(url)
        await look.execute("INSERT INTO puntual.lanes (queue) VALUES ('default')")
        names = [f"w{number}" for number in range(CLAIMERS)]
        await join(store, *names, now=await store.now(), lease_us=600_000_000)
        claiming = [
            asyncio.create_task(_claim((store, other)[number % 2], name, over)) for number, name in enumerate(names)
        ]
        hindering = asyncio.create_task(_rolled_back(url, over))
        await asyncio.gather(*(_write(url, seed) for seed in range(WRITERS)))
        over.set()
        await hindering
        taken = sum(await asyncio.gather(*claiming))
        left: int = await look.fetchval("SELECT count(*) FROM puntual.runs WHERE state = 'pending'")
        await look.close()
    return taken, left


@pytest.mark.usefixtures("untrailed")
async def test_nothing_is_overlooked_by_claims_beside_writers(url: str) -> None:
    """24 writers whose transactions overlap, some of them rolled back, claims that are rolled back, runs due later."""
    taken, left = await _overlooked(url)
    assert taken > WRITERS * ROUNDS / 2
    assert left == 0


def _naive(known: Lanes) -> Callable[[dict[int, int], Sight, int], None]:
    """A floor that stands at the time of the last look, whoever is still writing."""

    def advance(heads: dict[int, int], sight: Sight, looked: int) -> None:
        known.floors = [min(heads.get(lane, sight.noted), sight.noted) for lane in range(looked)]

    return advance


@pytest.mark.usefixtures("untrailed")
async def test_the_load_finds_out_a_floor_that_does_not_heed_writers(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same load, and a floor at the time of the last look: so the test above can fail."""
    monkeypatch.setattr(Lanes, "_raise", lambda known, *seen: _naive(known)(*seen))
    _, left = await _overlooked(url)
    assert left > 0
