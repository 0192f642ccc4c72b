"""Zones: names are exact, offsets are those of the tz database for ever, walls resolve by policy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from puntual.model.errors import InvalidZoneError
from puntual.model.instant import from_datetime, parse_instant
from puntual.timing.tzif import read_tzif
from puntual.timing.wallclock import parse_wall
from puntual.timing.zone import Fold, Gap, load_zone, tz_version, zone_names
from tests.support import timing_oracle as oracle


@pytest.mark.parametrize("part", range(6))
def test_offsets_are_those_of_zoneinfo_in_every_zone(part: int) -> None:
    """At its changes, a second before them, and at random moments up to the year 9892."""
    random = Random(part)
    for name in sorted(zone_names())[part::6]:
        zone = load_zone(name)
        starts = zone.stretches().starts[1:]
        moments = [second + late for second in random.sample(starts, min(len(starts), 40)) for late in (-1, 0)]
        moments += [random.randrange(-5_000_000_000, 250_000_000_000) for _ in range(8)]
        for second in moments:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
            expected = oracle.offset_at(moment, name).total_seconds()
            assert zone.offset(from_datetime(moment)) == expected, f"{name} at {moment}"


def test_stretches_are_longer_than_what_changes_between_them() -> None:
    """The engine reads one gap or fold at a time, which holds while no zone has two within each other's reach."""
    for name in sorted(zone_names()):
        zone = load_zone(name).stretches(4_102_444_800)
        assert zone.wall_lows == sorted(zone.wall_lows)
        assert zone.wall_highs == sorted(zone.wall_highs)
        for place in range(1, len(zone.starts) - 1):
            reach = sum(abs(zone.offsets[place + far] - zone.offsets[place]) for far in (-1, 1))
            assert zone.starts[place + 1] - zone.starts[place] > 2 * reach, name


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "EDT", "Mars/Olympus", "../etc/passwd", "/etc/localtime", "Europe", "UTC+2", "+02:00", "zones"),
        *("Europe/Madrid ", "Europe/Madrid\0", "Europe\\Madrid", "tzdata", "America/New_York/..", "é" * 5_000),
    ],
)
def test_what_is_no_iana_name_is_refused(name: str) -> None:
    """Abbreviations, offsets, folders and paths are no zones."""
    with pytest.raises(InvalidZoneError, match="is no IANA time zone") as caught:
        load_zone(name)
    assert caught.value.field == "timezone"
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("america/bogota", "America/Bogota"),
        ("America/New York", "America/New_York"),
        ("Bogota", "America/Bogota"),
        ("Europe/Madird", "Europe/Madrid"),
        ("utc", "UTC"),
    ],
)
def test_the_nearest_name_is_suggested(name: str, meant: str) -> None:
    """A slip of case, space or letters is answered with the name that was meant."""
    with pytest.raises(InvalidZoneError, match=f"did you mean {meant}"):
        load_zone(name)


@pytest.mark.parametrize(
    ("wall", "gap", "fold", "instants"),
    [
        ("2025-03-09T01:59", "boundary", "first", ["2025-03-09T06:59:00Z"]),
        ("2025-03-09T02:30", "boundary", "first", ["2025-03-09T07:00:00Z"]),
        ("2025-03-09T02:30", "shift", "first", ["2025-03-09T07:30:00Z"]),
        ("2025-03-09T02:30", "skip", "first", []),
        ("2025-11-02T01:30", "skip", "first", ["2025-11-02T05:30:00Z"]),
        ("2025-11-02T01:30", "skip", "last", ["2025-11-02T06:30:00Z"]),
        ("2025-11-02T01:30", "skip", "both", ["2025-11-02T05:30:00Z", "2025-11-02T06:30:00Z"]),
        ("2025-11-02T02:00", "skip", "both", ["2025-11-02T07:00:00Z"]),
        ("2099-03-08T02:30", "boundary", "first", ["2099-03-08T07:00:00Z"]),
    ],
)
def test_walls_resolve_by_policy(wall: str, gap: Gap, fold: Fold, instants: list[str]) -> None:
    """A time that does not exist, exists once or comes twice becomes what the policies say."""
    seconds = load_zone("America/New_York").resolve(parse_wall(wall), gap, fold)
    assert [second * 1_000_000 for second in seconds] == [parse_instant(text) for text in instants]


def test_the_same_zone_is_loaded_once() -> None:
    """Zones are shared."""
    assert load_zone("Europe/Madrid") is load_zone("Europe/Madrid")


def test_the_database_has_a_version() -> None:
    """It looks like 2025b, and is what cached ticks are stamped with."""
    assert tz_version()[:4].isdigit()


def test_broken_data_is_one_error() -> None:
    """Bytes that are no TZif file say what to do."""
    for data in (b"", b"TZif", b"TZif2" + bytes(60), b"\0" * 200):
        with pytest.raises(InvalidZoneError, match="reinstall the tzdata package"):
            read_tzif(data, "Broken/Zone")
