"""Every key of a manifest with its kind, default and meaning: the table that reader, export and JSON Schema go by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from puntual.manifest.closures import BLACKOUTS, CALENDARS, Blackouts, CalendarUse
from puntual.manifest.kinds import (
    Duration,
    Failure,
    Flag,
    Kind,
    Name,
    OneOrMore,
    Several,
    Text,
    Whole,
    plain_words,
    words_of,
)
from puntual.model.instant import DAY, MILLISECOND
from puntual.model.policy import Backoff, OnLostLease
from puntual.model.run import COMMAND_TASK, HTTP_TASK, Priority
from puntual.model.schedule import MisfirePolicy, Overlap
from puntual.timing.combine import MOST_NTH, MOST_TICKS
from puntual.timing.sift import MOST_EXCEPTIONS


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key.

    ``attribute`` is the field of the struct that keeps it. ``default`` is written as a user would write it, and
    ``default_of`` is what differs for a kind of target. ``shared`` keys may stand in ``defaults`` too.
    """

    name: str
    kind: Kind
    about: str
    attribute: str
    default: object = None
    default_of: Mapping[str, object] = msgspec.field(default_factory=dict)
    shared: bool = True

    def default_for(self, task: str | None) -> object:
        """The typed default for a kind of target."""
        default = self.default_of.get(task or "", self.default)
        return None if default is None else self.kind.read(default, self.name)


def _key(name: str, kind: Kind, about: str, default: object, attribute: str | None = None) -> Key:
    return Key(name=name, kind=kind, about=about, default=default, attribute=attribute or name)


def own_key(name: str, kind: Kind, about: str, default: object = None) -> Key:
    """A key that no default is handed down to."""
    return Key(name=name, kind=kind, about=about, default=default, attribute=name, shared=False)


#: Kubernetes' words for what a tick does while a run is live.
_CONCURRENCY_POLICY: Final = {"Forbid": "skip", "Replace": "cancel_other", "Allow": "allow_all"}

DESCRIPTION: Final = "description"
LANG: Final = "lang"

RETRY_KEYS: Final[Sequence[Key]] = (
    Key(
        name="max_attempts",
        kind=Whole(1, 10_000),
        about="How often a run is started at most, the first time included.",
        attribute="max_attempts",
        default=5,
        default_of={COMMAND_TASK: 1},
    ),
    _key("backoff", words_of(Backoff), "How the wait between attempts grows.", "exponential"),
    _key("delay", Duration(), "The wait before the second attempt.", "5s", "delay_us"),
    _key("max_delay", Duration(), "The longest wait between attempts.", "1h", "max_delay_us"),
    _key("jitter", Flag(), "Shorten each wait by up to half, at random, so that retries do not come in waves.", True),
    _key("on", Several(Failure()), "Retry only these failures; all of them where the list is empty.", []),
    _key("not_on", Several(Failure()), "Never retry these failures.", []),
)

POLICY_KEYS: Final[Sequence[Key]] = (
    Key(
        name="timeout",
        kind=Duration(least_us=MILLISECOND, none=True),
        about="How long one attempt may take; none means without limit.",
        attribute="timeout_us",
        default="1h",
        default_of={HTTP_TASK: "30s"},
    ),
    _key(
        "overlap",
        words_of(Overlap, **_CONCURRENCY_POLICY),
        "What a tick does while a run of its schedule is live.",
        "skip",
    ),
    _key(
        "misfire_policy",
        words_of(MisfirePolicy),
        "What becomes of ticks while nothing was up to plan them.",
        "fire_once",
    ),
    _key(
        "misfire_grace_time",
        Duration(none=True),
        "A tick that was not planned in time is still made good for this long; none means always.",
        "none",
        "misfire_grace_us",
    ),
    _key(
        "spread",
        Duration(most_us=7 * DAY),
        "Moves the whole schedule later by a fixed part of this.",
        "0s",
        "spread_us",
    ),
    _key(
        "jitter", Duration(most_us=7 * DAY), "Moves each tick later by its own fixed part of this.", "0s", "jitter_us"
    ),
    _key("queue", Name("queue"), "The lane that its runs wait in.", "default"),
    _key("priority", words_of(Priority), "Which runs of a queue go first.", "normal"),
    _key("tags", Several(Name("tag")), "Words to find it by.", []),
    _key(
        "on_lost_lease",
        words_of(OnLostLease),
        "What a worker that lost touch does with a run it has started.",
        "run_on",
    ),
    Key(
        name="unique_key",
        kind=Text(),
        about="While a run with this key is live, no second one is made for its task.",
        attribute="unique_key",
        shared=False,
    ),
    Key(
        name=DESCRIPTION,
        kind=Text(most=4_000, multiline=True),
        about="What it is for, to be read by people.",
        attribute=DESCRIPTION,
        default="",
        shared=False,
    ),
)

