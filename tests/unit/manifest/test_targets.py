from __future__ import annotations

import pytest

from puntual.model.schedule import Target
from tests.support.manifest import context, fault, read_spec

WHEN = "every: 1h"


def test_a_task_has_its_arguments_as_json() -> None:
    """They are kept as they were written; numbers that look like dates or words stay texts."""
    target = read_spec(f"{WHEN}, task: reports.nightly, args: {{day: 2027-01-01, country: NO, n: [1, 2.5, ~]}}").target
    assert target == Target("reports.nightly", '{"day":"2027-01-01","country":"NO","n":[1,2.5,null]}')


def test_a_task_needs_no_arguments() -> None:
    """Without ``args`` there are none."""
    assert read_spec(f"{WHEN}, task: a.b").target == Target("a.b", "{}")


def test_a_request_and_a_command_are_checked_by_their_own_targets() -> None:
    """What a request may be is known in one place, and that place gives the text that the runs carry."""
    assert read_spec(f"{WHEN}, http: {{url: 'https://x.y'}}").target == Target("http", '{"url": "https://x.y"}')
    assert read_spec(f"{WHEN}, command: [/bin/true, -x]").target == Target("command", '{"argv": ["/bin/true", "-x"]}')


def test_a_targets_own_fault_keeps_its_path() -> None:
    """The check is told where it stands."""
    assert fault(f"{WHEN}, http: {{}}").field == "schedules.job.http.url"


def test_a_task_that_is_not_registered_is_refused_where_the_names_are_known() -> None:
    """A slip in a name is told before the first tick, with the name that was meant."""
    error = fault(f"{WHEN}, task: reports.nigthly", tasks={"reports.nightly", "mail.send"})
    assert error.code == "task_unknown"
    assert "did you mean reports.nightly?" in error.message
    assert read_spec(f"{WHEN}, task: mail.send", tasks={"mail.send"}).target.task == "mail.send"
    assert "imported by the app" in fault(f"{WHEN}, task: zzz", tasks=set()).message


@pytest.mark.parametrize("name", ["http", "command"])
def test_a_request_or_a_command_is_never_called_by_name(name: str) -> None:
    """``task: command`` would go past the check of what may be run."""
    assert f"write what to do under `{name}:`" in fault(f"{WHEN}, task: {name}, args: {{argv: [/bin/sh]}}").message


@pytest.mark.parametrize(
    ("written", "field", "right"),
    [
        ("", "", "give it one of http, task and command"),
        (", task: a.b, command: [/bin/true]", ".command", "task and command both say what to do"),
        (", http: {url: x}, args: {}", ".args", "args go with `task`"),
        (", task: a.b, args: [1]", ".args", "a mapping of names to values"),
        (", task: 5", ".task", "the name of a task"),
        (", task: ''", ".task", "the name of a task"),
    ],
)
def test_a_target_that_cannot_be_read_is_named_with_its_key(written: str, field: str, right: str) -> None:
    """One sentence names the key, what was wrong, and what to write."""
    error = fault(WHEN + written)
    assert error.field == f"schedules.job{field}"
    assert right in error.message


def test_arguments_beyond_the_operators_limit_are_refused() -> None:
    """The limit holds where the schedule is written, not when its run fails."""
    error = fault(f"{WHEN}, task: a.b, args: {{x: {'y' * 2_000}}}", max_payload=1_000)
    assert (error.code, error.field) == ("invalid_payload", "schedules.job.args")
    assert context().max_payload == 256 << 10


@pytest.mark.parametrize(
    ("written", "field"),
    [
        ("http: {url: 'https://x.y', headers: {Authorization: 'Bearer ${secrets.KEY}'}}", "http.headers.Authorization"),
        ("task: a.b, args: {days: [1, '${tick_at-1d.date}']}", "args.days[1]"),
        ("command: [/bin/echo, '${run.id}']", "command[1]"),
    ],
)
def test_a_template_that_would_be_sent_as_it_stands_is_refused(written: str, field: str) -> None:
    """A server never gets the words ``${secrets.KEY}`` for a credential."""
    error = fault(f"{WHEN}, {written}")
    assert error.field == f"schedules.job.{field}"
    assert "not filled in by this release" in error.message


def test_other_dollar_signs_are_left_alone() -> None:
    """A shell's own variables are no templates of ours."""
    assert "${HOME}" in read_spec(f"{WHEN}, command: [/bin/sh, -c, 'ls ${{HOME}}']").target.args
