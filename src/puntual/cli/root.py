"""``puntual --help`` is quick: commands are listed from a table, and only the one that is asked for is imported."""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Any, Final, NamedTuple

import click

from puntual.cli.failure import answer_of, json_asked
from puntual.cli.options import JSON_FLAG
from puntual.cli.session import Session, colour


class Listed(NamedTuple):
    """A command as the table knows it: where it lives in ``puntual.cli``, and the first sentence of its help."""

    module: str
    name: str
    help: str


#: The sections of ``puntual --help`` in order. A test holds each sentence equal to the command's own.
SECTIONS: Final[dict[str, dict[str, Listed]]] = {
    "Run it": {
        "serve": Listed(
            "serve", "serve", "Serve the API, plan schedules and execute runs, in this process or in several."
        ),
        "worker": Listed("worker", "worker", "Claim and execute runs; or list and drain workers."),
        "scheduler": Listed(
            "scheduler", "scheduler", "Plan schedules and look after the database, without executing runs."
        ),
    },
    "Schedules": {
        "next": Listed("next", "next_command", "Show when a rule fires and how it is read; needs no database."),
        "apply": Listed("apply", "apply", "Create and change schedules and queues as manifests say."),
        "schedule": Listed("schedule", "schedule", "Add, show, pause, trigger, backfill and remove schedules."),
        "calendar": Listed("calendar", "calendar", "List, show, set and remove business calendars."),
        "ticks": Listed("ticks", "ticks", "List what became of each tick."),
        "forecast": Listed("forecast", "forecast", "Show how many runs are to come, and when it is crowded."),
        "export": Listed("export", "export", "Print the schedules as a manifest that apply takes back."),
        "schema": Listed("export", "schema", "Print the JSON Schema of manifests."),
        "import": Listed("import_", "import_group", "Print what other schedulers do as a manifest; changes nothing."),
    },
    "Runs": {
        "enqueue": Listed("enqueue", "enqueue", "Ask for one run of a task, now or later."),
        "run": Listed("run", "run", "List, show, watch, cancel, replay and edit runs."),
        "dead": Listed("dead", "dead", "List, replay and discard runs whose attempts are spent."),
        "queue": Listed("queue", "queue", "List, limit, pause and resume queues."),
    },
    "Look after it": {
        "status": Listed("status", "status", "Say how things stand; exits 0 only if all is well."),
        "doctor": Listed(
            "doctor", "doctor", "Check settings, database and surroundings; exits 1 if something is wrong."
        ),
        "migrate": Listed("migrate", "migrate", "Bring the database to this release."),
        "backup": Listed("backup", "backup", "Write a copy of the database while it is in use."),
        "token": Listed("token", "token", "Create, list and revoke API tokens."),
        "bench": Listed("bench", "bench", "Measure this machine, each figure beside its floor."),
        "simulate": Listed(
            "simulate",
            "simulate",
            "Break nodes, network, clocks and database by seeds, and hold the engine to its promises.",
        ),
    },
}
COMMANDS: Final[dict[str, Listed]] = {name: row for rows in SECTIONS.values() for name, row in rows.items()}


class Root(click.Group):
    """Finds commands by the table above."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All names, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command, imported now; None when there is none."""
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        command = getattr(importlib.import_module(f"puntual.cli.{row.module}"), row.name)
        if not isinstance(command, click.Command):
            raise TypeError(f"puntual.cli.{row.module}.{row.name} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Writes the sections without importing any command."""
        for title, rows in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, row.help) for name, row in rows.items()], col_max=12)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names.

        Raises:
            UsageError: there is none; the nearest one is named.
        """
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, COMMANDS, n=1)
            did_you_mean = f" Did you mean {near[0]}?" if near else ""
            ctx.fail(f"There is no command {name[:40]!r}.{did_you_mean}")
        return super().resolve_command(ctx, args)


def _show_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"puntual {version('puntual')}")
        ctx.exit()


_HELP = """A durable scheduler and task runner.

It works on the database of PUNTUAL_DATABASE_URL (sqlite:///puntual.db), or on the server of PUNTUAL_SERVER with
PUNTUAL_TOKEN. Every command takes --json.

\b
  puntual serve                          start everything on SQLite
  puntual next 'every 15 minutes'        when would that fire?
  puntual schedule add ping --when '*/5 * * * *' --url https://example.com/ping
"""

root = Root(
    name="puntual",
    help=_HELP,
    params=[
        JSON_FLAG,
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_version,
            help="Show the version.",
        ),
    ],
    callback=lambda: None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def run(argv: list[str]) -> int:
    """Runs one command line and returns its exit code; whatever goes wrong is said in one place."""
    session = Session(as_json=json_asked(argv))
    arguments: dict[str, Any] = {"prog_name": "puntual", "standalone_mode": False, "obj": session, "color": colour()}
    try:
        return answer_of(lambda: root.main(argv or ["--help"], **arguments), session)
    finally:
        session.give_stdout_back()


def _mend_streams() -> None:
    """Standard streams that were closed: files of ours must not take their place, and an answer must not be lost.

    Writing to such an output fails, as it does to a full disk; what goes to a closed standard error is for nobody.
    """
    for number, name, way in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            # The lowest number that is free is this one.
            os.open(os.devnull, way)
            setattr(sys, name, io.TextIOWrapper(io.FileIO(number, "r" if number == 0 else "w"), encoding="utf-8"))


def main() -> None:
    """The program ``puntual``."""
    _mend_streams()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))
