"""Puts every command with its help and options, as the program itself knows them, into docs/cli.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from puntual.cli.root import SECTIONS, root

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
BEGIN, END = "<!-- commands: begin -->", "<!-- commands: end -->"
#: Said once at the top of the page.
EVERYWHERE = frozenset({"--json"})


def reference() -> str:
    """A section for each part of ``puntual --help``, with every command in it."""
    parts = []
    with click.Context(root, info_name="puntual") as context:
        for title, rows in SECTIONS.items():
            parts.append(f"## {title}")
            for name in rows:
                command = root.get_command(context, name)
                assert command is not None
                parts += _command(command, f"puntual {name}", context)
    return "\n\n".join(parts)


def replaced(page: str, text: str) -> str:
    """The page with another reference between its marks."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def _command(command: click.Command, path: str, parent: click.Context) -> Iterator[str]:
    """Its heading, its help and its options; then the same of the commands in it."""
    with click.Context(command, info_name=path, parent=parent) as context:
        yield f"### {path}"
        arguments = " ".join(_argument(each) for each in command.params if isinstance(each, click.Argument))
        usage = f"`{path} {arguments}`: " if arguments.strip() else ""
        yield f"{usage}{(command.help or '').partition(chr(10))[0]}"
        if rows := [row for each in command.params if (row := _option(each, context))]:
            yield "\n".join(["| option | |", "|---|---|", *rows])
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from _command(inner, f"{path} {name}", context)


def _argument(argument: click.Argument) -> str:
    if argument.metavar is not None:
        return argument.metavar
    name = argument.human_readable_name
    return name if argument.required else f"[{name}]"


def _option(parameter: click.Parameter, context: click.Context) -> str | None:
    """One row; none for what is no option, is hidden, or stands at every command."""
    if not isinstance(parameter, click.Option) or EVERYWHERE.intersection(parameter.opts):
        return None
    record = parameter.get_help_record(context)
    if record is None:
        return None
    name, words = (text.replace("|", "\\|").replace("  ", " ") for text in record)
    return f"| `{name}` | {words} |"


def main() -> int:
    """Writes the page anew."""
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), reference()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
