from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator

import msgspec
import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.outcome import Outcome
from puntual.targets.http import HttpSettings, HttpTarget
from tests.support.fault_server import FaultServer, answer
from tests.support.http import OPEN, KnownNames, StillClock, http_run, untrusted_tls


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    """A server with good and bad answers on 127.0.0.1."""
    async with FaultServer() as running:
        yield running


@pytest.fixture
async def target() -> AsyncIterator[HttpTarget]:
    """A target that may connect to 127.0.0.1."""
    made = HttpTarget(OPEN, StillClock())
    yield made
    await made.close()


def what(outcome: Outcome) -> tuple[str, int | None, str | None]:
    """Kind, status and type of error."""
    return outcome.kind.value, outcome.status_code, outcome.error.type if outcome.error else None


def message(outcome: Outcome) -> str:
    """The sentence of the error."""
    assert outcome.error is not None
    return outcome.error.message


async def test_a_request_goes_out_as_written(server: FaultServer, target: HttpTarget) -> None:
    """Method, query, headers and body arrive; the key, our name and nothing else are added."""
    run = http_run(
        url=server.url("/echo?a=%2F"),
        method="PUT",
        query={"b": ["1", 2], "c": True, "d": "x y&z"},
        headers={"X-One": "1", "Authorization": "Bearer t"},
        json={"n": 12345678901234567890123},
    )
    assert what(await target.execute(run)) == ("succeeded", 200, None)
    (request,) = server.requests
    assert request.method == "PUT"
    assert request.query == {"a": ["/"], "b": ["1", "2"], "c": ["true"], "d": ["x y&z"]}
    assert json.loads(request.body) == {"n": 12345678901234567890123}
    assert request.headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": f"puntual/1.2.3 (+run {run.id})",
        "idempotency-key": run.id,
        "accept": "*/*",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "content-length": str(len(request.body)),
        "x-one": "1",
        "authorization": "Bearer t",
    }


@pytest.mark.parametrize(
    ("args", "content_type", "body"),
    [
        ({"form": {"a": "1 2", "b": [True, 3]}}, "application/x-www-form-urlencoded", b"a=1+2&b=true&b=3"),
        ({"body": "señal"}, "text/plain; charset=utf-8", "señal".encode()),
        ({"body": "<a/>", "headers": {"content-type": "text/xml"}}, "text/xml", b"<a/>"),
        ({"method": "POST"}, None, b""),
    ],
)
async def test_each_kind_of_body(
    server: FaultServer, target: HttpTarget, args: dict[str, object], content_type: str | None, body: bytes
) -> None:
    """A body carries its usual type unless a header says another."""
    await target.execute(http_run(url=server.url("/echo"), **args))
    (request,) = server.requests
    assert (request.headers.get("content-type"), request.body) == (content_type, body)


async def test_no_cookie_comes_back(server: FaultServer, target: HttpTarget) -> None:
    """A cookie that a server sets is neither sent again nor kept."""
    server.answers["/set"] = answer(set_cookie="session=abc")
    outcome = await target.execute(http_run(url=server.url("/set")))
    await target.execute(http_run(url=server.url("/set")))
    assert "cookie" not in server.requests[1].headers
    assert outcome.evidence is not None
    assert ("set-cookie", "***") in outcome.evidence.headers


async def test_proxies_of_the_environment_are_ignored(
    server: FaultServer, target: HttpTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy variable does not carry requests past the guard."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1/")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1/")
    assert what(await target.execute(http_run(url=server.url("/echo"))))[0] == "succeeded"


async def test_connections_are_kept_for_the_next_request(server: FaultServer, target: HttpTarget) -> None:
    """Two requests in a row share a connection."""
    for _ in range(2):
        await target.execute(http_run(url=server.url("/echo")))
    assert server.connections == 1


@pytest.mark.parametrize(
    "status", ["400 Bad Request", "404 Not Found", "429 Too Many Requests", "503 Service Unavailable"]
)
async def test_a_status_outside_2xx_is_a_failure(server: FaultServer, target: HttpTarget, status: str) -> None:
    """The status is kept for the retry policy, the answer as evidence, and the policy decides."""
    server.answers["/"] = answer(status, b"why", content_type="text/plain")
    outcome = await target.execute(http_run(url=server.url()))
    assert what(outcome) == ("failed", int(status[:3]), "HTTPStatus")
    assert message(outcome) == status
    assert not outcome.final
    assert outcome.result is None
    assert outcome.evidence is not None
    assert outcome.evidence.body == b"why"


