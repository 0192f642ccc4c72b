"""What is to come of a schedule says which ticks run, and for those between them why they do not, and how many."""

from __future__ import annotations

from puntual.engine import edit
from puntual.engine.edit import Moment
from puntual.manifest import ManifestContext, TargetChecks, read_schedule
from puntual.model.instant import parse_instant
from puntual.model.schedule import Schedule
from puntual.operations.shapes.upcoming import upcoming_shape

NOW = parse_instant("2026-03-02T02:00:30Z")


def _unused(_args: object, /, *, field: str) -> str:
    raise AssertionError(field)


def scheduled(every: str, *blackouts: dict[str, str]) -> Schedule:
    """A schedule with blackouts."""
    context = ManifestContext(now=NOW, checks=TargetChecks(http=_unused, command=_unused))
    written = {
        "every": every,
        "anchor": "2026-03-02T00:00:00Z",
        "timezone": "UTC",
        "blackouts": list(blackouts),
        "task": "t",
    }
    made = edit.create(read_schedule("job", written, context).spec, "id", Moment(now=NOW)).schedule
    assert made is not None
    return made


def test_the_next_ticks_are_those_that_run() -> None:
    """Those that a blackout closes are one item, with the reason."""
    closed = {"when": "2 2 2 3 *", "for": "3m"}
    assert upcoming_shape(scheduled("1m", closed), NOW, 3) == {
        "fires": ["2026-03-02T02:01:00Z", "2026-03-02T02:05:00Z", "2026-03-02T02:06:00Z"],
        "skipped": [
            {
                "tick_at": "2026-03-02T02:02:00Z",
                "last_tick_at": "2026-03-02T02:04:00Z",
                "count": 3,
                "reason": "blackout",
            }
        ],
    }


def test_what_is_counted_no_further_says_so() -> None:
    """A number that is not the whole is never told as if it were."""
    closed = {"when": "0 3 2 3 *", "for": "24h"}
    (found,) = upcoming_shape(scheduled("1s", closed), parse_instant("2026-03-02T02:59:59Z"), 1)["skipped"]
    assert found == {
        "tick_at": "2026-03-02T03:00:00Z",
        "last_tick_at": "2026-03-03T02:59:59Z",
        "at_least": 10_000,
        "reason": "blackout",
    }


def test_what_is_after_the_last_fire_is_not_told() -> None:
    """It is asked for so many fires, and no further."""
    closed = {"when": "2 2 2 3 *", "for": "3m"}
    found = upcoming_shape(scheduled("1m", closed), NOW, 1)
    assert (found["fires"], found["skipped"]) == (["2026-03-02T02:01:00Z"], [])
