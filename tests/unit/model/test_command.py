from __future__ import annotations

import pytest

from puntual.model.command import check_command, read_command
from puntual.model.errors import InvalidPayloadError


def test_an_argument_vector_is_the_short_form() -> None:
    """A list is ``argv``; what has its default is left out."""
    assert check_command(["/usr/bin/backup", "--all"]) == '{"argv":["/usr/bin/backup","--all"]}'
    assert check_command({"shell": "a | b", "env": {}}) == '{"shell":"a | b"}'


def test_everything_written_comes_back() -> None:
    """The stored text is the command."""
    written = {"argv": ["x"], "cwd": "d", "env": {"A": "1"}, "args": {"day": 1}, "success_codes": [0, 3]}
    command = read_command(check_command(written))
    assert (command.argv, command.cwd, command.env, command.args) == (("x",), "d", {"A": "1"}, {"day": 1})
    assert command.success_codes == (0, 3)


@pytest.mark.parametrize(
    ("written", "field", "says"),
    [
        ({}, "command", "must have either argv"),
        ({"argv": ["x"], "shell": "x"}, "command", "must have either argv"),
        ([], "command.argv", "is empty: its first item is the program"),
        ([""], "command.argv", "is empty"),
        ({"shell": "  "}, "command.shell", "is empty"),
        (["sleep", 5], "command.argv[1]", "expected `str`, got `int`"),
        ({"argv": "ls -l"}, "command.argv", "expected `array"),
        ({"argv": ["x"], "env": {"A=B": "1"}}, "command.env", "no environment can have"),
        ({"argv": ["x"], "env": {"A": 1}}, "command.env[...]", "expected `str`"),
        ({"argv": ["x"], "stdin": "a", "args": {"b": 1}}, "command.stdin", "give one"),
        ({"argv": ["x"], "success_codes": []}, "command.success_codes", "is empty"),
        ({"argv": ["x"], "success_codes": [256]}, "command.success_codes", "0 to 255"),
        ({"argv": ["x"], "timeout": "5s"}, "command.timeout", "has no key 'timeout': it takes argv, shell"),
        ({"argv": ["x"], "sucess_codes": [0]}, "command.sucess_codes", "did you mean 'success_codes'?"),
        ("ls", "command", "expected `object`"),
        (["x\0"], "command.argv[0]", "NUL"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused(written: object, field: str, says: str) -> None:
    """Where it is written, with the key and what would be right."""
    with pytest.raises(InvalidPayloadError) as caught:
        check_command(written)
    assert caught.value.field == field
    assert says in caught.value.message


def test_the_field_is_the_callers() -> None:
    """A manifest names the schedule."""
    with pytest.raises(InvalidPayloadError) as caught:
        check_command([], field="schedules.nightly.command")
    assert caught.value.field == "schedules.nightly.command.argv"
