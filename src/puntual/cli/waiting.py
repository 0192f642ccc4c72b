"""Why a run has not started: the first reason that holds, with the way out of it; and the pause of everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from puntual.cli.words import clean, spell, when
from puntual.model.instant import SECOND, format_instant, parse_instant

if TYPE_CHECKING:
    from puntual.cli.session import Session
    from puntual.operations.contract import Operations

Item = dict[str, Any]


async def why_not_started(operations: Operations, run: Item) -> str:
    """What a pending run waits for, as the end of a sentence."""
    standing = await operations.status()
    now = parse_instant(standing["now"])
    due = parse_instant(run.get("next_try_at") or run["due_at"])
    if due > now:
        return f"it is due in {spell(due - now)}"
    if paused := everything_paused(standing.get("paused") or {}, now):
        return f"{paused[0].lower()}{paused[1:].rstrip('.')}"
    lane: Item = next((item for item in standing.get("queues") or [] if item["name"] == run["queue"]), {})
    return _of_lane(lane, run["queue"]) or _of_workers((await operations.list_workers())["items"], run["queue"])


def _of_lane(lane: Item, queue: str) -> str:
    name = clean(queue, 60)
    if lane.get("paused"):
        return f"its queue {name} is paused (puntual queue resume {name} ends that)"
    limit = lane.get("concurrency")
    if limit is not None and lane.get("running", 0) >= limit:
        return f"its queue {name} runs at most {limit:,} at once"
    return ""


def _of_workers(alive: Sequence[Item], queue: str) -> str:
    workers = [item for item in alive if "worker" in item.get("roles", ()) and not item.get("draining")]
    if not workers:
        return "no worker is alive (puntual serve or puntual worker starts one)"
    if not any(not item.get("queues") or queue in item["queues"] for item in workers):
        name = clean(queue, 60)
        return f"no worker that is alive takes its queue {name} (puntual worker --queues {name} starts one)"
    return "the workers have not come to it yet"


def everything_paused(paused: Item, now: int) -> str:
    """The pause of everything as a sentence with the way out; empty when there is none."""
    if not paused.get("paused"):
        return ""
    since = f" since {_second(paused['since'])} ({when(paused['since'], now)})" if paused.get("since") else ""
    until = f", until {_second(paused['until'])} ({when(paused['until'], now)})" if paused.get("until") else ""
    reason = f", because: {clean(paused['reason'], 200)}" if paused.get("reason") else ""
    return f"Everything is paused{since}{until}{reason} (puntual schedule resume --all ends it)."


async def pause_of_everything(session: Session, operations: Operations) -> str:
    """The same, asked for; programs that read JSON ask `status` themselves."""
    if session.as_json:
        return ""
    return everything_paused((await operations.status()).get("paused") or {}, session.now)


def _second(instant: str) -> str:
    """A pause is told by the second."""
    exact = parse_instant(instant)
    return format_instant(exact - exact % SECOND)
