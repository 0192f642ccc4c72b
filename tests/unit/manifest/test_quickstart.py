from __future__ import annotations

import http.client
import importlib.util
import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from puntual.manifest import Manifest, ManifestContext, TargetChecks, gather_texts, read_manifests
from puntual.model.instant import SECOND
from puntual.settings import Settings, load_settings
from puntual.targets.command import check_command
from puntual.targets.http import check_http
from puntual.timing import rule as rules
from tests.support.manifest import NOW, registered

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def settings() -> Settings:
    """The settings of the quickstart."""
    return load_settings({}, config_path=str(EXAMPLES / "quickstart.toml"))


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The quickstart's program, with its echo service on a free port."""
    address = (
        (EXAMPLES / "quickstart_app.py").read_text().partition('ECHO_ADDRESS = ("127.0.0.1", ')[2].partition(")")[0]
    )
    assert int(address) > 1024
    spec = importlib.util.spec_from_file_location("quickstart_app", EXAMPLES / "quickstart_app.py")
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    started: list[ThreadingHTTPServer] = []

    class OnAFreePort(ThreadingHTTPServer):
        def __init__(self, address: tuple[str, int], handler: type) -> None:
            super().__init__((address[0], 0), handler)
            started.append(self)

    monkeypatch.setattr("http.server.ThreadingHTTPServer", OnAFreePort)
    spec.loader.exec_module(program)
    yield program
    for server in started:
        server.shutdown()
        server.server_close()


def count_words(text: str) -> int:
    """As the program has it."""
    return len(text.split())


def manifest() -> Manifest:
    """The quickstart's manifest as `serve` reads it."""

    def check(args: object, *, field: str) -> str:
        return check_http(args, field=field, guard=settings().allow_private_addresses)

    checks = TargetChecks(http=check, command=check_command, tasks=registered(count_words))
    (found,) = read_manifests(gather_texts([EXAMPLES / "quickstart.yaml"]), ManifestContext(now=NOW, checks=checks))
    return found


def test_the_quickstart_is_one_schedule_of_each_kind_within_ten_seconds() -> None:
    """The first thing that a newcomer sees fires while they watch, and warns about nothing."""
    found = manifest()
    assert found.owner == "quickstart"
    assert [item.spec.target.task for item in found.schedules] == ["command", "http", "count_words"]
    for item in found.schedules:
        timetable = msgspec.json.decode(item.spec.timetable, type=rules.Timetable)
        tick = rules.compile(timetable).next(NOW)
        assert tick is not None
        assert tick - NOW <= 10 * SECOND
        assert item.spec.warnings == ()


def test_the_quickstarts_settings_allow_its_program_and_its_address_and_nothing_else() -> None:
    """A newcomer who copies them opens no more than they see."""
    command, request, _ = manifest().schedules
    found = settings()
    assert found.allow_commands == (json.loads(command.spec.target.args)["argv"][0],)
    assert [str(network) for network in found.allow_private_addresses] == ["127.0.0.1/32"]
    assert json.loads(request.spec.target.args)["url"].startswith("http://127.0.0.1:")
    assert found.app == "examples.quickstart_app:app"


def test_the_program_has_the_task_and_the_service_that_the_manifest_names(module: ModuleType) -> None:
    """The three files of the quickstart agree, and the service answers with what it was sent."""
    assert module.count_words.name in {item.spec.target.task for item in manifest().schedules}
    target = manifest().schedules[1].spec.target
    assert json.loads(target.args)["url"] == "http://{}:{}/echo".format(*module.ECHO_ADDRESS)
    host, port = module.echo.server_address
    connection = http.client.HTTPConnection(host, port, timeout=5)
    with closing(connection):
        connection.request("POST", "/echo", b'{"a":1}', {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b'{"a":1}')
        assert answer.headers["Content-Type"] == "application/json"


def test_a_port_that_is_taken_stops_nothing(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier quickstart, still running, answers as well."""
    before = threading.active_count()

    def taken(*_: object) -> None:
        raise OSError(98, "Address already in use")

    monkeypatch.setattr(module, "ThreadingHTTPServer", taken)
    assert module.start_echo() is None
    assert threading.active_count() == before
