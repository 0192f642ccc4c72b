"""The replies: exactly the fields that users are promised, instants as RFC 3339 and durations as milliseconds."""

from __future__ import annotations

import msgspec
import pytest

from puntual.engine import edit
from puntual.engine.edit import Moment
from puntual.manifest import ManifestContext, TargetChecks, read_schedule
from puntual.model.attempt import Attempt, ErrorInfo, OutcomeKind
from puntual.model.instant import HOUR, MILLISECOND, SECOND, parse_instant
from puntual.model.policy import RunPolicy
from puntual.model.run import NewRun, Origin, Priority, Run, RunState
from puntual.model.schedule import Fate, FateReason, LastTick, Pause, Schedule, Tick
from puntual.operations.shapes import fresh_shape, response_shape, run_shape, schedule_shape, tick_shape
from puntual.operations.shapes.units import ms
from puntual.store.requests import Response

NOW = parse_instant("2026-03-02T02:00:00Z")
RUN_FIELDS = {
    *("id", "task", "args", "queue", "priority", "state", "reason", "origin", "replay_of", "schedule", "tick_at"),
    *("due_at", "created_at", "started_at", "finished_at", "lateness_ms", "attempt", "max_attempts", "released"),
    *("cancel_requested", "discarded_at", "unique_key", "result", "tags", "attempts"),
}


