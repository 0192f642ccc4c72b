"""The names that users type: each command with the options that it must have. What is added is kept as well."""

from __future__ import annotations

import click
import pytest

from puntual.cli.root import COMMANDS, root

FILTERS = "--limit --cursor --queue --schedule --task --tag --origin --since --until"
PROMISED = {
    "serve": "--app --apply --roles --host --port --processes",
    "worker": "--app --queues --concurrency --processes --once --older-than --max-runs --for",
    "worker list": "",
    "worker drain": "",
    "scheduler": "--app",
    "migrate": "--check",
    "doctor": "",
    "status": "--since",
    "next": "--timezone --after --count --dialect --lang --anchor --dst-gap --dst-fold --batch --calendar",
    "apply": "--dry-run --exit-code --prune --take --yes",
    "schedule add": (
        "--when --timezone --lang --anchor --url --method --header --json-body --task --args --command --set"
    ),
    "forecast": "--since --until",
    "schedule list": "--limit --cursor --tag",
    "schedule show": "",
    "schedule next": "",
    "schedule remove": "",
    "schedule trigger": "--args --wait",
    "schedule backfill": "--since --until --dry-run --overlap --queue --priority",
    "schedule pause": "--tag --all --for --until --reason",
    "schedule resume": "--tag --all",
    "calendar list": "",
    "calendar show": "--year",
    "calendar set": "--date --weekday --country --subdivision --ical --refresh --take",
    "calendar remove": "--yes",
    "ticks": "--fate --since --until --limit --cursor",
    "enqueue": "--queue --delay --at --priority --unique-key",
    "run list": f"--state {FILTERS}",
    "run show": "",
    "run watch": "",
    "run cancel": "",
    "run replay": "",
    "run edit": "--priority --at --queue",
    "dead list": FILTERS,
    "dead show": "",
    "dead replay": "--all --queue --schedule --task --tag --origin --since --until",
    "dead discard": "--all --queue --schedule --task --tag --origin --since --until",
    "queue list": "",
    "queue set": "",
    "queue pause": "",
    "queue resume": "",
    "token create": "--scope",
    "token list": "",
    "token revoke": "",
    "export": "",
    "import crontab": "--queue --timezone --system",
    "backup": "",
    "schema": "",
    "bench": "--database-url --runs --quick",
    "simulate": "--seeds --seed --nodes",
}


def find(words: str) -> click.Command:
    """The command that these words call."""
    command: click.Command | None = root
    for word in words.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(root), word)
    assert command is not None, words
    return command


@pytest.mark.parametrize("words", PROMISED)
def test_a_promised_command_has_its_options(words: str) -> None:
    """Scripts go on working: what was named once stays named."""
    options = {name for param in find(words).params for name in param.opts}
    assert set(PROMISED[words].split()) - options == set()


def test_every_command_is_promised() -> None:
    """What is added is added here too, so that it is kept."""
    assert {words.split()[0] for words in PROMISED} == set(COMMANDS)


def texts(command: click.Command, path: str) -> list[str]:
    """The help of a command and of all below it."""
    context = click.Context(command, info_name=path)
    found = [command.get_help(context)]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            found += texts(below, f"{path} {name}")
    return found


@pytest.mark.parametrize("word", ["explain", "incident", "429"])
def test_what_later_releases_bring_is_in_no_help(word: str) -> None:
    """Nothing is promised that is not there."""
    assert [text for text in texts(root, "puntual") if word in text] == []
