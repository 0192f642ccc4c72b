from __future__ import annotations

import ipaddress
import json

import msgspec
import pytest

from puntual.model.errors import InvalidError
from puntual.targets.http import check_http
from puntual.targets.http.request import read_request

FIELD = "schedules.nightly.http"


def refusal(args: object, guard: tuple[ipaddress.IPv4Network, ...] | None = None) -> InvalidError:
    """The error that these arguments get."""
    with pytest.raises(InvalidError) as caught:
        check_http(args, field=FIELD, guard=guard)
    return caught.value


def test_arguments_are_normalised() -> None:
    """The method is written out in capitals, and what says nothing is left out."""
    args = {"url": "https://example.com/a", "method": "post", "redirects": 0, "verify": True, "headers": {}}
    assert json.loads(check_http(args, field=FIELD)) == {"url": "https://example.com/a", "method": "POST"}


@pytest.mark.parametrize(("body", "method"), [({}, "GET"), ({"json": None}, "POST"), ({"body": ""}, "POST")])
def test_the_method_follows_the_body(body: dict[str, object], method: str) -> None:
    """Without a method a request with a body is a POST, else a GET."""
    checked = check_http({"url": "http://example.com", **body}, field=FIELD)
    assert json.loads(checked)["method"] == method


def test_checking_again_changes_nothing() -> None:
    """Normalised arguments are their own normal form."""
    args = {"url": "http://example.com/?a=1", "query": {"b": [1, True], "c": "x"}, "json": {"n": 1e2, "z": [None]}}
    once = check_http(args, field=FIELD)
    assert check_http(json.loads(once), field=FIELD) == once


def test_numbers_in_json_keep_their_digits() -> None:
    """A JSON body is sent as it was written, with integers of any length."""
    request = read_request('{"url": "http://example.com", "json": {"n": 123456789012345678901234567890}}')
    assert isinstance(request.json, msgspec.Raw)
    assert bytes(request.json) == b'{"n": 123456789012345678901234567890}'


@pytest.mark.parametrize(
    "url",
    [
        "example.com",
        "/path",
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http://?q",
        "https://user@example.com/",
        "https://user:pass@example.com/",
        "http://example.com\\@evil.com/",
        "http://example.com/a b",
        "http://example.com/\r\nX: y",
        "http://example.com/\x00",
        "http://exa\tmple.com/",
        " http://example.com/",
        "http://example.com/#part",
        "http://example.com:99999/",
        "http://example.com:0/",
        "http://example.com:x/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.1./",
        "http://１２７.0.0.1/",  # noqa: RUF001 - full-width digits are what is refused
        "http://a..b/",
        "http://-a.com/",
        "http://" + "a" * 64 + ".com/",
        "http://exa%6dple.com/",
        "http://" + "a." * 130 + "com/",
    ],
)
def test_a_url_that_readers_may_take_differently_is_refused(url: str) -> None:
    """Only absolute http and https URLs with one reading pass; the error names the field."""
    error = refusal({"url": url})
    assert error.field == f"{FIELD}.url"
    assert "must" in error.message


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "HTTPS://EXAMPLE.com:8443/a/b?c=d&e=%2F",
        "http://93.184.215.14/",
        "http://[2606:2800::1]:80/x",
        "http://my_host/",
        "http://localhost:8000/",
        "http://münchen.example/straße",
        "http://example.com./",
    ],
)
def test_usual_urls_pass_as_they_are(url: str) -> None:
    """A good URL is kept character by character."""
    assert json.loads(check_http({"url": url}, field=FIELD))["url"] == url


def test_an_error_does_not_repeat_a_password() -> None:
    """Credentials in a URL are refused without being shown."""
    error = refusal({"url": "https://ana:hunter2@example.com/"})
    assert "hunter2" not in error.message
    assert "header" in error.message


@pytest.mark.parametrize("key", ["auth", "sign", "files", "expect", "ca", "client_cert", "proxy"])
def test_keys_of_later_releases_are_refused(key: str) -> None:
    """What cannot be done yet is refused, not ignored."""
    error = refusal({"url": "http://example.com", key: {"a": 1}})
    assert error.message == f"{FIELD}.{key} is not in this release; leave it out."


