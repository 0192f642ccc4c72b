"""Tests of `puntual.cli.root`: the help and how commands are found."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from puntual.cli.options import JSON_FLAG
from puntual.cli.root import COMMANDS, root, run


def every_command() -> list[tuple[str, click.Command]]:
    """All commands, with those of groups, by the words that call them."""
    found: list[tuple[str, click.Command]] = []
    context = click.Context(root)
    for name in COMMANDS:
        command = root.get_command(context, name)
        assert command is not None
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {inner}", command.commands[inner]) for inner in command.commands]
    return found


EVERY = every_command()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    """The help of the top level is written down, so it must be what each command says of itself."""
    command = root.get_command(click.Context(root), name)
    assert command is not None
    assert command.help == COMMANDS[name].help


@pytest.mark.parametrize(("words", "command"), EVERY, ids=[words for words, _ in EVERY])
def test_every_command_takes_json_and_has_help(
    words: str, command: click.Command, capsys: pytest.CaptureFixture[str]
) -> None:
    """No command is without `--json`, and none without a sentence that says what it does."""
    assert JSON_FLAG in command.params
    assert run([*words.split(), "--help"]) == 0
    out = capsys.readouterr().out
    assert "--json" in out
    assert command.help is not None
    assert command.help.endswith(".")


@pytest.mark.parametrize(("words", "command"), EVERY, ids=[words for words, _ in EVERY])
def test_every_option_says_what_it_is_for(words: str, command: click.Command) -> None:
    """An option that is shown has a help text."""
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    assert [option.name for option in options if not option.help] == []


def test_the_help_imports_neither_a_command_nor_what_it_needs() -> None:
    """The help stays quick because nothing heavy is loaded for it."""
    code = (
        "import sys; from puntual.cli.root import run; run(['--help']);"
        "print([name for name in ('asyncio', 'rich', 'structlog', 'aiohttp', 'puntual.app', 'puntual.cli.run')"
        " if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_without_words_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """`puntual` alone is a question."""
    assert run([]) == 0
    assert "Look after it:" in capsys.readouterr().out


def test_a_misspelt_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error is met with the word that was meant."""
    assert run(["sheduel"]) == 2
    assert "Did you mean schedule?" in capsys.readouterr().err


def test_a_group_without_its_command_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    """`puntual queue` says what can come after it."""
    assert run(["queue"]) == 2
    assert "list, set, pause, resume" in capsys.readouterr().err


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` answers with name and version."""
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("puntual ")


@pytest.mark.parametrize("word", ["login", "secret", "incident", "channel", "exec", "try"])
def test_what_does_not_exist_yet_is_not_there(word: str) -> None:
    """A command of a later release is neither listed nor taken."""
    assert word not in COMMANDS
    assert run([word]) == 2