async def test_a_redirect_is_not_followed(server: FaultServer, target: HttpTarget) -> None:
    """The failure says where it pointed, without what may be a token, and the place is not asked."""
    server.answers["/old"] = answer("302 Found", location=server.url("/new?token=abc"))
    outcome = await target.execute(http_run(url=server.url("/old")))
    assert what(outcome) == ("failed", 302, "HTTPStatus")
    place = server.url("/new")
    assert message(outcome) == f"302 Found: it pointed to {place}?..., and redirects are not followed"
    assert [request.target for request in server.requests] == ["/old"]


@pytest.mark.parametrize("path", ["/farewell", "/reset", "/garbage", "/many-headers", "/long-header"])
async def test_sent_and_unanswered_is_unknown(server: FaultServer, target: HttpTarget, path: str) -> None:
    """Once the request may have arrived, no readable answer means that nobody knows; it was sent once."""
    outcome = await target.execute(http_run(url=server.url(path)))
    assert what(outcome) == ("unknown", None, "ConnectionError")
    assert len(server.requests) == 1


async def test_a_connection_that_went_stale_is_not_retried_behind_our_back(
    server: FaultServer, target: HttpTarget
) -> None:
    """A GET on a kept connection that the server drops is sent once and unknown: the policy decides about a second."""
    await target.execute(http_run(url=server.url("/echo")))
    outcome = await target.execute(http_run(url=server.url("/farewell")))
    assert outcome.kind is OutcomeKind.UNKNOWN
    assert [request.target for request in server.requests] == ["/echo", "/farewell"]
    assert server.connections == 1


async def test_an_answer_that_breaks_off_is_a_failure_with_its_status(server: FaultServer, target: HttpTarget) -> None:
    """A 200 whose body is cut short keeps the status and what came."""
    outcome = await target.execute(http_run(url=server.url("/short")))
    assert what(outcome) == ("failed", 200, "BrokenAnswer")
    assert message(outcome).startswith("200 OK, but the body broke off after")


async def test_nothing_listening_is_a_failure(server: FaultServer, target: HttpTarget) -> None:
    """Before a byte was sent it is a failure of the connection."""
    url = server.url()
    await server.__aexit__(None, None, None)
    outcome = await target.execute(http_run(url=url))
    assert what(outcome) == ("failed", None, "ConnectionError")
    assert message(outcome) == "No connection to 127.0.0.1: Connection refused"
    assert not outcome.final
    await server.__aenter__()


async def test_a_certificate_that_nobody_signed_is_refused() -> None:
    """TLS is verified, and the request is not sent."""
    target = HttpTarget(OPEN, StillClock())
    async with FaultServer(tls=untrusted_tls()) as server:
        outcome = await target.execute(http_run(url=server.url("/echo")))
        assert server.requests == []
    await target.close()
    assert what(outcome) == ("failed", None, "TLSError")
    assert "self-signed" in message(outcome).replace("self signed", "self-signed")


@pytest.mark.parametrize("path", ["/silence", "/drip", "/drip-headers"])
async def test_cancelling_closes_the_connection(server: FaultServer, target: HttpTarget, path: str) -> None:
    """The executor's deadline ends a request in any phase, and the server sees the client go."""
    task = asyncio.create_task(target.execute(http_run(url=server.url(path))))
    await server.received.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.left.wait()


@pytest.mark.parametrize(("path", "cut"), [("/endless", 1), ("/bomb", 1)])
async def test_a_body_is_read_to_the_cap_and_no_further(server: FaultServer, path: str, cut: int) -> None:
    """Endless bodies and bombs cost the cap in bytes; the status still counts."""
    target = HttpTarget(msgspec.structs.replace(OPEN, max_response=20_000), StillClock())
    outcome = await target.execute(http_run(url=server.url(path)))
    await target.close()
    assert what(outcome) == ("succeeded", 200, None)
    assert outcome.evidence is not None
    assert len(outcome.evidence.body) == 20_000
    assert outcome.evidence.truncated >= cut


async def test_a_long_answer_says_how_much_was_cut(server: FaultServer, target: HttpTarget) -> None:
    """With a length declared, the number of bytes that are missing is exact."""
    server.answers["/"] = answer(body=b"x" * 100_000)
    outcome = await target.execute(http_run(url=server.url()))
    assert outcome.evidence is not None
    assert (len(outcome.evidence.body), outcome.evidence.truncated) == (64 << 10, 100_000 - (64 << 10))


