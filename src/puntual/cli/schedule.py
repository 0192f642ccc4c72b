"""``puntual schedule``: add, look at, pause, trigger and remove schedules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from puntual.cli.backfill import backfill
from puntual.cli.options import OVERLAPS, Group, json_value, longest, paging, timeout, where
from puntual.cli.session import Session
from puntual.cli.waiting import pause_of_everything
from puntual.cli.words import clean, listed, plural

if TYPE_CHECKING:
    from rich.console import Console

    from puntual.operations.contract import Operations


@click.group(cls=Group)
def schedule() -> None:
    """Add, show, pause, trigger, backfill and remove schedules."""


@schedule.command()
@click.argument("name")
@click.argument("argv", nargs=-1, metavar="[-- ARGV...]")
@click.option("--when", metavar="RULE", help="A phrase such as 'every weekday at 9:30', five cron fields, or an @name.")
@click.option("--timezone", metavar="ZONE", help="The IANA zone of the rule's hours.")
@click.option("--lang", type=click.Choice(["en", "es"]), help="The language of a phrase [default: the one that fits].")
@click.option("--anchor", metavar="T", help="A date or a time from which an interval or a cycle counts.")
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
        hint = " A rule of several words is quoted: --when '*/5 * * * *'." if argv and said["when"] else ""
        raise click.UsageError(
            f"A program comes after --command -- and nowhere else.{hint}", click.get_current_context()
        )
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
    rule = {"timezone": reply["timezone"]}
    show_reading(
        session,
        {"description": sentence(reply, session), "warnings": reply.get("warnings"), "fires": fires, "rule": rule},
    )
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

    reply, paused = _with_pause(session, lambda operations: operations.list_schedules(where(given)))
    narrowed = any(given[name] for name in ("owner", "tag", "cursor"))
    session.give(reply, lambda console: show_schedules(session, console, reply, paused=paused, narrowed=narrowed))


@schedule.command()
@click.argument("name")
@click.pass_obj
def show(session: Session, /, name: str) -> None:
    """Show one schedule; what nobody chose is marked as a default."""
    from puntual.cli.schedule_page import show_schedule

    reply, paused = _with_pause(session, lambda operations: operations.get_schedule(name))
    session.give(reply, lambda console: show_schedule(session, console, reply, paused))


@schedule.command("next")
@click.argument("name")
@click.option("--count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many.")
@click.pass_obj
def next_ticks(session: Session, /, name: str, count: int) -> None:
    """Show when a schedule fires."""
    from puntual.cli.next import show_fires

    zone = ""

    async def work(operations: Operations) -> dict[str, Any]:
        nonlocal zone
        if not session.as_json:
            zone = (await operations.get_schedule(name))["timezone"]
        return await operations.next_ticks(name, count)

    reply, paused = _with_pause(session, work)

    def show_them(_console: Console) -> None:
        if paused:
            click.secho(paused, fg="yellow")
        session.warn(reply)
        show_fires(reply["fires"], zone, session.now)
        _show_skipped(reply.get("skipped", []))

    session.give(reply, show_them)


def _show_skipped(skipped: list[dict[str, Any]]) -> None:
    """Prints the ticks that something closes, a line for each stretch."""
    for each in skipped:
        ticks = f"{each['count']:,}" if "count" in each else f"at least {each['at_least']:,}"
        more = f" to {each['last_tick_at']} ({ticks} ticks)" if ticks != "1" else ""
        click.secho(f"  skipped: {each['tick_at']}{more}, {each['reason']}", dim=True)


def _with_pause(
    session: Session, work: Callable[[Operations], Awaitable[dict[str, Any]]]
) -> tuple[dict[str, Any], str]:
    """The reply, and for people the pause of everything in words."""

    async def both(operations: Operations) -> tuple[dict[str, Any], str]:
        return await work(operations), await pause_of_everything(session, operations)

    return session.work(both)


@schedule.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.pass_obj
def remove(session: Session, /, names: tuple[str, ...]) -> None:
    """Remove schedules; their runs in flight go on."""
    wanted = list(dict.fromkeys(names))

    async def work(operations: Operations) -> list[dict[str, Any]]:
        # First, so that a name that is wrong leaves all of them as they are.
        for name in wanted if len(wanted) > 1 else ():
            await operations.get_schedule(name)
        return [await operations.remove_schedule(name) for name in wanted]

    replies = session.work(work)
    lines = [f"{clean(reply['removed'])} is removed.{_past_recall(reply)}" for reply in replies]
    document = replies[0] if len(replies) == 1 else {"items": replies}
    session.give(document, lambda console: console.print("\n".join(lines)))


@schedule.command()
@click.argument("name")
@click.option("--args", metavar="JSON", help="Other arguments, a JSON object.")
@click.option("--overlap", type=click.Choice(OVERLAPS), help="What to do while a run of it is live.")
@click.option("--wait", is_flag=True, help="Wait until the run has ended; exit 1 if it did not succeed.")
@timeout
@click.pass_obj
def trigger(session: Session, /, name: str, **said: Any) -> int | None:  # noqa: ANN401 - texts and a flag
    """Start one run by hand, now."""
    from puntual.cli.watch import watch_to_end

    patience = longest(said["timeout"])
    if patience is not None and not said["wait"]:
        raise click.UsageError("--timeout needs --wait.", click.get_current_context())
    body = where({"args": json_value(said["args"], "--args"), "overlap": said["overlap"]})
    reply = session.work(lambda operations: operations.trigger_schedule(name, body))
    if said["wait"]:
        session.warn(reply)
        return watch_to_end(session, reply["id"], patience)

    def show_it(console: Console) -> None:
        run_id = clean(reply["id"])
        console.print(f"Run {run_id} of {clean(name)} is {reply['state']}. Watch it: puntual run watch {run_id}")
        session.warn(reply)

    session.give(reply, show_it)
    return None


schedule.add_command(backfill)


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
    reply, paused = _with_pause(session, lambda operations: operations.resume_schedules(select))

    def show_it(console: Console) -> None:
        console.print(f"Resumed: {_what(reply, select)}.")
        if paused:
            click.secho(paused, fg="yellow")

    session.give(reply, show_it)


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
