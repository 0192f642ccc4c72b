"""Every example of the reference does what its page says: commands run, files are read, programs run and are typed."""

from __future__ import annotations

import asyncio
import configparser
import json
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from mypy import api
from starlette.routing import Router

from puntual import App
from puntual.manifest import Text, declared_calendars, open_texts, read_manifest
from puntual.settings import Settings, load_settings
from puntual.timing.calendar import CalendarDays
from tests.docs.blocks import ADDRESS, PAGES, Block, Reader, all_blocks, assert_printed, blocks, page
from tests.support.databases import database, server

#: Commands of the table of answers, with arguments that do once the manifest of the page on schedules is applied.
ANSWERS = {
    "apply": "jobs.yaml",
    "next": "@daily",
    "schedule next": "yearly-report",
    "schedule remove": "yearly-report",
    "export": "",
    "status": "",
    "doctor": "",
    "migrate": "--check",
    "backup": "copy.db",
    "worker --once": "",
    "simulate": "--seeds 1",
}
DATABASE = "PUNTUAL_DATABASE_URL"
KINDS = {"sh", "console", "text", "python", "yaml", "toml", "json", "ini"}


@pytest.fixture(scope="session")
def _server() -> None:
    """The server outlives every test here, so it is there before the first one is watched for leaks."""
    server()


@pytest.fixture
def postgres(_server: None) -> Iterator[str]:
    """The URL of a PostgreSQL database with our schema."""
    with asyncio.Runner() as runner:
        context = database()
        yield runner.run(context.__aenter__())
        runner.run(context.__aexit__(None, None, None))


def place(block: Block) -> str:
    """Its place, as the name of a test."""
    return block.place


@pytest.mark.parametrize("name", PAGES)
def test_every_example_has_a_language_that_is_checked(name: str) -> None:
    """A fence without a language, or of one that nobody looks at, is no example."""
    assert {block.kind for block in blocks(name)} <= KINDS
    assert page(name).count("```") % 2 == 0


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", PAGES)
def test_a_reader_gets_through_the_page(name: str, tmp_path: Path) -> None:
    """In an empty folder every command works, in order, and prints what the page shows."""
    reader = Reader(tmp_path)
    with reader.server:
        for block in blocks(name):
            reader.do(block)
        if reader.address != ADDRESS:
            assert reader.server.stop() == 0


@pytest.mark.timeout(180)
def test_commands_answer_with_the_keys_that_the_page_shows(tmp_path: Path) -> None:
    """Each command in its table of answers in braces, as long as it ends by itself on an empty machine."""
    reader = Reader(tmp_path)
    (manifest,) = [block.text for block in blocks("schedules") if block.file == "jobs.yaml"]
    (tmp_path / "jobs.yaml").write_text(manifest, encoding="utf-8")
    shown = dict(re.findall(r"^\| `([\w -]+)` \| `{([\w, ]+)}`", page("cli"), re.MULTILINE))
    for command, rest in ANSWERS.items():
        document = json.loads(reader.run("bash", "-c", f"puntual --json {command} {rest} || test $? = 1"))
        assert list(document) == shown.pop(command).split(", "), command
    assert set(shown) == {"token revoke", "worker drain", "serve", "bench"}


@pytest.mark.timeout(180)
def test_every_program_runs(tmp_path: Path, postgres: str) -> None:
    """Each is saved under the name in its first line; those that are tests are run as tests."""
    programs = all_blocks("python")
    reader = Reader(tmp_path)
    for program in programs:
        assert program.file is not None, program.place
        reader.do(program)
    for program in programs:
        name = str(program.file)
        how = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if name.startswith("test_") else []
        # Those that name the variable are for PostgreSQL; all others are to run with nothing set.
        settings = {DATABASE: postgres} if DATABASE in program.text else {}
        reader.environment |= settings
        reader.run(sys.executable, *how, name)
        for variable in settings:
            del reader.environment[variable]


