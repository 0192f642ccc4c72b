"""``puntual schedule``: add, look at, pause, trigger and remove schedules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from puntual.cli.options import OVERLAPS, Group, json_value, paging, where
from puntual.cli.session import Session
from puntual.cli.words import clean, listed, plural, when

if TYPE_CHECKING:
    from puntual.operations.contract import Operations


@click.group(cls=Group)
def schedule() -> None:
    """Add, show, pause, trigger and remove schedules."""


@schedule.command()
@click.argument("name")
@click.argument("argv", nargs=-1, metavar="[-- ARGV...]")
@click.option("--when", metavar="RULE", help="Five cron fields, an @name, or 'every 15 minutes'.")
@click.option("--timezone", metavar="ZONE", help="The IANA zone of the rule's hours.")
@click.option("--url", metavar="URL", help="Request this URL.")
@click.option("--method", metavar="M", help="With this method [default: GET].")
@click.option("--header", "headers", multiple=True, metavar="'K: V'", help="With this header (repeatable).")
@click.option("--json-body", metavar="JSON", help="With this JSON as its body.")
@click.option("--task", metavar="NAME", help="Execute this task.")
@click.option("--args", metavar="JSON", help="With these arguments, a JSON object.")
@click.option("--command", is_flag=True, help="Run the program that follows --.")
@click.option("--set", "sets", multiple=True, metavar="KEY.PATH=VALUE", help="Any key of a manifest (repeatable).")
@click.option("--take", is_flag=True, help="Replace a schedule of another owner too.")
@click.pass_obj
def add(session: Session, /, name: str, argv: tuple[str, ...], **said: object) -> None:
    """Create a schedule, or replace the one of that name."""
    if said.pop("command") != bool(argv):
        raise click.UsageError("A program comes after --command -- and nowhere else.", click.get_current_context())
    take = bool(said.pop("take"))
    body = _body(argv, said)

    async def work(operations: Operations) -> tuple[dict[str, Any], list[str]]:
        reply = await operations.put_schedule(name, body, take=take)
        return reply, (await operations.next_ticks(name, 5))["fires"]

    reply, fires = session.work(work, tasks=True, creates=True)
    session.give({**reply, "fires": fires}, lambda _console: _show_added(session, reply, fires))


def _body(argv: tuple[str, ...], said: Mapping[str, object]) -> dict[str, Any]:
    """The mapping that a manifest would hold."""
    import msgspec

    from puntual.manifest.flags import ScheduleFlags, mapping_of_flags

    return mapping_of_flags(msgspec.convert({**said, "command": argv}, ScheduleFlags))


def _show_added(session: Session, reply: dict[str, Any], fires: list[str]) -> None:
    from puntual.cli.next import show_reading
    from puntual.cli.rows import sentence, target

    click.secho(f"{clean(reply['name'])} does {clean(target(reply), 100)}", bold=True)
    show_reading({"description": sentence(reply), "warnings": reply["warnings"], "fires": fires}, session.now)
    if ahead := _past_recall(reply):
        click.echo(ahead.strip())


@schedule.command("list")
@click.option("--owner", metavar="NAME", help="Of this owner.")
@click.option("--tag", multiple=True, metavar="TAG", help="With this tag (repeatable).")
@paging
@click.pass_obj
def list_schedules(session: Session, /, **given: object) -> None:
    """List schedules by name."""
    from puntual.cli.rows import show_schedules

    reply = session.work(lambda operations: operations.list_schedules(where(given)))
    session.give(reply, lambda console: show_schedules(session, console, reply))


@schedule.command()
@click.argument("name")
@click.pass_obj
def show(session: Session, /, name: str) -> None:
    """Show one schedule; what nobody chose is marked as a default."""
    from puntual.cli.schedule_page import show_schedule

    reply = session.work(lambda operations: operations.get_schedule(name))
    session.give(reply, lambda console: show_schedule(session, console, reply))


@schedule.command("next")
@click.argument("name")
@click.option("--count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many.")
@click.pass_obj
def next_ticks(session: Session, /, name: str, count: int) -> None:
    """Show when a schedule fires."""
    reply = session.work(lambda operations: operations.next_ticks(name, count))

    def lines() -> str:
        fires = [f"{fire}  {when(fire, session.now)}" for fire in reply["fires"]]
        return "\n".join(fires) or "It does not fire again."

    session.give(reply, lambda console: console.print(lines()))


@schedule.command()
@click.argument("name")
@click.pass_obj
def remove(session: Session, /, name: str) -> None:
    """Remove a schedule; its runs in flight go on."""
    reply = session.work(lambda operations: operations.remove_schedule(name))
    session.give(reply, lambda console: console.print(f"{clean(name)} is removed.{_past_recall(reply)}"))


@schedule.command()
@click.argument("name")
@click.option("--args", metavar="JSON", help="Other arguments, a JSON object.")
@click.option("--overlap", type=click.Choice(OVERLAPS), help="What to do while a run of it is live.")
@click.option("--wait", is_flag=True, help="Wait until the run has ended; exit 1 if it did not succeed.")
@click.pass_obj
def trigger(session: Session, /, name: str, args: str | None, overlap: str | None, *, wait: bool) -> int | None:
    """Start one run by hand, now."""
    from puntual.cli.watch import watch_to_end

    body = where({"args": json_value(args, "--args"), "overlap": overlap})
    reply = session.work(lambda operations: operations.trigger_schedule(name, body))
    if wait:
        return watch_to_end(session, reply["id"])
    session.give(
        reply, lambda console: console.print(f"Run {clean(reply['id'])} of {clean(name)} is {reply['state']}.")
    )
    return None


@schedule.command()
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--tag", metavar="TAG", help="All with this tag.")
@click.option("--all", "everything", is_flag=True, help="Everything: nothing is planned or started.")
@click.option("--for", "span", metavar="D", help="For this long.")
@click.option("--until", metavar="T", help="Until this instant.")
@click.option("--reason", metavar="TEXT", help="Why, for whoever looks.")
@click.pass_obj
def pause(session: Session, /, names: tuple[str, ...], **said: Any) -> None:  # noqa: ANN401 - texts and a flag
    """Pause schedules until they are resumed, or for a while."""
    span, until = said["span"], said["until"]
    if span is not None:
        if until is not None:
            raise click.UsageError("Give --for or --until, not both.", click.get_current_context())
        from puntual.model.duration import parse_duration

        parse_duration(span, field="--for")
    select = _select(names, said["tag"], everything=said["everything"])
    reply = session.work(
        lambda operations: operations.pause_schedules(select, until=span or until, reason=said["reason"])
    )
    ending = f"for {clean(span)}" if span else f"until {clean(until)}" if until else "until resumed"
    session.give(reply, lambda console: console.print(f"Paused {ending}: {_what(reply, select)}.{_past_recall(reply)}"))


@schedule.command()
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--tag", metavar="TAG", help="All with this tag.")
@click.option("--all", "everything", is_flag=True, help="End the pause of everything.")
@click.pass_obj
def resume(session: Session, /, names: tuple[str, ...], tag: str | None, everything: bool) -> None:  # noqa: FBT001 - click's
    """Resume schedules: their next tick is the first one after now."""
    select = _select(names, tag, everything=everything)
    reply = session.work(lambda operations: operations.resume_schedules(select))
    session.give(reply, lambda console: console.print(f"Resumed: {_what(reply, select)}."))


def _select(names: tuple[str, ...], tag: str | None, *, everything: bool) -> dict[str, Any]:
    if bool(names) + (tag is not None) + everything != 1:
        raise click.UsageError("Say which: NAME..., --tag TAG or --all.", click.get_current_context())
    return {"names": list(names)} if names else {"tag": tag} if tag is not None else {"all": True}


def _what(reply: dict[str, Any], select: dict[str, Any]) -> str:
    if select.get("all"):
        return "everything"
    names = [item["name"] for item in reply["items"]]
    return listed(names, 10) if names else plural(0, "schedule")


def _past_recall(reply: dict[str, Any]) -> str:
    """What of a schedule goes on as it was planned, because a worker holds it already."""
    ahead = reply.get("claimed_ahead") or []
    return f" Held already by a worker, so it still runs: {listed(ahead, 10)}." if ahead else ""