ZONE_KEYS: Final[Sequence[Key]] = (
    _key("timezone", Text(), "The IANA time zone of the rule and of the times beside it.", None),
    _key("dst_gap", plain_words("boundary", "shift", "skip"), "A time that a clock change skips.", None),
    _key("dst_fold", plain_words("first", "last", "both"), "A time that a clock change repeats.", None),
    _key(
        CALENDARS, CalendarUse(), "The calendars of the days on which it may run: {include, exclude, otherwise}.", None
    ),
    _key(BLACKOUTS, Blackouts(), "Times in which it does not run: a list of {when, for}.", None),
    _key(LANG, plain_words("en", "es"), "The language of phrases; without it, the one that can read the phrase.", None),
)

CRON_KEYS: Final[Sequence[Key]] = (
    own_key("expr", Text(), "The cron expression."),
    own_key("dialect", plain_words("unix", "seconds", "quartz"), "Its grammar.", "unix"),
)

#: A schedule has exactly one of these, each read by `puntual.manifest.rules`.
RULES: Final[Mapping[str, str]] = {
    "when": "When it is due: five cron fields, an @name, `every 15 minutes`, a phrase, or a list of them.",
    "cron": "When it is due, in a cron dialect of its own: {expr, dialect}.",
    "every": "The period of an interval, for example 90s.",
    "rrule": "When it is due, as a recurrence rule of RFC 5545: FREQ=..., after a line DTSTART:... where it needs one.",
    "at": "The one time at which it is due, local to `timezone` or with an offset; or a list of times.",
}
ANCHOR: Final = "anchor"
#: What may stand beside a rule: times, local to `timezone` or with an offset.
TIMES: Final[Mapping[str, str]] = {
    ANCHOR: "What an interval, cycle or `rrule` counts from, a time or a date; a period that divides a day needs none.",
    "start": "No tick before this time.",
    "end": "No tick after this time.",
}
#: What a rule leaves out and counts, in the order in which it is done; the bounds come last.
SIFT_KEYS: Final[Sequence[Key]] = (
    Key(
        name="except",
        kind=OneOrMore(Text(), MOST_EXCEPTIONS),
        about="What the rule leaves out: dates, times, days like `weekends`, rules; one or a list.",
        attribute="without",
        shared=False,
    ),
    own_key(
        "every_nth", Whole(1, MOST_NTH), "Only the first tick and each n-th after it, from `start` or the writing on."
    ),
    own_key("max_ticks", Whole(1, MOST_TICKS), "No tick after the n-th, counted from `start` or the writing on."),
)
HTTP: Final = "http"
TASK: Final = "task"
COMMAND: Final = "command"
ARGS: Final = "args"
#: A schedule has exactly one of these, each read by `puntual.manifest.targets`.
TARGETS: Final[Mapping[str, str]] = {
    HTTP: "An HTTP request: {method, url, query, headers, json, ...}.",
    TASK: "The name of a registered Python function.",
    COMMAND: "A program with its arguments as a list, or {argv, cwd, env, stdin, ...}.",
}
PAUSED: Final = "paused"
RETRY: Final = "retry"

QUEUE_KEYS: Final[Sequence[Key]] = (
    own_key(
        "concurrency", Whole(1, 1_000_000, none=True), "How many of its runs may go at once in the whole fleet.", "none"
    ),
)

#: Names that come in later releases, by where they would stand.
LATER_TOP: Final = frozenset({"channels", "hooks", "checkins", "maintenance"})
LATER_QUEUE: Final = frozenset({"retry_budget", "dead_threshold"})
LATER_SCHEDULE: Final = frozenset(
    {
        "alerts",
        "concurrency_key",
        "stalled_after",
    }
)

#: Kubernetes' words, read as ours.
KUBERNETES: Final[Mapping[str, str]] = {
    "suspend": PAUSED,
    "concurrencyPolicy": "overlap",
    "startingDeadlineSeconds": "misfire_grace_time",
    "timeZone": "timezone",
}


def named(keys: Sequence[Key]) -> dict[str, Key]:
    """The keys by name."""
    return {key.name: key for key in keys}


SHARED_KEYS: Final[Mapping[str, Key]] = named([key for key in (*POLICY_KEYS, *ZONE_KEYS) if key.shared])
