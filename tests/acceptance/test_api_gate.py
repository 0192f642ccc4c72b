"""Who may do what over HTTP: tokens and scopes, Host and Origin, read-only servers, sizes, and what replies carry."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from puntual.api import serve_api
from puntual.app import App
from puntual.engine.clock import SystemClock
from puntual.model.errors import InvalidSettingError, StoreError, StoreUnavailableError, StoreUnusableError
from puntual.model.fleet import Token
from puntual.model.instant import HOUR
from puntual.operations.local import LocalOperations
from tests.support.api import COMMAND, DAILY, Served, app_in, serving


class Later(SystemClock):
    """An hour ahead."""

    def now(self) -> int:
        """Microseconds since 1970, UTC."""
        return super().now() + HOUR


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    """A served API with default settings."""
    async with serving(tmp_path) as served:
        yield served


@pytest.mark.parametrize(
    ("authorization", "sentence"),
    [
        ("", "This needs a token"),
        ("Basic YTpi", "This needs a token"),
        ("Bearer", "This needs a token"),
        ("Bearer ptl_wrong", "unknown, expired or revoked"),
        ("Bearer ptl_" + "A" * 43, "unknown, expired or revoked"),
    ],
)
async def test_without_a_known_token_nothing_is_told(api: Served, authorization: str, sentence: str) -> None:
    """Every path but the two probes answers 401 with the scheme that it wants, also those that do not exist."""
    for path in ("/schedules", "//openapi.json", "//nowhere"):
        answer = await api.ask("GET", path, scope="none", authorization=authorization)
        assert (answer.status, answer.code) == (401, "unauthorized")
        assert sentence in answer.body["detail"]
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="puntual"'


async def test_an_expired_token_lets_nobody_in(api: Served) -> None:
    """A token ends at its instant, although the copy that is looked at still has it."""
    made = await api.ask("POST", "/tokens", {"scope": "admin", "expires": "1h"})
    bearer = f"Bearer {made.body['token']}"
    assert (await api.ask("GET", "/schedules", scope="none", authorization=bearer)).status == 200
    api.app.clock = Later()
    assert (await api.ask("GET", "/schedules", scope="none", authorization=bearer)).status == 401


async def test_a_revoked_token_ends_at_once_here(api: Served) -> None:
    """Whoever revokes over this server finds the token useless with the next request."""
    made = await api.ask("POST", "/tokens", {"scope": "read", "name": "laptop"})
    bearer = f"Bearer {made.body['token']}"
    assert (await api.ask("GET", "/runs", scope="none", authorization=bearer)).status == 200
    assert (await api.ask("DELETE", f"/tokens/{made.body['id']}")).body == {"revoked": made.body["id"]}
    assert (await api.ask("GET", "/runs", scope="none", authorization=bearer)).status == 401


async def test_lists_of_tokens_never_hold_one(api: Served) -> None:
    """The text of a token is in the reply that made it, and nowhere else."""
    answer = await api.ask("GET", "/tokens")
    assert len(answer.body["items"]) == 3
    assert not any(text in str(answer.body) for text in api.tokens.values())


@pytest.mark.parametrize(
    ("method", "path", "body", "least"),
    [
        ("GET", "/runs", None, "read"),
        ("POST", "/parse", {"expr": "@daily"}, "read"),
        ("POST", "/apply", {"texts": [], "dry_run": True}, "read"),
        ("POST", "/runs", {"task": "x"}, "operate"),
        ("POST", "/dead/replay", {"all": True}, "operate"),
        ("POST", "/schedules/pause", {"select": {"all": True}}, "operate"),
        ("PUT", "/queues/mail", {"paused": True}, "operate"),
        ("POST", "/apply", {"texts": []}, "admin"),
        ("PUT", "/schedules/one", DAILY, "admin"),
        ("POST", "/runs", {"task": "command", "args": {"argv": ["/bin/true"]}}, "admin"),
        ("POST", "/runs/batch", {"runs": [{"task": "command", "args": {"argv": ["/bin/true"]}}]}, "admin"),
        ("GET", "/tokens", None, "admin"),
        ("POST", "/tokens", {"scope": "read"}, "admin"),
    ],
)
async def test_each_route_wants_its_scope(api: Served, method: str, path: str, body: object, least: str) -> None:
    """A lesser scope answers 403 and says that it is the scope; the least one, and each above it, is enough."""
    scopes = ["read", "operate", "admin"]
    for scope in scopes:
        answer = await api.ask(method, path, body, scope=scope)
        if scopes.index(scope) < scopes.index(least):
            assert (answer.status, answer.code) == (403, "forbidden")
            assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]
        else:
            assert answer.status in (200, 201), answer.body


async def test_own_arguments_for_a_command_are_for_admins(api: Served) -> None:
    """Triggering a command is for operators; saying which program it runs is not."""
    await api.ask("PUT", "/schedules/backup", COMMAND)
    other = {"args": {"argv": ["/bin/false"]}, "overlap": "allow_all"}
    assert (await api.ask("POST", "/schedules/backup/trigger", other, scope="operate")).status == 403
    triggered = await api.ask("POST", "/schedules/backup/trigger", {}, scope="operate")
    assert (triggered.status, triggered.body["args"]) == (201, {"argv": ["/bin/true"]})
    await api.ask("POST", f"/runs/{triggered.body['id']}/cancel")
    again = f"/runs/{triggered.body['id']}/replay"
    assert (await api.ask("POST", again, {"args": {"argv": ["/bin/false"]}}, scope="operate")).status == 403
    assert (await api.ask("POST", again, {}, scope="operate")).status == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:99", 200),
        ("[::1]", 200),
        ("192.0.2.7", 200),
        ("evil.example", 421),
        ("", 421),
        ("localhost.evil", 421),
    ],
)
async def test_a_foreign_host_name_is_refused(api: Served, host: str, status: int) -> None:
    """A name that somebody pointed at this address gets nothing, token or not (DNS rebinding)."""
    assert (await api.ask("GET", "/schedules", host=host)).status == status


async def test_two_hosts_are_one_too_many(api: Served) -> None:
    """Whoever stands in front may have looked at the other one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    writer.write(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert (await reader.readline()).split()[1] == b"400"
    writer.close()
    await writer.wait_closed()


async def test_the_public_url_is_a_known_name(tmp_path: Path) -> None:
    """PUBLIC_URL says under which name and origin the server is reached."""
    async with serving(tmp_path, public_url="https://jobs.example.com") as api:
        for origin, status in (("https://jobs.example.com", 201), ("https://evil.example", 403)):
            answer = await api.ask("POST", "/runs", {"task": "x"}, host="jobs.example.com", origin=origin)
            assert answer.status == status


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_a_page_of_another_site_changes_nothing(api: Served, origin: str) -> None:
    """A foreign Origin is refused where something would change, and let through where nothing does."""
    assert (await api.ask("POST", "/runs", {"task": "x"}, origin=origin)).status == 403
    assert (await api.ask("GET", "/runs", origin=origin)).body["items"] == []
    own = f"http://127.0.0.1:{api.port}"
    assert (await api.ask("POST", "/runs", {"task": "x"}, origin=own)).status == 201


async def test_a_read_only_server_changes_nothing(tmp_path: Path) -> None:
    """With READ_ONLY every change is refused, whatever the token; reading and dry runs go on."""
    async with serving(tmp_path, read_only=True) as api:
        for method, path, body in (
            ("POST", "/runs", {"task": "x"}),
            ("PUT", "/schedules/a", DAILY),
            ("POST", "/apply", {"texts": []}),
        ):
            answer = await api.ask(method, path, body)
            assert (answer.status, answer.code) == (403, "forbidden")
            assert "READ_ONLY" in answer.body["detail"]
        assert (await api.ask("GET", "/tokens")).status == 200
        assert (await api.ask("POST", "/apply", {"texts": [], "dry_run": True})).status == 200


async def test_every_reply_forbids_browsers_to_make_more_of_it(api: Served) -> None:
    """JSON is never sniffed, framed, cached or run as a page, errors included."""
    for path in ("//healthz", "/runs", "/runs/none", "//nowhere"):
        headers = (await api.ask("GET", path)).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "Server" not in headers


async def test_a_body_beyond_the_cap_is_refused_unread(api: Served) -> None:
    """413 by its length, or as soon as what came is too much; the connection ends with it."""
    long = b'{"task": "x", "args": {"a": "' + b"a" * 400_000 + b'"}}'
    answer = await api.ask("POST", "/runs", long)
    assert (answer.status, answer.code, answer.headers["Connection"]) == (413, "too_large", "close")

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(400_000 // 1_000):
            yield b"a" * 1_000

    headers = {"authorization": f"Bearer {api.tokens['admin']}", "content-type": "application/json"}
    async with api.session.post("/api/v1/runs", data=endless(), headers=headers) as reply:
        assert reply.status == 413


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "invalid_payload"),
        (b"[]", 400, "invalid_payload"),
        (b'{"task": "x", "task": "y"}', 400, "invalid_payload"),
        (b'{"task": "x", "args": {"a": NaN}}', 400, "invalid_payload"),
        (b'{"task": "x", "args": {"a": "\\u0000"}}', 400, "invalid_payload"),
        (b"\xff", 400, "invalid_payload"),
        (b"", 400, "invalid"),
    ],
)
async def test_a_body_outside_the_profile_is_one_sentence(api: Served, body: bytes, status: int, code: str) -> None:
    """What is no JSON of the closed profile is refused at the door, as a problem."""
    answer = await api.ask("POST", "/runs", body, content_type="application/json")
    assert (answer.status, answer.code) == (status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"


async def test_a_body_that_is_no_json_by_its_own_word_is_refused(api: Served) -> None:
    """A form or plain text, which any page may send, is no body here."""
    answer = await api.ask("POST", "/runs", b'{"task": "x"}', content_type="text/plain")
    assert (answer.status, answer.code) == (415, "media_type")
    assert answer.body["hint"] == "Send the header Content-Type: application/json."


async def test_what_the_table_of_routes_refuses_is_a_problem_too(api: Served) -> None:
    """404 and 405 look like every other error; 405 says what is allowed."""
    missing = await api.ask("GET", "/nowhere")
    assert (missing.code, "/openapi.json" in missing.body["hint"]) == ("not_found", True)
    answer = await api.ask("DELETE", "/runs")
    assert (answer.status, answer.code) == (405, "method")
    assert answer.headers["Allow"] == "GET, HEAD, POST"
    assert (await api.ask("POST", "/schedules/a")).headers["Allow"] == "DELETE, GET, HEAD, PATCH, PUT"
    assert (await api.ask("POST", "//healthz")).headers["Allow"] == "GET, HEAD"
    assert answer.headers["Content-Type"] == "application/problem+json"


async def test_what_later_releases_bring_is_not_there(api: Served) -> None:
    """No half-built route answers."""
    for path in ("//docs", "/events", "/secrets", "/incidents", "/hooks", "//ping/x"):
        assert (await api.ask("GET", path)).status == 404


async def test_the_description_knows_every_route_and_its_scope(api: Served) -> None:
    """``/openapi.json`` names the scope of each route, and every schema that it refers to is in it."""
    described = (await api.ask("GET", "//openapi.json", scope="read")).body
    routes = [route for methods in described["paths"].values() for route in methods.values()]
    assert len(routes) == 46
    assert {route["x-scope"] for route in routes} == {"read", "operate", "admin"}
    names = {part.split('"')[0] for part in str(described).replace("'", '"').split("#/components/schemas/")[1:]}
    assert names <= set(described["components"]["schemas"])
    assert {"RunShape", "ScheduleShape", "EnqueueBody", "Problem"} <= names


async def test_the_probes_need_neither_token_nor_name(api: Served) -> None:
    """A load balancer asks them under any name; they say nothing of the inside."""
    for path in ("//healthz", "//readyz"):
        answer = await api.ask("GET", path, scope="none", host="probe.internal")
        assert (answer.status, answer.body["ok"]) == (200, True)


async def test_not_ready_without_a_database(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the database is away the process is alive but not ready, and routes answer 503 with a wait."""
    assert (await api.ask("GET", "/runs")).status == 200
    await api.app.store.close()
    ready = await api.ask("GET", "//readyz", scope="none")
    assert (ready.status, ready.body["checks"]) == (
        503,
        [{"name": "store", "ok": False, "text": "The database does not answer."}],
    )
    assert (await api.ask("GET", "//healthz", scope="none")).status == 200
    answer = await api.ask("GET", "/runs")
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "store_unavailable", "1")
    await api.app.store.open()


async def test_a_port_that_is_taken_is_one_sentence(api: Served, tmp_path: Path) -> None:
    """The error names PORT and the way out."""
    with pytest.raises(InvalidSettingError, match=r"PORT is \d+, where another program listens already") as caught:
        async with serve_api(api.app, api.operations, "127.0.0.1", api.port):
            pass
    assert caught.value.field == "PORT"


async def test_requests_under_way_are_answered_before_the_server_stops(tmp_path: Path) -> None:
    """Leaving waits for what was asked already."""
    app: App = app_in(tmp_path)
    asked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(LocalOperations):
        async def list_tasks(self) -> dict[str, object]:
            asked.set()
            await go_on.wait()
            return {"items": []}

    async with app, serving(tmp_path) as other:
        async with serve_api(app, Slow(app), "127.0.0.1", 0) as port:
            headers = {"authorization": f"Bearer {other.tokens['read']}"}
            request = asyncio.create_task(
                other.session.get(f"http://127.0.0.1:{port}/api/v1/tasks", headers=headers).__aenter__()
            )
            await asked.wait()
            asyncio.get_running_loop().call_later(0.05, go_on.set)
        reply = await request
        assert (reply.status, await reply.json()) == (200, {"items": []})
        reply.close()


async def test_own_arguments_for_a_request_are_for_admins(api: Served) -> None:
    """Triggering a request is for operators; saying where it goes is not, for writing its schedule is not either."""
    request = {"url": "https://example.com/"}
    await api.ask("PUT", "/schedules/ping", {"when": "@daily", "http": request})
    asked: list[tuple[str, object]] = [
        ("/runs", {"task": "http", "args": request}),
        ("/runs/batch", {"runs": [{"task": "x"}, {"task": "http", "args": request}]}),
        ("/schedules/ping/trigger", {"args": request}),
    ]
    for path, body in asked:
        answer = await api.ask("POST", path, body, scope="operate")
        assert (answer.status, 'scope="admin"' in answer.headers["WWW-Authenticate"]) == (403, True)
    triggered = await api.ask("POST", "/schedules/ping/trigger", {}, scope="operate")
    assert triggered.status == 201
    await api.ask("POST", f"/runs/{triggered.body['id']}/cancel")
    again = f"/runs/{triggered.body['id']}/replay"
    assert (await api.ask("POST", again, {"args": request}, scope="operate")).status == 403
    assert (await api.ask("POST", "/runs", {"task": "http", "args": request})).status == 201


@pytest.mark.parametrize("error", [StoreError, StoreUnavailableError, StoreUnusableError])
async def test_a_stranger_is_told_nothing_of_the_database(
    api: Served, monkeypatch: pytest.MonkeyPatch, error: type[StoreError]
) -> None:
    """Before a token is known, whatever is wrong with the database is a bare 503."""

    async def broken() -> list[Token]:
        raise error("no such table in /srv/secret/puntual.db", hint="look there", field="path")

    monkeypatch.setattr(api.app.store, "list_tokens", broken)
    answer = await api.ask("GET", "/runs", scope="none", authorization="Bearer ptl_" + "a" * 43)
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "store_unavailable", "1")
    assert set(answer.body) == {"type", "title", "status", "detail", "code"}
    assert "secret" not in str(answer.body)


@pytest.mark.parametrize("path", ["/runs", "/schedules", "//openapi.json", "//healthz", "/nowhere", "/dead/replay"])
async def test_head_is_get_without_the_body(api: Served, path: str) -> None:
    """The same status and headers, the length of the body included."""
    url = path.replace("//", "/", 1) if path.startswith("//") else f"/api/v1{path}"
    headers = {"authorization": f"Bearer {api.tokens['admin']}"}
    async with api.session.get(url, headers=headers) as get, api.session.head(url, headers=headers) as head:
        assert (head.status, await head.read()) == (get.status, b"")
        assert head.headers["content-length"] == get.headers["content-length"]
        assert head.headers["content-type"] == get.headers["content-type"]


async def test_every_address_of_a_name_is_tried(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without IPv6 serves a name that has an address of each kind."""
    nowhere = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))
    here = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: [nowhere, here])
    async with serve_api(api.app, api.operations, "localhost", 0) as port:
        assert port > 0
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: [nowhere])
    with pytest.raises(InvalidSettingError, match="Nobody can listen"):
        async with serve_api(api.app, api.operations, "localhost", 0):
            pass
