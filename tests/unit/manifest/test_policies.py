from __future__ import annotations

import pytest

from puntual.manifest.keys import POLICY_KEYS, RETRY_KEYS
from puntual.model.instant import HOUR, MINUTE, SECOND
from puntual.model.policy import Backoff, OnLostLease, RetryPolicy
from puntual.model.run import Priority
from puntual.model.schedule import MisfirePolicy, Overlap, ScheduleSpec, Target
from tests.support.manifest import fault, read, read_spec

TASK = "every: 1h, task: a.b"


def test_what_nobody_wrote_has_the_documented_defaults() -> None:
    """A schedule of a rule and a task alone behaves as the documentation says."""
    spec = read_spec(TASK)
    assert (spec.queue, spec.priority, spec.overlap) == ("default", Priority.NORMAL, Overlap.SKIP)
    assert (spec.misfire_policy, spec.misfire_grace_us) == (MisfirePolicy.FIRE_ONCE, None)
    assert (spec.spread_us, spec.jitter_us, spec.timeout_us) == (0, 0, HOUR)
    assert spec.on_lost_lease is OnLostLease.RUN_ON
    assert spec.retry == RetryPolicy(
        max_attempts=5, backoff=Backoff.EXPONENTIAL, delay_us=5 * SECOND, max_delay_us=HOUR, jitter=True
    )


def test_the_table_of_keys_has_the_defaults_of_the_model() -> None:
    """Whoever makes a spec without a manifest gets the same."""
    model = ScheduleSpec(name="x", timetable="", source={}, target=Target("a.b"))
    assert {key.name: key.default_for("a.b") for key in POLICY_KEYS} == {
        key.name: getattr(model, key.attribute) for key in POLICY_KEYS
    }
    assert {key.name: key.default_for("a.b") for key in RETRY_KEYS} == {
        key.name: getattr(RetryPolicy(), key.attribute) for key in RETRY_KEYS
    }


def test_a_request_has_thirty_seconds() -> None:
    """The default timeout is shorter for http, where silence is a fault."""
    assert read_spec("every: 1h, http: {url: 'https://x.y'}").timeout_us == 30 * SECOND


def test_a_command_is_started_once() -> None:
    """A command that was started is not started again unless somebody says so."""
    spec = read_spec("every: 1h, command: [/bin/true]")
    assert (spec.retry.max_attempts, spec.timeout_us) == (1, HOUR)
    assert read_spec("every: 1h, command: [/bin/true], retry: {max_attempts: 3}").retry.max_attempts == 3


EVERYTHING = """
schedules:
  job:
    every: 1h
    task: a.b
    retry: {max_attempts: 7, backoff: linear, delay: 1s, max_delay: PT5M, jitter: false,
            on: [5xx, 429, a.Bad], not_on: [404]}
    timeout: none
    overlap: buffer_all
    misfire_policy: fire_all
    misfire_grace_time: 10m
    spread: 2m
    jitter: 1500ms
    queue: nightly
    priority: critical
    tags: [finance, eu]
    description: |
      For the books.
      Ask Ana.
    on_lost_lease: cancel
    unique_key: books
    timezone: America/Bogota
"""


def test_everything_can_be_written() -> None:
    """Each key arrives in its place, and what was written is no default."""
    spec = read(EVERYTHING).schedules[0].spec
    assert spec.retry == RetryPolicy(
        max_attempts=7,
        backoff=Backoff.LINEAR,
        delay_us=SECOND,
        max_delay_us=5 * MINUTE,
        jitter=False,
        on=("5xx", "429", "a.Bad"),
        not_on=("404",),
    )
    assert (spec.timeout_us, spec.misfire_grace_us, spec.spread_us, spec.jitter_us) == (
        None,
        10 * MINUTE,
        2 * MINUTE,
        1_500_000,
    )
    assert (spec.overlap, spec.misfire_policy) == (Overlap.BUFFER_ALL, MisfirePolicy.FIRE_ALL)
    assert (spec.queue, spec.priority, spec.tags) == ("nightly", Priority.CRITICAL, ("finance", "eu"))
    assert (spec.description, spec.unique_key) == ("For the books.\nAsk Ana.\n", "books")
    assert spec.on_lost_lease is OnLostLease.CANCEL
    assert spec.defaulted == ("dst_gap", "dst_fold")


def test_the_spec_tells_what_was_left_to_the_defaults() -> None:
    """``schedule show`` marks these; a key of ``retry`` is marked by itself."""
    spec = read_spec(f"{TASK}, timezone: UTC, overlap: skip, retry: {{delay: 5s}}")
    assert "overlap" not in spec.defaulted
    assert "timezone" not in spec.defaulted
    assert "retry.delay" not in spec.defaulted
    assert {"timeout", "queue", "retry.max_attempts", "retry.on"} <= set(spec.defaulted)


