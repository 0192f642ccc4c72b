"""Every operation on a server: each method is one request of its API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from puntual.operations.contract import Filter, Json
from puntual.operations.wire import Request, Wire


class RemoteSchedules(Wire):
    """``ScheduleOperations``."""

    async def apply(
        self,
        texts: Sequence[Mapping[str, Any]],
        *,
        dry_run: bool,
        prune: bool,
        take: bool,
        fetch: bool = True,  # noqa: ARG002 - whether it may is the server's to say, by the token
    ) -> Json:
        """Writes the manifests, all or nothing; a dry run only says what would change."""
        body = {"texts": [dict(text) for text in texts], "dry_run": dry_run, "prune": prune, "take": take}
        return await self._post(("apply",), body)

    async def list_schedules(self, where: Filter) -> Json:
        """Schedules by name."""
        return await self._get(("schedules",), where)

    async def get_schedule(self, name: str) -> Json:
        """One schedule with its policies."""
        return await self._get(("schedules", name))

    async def put_schedule(self, name: str, body: Json, *, revision: int | None = None, take: bool = False) -> Json:
        """Creates or replaces one."""
        return await self._write("PUT", name, body, revision=revision, take=take)

    async def patch_schedule(self, name: str, body: Json, *, revision: int | None = None, take: bool = False) -> Json:
        """Changes the keys given; the others stay as they were written."""
        return await self._write("PATCH", name, body, revision=revision, take=take)

    async def remove_schedule(self, name: str, *, revision: int | None = None) -> Json:
        """Removes one; the runs in flight go on."""
        return await self.ask(Request(method="DELETE", path=("schedules", name), revision=revision))

    async def pause_schedules(self, select: Json, *, until: str | None = None, reason: str | None = None) -> Json:
        """Pauses schedules, or everything."""
        said = {"until": until, "reason": reason}
        body = {"select": select, **{key: value for key, value in said.items() if value is not None}}
        return await self._post(("schedules", "pause"), body)

    async def resume_schedules(self, select: Json) -> Json:
        """Resumes schedules, or everything."""
        return await self._post(("schedules", "resume"), {"select": select})

    async def trigger_schedule(self, name: str, body: Json) -> Json:
        """One run by hand."""
        return await self._post(("schedules", name, "trigger"), body)

    async def backfill_schedule(self, name: str, body: Json) -> Json:
        """Makes up for ticks of the past."""
        return await self._post(("schedules", name, "backfill"), body)

    async def next_ticks(self, name: str, count: int) -> Json:
        """The next ticks of one schedule."""
        return await self._get(("schedules", name, "next"), {"count": count})

    async def list_ticks(self, where: Filter) -> Json:
        """The tick record, newest first."""
        return await self._get(("ticks",), where)

    async def parse(self, body: Json) -> Json:
        """How a rule is read."""
        return await self._post(("parse",), body)

    async def export(self) -> Json:
        """All schedules and the limits of queues, as a manifest."""
        return await self._get(("export",))

    async def _write(self, method: str, name: str, body: Json, *, revision: int | None, take: bool) -> Json:
        query: Json = {"take": True} if take else {}
        return await self.ask(
            Request(method=method, path=("schedules", name), query=query, body=body, revision=revision)
        )

    async def _get(self, path: Sequence[str], where: Filter | None = None) -> Json:
        return await self.ask(Request(method="GET", path=path, query=where or {}))

    async def _post(self, path: Sequence[str], body: object = msgspec.UNSET) -> Json:
        return await self.ask(Request(method="POST", path=path, body=body))


class RemoteCalendars(RemoteSchedules):
    """``CalendarOperations``."""

    async def list_calendars(self) -> Json:
        """Calendars by name."""
        return await self._get(("calendars",))

    async def get_calendar(self, name: str, year: int | None = None) -> Json:
        """One with its days, and who names it."""
        return await self._get(("calendars", name), {"year": year})

    async def put_calendar(self, name: str, body: Json, *, version: int | None = None, take: bool = False) -> Json:
        """Creates or replaces one."""
        query: Json = {"take": True} if take else {}
        return await self.ask(Request(method="PUT", path=("calendars", name), query=query, body=body, revision=version))

    async def remove_calendar(self, name: str, *, version: int | None = None) -> Json:
        """Removes one that no schedule names."""
        return await self.ask(Request(method="DELETE", path=("calendars", name), revision=version))


class RemoteRuns(RemoteCalendars):
    """``RunOperations``."""

    async def list_runs(self, where: Filter) -> Json:
        """Runs, newest first."""
        return await self._get(("runs",), where)

    async def get_run(self, run_id: str) -> Json:
        """One run with its attempts."""
        return await self._get(("runs", run_id))

    async def get_response(self, run_id: str, attempt: int) -> Json:
        """The kept answer or output of an attempt."""
        return await self._get(("runs", run_id, "attempts", str(attempt), "response"))

    async def enqueue(self, body: Json) -> Json:
        """One run, by an event."""
        return await self._post(("runs",), body)

    async def enqueue_batch(self, bodies: Sequence[Json]) -> Json:
        """Many at once, all or nothing."""
        return await self._post(("runs", "batch"), {"runs": list(bodies)})

    async def cancel_runs(self, ids: Sequence[str]) -> Json:
        """Ends pending runs and asks running ones to stop."""
        return await self._post(("runs", "cancel"), {"ids": list(ids)})

    async def replay_run(self, run_id: str, body: Json) -> Json:
        """Runs it again."""
        return await self._post(("runs", run_id, "replay"), body)

    async def edit_runs(self, where: Filter, body: Json) -> Json:
        """Lane, priority or time of pending runs."""
        return await self._post(("runs", "edit"), {"where": dict(where), "edit": body})

    async def list_dead(self, where: Filter) -> Json:
        """Dead runs that nobody has discarded."""
        return await self._get(("dead",), where)

    async def replay_dead(self, where: Filter) -> Json:
        """Puts dead runs back."""
        return await self._post(("dead", "replay"), dict(where))

    async def discard_dead(self, where: Filter) -> Json:
        """Takes dead runs out of the list."""
        return await self._post(("dead", "discard"), dict(where))


class RemoteOperations(RemoteRuns):
    """``Operations`` on a server; used inside ``async with``."""

    async def list_queues(self) -> Json:
        """Queues with their counts."""
        return await self._get(("queues",))

    async def set_queue(self, name: str, body: Json) -> Json:
        """Limits, pauses or resumes a queue; what is not given stays."""
        return await self.ask(Request(method="PUT", path=("queues", name), body=body))

    async def list_workers(self) -> Json:
        """Workers whose lease nobody has ended; those that are overdue say so."""
        return await self._get(("workers",))

    async def drain_worker(self, worker_id: str) -> Json:
        """Lets one finish what it holds and take nothing more."""
        return await self._post(("workers", worker_id, "drain"))

    async def list_tasks(self) -> Json:
        """Tasks known to the server and to live workers."""
        return await self._get(("tasks",))

    async def forecast(self, since: str | None = None, until: str | None = None) -> Json:
        """Runs by the minute."""
        return await self._get(("forecast",), {"since": since, "until": until})

    async def status(self, since: str | None = None) -> Json:
        """How things stand."""
        return await self._get(("status",), {"since": since})

    async def health(self) -> Json:
        """Whether every part does its work."""
        return await self._get(("health",))

    async def create_token(self, body: Json) -> Json:
        """A new token, with its text this once."""
        return await self._post(("tokens",), body)

    async def list_tokens(self) -> Json:
        """Tokens, without their text."""
        return await self._get(("tokens",))

    async def revoke_token(self, token_id: str) -> Json:
        """Forgets one."""
        return await self.ask(Request(method="DELETE", path=("tokens", token_id)))
