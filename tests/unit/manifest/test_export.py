from __future__ import annotations

import pytest

from puntual.manifest import TargetChecks, read_manifest, read_manifests, read_schedule, to_manifest, to_mapping
from puntual.manifest.read import Text
from puntual.model.fleet import Queue
from puntual.model.policy import RetryPolicy
from puntual.model.schedule import Pause, ScheduleSpec
from puntual.targets import command as targets_command
from puntual.targets import http as targets_http
from tests.support.manifest import CONTEXT, NOW, context, read, read_spec, stored

EVERYTHING = """\
owner: billing
queues:
  mail:
    concurrency: 20
schedules:
  call:
    description: |
      For the books.
      Ask Ana.
    cron:
      expr: 0 0 2 ? * MON-FRI
      dialect: quartz
    start: 2026-01-01T00:00
    timezone: America/Bogota
    dst_gap: skip
    http:
      url: https://x.y
      json:
        when: 'on'
        count: 1
    retry:
      max_attempts: 3
      'on':
      - 5xx
      - 429
    timeout: none
    overlap: buffer_one
    priority: high
    tags:
    - finance
    paused: true
  run:
    when:
    - '@daily'
    - every 5m
    timezone: UTC
    command:
    - /bin/echo
    - '*'
    misfire_grace_time: 10m
  work:
    at: 2027-01-01T00:00
    timezone: Europe/Madrid
    task: a.b
    args:
      n: 1.5
"""


def exported(text: str) -> str:
    """The export of what a text was read to."""
    manifest = read(text)
    schedules = [stored(item.spec, Pause(since=NOW) if item.paused else None) for item in manifest.schedules]
    return to_manifest(schedules, [Queue(name=queue.name, concurrency=queue.concurrency) for queue in manifest.queues])


def written(spec: ScheduleSpec, **more: object) -> dict[str, object]:
    """The keys of a spec, without those that every export has."""
    return {key: value for key, value in to_mapping(spec, **more).items() if key not in {"every", "timezone", "task"}}  # type: ignore[arg-type]  # paused


def test_an_export_is_what_somebody_would_have_written() -> None:
    """Only what was written, in a stable order, and read back it is written the same again."""
    assert exported(EVERYTHING) == EVERYTHING


def test_an_export_is_read_back_to_the_same_schedules() -> None:
    """Rules, policies, pauses and what was left to the defaults, all of it."""
    manifest = read(EVERYTHING)
    assert read(exported(EVERYTHING)) == manifest


def test_each_owner_has_a_document() -> None:
    """Limits of queues stand once, in the first."""
    specs = [
        read_schedule(name, {"every": "1h", "task": "a.b"}, context(code_owner=owner)).spec
        for name, owner in [("z", "y"), ("b", "x"), ("a", "y"), ("c", None)]
    ]
    text = to_manifest([stored(spec) for spec in specs], [Queue(name="q", concurrency=1), Queue(name="free")])
    manifests = read_manifests([Text(text)], CONTEXT)
    assert [(manifest.owner, [item.spec.name for item in manifest.schedules]) for manifest in manifests] == [
        (None, ["c"]),
        ("x", ["b"]),
        ("y", ["a", "z"]),
    ]
    assert [queue.name for queue in manifests[0].queues] == ["q"]


def test_nothing_is_exported_to_an_empty_manifest() -> None:
    """A new server has an export too."""
    assert to_manifest([]) == "schedules: {}\n"


def test_the_zone_is_always_written() -> None:
    """Another server's ``TIMEZONE`` may be another one, and 02:00 has to stay where it is."""
    spec = read_spec("when: 0 2 * * *, task: a.b", timezone="Asia/Tokyo")
    assert to_mapping(spec)["timezone"] == "Asia/Tokyo"
    again = read_schedule("job", to_mapping(spec), context(timezone="UTC")).spec
    assert again.timetable == spec.timetable