def run(**changes: object) -> Run:
    """A run of a tick that started 250 ms late and failed once."""
    attempt = Attempt(1, "w1", NOW + SECOND // 4, NOW + SECOND, OutcomeKind.FAILED, 503, ErrorInfo("HttpError", "503"))
    made = Run(
        id="0198c1f2-7d3a-7b0e-9c55-3f1d2a4b6c8d",
        task="http",
        args='{"url": "https://example.com"}',
        queue="default",
        priority=Priority.HIGH,
        state=RunState.PENDING,
        reason=None,
        origin=Origin.TICK,
        replay_of=None,
        schedule_id="s1",
        schedule="report",
        tick_at=NOW,
        tick_number=3,
        due_at=NOW,
        claim_at=NOW + 6 * SECOND,
        created_at=NOW - 5 * SECOND,
        started_at=NOW + SECOND // 4,
        finished_at=None,
        attempt=1,
        max_attempts=5,
        released=0,
        interrupted=0,
        lost=0,
        worker=None,
        claimed_at=None,
        cancel_requested=False,
        unique_key=None,
        tags=("finance",),
        policy=RunPolicy(),
        attempts=(attempt,),
        result=None,
        discarded_at=None,
    )
    return msgspec.structs.replace(made, **changes)


def schedule(**written: object) -> Schedule:
    """A schedule as the store would keep it."""

    def no_check(args: object, *, field: str) -> str:
        raise AssertionError(field)

    context = ManifestContext(now=NOW, checks=TargetChecks(http=no_check, command=no_check))
    item = read_schedule("report", {"when": "0 2 * * *", "timezone": "UTC", "task": "t", **written}, context)
    made = edit.create(item.spec, "s1", Moment(now=NOW - HOUR)).schedule
    assert made is not None
    return made


def test_a_run_has_the_fields_that_are_promised() -> None:
    """Those of the interface, the time of the next try and the worker; nothing of what later releases bring."""
    assert set(run_shape(run())) == RUN_FIELDS | {"next_try_at", "worker"}


def test_lateness_is_the_first_start_less_the_due_time() -> None:
    """In milliseconds; null while it has not started."""
    assert run_shape(run())["lateness_ms"] == 250
    assert run_shape(run(started_at=NOW + 1_500))["lateness_ms"] == 1.5
    assert run_shape(run(started_at=None))["lateness_ms"] is None


def test_the_next_try_is_told_while_a_run_waits() -> None:
    """And only then."""
    assert run_shape(run())["next_try_at"] == "2026-03-02T02:00:06Z"
    assert run_shape(run(state=RunState.DEAD))["next_try_at"] is None


def test_an_attempt_tells_its_outcome_and_error() -> None:
    """Its number, worker, times, status and error."""
    (attempt,) = run_shape(run())["attempts"]
    assert attempt == {
        "number": 1,
        "worker": "w1",
        "started_at": "2026-03-02T02:00:00.250Z",
        "finished_at": "2026-03-02T02:00:01Z",
        "outcome": "failed",
        "status_code": 503,
        "error": {"type": "HttpError", "message": "503", "trace": None},
        "timings": None,
    }


def test_arguments_and_results_are_json_values() -> None:
    """Not texts of JSON."""
    shape = run_shape(run(result='{"n": 1}'))
    assert (shape["args"], shape["result"]) == ({"url": "https://example.com"}, {"n": 1})


def test_a_fresh_run_looks_as_it_will_when_it_is_read() -> None:
    """The same fields; due now, after its delay, or at its instant."""
    new = NewRun(id="0198c1f2-7d3a-7b0e-9c55-3f1d2a4b6c8d", task="t", delay_us=SECOND)
    shape = fresh_shape(new, NOW)
    assert set(shape) == set(run_shape(run()))
    assert (shape["created_at"], shape["due_at"], shape["state"]) == (
        "2026-03-02T02:00:00Z",
        "2026-03-02T02:00:01Z",
        "pending",
    )
    past = fresh_shape(msgspec.structs.replace(new, due_at=NOW - SECOND), NOW)
    assert (past["due_at"], past["next_try_at"]) == ("2026-03-02T01:59:59Z", "2026-03-02T02:00:00Z")


def test_a_tick_has_its_run_or_its_reason() -> None:
    """A single tick with its run; a stretch with its count, or at least that many."""
    ran = Tick(
        schedule="a", number=1, tick_at=NOW, last_tick_at=NOW, run_id="r", run_state=RunState.SUCCEEDED, lateness_us=900
    )
    assert tick_shape(ran) == {
        "schedule": "a",
        "number": 1,
        "tick_at": "2026-03-02T02:00:00Z",
        "last_tick_at": "2026-03-02T02:00:00Z",
        "count": 1,
        "fate": "ran",
        "reason": None,
        "run": {"id": "r", "state": "succeeded"},
        "lateness_ms": 0.9,
    }
    many = Tick(
        schedule="a",
        number=2,
        tick_at=NOW,
        last_tick_at=NOW + HOUR,
        count=9,
        at_least=True,
        fate=Fate.MISSED,
        reason=FateReason.DOWN,
    )
    shape = tick_shape(many)
    assert (shape["at_least"], shape["fate"], shape["reason"], shape["run"]) == (9, "missed", "down", None)
    assert "count" not in shape


def test_a_schedule_says_what_nobody_chose() -> None:
    """``defaults`` names the settings that were not written; policies are in milliseconds."""
    shape = schedule_shape(schedule(queue="night", misfire_grace_time="10m"), NOW)
    assert (shape["queue"], shape["misfire_grace_time_ms"], shape["timeout_ms"]) == ("night", 600_000, 3_600_000)
    assert {"overlap", "retry.max_attempts", "timeout"} <= set(shape["defaults"])
    assert not {"queue", "misfire_grace_time", "timezone"} & set(shape["defaults"])
    assert shape["sentence"] == {"en": "At 02:00 every day (UTC)", "es": "A las 02:00 todos los días (UTC)"}
    assert shape["written"] == {
        "when": "0 2 * * *",
        "timezone": "UTC",
        "task": "t",
        "misfire_grace_time": "10m",
        "queue": "night",
    }


@pytest.mark.parametrize(
    ("until", "paused", "next_due_at"),
    [
        (NOW, False, "2026-03-02T02:00:00Z"),
        (NOW + HOUR, True, "2026-03-03T02:00:00Z"),
        (None, True, None),
    ],
)
def test_a_paused_schedule_is_next_due_after_its_pause(
    until: int | None,
    paused: bool,  # noqa: FBT001 - a column of the table
    next_due_at: str | None,
) -> None:
    """A pause that is over is none; one without end has no next tick."""
    made = msgspec.structs.replace(schedule(), pause=Pause(since=NOW - HOUR, until=until, reason="why"))
    shape = schedule_shape(made, NOW)
    assert (shape["paused"], shape["next_due_at"]) == (paused, next_due_at)
    assert shape["pause_reason"] == ("why" if paused else None)


def test_the_last_tick_names_its_run() -> None:
    """With the run's state, or no run where it made none."""
    last = LastTick(tick_at=NOW, fate=Fate.RAN, run_id="r", run_state=RunState.DEAD)
    shape = schedule_shape(msgspec.structs.replace(schedule(), last=last), NOW)
    assert shape["last"] == {"tick_at": "2026-03-02T02:00:00Z", "fate": "ran", "run": {"id": "r", "state": "dead"}}


def test_a_response_is_text_where_it_can_be() -> None:
    """UTF-8 as it is, all else in base64."""
    text = response_shape(Response(run_id="r", attempt=1, body=b"caf\xc3\xa9", headers=(("a", "b"),)))
    assert (text["body"], text["encoding"], text["headers"]) == ("café", "utf-8", [["a", "b"]])
    raw = response_shape(Response(run_id="r", attempt=1, body=b"\xff", truncated=9))
    assert (raw["body"], raw["encoding"], raw["truncated"]) == ("/w==", "base64", 9)


def test_whole_milliseconds_have_no_fraction() -> None:
    """And a part of one is kept."""
    assert [ms(None), ms(0), ms(7 * MILLISECOND), ms(1)] == [None, 0, 7, 0.001]
    assert isinstance(ms(7 * MILLISECOND), int)
