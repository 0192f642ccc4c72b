"""Every operation of the command line and of the API, once; on a database (``local``) or on a server (``remote``).

Arguments and answers are JSON values in the shapes of the REST API: instants are RFC 3339 in UTC, durations numbers
with ``_ms``. Filters are mappings with ``state, queue, schedule, task, tag, origin`` (lists), ``since``, ``until``
(instants, or words like ``24h``, ``today``, ``yesterday``), ``ids``, ``limit`` (1 to 1000, 100) and ``cursor``. Lists
answer ``{"items": [...], "next_cursor": ...}``. What changes many runs takes a filter that names something, or
``{"all": true}``. Answers that make or plan work have ``warnings``, what may keep it from being done.
Whatever is wrong is a ``PuntualError``. The routes of the API are listed in ``puntual.api``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Json = dict[str, Any]
Filter = Mapping[str, Any]


class ScheduleOperations(Protocol):
    """Schedules and their ticks."""

    async def apply(
        self,
        texts: Sequence[Mapping[str, Any]],
        *,
        dry_run: bool,
        prune: bool,
        take: bool,
        fetch: bool = True,
    ) -> Json:
        """Writes the manifests, all or nothing; a dry run only says what would change.

        Each of ``texts`` is ``{"text", "source"?, "files"?}``; ``files`` are the texts of the files that it names, by
        the names it has for them. Answers ``{"created", "changed", "unchanged", "removed": [names], "changes":
        [{"name", "what", "fields", "next"}], "calendars": [{"name", "what", "days"}], "warnings": [...], "requests":
        [the first request of each changed http schedule]}``. With ``prune`` schedules and calendars of the same owner
        that are not in the manifests are removed. Without ``fetch`` addresses of calendars are not asked in a dry run.
        """
        ...

    async def list_schedules(self, where: Filter) -> Json:
        """Schedules by name; also filtered by ``owner``."""
        ...

    async def get_schedule(self, name: str) -> Json:
        """One schedule with its policies, which of them are defaults, its last and its next ticks."""
        ...

    async def put_schedule(self, name: str, body: Json, *, revision: int | None = None, take: bool = False) -> Json:
        """Creates or replaces one, from the body of a manifest's schedule (``owner`` may be in it). Answers it.

        The answer also has ``"claimed_ahead": [ids]``: runs of it that a worker holds already and that are due only
        later. They are past recall, and go on as they were planned.
        ``revision`` is the one that must stand, 0 for none yet: else ``ChangedError``. ``take`` allows to write another
        owner's.
        """
        ...

    async def patch_schedule(self, name: str, body: Json, *, revision: int | None = None, take: bool = False) -> Json:
        """Changes the keys given; the others stay as they were written. Answers it.

        As in RFC 7396 mappings are merged, and null takes a key back to its default.
        """
        ...

    async def remove_schedule(self, name: str, *, revision: int | None = None) -> Json:
        """Removes one: ``{"removed": name, "live": [ids], "claimed_ahead": [ids]}``; the runs in flight go on.

        ``revision`` is the one that must stand, else ``ChangedError``.
        """
        ...

    async def pause_schedules(self, select: Json, *, until: str | None = None, reason: str | None = None) -> Json:
        """Pauses ``{"names": [...]}``, ``{"tag": t}`` or ``{"all": true}`` (everything, one row).

        ``until`` is an instant, or a duration from now; None means until resumed. Answers ``{"items": [schedules]}``,
        or ``{"all": {"paused", "since", "until", "reason"}}``, and ``claimed_ahead`` as `put_schedule`.
        """
        ...

    async def resume_schedules(self, select: Json) -> Json:
        """Resumes the same; answers as `pause_schedules`, without ``claimed_ahead``."""
        ...

    async def trigger_schedule(self, name: str, body: Json) -> Json:
        """One run by hand: ``{"args"?, "overlap"?, "id"?}``; answers the run.

        With ``"existing": true`` where it stood already under that ``id``; an ``id`` that stands for anything else is a
        ``ConflictError``.
        """
        ...

    async def backfill_schedule(self, name: str, body: Json) -> Json:
        """Makes up for ticks of the past: a run for each that has not run. A repeat makes nothing twice.

        From ``{"since", "until"?, "dry_run"?, "overlap"?, "queue"?, "priority"?, "limit"?}``; times may be local to the
        schedule. Answers ``{"schedule", "since", "until", "dry_run", "ticks", "runs", "existing", "skipped", "first",
        "last", "next_since", "warnings"}``: ``skipped`` counts what was left alone by reason, ``first`` and ``last``
        name ticks whose runs were made, and ``next_since`` is where to go on after a ``limit``.
        """
        ...

    async def next_ticks(self, name: str, count: int) -> Json:
        """``{"fires": [...], "skipped": [{"tick_at", "last_tick_at", "count", "reason"}]}`` of one schedule.

        What is skipped are the ticks before the last fire that a calendar or a blackout closes; where their number is
        capped it is ``at_least``.
        """
        ...

    async def list_ticks(self, where: Filter) -> Json:
        """The tick record, newest first; filtered by ``schedule`` (one), ``fate``, ``since``, ``until``.

        Where a schedule has none that fits, ``next_due_at`` says when its next is due; a name that nobody has or had is
        a ``NotFoundError``.
        """
        ...

    async def parse(self, body: Json) -> Json:
        """How a rule is read: the request and the reply of ``puntual next``."""
        ...

    async def export(self) -> Json:
        """``{"manifest": text}`` that ``apply`` takes back."""
        ...


class CalendarOperations(Protocol):
    """Calendars: days by name, for schedules to name."""

    async def list_calendars(self) -> Json:
        """Calendars by name: ``{"items": [...]}``."""
        ...

    async def get_calendar(self, name: str, year: int | None = None) -> Json:
        """One with its days, all of them or those of a year, and the names of the schedules that name it."""
        ...

    async def put_calendar(self, name: str, body: Json, *, version: int | None = None, take: bool = False) -> Json:
        """Creates or replaces one, from the body of a manifest's calendar (``owner`` may be in it). Answers it.

        Its days are found out now, and the schedules that name it are edited with them; they are ``changed``.
        ``version`` is the one that must stand, 0 for none yet: else ``ChangedError``. ``take`` allows to write another
        owner's.
        """
        ...

    async def remove_calendar(self, name: str, *, version: int | None = None) -> Json:
        """Removes one that no schedule names, else ``ConflictError``: ``{"removed": name}``."""
        ...


class ForecastOperations(Protocol):
    """What is to come."""

    async def forecast(self, since: str | None = None, until: str | None = None) -> Json:
        """Runs by the minute from ``since`` (now) until ``until`` (a day later), as `ForecastShape`.

        Each is an instant or a duration: from now, and from ``since``. At most 31 days.
        """
        ...


class RunOperations(Protocol):
    """Runs and dead letters."""

    async def list_runs(self, where: Filter) -> Json:
        """Runs, newest first."""
        ...

    async def get_run(self, run_id: str) -> Json:
        """One run with its attempts."""
        ...

    async def get_response(self, run_id: str, attempt: int) -> Json:
        """The kept answer or output of an attempt.

        ``{"body": text, "encoding": "utf-8"|"base64", "content_type", "headers": [[name, value]], "truncated": bytes}``
        """
        ...

    async def enqueue(self, body: Json) -> Json:
        """One run of ``{"task", "args"?}``, by an event.

        The body may also have ``queue, delay, at, priority, unique_key, id, tags, max_attempts, timeout``. Answers the
        run, with ``"existing": true`` where one stood already under that id or unique key. The same id for another task
        or other arguments is a ``ConflictError``.
        """
        ...

    async def enqueue_batch(self, bodies: Sequence[Json]) -> Json:
        """Many at once, all or nothing: ``{"ids": [...], "warnings": [...]}``.

        An ``id`` that stands already for another task or other arguments is a ``ConflictError``.
        """
        ...

    async def cancel_runs(self, ids: Sequence[str]) -> Json:
        """``{"answers": {id: cancelled|requested|ended|missing}}``."""
        ...

    async def replay_run(self, run_id: str, body: Json) -> Json:
        """Runs it again and answers the run: a dead one unchanged is put back under its own id.

        With ``{"args": ...}``, or if it ended otherwise, it is a new run with ``replay_of``, under ``{"id": ...}`` if
        that is given; it is answered with ``"existing": true`` where it stood already. Where no run is made, an ``id``
        is an ``InvalidError``.
        """
        ...

    async def edit_runs(self, where: Filter, body: Json) -> Json:
        """``{"priority"?, "at"?, "queue"?}`` of pending runs; answers ``{"ids": [...]}``."""
        ...

    async def list_dead(self, where: Filter) -> Json:
        """Dead runs that nobody has discarded."""
        ...

    async def replay_dead(self, where: Filter) -> Json:
        """``{"answers": {id: replayed|...}}``."""
        ...

    async def discard_dead(self, where: Filter) -> Json:
        """``{"ids": [...]}``."""
        ...


class FleetOperations(Protocol):
    """Queues, workers, tokens, and how things stand."""

    async def list_queues(self) -> Json:
        """Queues with their counts: ``{"items": [...]}``."""
        ...

    async def set_queue(self, name: str, body: Json) -> Json:
        """``{"concurrency"?, "paused"?, "pause_reason"?}``; answers the queue."""
        ...

    async def list_workers(self) -> Json:
        """Workers whose lease nobody has ended, ``overdue`` where it has run out: ``{"items": [...]}``."""
        ...

    async def drain_worker(self, worker_id: str) -> Json:
        """Lets one finish what it holds and take nothing more: ``{"id", "draining": true}``."""
        ...

    async def list_tasks(self) -> Json:
        """Tasks known to this process and to live workers: ``{"items": [{"name", "here", "workers"}]}``."""
        ...

    async def status(self, since: str | None = None) -> Json:
        """``{"sentence", "ok", "since", "now", "counts", "failed", "missed", "late", "unplanned", "coming", ...}``.

        ``counts`` has ``dead, retrying, missed, late, unplanned``, each ``{"count": n}`` or ``{"at_least": n}``; the
        lists name the newest hundred. ``down, paused, queues`` follow, ``unknown`` (tasks that due runs wait for and
        no living worker has: ``{"task", "due", "oldest_due_at", "nearest"}``), and ``failures``, which is ``failed`` by
        schedule or task: ``{"name", "state", "count", "last", "why"}``. ``since`` is as in filters; None means
        yesterday 00:00 in ``TIMEZONE``. The sentence begins with what is wrong now.
        """
        ...

    async def health(self) -> Json:
        """``{"ok": bool, "checks": [{"name", "ok", "text"}]}``."""
        ...

    async def create_token(self, body: Json) -> Json:
        """From ``{"scope", "name"?, "expires"?}``; answers it with its text as ``token``, this once.

        ``expires`` is an instant, or a duration from now.
        """
        ...

    async def list_tokens(self) -> Json:
        """Tokens, without their text: ``{"items": [...]}``."""
        ...

    async def revoke_token(self, token_id: str) -> Json:
        """Forgets one: ``{"revoked": id}``."""
        ...


class Operations(ScheduleOperations, CalendarOperations, ForecastOperations, RunOperations, FleetOperations, Protocol):
    """All of them."""