async def test_blocked_addresses_get_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Literal or resolved, mapped or not: refused for good before a socket exists, with the line that allows it."""

    def no_socket(*_: object) -> None:
        pytest.fail("a socket was made")

    monkeypatch.setattr("puntual.targets.http.sender.socket.socket", no_socket)
    names = KnownNames({"intra.example.com": ["10.0.0.5"], "both.example.com": ["::1", "192.168.0.1"]})
    target = HttpTarget(HttpSettings(), StillClock(), resolver=names)
    for host, address in (
        ("127.0.0.1", "127.0.0.1"),
        ("169.254.169.254", "169.254.169.254"),
        ("[::1]", "::1"),
        ("[::ffff:10.0.0.5]", "10.0.0.5"),
        ("intra.example.com", "10.0.0.5"),
        ("both.example.com", "::1"),
    ):
        outcome = await target.execute(http_run(url=f"http://{host}/"))
        assert what(outcome) == ("failed", None, "BlockedAddress")
        assert outcome.final
        assert message(outcome).endswith(f"to allow it set PUNTUAL_ALLOW_PRIVATE_ADDRESSES={address}/{_bits(address)}")
    await target.close()


def _bits(address: str) -> int:
    return 128 if ":" in address else 32


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0177.0.0.1", "0x7f000001", "127.1"])
async def test_odd_spellings_of_an_address_fail_closed(server: FaultServer, target: HttpTarget, host: str) -> None:
    """Not even an allowed address is reached by a spelling that others read differently."""
    outcome = await target.execute(http_run(url=server.url(host=host)))
    assert what(outcome) == ("failed", None, "InvalidRequest")
    assert outcome.final
    assert server.connections == 0


async def test_a_resolver_cannot_smuggle_an_odd_spelling(server: FaultServer) -> None:
    """What a name resolves to is judged as the socket would use it."""
    target = HttpTarget(OPEN, StillClock(), resolver=KnownNames({"odd.example.com": ["2130706433"]}))
    outcome = await target.execute(http_run(url=server.url(host="odd.example.com")))
    await target.close()
    assert what(outcome) == ("failed", None, "BlockedAddress")
    assert server.connections == 0


async def test_a_name_with_one_good_address_is_reached_there(server: FaultServer) -> None:
    """A refused address among others is passed over, and the one that was vetted is connected to."""
    names = KnownNames({"mixed.example.com": ["::1", "10.0.0.5", "127.0.0.1"]})
    target = HttpTarget(OPEN, StillClock(), resolver=names)
    outcome = await target.execute(http_run(url=server.url("/echo", host="mixed.example.com")))
    await target.close()
    assert outcome.kind is OutcomeKind.SUCCEEDED
    assert server.requests[0].headers["host"] == f"mixed.example.com:{server.port}"


async def test_an_unknown_name_is_a_failure_of_its_own(target: HttpTarget) -> None:
    """A name that does not resolve may resolve later."""
    asker = HttpTarget(OPEN, StillClock(), resolver=KnownNames({}))
    outcome = await asker.execute(http_run(url="http://nowhere.example.com/"))
    await asker.close()
    assert what(outcome) == ("failed", None, "DNSError")
    assert message(outcome) == "The name nowhere.example.com cannot be resolved: Name or service not known"
    assert not outcome.final


@pytest.mark.parametrize("args", ["", "null", "[]", '{"url": 5}', '{"url": "ftp://x"}', "\ud800"])
async def test_arguments_that_cannot_be_read_are_a_final_failure(target: HttpTarget, args: str) -> None:
    """Whatever stands in the row, the outcome is a sentence and not an exception."""
    outcome = await target.execute(msgspec.structs.replace(http_run(), args=args))
    assert what(outcome) == ("failed", None, "InvalidRequest")
    assert outcome.final


async def test_phases_are_timed(server: FaultServer) -> None:
    """A first request has connect, first_byte and total; one by name has dns too; all in milliseconds."""
    target = HttpTarget(OPEN, StillClock(), resolver=KnownNames({"a.example.com": ["127.0.0.1"]}))
    outcome = await target.execute(http_run(url=server.url("/echo", host="a.example.com")))
    await target.close()
    assert outcome.timings == {"dns": 0.0, "connect": 0.0, "first_byte": 0.0, "total": 0.0}


async def test_a_closed_target_opens_again(server: FaultServer, target: HttpTarget) -> None:
    """Closing ends the connections, not the target."""
    await target.execute(http_run(url=server.url("/echo")))
    await target.close()
    await server.left.wait()
    assert (await target.execute(http_run(url=server.url("/echo")))).kind is OutcomeKind.SUCCEEDED


def test_the_client_library_is_imported_only_to_send() -> None:
    """Checking a manifest needs no HTTP client."""
    code = "import sys, puntual.targets.http; print(sorted({'aiohttp', 'yarl'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
