"""The reference names all that there is, with its true default: what is added or changed without a word here fails."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

import puntual
from puntual.api import make_api
from puntual.api.problems import status_of
from puntual.cli.root import COMMANDS
from puntual.client.dead import DeadLetters
from puntual.client.runs import Runs
from puntual.client.schedules import Schedules
from puntual.manifest import keys
from puntual.manifest.calendars import CALENDAR_KEYS
from puntual.manifest.read import TOP_KEYS
from puntual.model.call import CallKeywords
from puntual.model.command import Command
from puntual.model.errors import PuntualError
from puntual.model.keywords import BatchKeywords
from puntual.model.names import PUNCTUATION
from puntual.model.schedule import MisfirePolicy, Overlap
from puntual.operations import shapes
from puntual.operations.local import LocalOperations
from puntual.operations.shapes.runs import AttemptShape, ErrorShape
from puntual.settings import Settings, describe_settings, load_settings
from puntual.settings.table import NOT_SETTINGS, RESERVED
from puntual.targets.http import HttpRequest
from puntual.testing import ManualApp
from puntual.timing.cron.fields import ALIASES, LAYOUTS
from tests.docs.blocks import blocks, page
from tests.support import docs
from tools import write_cli_reference

ROW = re.compile(r"^\| (.+) \|$", re.MULTILINE)
#: Of an app, what is for the command line, the manual app and the engine.
NOT_FOR_USERS = {"App": {"clock", "random", "wake", "node", "core", "store", "context", "registry", "declared"}}
NOT_FOR_USERS["App"] |= {"configure", "connect_to", "only_look", "may_migrate", "making_node", "in_background"}
NOT_FOR_USERS["App"] |= {"declare", "settings", "resolve"}
NOT_FOR_USERS["Task"] = {"defaults", "signature", "read_result"}
NOT_FOR_USERS["Run"] = {"follow_ups", "row"}
NOT_FOR_USERS["Runs"] = {"row", "enqueue", "enqueue_calls", "joined", "finished"}
NOT_FOR_USERS["Schedules"] = {"put_many"}


def rows(name: str) -> dict[str, list[str]]:
    """The rows of all tables of a page by their first cell, without its quotes; cells that hold several names too."""
    found: dict[str, list[str]] = {}
    for match in ROW.finditer(page(name)):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", match[1])]
        for first in re.findall(r"`([^`]+)`", cells[0]):
            found.setdefault(first, cells)
    return found


def words(name: str) -> set[str]:
    """All that stands in quotes on a page, and each word of it."""
    quoted = re.findall(r"`([^`\n]+)`", page(name))
    return {*quoted, *(word for text in quoted for word in re.findall(r"\w+", text))}


def public(kind: type) -> set[str]:
    """The names of a class that users may use; a ``_sync`` twin goes with its method."""
    names = {name for name in vars(kind) if not name.startswith("_")}
    return {name for name in names if not name.endswith("_sync")} - NOT_FOR_USERS.get(kind.__name__, set())


def plain(cell: str) -> str:
    """A cell without quotes."""
    return cell.replace("`", "")


def test_every_setting_stands_there_with_its_default() -> None:
    """As doctor would show it."""
    table = rows("settings")
    described = {name: value for name, value, _ in describe_settings(Settings())}
    assert {name: plain(table[name][1]) for name in described if name in table} == described


def test_every_example_of_a_setting_can_be_used() -> None:
    """The third column is a value as the environment would hold it."""
    table = rows("settings")
    examples = {name: plain(table[name][2]) for name, _, _ in describe_settings(Settings()) if name != "TOKEN"}
    for name, example in examples.items():
        assert load_settings({f"PUNTUAL_{name}": example}, config_path="/dev/null").sources == {name: f"PUNTUAL_{name}"}


def test_variables_that_are_no_settings_are_named() -> None:
    """What commands find in their environment, and what later releases use."""
    assert {*RESERVED, *(f"PUNTUAL_{name}" for name in NOT_SETTINGS)} <= words("settings")


@pytest.mark.parametrize("key", [*keys.POLICY_KEYS, *keys.QUEUE_KEYS, *keys.CRON_KEYS], ids=lambda key: key.name)
def test_every_key_of_a_schedule_stands_there_with_its_default(key: keys.Key) -> None:
    """Also where it differs for a kind of target."""
    cell = rows("schedules")[key.name][1]
    written = {f"`{value}`" for value in (key.default, *key.default_of.values()) if value not in (None, "")}
    assert written == set(re.findall(r"`(?!http|command)[^`]+`", cell))


@pytest.mark.parametrize("key", CALENDAR_KEYS, ids=lambda key: key.name)
def test_every_key_of_a_calendar_stands_there_with_its_default(key: keys.Key) -> None:
    """In the table of their page."""
    assert plain(rows("calendars")[key.name][1]) == ("" if key.default is None else str(key.default))


def test_every_key_of_retry_stands_there_with_its_default() -> None:
    """Those of ``retry``, in their own table."""
    table = page("schedules").split("### `retry`")[1]
    for key in keys.RETRY_KEYS:
        written = str(key.default).lower() if isinstance(key.default, bool) else str(key.default)
        assert re.search(rf"^\| `{key.name}` \| `{re.escape(written)}`", table, re.MULTILINE), key.name


def test_every_other_key_and_word_of_a_manifest_is_named() -> None:
    """Rules, times, zones, targets and what is in them, Kubernetes' words, and what is not in this release."""
    named: set[str] = {*TOP_KEYS, *keys.RULES, *keys.TIMES, *keys.TARGETS, keys.ARGS, keys.PAUSED, keys.RETRY}
    named |= {key.name for key in (*keys.ZONE_KEYS, *keys.SIFT_KEYS)} | set(keys.KUBERNETES)
    named |= {*HttpRequest.__struct_fields__, *Command.__struct_fields__}
    named |= {word.value for enum in (Overlap, MisfirePolicy) for word in enum}
    assert named - rows("schedules").keys() - set(keys.KUBERNETES) == set()
    assert named | keys.LATER_SCHEDULE | keys.LATER_TOP <= words("schedules")
    assert " ".join(PUNCTUATION) in page("schedules")


