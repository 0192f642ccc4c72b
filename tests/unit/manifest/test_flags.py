from __future__ import annotations

import pytest

from puntual.manifest import ScheduleFlags, schedule_from_flags
from puntual.manifest.flags import mapping_of_flags
from puntual.model.errors import PuntualError
from tests.support.manifest import CONTEXT


def mapping(**flags: object) -> dict[str, object]:
    """What the flags say, as a manifest would hold it."""
    return mapping_of_flags(ScheduleFlags(**flags))  # type: ignore[arg-type]  # each test names flags that exist


def test_flags_become_the_mapping_of_a_manifest() -> None:
    """There is one shape and one reader."""
    assert mapping(
        when="@daily",
        timezone="UTC",
        url="https://x.y",
        method="POST",
        headers=["A: b", "X-Time: 12:30"],
        json_body='{"a": 1}',
    ) == {
        "when": "@daily",
        "timezone": "UTC",
        "http": {"url": "https://x.y", "method": "POST", "headers": {"A": "b", "X-Time": "12:30"}, "json": {"a": 1}},
    }
    assert mapping(when="cada 2 semanas los lunes a las 9", lang="es", anchor="2027-01-04") == {
        "when": "cada 2 semanas los lunes a las 9",
        "lang": "es",
        "anchor": "2027-01-04",
    }
    assert mapping(task="a.b", args='{"x": 1}') == {"task": "a.b", "args": {"x": 1}}
    assert mapping(command=["/bin/true", "-x"]) == {"command": ["/bin/true", "-x"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("retry.max_attempts=3", {"retry": {"max_attempts": 3}}),
        ("timeout=none", {"timeout": "none"}),
        ("when=*/5 * * * *", {"when": "*/5 * * * *"}),
        ("when=@daily", {"when": "@daily"}),
        ("description=a: b = c", {"description": "a: b = c"}),
        ("description=", {"description": ""}),
        ("paused=true", {"paused": True}),
        ("tags=[a, b]", {"tags": ["a", "b"]}),
        ("cron={expr: '0 0 2 ? * MON', dialect: quartz}", {"cron": {"expr": "0 0 2 ? * MON", "dialect": "quartz"}}),
        ("unique_key='5'", {"unique_key": "5"}),
    ],
)
def test_set_reads_its_value_as_a_manifest_would(text: str, expected: dict[str, object]) -> None:
    """But a text that begins with a sign of YAML needs no quotes here."""
    assert mapping(sets=[text]) == expected


def test_set_goes_over_the_other_flags() -> None:
    """It reaches every key that has no flag of its own, inside what the flags said."""
    assert mapping(url="https://x.y", sets=["http.method=PUT", "http.query.a=1"]) == {
        "http": {"url": "https://x.y", "method": "PUT", "query": {"a": 1}}
    }


@pytest.mark.parametrize(
    ("flags", "field", "message"),
    [
        ({"sets": ["retry"]}, "--set", "is not KEY.PATH=VALUE"),
        ({"sets": ["=3"]}, "--set", "is not KEY.PATH=VALUE"),
        ({"sets": ["a..b=3"]}, "--set", "is not KEY.PATH=VALUE"),
        ({"when": "@daily", "sets": ["when.x=3"]}, "--set", "when is a value already"),
        ({"url": "x", "headers": ["Authorization secret"]}, "--header", "is written 'Name: value'"),
        ({"url": "x", "headers": ["A: 1", "A: 2"]}, "--header", "is given twice"),
        ({"url": "x", "json_body": "{"}, "--json-body", "JSON"),
        ({"task": "x", "args": '{"a": 1, "a": 2}'}, "--args", "twice"),
    ],
)
def test_a_flag_that_cannot_be_read_is_named(flags: dict[str, object], field: str, message: str) -> None:
    """A header is not repeated, since it may carry a credential."""
    with pytest.raises(PuntualError) as caught:
        mapping(**flags)
    assert caught.value.field == field
    assert message in caught.value.message
    assert "secret" not in caught.value.message


def test_a_schedule_is_made_of_flags() -> None:
    """The same defaults, the same faults, as in a file."""
    item = schedule_from_flags("job", ScheduleFlags(when="every 5m", task="a.b", sets=["retry.delay=1s"]), CONTEXT)
    assert (item.spec.name, item.spec.retry.delay_us, item.spec.source) == ("job", 1_000_000, {"when": "every 5m"})
    with pytest.raises(PuntualError, match="give it one of when"):
        schedule_from_flags("job", ScheduleFlags(task="a.b"), CONTEXT)