def test_defaults_of_a_document_fill_in_what_a_schedule_does_not_say() -> None:
    """The schedule's own word goes first, for each key of ``retry`` too."""
    spec = (
        read("""
        defaults: {queue: nightly, timezone: America/Bogota, overlap: allow_all, tags: [a],
                   retry: {max_attempts: 3, delay: 1s}}
        schedules:
          job: {when: 0 2 * * *, task: a.b, overlap: skip, retry: {delay: 2s}}
        """)
        .schedules[0]
        .spec
    )
    assert (spec.queue, spec.overlap, spec.tags) == ("nightly", Overlap.SKIP, ("a",))
    assert (spec.retry.max_attempts, spec.retry.delay_us) == (3, 2 * SECOND)
    assert '"America/Bogota"' in spec.timetable
    assert not {"queue", "timezone", "retry.max_attempts", "tags"} & set(spec.defaulted)


def test_kubernetes_words_are_read_as_ours() -> None:
    """A CronJob's own words for pausing, overlap, lateness and zone need no translation."""
    item = read("""
        schedules:
          job:
            when: 0 2 * * *
            timeZone: America/Bogota
            suspend: true
            concurrencyPolicy: Forbid
            startingDeadlineSeconds: 200
            task: a.b
        """).schedules[0]
    assert item.paused is True
    assert (item.spec.overlap, item.spec.misfire_grace_us) == (Overlap.SKIP, 200 * SECOND)
    assert '"America/Bogota"' in item.spec.timetable
    assert read_spec(f"{TASK}, overlap: Replace").overlap is Overlap.CANCEL_OTHER
    assert read_spec(f"{TASK}, concurrencyPolicy: Allow").overlap is Overlap.ALLOW_ALL


def test_one_thing_said_in_two_words_is_refused() -> None:
    """Which of the two would win is not guessed."""
    assert "say the same thing" in fault(f"{TASK}, overlap: skip, concurrencyPolicy: Allow").message


@pytest.mark.parametrize(("written", "paused"), [("", None), (", paused: true", True), (", paused: false", False)])
def test_paused_is_told_only_when_it_is_written(written: str, *, paused: bool | None) -> None:
    """A pause made by hand survives an apply that does not speak of pausing."""
    assert read(f"schedules: {{job: {{{TASK}{written}}}}}").schedules[0].paused is paused


@pytest.mark.parametrize(
    ("written", "field", "right"),
    [
        ("timeout: 30", "timeout", "a duration with its unit, for example 30s, or none"),
        ("timeout: 5 fortnights", "timeout", "is no duration"),
        ("timeout: 0s", "timeout", "too short: at least 1ms; none means no limit"),
        ("timeout: ~", "timeout", "empty is not right"),
        ("jitter: 90d", "jitter", "too long: at most 7d"),
        ("overlap: buffer", "overlap", "did you mean buffer_one?"),
        ("overlap: true", "overlap", "it must be skip, buffer_one, buffer_all, cancel_other or allow_all"),
        ("priority: 1", "priority", "critical, high, normal or low"),
        ("tags: finance", "tags", "a list"),
        ("tags: [a, a]", "tags", "'a' stands in it twice"),
        ("tags: [2026]", "tags[0]", "so put it in quotes"),
        ("queue: a b", "queue", "' '"),
        ("queue: ''", "queue", "a name"),
        ("paused: yes", "paused", "true or false"),
        ("description: 5", "description", "so put it in quotes"),
        ('description: "\\e[31m"', "description", r"'\x1b'"),
        ("unique_key: ''", "unique_key", "a text"),
        ("retry: 5", "retry", "it must be a mapping"),
        ("retry: {max_attempts: 0}", "retry.max_attempts", "a whole number from 1 to 10000"),
        ("retry: {max_attempts: true}", "retry.max_attempts", "true is not right"),
        ("retry: {max_attempts: 1.5}", "retry.max_attempts", "a whole number"),
        ("retry: {jitter: 1}", "retry.jitter", "true or false"),
        ("retry: {on: [500, 6xx]}", "retry.on[1]", "a class of statuses like 5xx"),
        ("retry: {on: [99]}", "retry.on[0]", "a status like 429"),
        ("retry: {tries: 5}", "retry.tries", "there is no key 'tries' here"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(written: str, field: str, right: str) -> None:
    """One sentence names the key, what was wrong, and what to write."""
    error = fault(f"{TASK}, {written}")
    assert error.field == f"schedules.job.{field}"
    assert right in error.message
    assert error.message.startswith("m.yaml:1: schedules.job")


def test_making_good_every_missed_tick_without_overlap_is_warned_about() -> None:
    """With ``skip`` only the first of them runs, which is not what ``fire_all`` promises."""
    assert any("fire_all" in warning for warning in read_spec(f"{TASK}, misfire_policy: fire_all").warnings)
    assert not read_spec(f"{TASK}, misfire_policy: fire_all, overlap: buffer_all").warnings


def test_a_cap_below_the_first_wait_is_warned_about() -> None:
    """The wait that was asked for never comes."""
    (warning,) = read_spec(f"{TASK}, retry: {{delay: 2h}}").warnings
    assert "retry.max_delay (1h) is shorter" in warning