def test_every_dialect_and_name_of_cron_is_named() -> None:
    """With the fields of each, and the words for clock changes."""
    table = rows("time")
    for dialect in LAYOUTS:
        assert dialect in table
    assert {*ALIASES, "@every", "@reboot", "boundary", "shift", "skip", "first", "last", "both"} <= {
        word for text in re.findall(r"`([^`\n]+)`", page("time")) for word in re.findall(r"@?\w+", text)
    }


def test_the_command_line_is_written_down_as_it_is() -> None:
    """Every command, option and help text: tools/write_cli_reference.py writes the page anew."""
    assert write_cli_reference.replaced(page("cli"), write_cli_reference.reference()) == page("cli")
    assert all(f"### puntual {name}\n" in page("cli") for name in COMMANDS)


def test_every_route_stands_there_with_its_scope() -> None:
    """And none that does not exist."""
    app = puntual.App(Settings())
    described = make_api(app, LocalOperations(app)).openapi()["paths"]
    routes = {
        f"{method.upper()} {path.removeprefix('/api/v1').replace('{name:path}', '{name}')}": route["x-scope"]
        for path, methods in described.items()
        for method, route in methods.items()
    }
    table = {route: cells[1] for route, cells in rows("rest").items() if re.match(r"[A-Z]+ /", route)}
    assert table == routes


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("run", shapes.RunShape),
        ("attempt", AttemptShape),
        ("error of an attempt", ErrorShape),
        ("tick", shapes.TickShape),
        ("schedule", shapes.ScheduleShape),
        ("queue", shapes.QueueShape),
        ("worker", shapes.WorkerShape),
        ("token", shapes.TokenShape),
    ],
)
def test_every_key_of_an_answer_stands_there(what: str, kind: type) -> None:
    """And none that it does not have; a token's text is in the answer that made it."""
    (row,) = re.findall(rf"^\| {what} \| (`.+) \|$", page("rest"), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) - {"token"} == set(kind.__annotations__)


def test_the_run_shown_as_an_example_has_the_keys_of_a_run() -> None:
    """All of them, with its attempt."""
    run = json.loads(next(block.text for block in blocks("rest") if block.kind == "json"))
    assert set(run) == set(shapes.RunShape.__annotations__) - {"existing", "warnings"}
    assert set(run["attempts"][0]) == set(AttemptShape.__annotations__)


def test_every_error_stands_there_with_its_status() -> None:
    """The codes that the API, the command line and Python share."""
    table = rows("rest")
    for kind in subclasses(PuntualError):
        status = status_of(kind.__new__(kind)).value
        assert str(status) in table[kind.code][1], kind.code


def subclasses(kind: type[PuntualError]) -> Iterator[type[PuntualError]]:
    """The class, and all that come from it."""
    yield kind
    for each in kind.__subclasses__():
        yield from subclasses(each)


def test_every_event_of_the_logs_is_named() -> None:
    """What whoever watches them may look for; the bench has none."""
    event = re.compile(r"\blog\.(?:debug|info|warning|error|exception)\(\s*\"([\w.]+)\"")
    sources = (docs.ROOT / "src" / "puntual").rglob("*.py")
    events = {found for source in sources for found in event.findall(source.read_text(encoding="utf-8"))}
    assert len(events) > 10
    assert events - rows("operations").keys() == set()


@pytest.mark.parametrize(
    "kind",
    [puntual.App, puntual.Task, puntual.Run, puntual.RunHandle, Runs, Schedules, DeadLetters, ManualApp],
    ids=lambda kind: kind.__name__,
)
def test_every_public_method_is_named(kind: type) -> None:
    """What a user may call stands on the page of Python."""
    assert public(kind) - words("python") == set()


def test_every_public_name_and_option_of_python_is_named() -> None:
    """The names of the package, and the options of tasks and calls with their defaults."""
    assert set(puntual.__all__) <= words("python")
    options: Mapping[str, Any] = {**BatchKeywords.__annotations__, **CallKeywords.__annotations__}
    assert options.keys() <= rows("python").keys()
    task = puntual.App(Settings()).task(print)
    defaults = task.defaults
    table = {name: plain(cells[1]) for name, cells in rows("python").items() if len(cells) > 2}
    assert table["queue"] == defaults.queue
    assert table["max_attempts"] == str(defaults.policy.retry.max_attempts)
    assert table["priority"] == defaults.priority.name.lower()
    assert table["on_lost_lease"] == defaults.policy.on_lost_lease.value
    assert (table["backoff"], table["timeout"]) == ('exponential("5s", cap="1h")', "1h")
    assert (
        msgspec.structs.asdict(puntual.exponential("5s", cap="1h")).items()
        <= {**msgspec.structs.asdict(defaults.policy.retry)}.items()
    )