def test_a_value_that_came_from_a_tasks_own_options_is_written() -> None:
    """It was not written in a manifest, but another server would not know it."""
    spec = ScheduleSpec(
        name="job",
        timetable='{"rule":{"type":"interval","period_us":3600000000,"anchor":0}}',
        source={"every": "1h"},
        target=read_spec("every: 1h, task: a.b").target,
        queue="mail",
        retry=RetryPolicy(max_attempts=9),
        defaulted=("queue", "retry.max_attempts", "retry.delay", "retry.backoff", "retry.max_delay", "retry.jitter"),
    )
    mapping = to_mapping(spec)
    assert (mapping["queue"], mapping["retry"]) == ("mail", {"max_attempts": 9, "on": [], "not_on": []})


@pytest.mark.parametrize(
    ("pause", "paused"), [(None, False), (Pause(since=NOW), True), (Pause(since=NOW, until=NOW + 1), False)]
)
def test_a_pause_without_an_end_is_written(pause: Pause | None, *, paused: bool) -> None:
    """One with an end is over by the time that a backup is needed."""
    assert ("paused: true" in to_manifest([stored(read_spec("every: 1h, task: a.b"), pause)])) is paused


@pytest.mark.parametrize(
    "text",
    [
        "on",
        "null",
        "1e3",
        "-0",
        "0.10",
        "",
        " ",
        "~",
        "yes",
        "12:30",
        "2027-01-01",
        "0x1f",
        "a: b",
        "# no comment",
        "- item",
        "'",
        '"',
        "@daily",
        "*/5 * * * *",
        "%",
        "!tag",
        "&a",
        "tab\there",
        "line\nbreak",
        "two\n\nbreaks\n",
        "  indented\nlines",
        "trailing \nspace ",
        "\n",
        "\r\n",
        "\x85",
        "\u2028",
        "\ufeff",
        "\x7f",
        "\U0001f600",
        "x" * 5_000,
        "long " * 1_000,
    ],
)
def test_every_text_comes_back_as_it_was(text: str) -> None:
    """Whatever YAML would take it for."""
    spec = read_schedule("job", {"every": "1h", "task": "a.b", "args": {"text": text, text: 1}}, CONTEXT).spec
    again = read_manifest(to_manifest([stored(spec)]), context=CONTEXT).schedules[0].spec
    assert again.target == spec.target


def test_what_was_written_as_the_default_is_written_again() -> None:
    """A later release with another default does not change it."""
    spec = read_spec("every: 1h, task: a.b, overlap: skip, retry: {jitter: true}")
    assert written(spec) == {"retry": {"jitter": True}, "overlap": "skip"}


def test_kubernetes_words_are_exported_as_ours() -> None:
    """Replies use one vocabulary."""
    spec = read_spec("every: 1h, task: a.b, concurrencyPolicy: Forbid, startingDeadlineSeconds: 200")
    assert written(spec, paused=True) == {"overlap": "skip", "misfire_grace_time": "3m20s", "paused": True}


@pytest.mark.parametrize(
    "keys",
    [
        {"http": {"url": "https://x.y/z?a=1", "headers": {"A": "b"}, "json": {"on": [1, None, "5"]}}},
        {"http": {"url": "https://x.y", "method": "put", "body": "text: 1"}},
        {"http": {"url": "https://x.y", "form": {"a": "1"}}},
        {"command": ["/bin/echo", "1", ""]},
        {"command": {"shell": "ls ${HOME} | wc", "cwd": "/tmp", "env": {"A": "1"}, "success_codes": [0, 3]}},
    ],
)
def test_what_a_target_made_of_its_request_is_read_back_to_the_same(keys: dict[str, object]) -> None:
    """The targets' own checks take what they gave."""
    checks = TargetChecks(http=targets_http.check_http, command=targets_command.check_command)
    real = context(checks=checks)
    item = read_schedule("job", {"every": "1h", "timezone": "UTC", **keys}, real)
    assert read_manifest(to_manifest([stored(item.spec)]), context=real).schedules == (item,)
