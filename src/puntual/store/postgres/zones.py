"""Which version of the tz database the next ticks of schedules were found with."""

from __future__ import annotations

import msgspec

from puntual.store.postgres.transaction import Tx
from puntual.store.rows.codec import decode

_names = msgspec.json.Decoder(list[str])
_stamps = msgspec.json.Decoder(list[tuple[str, int]])


async def stale_schedules(tx: Tx, version: str, after: str, limit: int) -> list[str]:
    """As ``ScheduleStore.stale_schedules``."""
    return decode(_names, await tx.text("stale_schedules", version, after, limit))


async def zone_stamps(tx: Tx) -> dict[str, int]:
    """As ``ScheduleStore.zone_stamps``."""
    stamps = decode(_stamps, await tx.text("zone_stamps"))
    return dict(stamps)
