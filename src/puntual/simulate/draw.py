"""Draws scenarios, and what users ask for in them, from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final

import msgspec

from puntual.model.instant import SECOND
from puntual.model.policy import Backoff, OnLostLease, RetryPolicy, RunPolicy
from puntual.model.run import COMMAND_TASK, Priority
from puntual.model.schedule import MisfirePolicy, Overlap, ScheduleSpec, Target
from puntual.simulate.clocks import START
from puntual.simulate.handlers import TASKS
from puntual.simulate.scenario import Act, Blow, Hit, Machine, Scenario, Strike, Verb
from puntual.timing.rule import AnyRule, Blackout, Closures, CronRule, IntervalRule, OnceRule, Timetable

QUEUES: Final = ("default", "side")
#: How long strikes and acts go on, seconds.
_SECONDS: Final = 600.0
_NODES: Final = 3
_WEIGHTS: Final = {
    "quick": 8,
    "slow": 3,
    "flaky": 4,
    "chained": 3,
    "batched": 2,
    "hanging": 1,
    "deaf": 1,
    "blocking": 0.7,
    "deadly": 0.7,
    "poison": 0.2,
    COMMAND_TASK: 1,
}
#: Tasks that keep no slot for long, and may be wanted each second.
_LIGHT: Final = ("quick", "flaky", "chained")
#: Hits that matter when they last for longer than a lease, drawn more often than others.
_LONG: Final = (Hit.FREEZE_BEFORE, Hit.FREEZE_AFTER, Hit.LATE, Hit.CUT_AFTER)
_ROLES: Final = (("scheduler", "worker"), ("worker",), ("scheduler",))
#: Seconds between ticks. Those below the planner's horizon keep everybody busy for the whole seed: few do for many.
_PERIODS: Final = {1: 1, 2: 2, 3: 3, 7: 6, 10: 6, 20: 8, 45: 4, 60: 4}
_LONG_PERIODS: Final = {20: 2, 45: 1, 60: 1}
_USUAL: Final = ("claim", "settle", "plan", "beat")
_OPERATIONS: Final = ("rescue", "hold_upkeep", "register_worker", "end_worker", "resign_upkeep", "list_runs", "prune")
_USUALLY_ASKED: Final = ("enqueue", "change_schedules")
_ASKED: Final = ("cancel", "replay", "discard", "put_queue", "pause_all", "edit_runs", "drain_worker", "list_schedules")
#: What each write on which a promise rests must meet, among some hundred seeds: it is drawn beside all else.
AT_COMMIT: Final = (
    *(
        (kind, write)
        for kind in (Hit.CRASH_BEFORE, Hit.CRASH_AFTER, Hit.ANSWER_LOST)
        for write in (*_USUAL, "rescue", "hold_upkeep", "register_worker")
    ),
    *((Hit.ANSWER_LOST, write) for write in _USUALLY_ASKED),
)
#: Blows that show a break only where much comes together, drawn more often than others.
_RARELY_TELLING: Final = (Blow.FAIL_OVER, Blow.FAIL_OVER, Blow.HUNG, Blow.HUNG)
#: What can hang while all else goes on: the duties of the upkeep more often than others.
_HUNG: Final = (*_USUAL, "rescue", "rescue", "rescue", "hold_upkeep", "prune")
#: What can strike a request of a user's, who neither crashes nor freezes.
_ASKED_HITS: Final = (Hit.REQUEST_LOST, Hit.ANSWER_LOST, Hit.LATE, Hit.UNAVAILABLE, Hit.BUSY, Hit.FULL)
_SOONEST: Final = 10.0
#: The share of rules with a blackout.
_CLOSED: Final = 0.15


def scenario(seed: int, *, nodes: int = _NODES) -> Scenario:
    """All that a seed says."""
    random = Random(f"{seed}:scenario")  # noqa: S311 - a simulation has to be repeatable
    machines = tuple(_machine(random, place) for place in range(nodes))
    return Scenario(
        seed=seed,
        seconds=_SECONDS,
        lease=random.choices((6.0, 10.0, 15.0), (1, 2, 2))[0],
        latency=random.choice((0.001, 0.005, 0.02)),
        machines=machines,
        database_rate=random.uniform(0.9999, 1.0001),
        schedules=tuple(schedule(random, f"s{number}") for number in range(random.randint(1, 3))),
        policies={name: _policy(random, name) for name in TASKS},
        acts=tuple(_acts(random)),
        hints=random.random() < 0.85,
        strikes=tuple(sorted(_strikes(random, machines), key=lambda strike: strike.at)),
    )


def _machine(random: Random, place: int) -> Machine:
    roles = ("scheduler", "worker") if place == 0 else random.choice(_ROLES)
    since, until = (0.0, float("inf")) if not place or random.random() < 0.35 else _shift(random)
    return Machine(
        since=since,
        until=until,
        queues=("side",) if place and random.random() < 0.15 else None,
        tasks=tuple(random.sample(TASKS, len(TASKS) // 2)) if place and random.random() < 0.15 else None,
        roles=roles,
        concurrency=random.choice((1, 3, 8, 20)),
        rate=random.uniform(0.9999, 1.0001),
        offset_us=random.randrange(-5 * SECOND, 5 * SECOND),
    )


def _shift(random: Random) -> tuple[float, float]:
    """From when to when a machine belongs to the fleet that grows and shrinks."""
    since = random.uniform(0, _SECONDS / 2)
    return since, since + random.uniform(_SECONDS / 8, _SECONDS / 2)


def task(random: Random) -> str:
    """One task, the harmless ones more often."""
    return random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]


def _policy(random: Random, name: str) -> RunPolicy:
    attempts = random.choice((1, 2, 3, 5))
    retry = RetryPolicy(
        max_attempts=1 if name == COMMAND_TASK else attempts,
        backoff=random.choice(tuple(Backoff)),
        delay_us=random.randrange(SECOND // 10, 3 * SECOND),
        max_delay_us=8 * SECOND,
        jitter=random.random() < 0.7,
        not_on=("Hopeless",) if random.random() < 0.3 else (),
    )
    timeout = random.choice((3, 8, 20)) * SECOND
    lost = OnLostLease.CANCEL if random.random() < 0.3 else OnLostLease.RUN_ON
    return RunPolicy(retry=retry, timeout_us=timeout, on_lost_lease=lost)


def schedule(random: Random, name: str) -> ScheduleSpec:
    """A schedule of any policy, mostly of a few seconds, often shorter than the horizon."""
    work = task(random)
    policy = _policy(random, work)
    timetable = _timetable(random, _PERIODS if work in _LIGHT else _LONG_PERIODS)
    return ScheduleSpec(
        name=name,
        timetable=msgspec.json.encode(timetable).decode(),
        source={},
        target=Target(work),
        overlap=random.choice(tuple(Overlap)),
        misfire_policy=random.choice(tuple(MisfirePolicy)),
        misfire_grace_us=random.choice((None, None, 10 * SECOND, 60 * SECOND)),
        retry=policy.retry,
        timeout_us=policy.timeout_us,
        on_lost_lease=policy.on_lost_lease,
        spread_us=random.choice((0, 0, 0, 3 * SECOND)),
        jitter_us=random.choice((0, 0, 0, 2 * SECOND)),
        queue=random.choice(QUEUES),
        priority=random.choice(tuple(Priority)),
        unique_key="only" if random.random() < 0.1 else None,
    )


def changed(random: Random, spec: ScheduleSpec) -> ScheduleSpec:
    """The same schedule, edited: another rule, another policy, or something that no tick depends on."""
    other = schedule(random, spec.name)
    edits: tuple[Callable[[], ScheduleSpec], ...] = (
        lambda: msgspec.structs.replace(spec, timetable=other.timetable),
        lambda: msgspec.structs.replace(spec, overlap=other.overlap, misfire_policy=other.misfire_policy),
        lambda: msgspec.structs.replace(spec, priority=other.priority, queue=other.queue),
        lambda: other,
    )
    return random.choice(edits)()


def _timetable(random: Random, periods: Mapping[int, int]) -> Timetable:
    draw = random.random()
    if draw < 0.65:
        period = random.choices(list(periods), list(periods.values()))[0] * SECOND
        rule: IntervalRule | CronRule | OnceRule | AnyRule = IntervalRule(period_us=period, anchor=START)
    elif draw < 0.85:
        rule = CronRule(expr=random.choice(("* * * * *", "*/2 * * * *")), dialect="unix")
    elif draw < 0.92:
        rule = OnceRule(instant=START + random.randrange(600) * SECOND)
    else:
        rule = AnyRule(
            rules=(
                IntervalRule(period_us=20 * SECOND, anchor=START),
                IntervalRule(period_us=30 * SECOND, anchor=START + 5 * SECOND),
            )
        )
    return Timetable(rule=rule, closures=_closures(random) if random.random() < _CLOSED else None)


def _closures(random: Random) -> Closures:
    """A blackout that comes again and again, as no calendar does in ten minutes."""
    period = random.choice((30, 60, 90)) * SECOND
    # On whole seconds, as ticks are: so that one may meet its very end.
    begins = IntervalRule(period_us=period, anchor=START + random.randrange(0, period, SECOND))
    return Closures(blackouts=(Blackout(rule=begins, for_us=random.randrange(5, 25) * SECOND),))


def _acts(random: Random) -> list[Act]:
    verbs = {
        Verb.ENQUEUE: 22.0,
        Verb.CANCEL: 5.0,
        Verb.REPLAY: 4.0,
        Verb.CHANGE: 6.0,
        Verb.TRIGGER: 4.0,
        Verb.PAUSE_ALL: 0.5,
    }
    weights = [verbs.get(verb, 1.5) for verb in Verb]
    times = sorted(random.uniform(1, _SECONDS) for _ in range(random.randint(44, 79)))
    return [Act(at=at, verb=random.choices(tuple(Verb), weights)[0], number=number) for number, at in enumerate(times)]


def _strikes(random: Random, machines: Sequence[Machine]) -> list[Strike]:
    """Ten and more; no kind of them is left out for long. Whom each is to meet is there then, unless it is down."""
    found = []
    for _ in range(random.randint(14, 26)):
        at = random.uniform(_SOONEST, _SECONDS)
        slots = [slot for slot, machine in enumerate(machines) if machine.since <= at < machine.until]
        if random.random() < 0.55:
            found.append(_hit(random, at, slots))
        else:
            found.append(_blow(random, at, slots))
    return [*found, *(_at_commit(random, len(machines)) for _ in range(3))]


def _at_commit(random: Random, nodes: int) -> Strike:
    kind, operation = random.choice(AT_COMMIT)
    slot = -1 if operation in _USUALLY_ASKED else random.randrange(nodes)
    return Strike(at=random.uniform(_SOONEST, _SECONDS), kind=kind, slot=slot, operation=operation)


def _hit(random: Random, at: float, slots: Sequence[int]) -> Strike:
    slot = random.choice((-1, *slots))
    kinds = (*Hit, *_LONG) if slot >= 0 else _ASKED_HITS
    kind = random.choice(kinds)
    usual, others = (_USUAL, _OPERATIONS) if slot >= 0 else (_USUALLY_ASKED, _ASKED)
    return Strike(
        at=at,
        kind=kind,
        slot=slot,
        operation=random.choice(usual if random.random() < 0.5 else others),
        seconds=random.choice((12.0, 20.0, 40.0) if kind in _LONG else (0.5, 3.0, 12.0, 40.0)),
    )


def _blow(random: Random, at: float, slots: Sequence[int]) -> Strike:
    kind = random.choice((*Blow, *_RARELY_TELLING))
    operation = ""
    if kind in (Blow.NODE_CLOCK, Blow.DATABASE_CLOCK):
        seconds = random.choice((-30.0, -2.0, 2.0, 30.0, 600.0))
    elif kind is Blow.HUNG:
        operation, seconds = random.choice(_HUNG), random.choice((12.0, 40.0, 120.0, 120.0))
    else:
        seconds = random.choice((0.3, 3.0, 12.0, 40.0))
    return Strike(at=at, kind=kind, slot=random.choice(slots), operation=operation, seconds=seconds)
