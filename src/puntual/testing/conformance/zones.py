"""What is promised of the tz database's version: kept with the next tick, counted, and what is older is found."""

from __future__ import annotations

import msgspec

from puntual.model.schedule import Schedule
from puntual.store.contract import Store
from puntual.testing.conformance.build import NOW, cursor_at, deciding, named, plan_to, put, schedule


def timed(name: str, tzdata: str | None, **changes: object) -> Schedule:
    """A schedule whose next tick was found with that version."""
    owner = schedule(name)
    return msgspec.structs.replace(owner, cursor=msgspec.structs.replace(owner.cursor, tzdata=tzdata, **changes))


class TestZoneStamps:
    """Next ticks and the tz database that they were found with."""

    async def test_a_stamp_is_kept(self, store: Store) -> None:
        """It comes back with the cursor, and a plan writes its own."""
        owner = timed("a", "2025b")
        await put(store, owner)
        assert (await named(store, "a")).cursor.tzdata == "2025b"
        moved = plan_to(owner, 1, cursor=cursor_at(1, tzdata="2026a"))
        await store.plan(deciding(lambda _: moved), limit=10, now=NOW)
        assert (await named(store, "a")).cursor.tzdata == "2026a"

    async def test_older_stamps_are_found_by_name(self, store: Store) -> None:
        """Those without one too, in pages; none as new or newer, none that ticks no more or cannot be planned."""
        await put(
            store,
            *(timed(name, tzdata) for name, tzdata in (("d", "2026b"), ("c", None), ("b", "2026a"), ("a", "2025c"))),
            timed("over", "2025a", next_tick_at=None, next_due_at=None, look_at=None),
            timed("broken", "2025a", trouble="It cannot be planned."),
        )
        assert await store.stale_schedules("2026a") == ["a", "c"]
        assert await store.stale_schedules("2026a", limit=1) == ["a"]
        assert await store.stale_schedules("2026a", after="a") == ["c"]

    async def test_versions_are_counted(self, store: Store) -> None:
        """Each with the number of schedules that tick on."""
        await put(store, timed("a", "2026a"), timed("b", "2026a"), timed("c", None), timed("d", None, trouble="x"))
        assert await store.zone_stamps() == {"2026a": 2, "": 1}