async def test_the_web_application_asks_for_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lifespan opens and closes the app, and its route enqueues meanwhile."""
    monkeypatch.chdir(tmp_path)
    (program,) = [block for block in all_blocks("python") if block.file == "web.py"]
    (tmp_path / "web.py").write_text(program.text, encoding="utf-8")
    names = runpy.run_path("web.py", run_name="web")
    router: Router = names["api"].router
    async with router.lifespan_context(names["api"]):
        asked = await names["add_user"]("ana")
        assert (await names["jobs"].runs.get(asked["run"])).task == "web.welcome"


@pytest.mark.timeout(300)
def test_a_strict_type_checker_accepts_every_program(tmp_path: Path) -> None:
    """Users may copy them into a typed program."""
    files = []
    for program in all_blocks("python"):
        file = tmp_path / str(program.file)
        file.write_text(program.text, encoding="utf-8")
        files.append(str(file))
    said, problems, code = api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), "--config-file=", *files])
    assert (problems, code) == ("", 0), said


@pytest.mark.parametrize("block", all_blocks("yaml"), ids=place)
def test_every_manifest_can_be_read(block: Block) -> None:
    """With the checks of a real app, and the calendars that it defines itself."""
    context = App(Settings(allow_commands=True)).context()
    defined = declared_calendars(open_texts([Text(block.text, block.place)]), context)
    known = {name: CalendarDays(name=name, version=0) for name in defined}
    context = msgspec.structs.replace(context, calendars=known)
    assert read_manifest(block.text, source=block.place, context=context).schedules


@pytest.mark.parametrize("block", all_blocks("json"), ids=place)
def test_every_json_document_can_be_read(block: Block) -> None:
    """It is JSON."""
    assert json.loads(block.text)


@pytest.mark.parametrize("block", all_blocks("toml"), ids=place)
def test_every_file_of_settings_can_be_read(block: Block, tmp_path: Path) -> None:
    """Each of its settings exists and has a value that fits."""
    file = tmp_path / "puntual.toml"
    file.write_text(block.text, encoding="utf-8")
    settings = load_settings({}, config_path=str(file))
    assert {name.lower() for name in settings.sources} == set(tomllib.loads(block.text))
    assert not settings.warnings


@pytest.mark.parametrize("block", all_blocks("ini"), ids=place)
def test_the_unit_of_systemd_starts_the_server(block: Block) -> None:
    """It is in that format, waits longer than we do, and names a command that exists."""
    unit = configparser.ConfigParser(delimiters=["="])
    unit.optionxform = str  # type: ignore[assignment, method-assign]  # as the documentation of configparser has it
    unit.read_string(block.text)
    assert unit["Service"]["ExecStart"].endswith("puntual serve")
    assert int(unit["Service"]["TimeoutStopSec"]) > Settings().shutdown_grace_us / 1_000_000


def test_a_page_that_shows_another_output_is_found(tmp_path: Path) -> None:
    """The check bites: another line and another time both fail."""
    reader = Reader(tmp_path)
    command = "puntual next @daily --timezone UTC --after 2026-03-28T12:00:00Z --count 1"
    good = "At 00:00 every day (UTC)\n  2026-03-29T00:00:00Z\n"
    reader.do(Block("sh", command, "here", good))
    said = reader.run("bash", "-c", command)
    for wrong in (good.replace("every day", "today"), good.replace("29T", "30T"), good + good):
        with pytest.raises(AssertionError, match="here"):
            assert_printed(said, Block("sh", command, "here", wrong))


def test_what_stands_in_for_curl_takes_only_what_it_knows(tmp_path: Path) -> None:
    """A page that uses another option would fail where there is no curl."""
    script = str(Path(__file__).with_name("curl.py"))
    done = subprocess.run(
        [sys.executable, script, "--location", "http://127.0.0.1:9/"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 2
