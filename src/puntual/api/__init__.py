"""The REST API: each route is one method of ``Operations``, with a bearer token, under ``/api/v1``.

===========================================  =======  ==========================================================
route                                        scope    operation
===========================================  =======  ==========================================================
GET    /schedules                            read     list_schedules(query)
POST   /schedules {name, ...}                admin    put_schedule(name, body, revision=0), 201
GET    /schedules/{name}                     read     get_schedule(name), with ``ETag: "revision"``
PUT    /schedules/{name}?take=true           admin    put_schedule(name, body, revision=If-Match, take=take)
PATCH  /schedules/{name}?take=true           admin    patch_schedule(name, body, revision=If-Match, take=take)
DELETE /schedules/{name}                     admin    remove_schedule(name, revision=If-Match)
POST   /schedules/pause {select, until, reason}  operate  pause_schedules(select, until=, reason=)
POST   /schedules/resume {select}            operate  resume_schedules(select)
POST   /schedules/{name}/pause {until, reason}   operate  pause_schedules({"names": [name]}, until=, reason=)
POST   /schedules/{name}/resume              operate  resume_schedules({"names": [name]})
POST   /schedules/{name}/trigger {args, overlap, id}  operate  trigger_schedule(name, body), 201; 200 when it stood
GET    /schedules/{name}/next?count=5        read     next_ticks(name, count)
GET    /schedules/{name}/ticks               read     list_ticks(query + schedule)
GET    /ticks                                read     list_ticks(query)
POST   /parse {expr, ...}                    read     parse(body)
POST   /apply {texts, dry_run, prune, take}  admin    apply(texts, dry_run=, prune=, take=); a dry run: read
GET    /export                               read     export()
GET    /calendars                            read     list_calendars()
GET    /calendars/{name}?year=               read     get_calendar(name, year), with ``ETag: "version"``
PUT    /calendars/{name}?take=true           admin    put_calendar(name, body, version=If-Match, take=take)
DELETE /calendars/{name}                     admin    remove_calendar(name, version=If-Match)
GET    /runs                                 read     list_runs(query)
POST   /runs                                 operate  enqueue(body), 201; 200 when it stood already
POST   /runs/batch {runs: [...]}             operate  enqueue_batch(runs), 201
POST   /runs/cancel {ids}                    operate  cancel_runs(ids)
POST   /runs/edit {where, edit}              operate  edit_runs(where, edit)
GET    /runs/{id}                            read     get_run(id)
PATCH  /runs/{id} {priority, at, queue}      operate  edit_runs({"ids": [id]}, body); answers the run
POST   /runs/{id}/cancel                     operate  cancel_runs([id])
POST   /runs/{id}/replay {args, id}          operate  replay_run(id, body)
GET    /runs/{id}/attempts/{n}/response      read     get_response(id, n)
GET    /dead                                 read     list_dead(query)
POST   /dead/replay {ids, ..., all}          operate  replay_dead(body)
POST   /dead/discard {ids, ..., all}         operate  discard_dead(body)
GET    /queues                               read     list_queues()
PUT    /queues/{name}                        operate  set_queue(name, body)
GET    /workers                              read     list_workers()
POST   /workers/{id}/drain                   operate  drain_worker(id)
GET    /tasks                                read     list_tasks()
GET    /status?since=                        read     status(since)
GET    /health                               read     health()
GET    /tokens                               admin    list_tokens()
POST   /tokens {scope, name, expires}        admin    create_token(body), 201
DELETE /tokens/{id}                          admin    revoke_token(id)
===========================================  =======  ==========================================================

Outside the prefix: ``/healthz`` and ``/readyz`` (no token), ``/openapi.json`` and ``/metrics`` (read). Query strings
hold a filter: lists as repeated keys (``?state=dead&state=pending``), the rest once. Bodies are JSON objects: a little
more than one payload, 16 MB for batches and for an admin's manifests; manifests of a dry run by ``operate`` 1 MB. A
page of runs ends early, with its ``next_cursor``, where they carry more than 4 MB. HEAD is answered as GET, without
the body.

``Idempotency-Key`` is honoured by every POST that makes a run: /runs, /runs/batch, trigger, and replay where it makes
a new run. Other content under a key that stands is 409. It is 400 on POST /schedules and /tokens, and on the replay of
a dead run unchanged; the other routes do the same when they are repeated.

Errors are problems (RFC 9457): ``{"type", "title", "status", "detail", "code"}`` and ``hint, field, column, errors``
where there are any; ``detail`` is the message and ``code`` the code of the ``PuntualError``. 400 invalid, 401, 403,
404, 405, 409 conflict, 412 ``If-Match`` does not fit (code ``changed``), 413, 415, 421 unknown ``Host``, 503 no
database.

Writing schedules is admin's: a schedule can name a command or an address that no one looked at. Arguments for the
tasks ``command`` and ``http`` (POST /runs, trigger, replay) are admin's too, for the same reason.
"""

from __future__ import annotations

from puntual.api.build import make_api
from puntual.api.server import serve_api
from puntual.operations.first_token import ensure_first_token

__all__ = ["ensure_first_token", "make_api", "serve_api"]
