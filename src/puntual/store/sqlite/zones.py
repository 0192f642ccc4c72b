"""Which version of the tz database the next ticks of schedules were found with."""

from __future__ import annotations

import msgspec

from puntual.store.rows.codec import decode
from puntual.store.sqlite.transaction import Tx

_names = msgspec.json.Decoder(list[str])
_stamps = msgspec.json.Decoder(list[tuple[str, int]])


def stale_schedules(tx: Tx, version: str, after: str, limit: int) -> list[str]:
    """As ``ScheduleStore.stale_schedules``."""
    return decode(_names, tx.text("stale_schedules", version, after, limit))


def zone_stamps(tx: Tx) -> dict[str, int]:
    """As ``ScheduleStore.zone_stamps``."""
    stamps = decode(_stamps, tx.text("zone_stamps"))
    return dict(stamps)
