from __future__ import annotations

import pytest

from puntual.model.schedule import Target
from tests.support.manifest import context, fault, read, read_spec, registered

WHEN = "every: 1h"


def nightly(day: int = 1) -> None:
    """A task."""


TASKS = registered(nightly, queue="slow", timeout="1m", max_attempts=2)


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
    error = fault(f"{WHEN}, task: nigthly", tasks=TASKS)
    assert error.code == "task_unknown"
    assert "did you mean nightly?" in error.message
    assert read_spec(f"{WHEN}, task: nightly", tasks=TASKS).target.task == "nightly"
    assert "imported by the app" in fault(f"{WHEN}, task: zzz", tasks={}).message


def test_arguments_fit_the_task_where_it_is_known() -> None:
    """They are refused when they are written, not at each tick."""
    error = fault(f"{WHEN}, task: nightly, args: {{dya: 1}}", tasks=TASKS)
    assert (error.code, error.field) == ("invalid_payload", "schedules.job.args.dya")
    assert "did you mean 'day'?" in error.message
    assert fault(f"{WHEN}, task: nightly, args: {{day: x}}", tasks=TASKS).field == "schedules.job.args.day"
    assert read_spec(f"{WHEN}, task: elsewhere, args: {{dya: 1}}").target.task == "elsewhere"


def test_what_is_not_written_the_task_says_where_it_is_known() -> None:
    """As if the schedule stood in code; what is written stays, and defaults of the manifest are written too."""
    spec = read_spec(f"{WHEN}, task: nightly, timeout: 5s", tasks=TASKS)
    assert (spec.queue, spec.timeout_us, spec.retry.max_attempts) == ("slow", 5_000_000, 2)
    whole = f"{{defaults: {{queue: x}}, schedules: {{job: {{{WHEN}, task: nightly}}}}}}"
    assert read(whole, tasks=TASKS).schedules[0].spec.queue == "x"
    assert read_spec(f"{WHEN}, task: nightly").queue == "default"


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