@pytest.mark.parametrize(("key", "value"), [("redirects", 3), ("redirects", False), ("verify", False), ("verify", 1)])
def test_only_what_is_done_anyway_may_be_asked(key: str, value: object) -> None:
    """``redirects: 0`` and ``verify: true`` are accepted, other values are not."""
    assert refusal({"url": "http://example.com", key: value}).field == f"{FIELD}.{key}"


def test_an_unknown_key_names_the_nearest() -> None:
    """A misspelling is an error that says what was meant."""
    assert refusal({"url": "http://example.com", "header": {}}).message.endswith("the nearest one is headers.")


def test_values_to_fill_in_are_refused() -> None:
    """``${...}`` would be sent as it stands, so it is refused wherever it is."""
    for args in (
        {"url": "http://example.com/${x}"},
        {"url": "http://example.com", "headers": {"Authorization": "Bearer ${secrets.KEY}"}},
        {"url": "http://example.com", "query": {"day": "${tick_at}"}},
        {"url": "http://example.com", "json": {"a": ["${x}"]}},
        {"url": "http://example.com", "form": {"a": ["${x}"]}},
        {"url": "http://example.com", "body": "${x}"},
    ):
        assert "not in this release" in refusal(args).message


@pytest.mark.parametrize("method", ["GE T", "", "POST\r\n", "CONNECT", "connect", "É", "1GET"])
def test_a_method_is_a_word(method: str) -> None:
    """Anything but a token is refused; an empty one counts as not given."""
    args = {"url": "http://example.com", "method": method}
    if method:
        assert refusal(args).field == f"{FIELD}.method"
    else:
        assert json.loads(check_http(args, field=FIELD))["method"] == "GET"


@pytest.mark.parametrize(
    "headers",
    [
        {"X": "a\r\nY: b"},
        {"X": "a\nb"},
        {"X": "a\0"},
        {"X Y": "a"},
        {"": "a"},
        {"X:": "a"},
        {"Ünicode": "a"},
        {"X\n": "a"},
        {"X": 5},
        {"A": "1", "a": "2"},
        {"Content-Length": "5"},
        {"transfer-encoding": "chunked"},
        {"Connection": "close"},
        {"Idempotency-Key": "mine"},
    ],
)
def test_headers_that_break_a_request_are_refused(headers: dict[str, object]) -> None:
    """No injection, no duplicates, and none of what the connection decides."""
    assert str(refusal({"url": "http://example.com", "headers": headers}).field).startswith(f"{FIELD}.headers")


def test_a_request_has_one_body() -> None:
    """Two kinds of body are refused, with both named."""
    error = refusal({"url": "http://example.com", "json": {}, "body": "x"})
    assert "json and body" in error.message


@pytest.mark.parametrize("args", [None, [], "http://example.com", 5, {}, {"method": "GET"}, {"url": 5}, {"url": None}])
def test_arguments_are_a_mapping_with_a_url(args: object) -> None:
    """Anything else is one clear sentence."""
    assert refusal(args).message.endswith(".")


def test_a_value_outside_of_json_is_refused() -> None:
    """What JSON cannot carry never reaches the database."""
    for value in (object(), "\ud800", {1j: 1}):
        assert refusal({"url": "http://example.com", "json": value}).field == FIELD


def test_nesting_without_end_is_refused() -> None:
    """Depth is an error, not a crash."""
    with pytest.raises(InvalidError):
        read_request('{"url": "http://example.com", "query": ' + "[" * 100_000 + "]" * 100_000 + "}")


def test_a_blocked_literal_address_is_refused_when_written() -> None:
    """With the operator's ranges at hand, a blocked address is an error before anything runs."""
    error = refusal({"url": "http://169.254.169.254/latest"}, guard=())
    assert "metadata" in error.message
    assert "PUNTUAL_ALLOW_PRIVATE_ADDRESSES=169.254.169.254/32" in error.message
    allowed = (ipaddress.IPv4Network("127.0.0.1/32"),)
    assert check_http({"url": "http://127.0.0.1/"}, field=FIELD, guard=allowed)
