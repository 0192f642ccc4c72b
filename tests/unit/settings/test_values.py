from __future__ import annotations

import copy
import ipaddress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puntual.model.errors import InvalidSettingError
from puntual.settings import Hidden, Settings, describe_settings, load_settings
from puntual.settings.table import SETTINGS

SECOND = 1_000_000


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("DATABASE_URL", "sqlite:///a/b.db", "sqlite:///a/b.db"),
        ("HOST", "::1", "::1"),
        ("HOST", "jobs.example.com", "jobs.example.com"),
        ("PORT", "0", 0),
        ("PORT", " 65535 ", 65535),
        ("PUBLIC_URL", "https://jobs.example.com/puntual/", "https://jobs.example.com/puntual"),
        ("PUBLIC_URL", "http://[::1]:8787", "http://[::1]:8787"),
        (
            "ALLOW_PRIVATE_ADDRESSES",
            "10.0.0.1, fd00::/8",
            (ipaddress.ip_network("10.0.0.1"), ipaddress.ip_network("fd00::/8")),
        ),
        ("APP", "shop.tasks:app", "shop.tasks:app"),
        ("ROLES", "worker,API,worker", ("api", "worker")),
        ("QUEUES", "mail, default,mail", ("mail", "default")),
        ("CONCURRENCY", "1", 1),
        ("TIMEZONE", "America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
        ("TIMEZONE", "Etc/GMT+5", "Etc/GMT+5"),
        ("ALLOW_COMMANDS", "yes", True),
        ("ALLOW_COMMANDS", "FALSE", False),
        ("ALLOW_COMMANDS", "/usr/bin/backup,/bin/echo", ("/usr/bin/backup", "/bin/echo")),
        ("ALLOW_PRIVATE_ADDRESSES", "127.0.0.1/32", (ipaddress.ip_network("127.0.0.1/32"),)),
        ("READ_ONLY", "1", True),
        ("READ_ONLY", "off", False),
        ("MAX_PAYLOAD", "1MB", 1 << 20),
        ("MAX_PAYLOAD", "2048", 2048),
        ("MAX_RESPONSE", "16 kib", 16 << 10),
        ("LOG_FORMAT", "JSON", "json"),
        ("LOG_LEVEL", "warning", "warning"),
        ("SERVER", "http://127.0.0.1:8787/", "http://127.0.0.1:8787"),
    ],
)
def test_a_text_becomes_a_typed_value(name: str, text: str, value: object) -> None:
    """What is written in the environment has its type from then on."""
    settings = load_settings({f"PUNTUAL_{name}": text})
    assert getattr(settings, SETTINGS[name].field) == value


@pytest.mark.parametrize("name", ["LEASE_TTL", "SHUTDOWN_GRACE"])
def test_durations_are_microseconds(name: str) -> None:
    """The unit is in the field's name."""
    settings = load_settings({f"PUNTUAL_{name}": "1m30s"})
    assert getattr(settings, f"{name.lower()}_us") == 90 * SECOND


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("port = 1", "port", 1),
        ("queues = ['a', 'b']", "queues", ("a", "b")),
        ("queues = []", "queues", ()),
        ("allow_commands = true", "allow_commands", True),
        ("allow_commands = ['/bin/echo']", "allow_commands", ("/bin/echo",)),
        ("read_only = false", "read_only", False),
        ("max_payload = 4096", "max_payload", 4096),
        ("max_payload = '4KB'", "max_payload", 4096),
        ("lease_ttl = '20s'", "lease_ttl_us", 20 * SECOND),
        ("allow_private_addresses = ['10.0.0.0/8']", "allow_private_addresses", (ipaddress.ip_network("10.0.0.0/8"),)),
    ],
)
def test_toml_values_keep_their_types(line: str, field: str, value: object) -> None:
    """Arrays, numbers and booleans are written as TOML has them."""
    Path("puntual.toml").write_text(line, encoding="utf-8")
    assert getattr(load_settings({}), field) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DATABASE_URL", "puntual.db"),
        ("DATABASE_URL", "mysql://x/y"),
        ("DATABASE_URL", "sqlite://puntual.db"),
        ("DATABASE_URL", "sqlite:///"),
        ("DATABASE_URL", "sqlite:///folder/"),
        ("DATABASE_URL", "sqlite:///a.db?mode=ro"),
        ("HOST", "http://x"),
        ("HOST", "a b"),
        ("PORT", "-1"),
        ("PORT", "65536"),
        ("PORT", "8787.0"),
        ("PORT", "٣"),
        ("PUBLIC_URL", "jobs.example.com"),
        ("PUBLIC_URL", "https://jobs.example.com/?a=1"),
        ("PUBLIC_URL", "https://u:p@jobs.example.com"),
        ("ALLOW_PRIVATE_ADDRESSES", "10.0.0.1/8"),
        ("ALLOW_PRIVATE_ADDRESSES", "*"),
        ("APP", "shop/tasks.py"),
        ("APP", "shop.tasks"),
        ("ROLES", "api,clock"),
        ("ROLES", ","),
        ("QUEUES", "a b"),
        ("CONCURRENCY", "0"),
        ("TIMEZONE", "../../etc/passwd"),
        ("TIMEZONE", "+05:00"),
        ("LANGUAGE", "fr"),
        ("ALLOW_COMMANDS", "backup"),
        ("ALLOW_COMMANDS", "/bin/echo,backup"),
        ("ALLOW_PRIVATE_ADDRESSES", "localhost"),
        ("READ_ONLY", "maybe"),
        ("MAX_PAYLOAD", "0"),
        ("MAX_PAYLOAD", "1TB"),
        ("MAX_RESPONSE", "-1"),
        ("LEASE_TTL", "15"),
        ("LEASE_TTL", "0s"),
        ("LEASE_TTL", "2h"),
        ("SHUTDOWN_GRACE", "soon"),
        ("RETENTION_DEAD", "0s"),
        ("LOG_FORMAT", "xml"),
        ("LOG_LEVEL", "5"),
        ("SERVER", "ftp://x"),
        ("TOKEN", "two words"),
    ],
)
def test_a_value_that_cannot_be_used_is_an_error(name: str, text: str) -> None:
    """Every setting is checked at the start, and its error names it."""
    with pytest.raises(InvalidSettingError) as caught:
        load_settings({f"PUNTUAL_{name}": text})
    assert caught.value.field == name
    assert "it must be" in caught.value.message


@pytest.mark.parametrize(
    "line", ["port = true", "port = '1.5'", "queues = [1]", "read_only = 2", "lease_ttl = 15", "host = 5"]
)
def test_a_toml_value_of_the_wrong_type_is_an_error(line: str) -> None:
    """A boolean is no number, and a number no duration."""
    Path("puntual.toml").write_text(line, encoding="utf-8")
    with pytest.raises(InvalidSettingError, match=r"it must be"):
        load_settings({})


@pytest.mark.parametrize("url", [":memory:", "sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory"])
def test_a_database_in_memory_is_refused_with_the_reason(url: str) -> None:
    """It would forget every run."""
    with pytest.raises(InvalidSettingError, match="would lose every run"):
        load_settings({"PUNTUAL_DATABASE_URL": url})


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///puntual.db", "puntual.db"),
        ("sqlite:///data/my%20jobs.db", "data/my jobs.db"),
        ("sqlite:////var/lib/puntual.db", "/var/lib/puntual.db"),
    ],
)
def test_the_path_of_the_database(url: str, path: str) -> None:
    """Three slashes are relative, four absolute."""
    assert load_settings({"PUNTUAL_DATABASE_URL": url}).database_path == path


def test_a_token_is_never_shown() -> None:
    """Neither the object, nor its description, nor an error, nor an encoder shows it."""
    settings = load_settings({"PUNTUAL_TOKEN": "hunter2"})
    shown = [repr(settings), str(settings), f"{settings.token}", str(describe_settings(settings))]
    assert not any("hunter2" in text for text in shown)
    with pytest.raises(TypeError):
        msgspec.json.encode(settings)
    with pytest.raises(InvalidSettingError) as caught:
        load_settings({"PUNTUAL_TOKEN": "hunter2 x"})
    assert "hunter2" not in caught.value.message


def test_hidden_texts_compare_by_what_they_hide() -> None:
    """Two settings with one token are equal, and with two they are not."""
    assert Hidden("a") == copy.copy(Hidden("a"))
    assert len({Hidden("a"), Hidden("a"), Hidden("b")}) == 2
    assert Hidden("a") != "a"


def test_settings_cannot_be_changed() -> None:
    """What was checked stays what it was."""
    with pytest.raises(AttributeError):
        Settings().port = 1  # type: ignore[misc]  # that it cannot be set is the point


def test_the_description_names_value_and_source() -> None:
    """All settings in the order of the documentation, as they would be written."""
    described = describe_settings(
        load_settings({"PUNTUAL_LEASE_TTL": "90s", "PUNTUAL_ALLOW_COMMANDS": "/bin/a,/bin/b"})
    )
    assert [name for name, _, _ in described] == list(SETTINGS)
    assert ("LEASE_TTL", "1m30s", "PUNTUAL_LEASE_TTL") in described
    assert ("ALLOW_COMMANDS", "/bin/a, /bin/b", "PUNTUAL_ALLOW_COMMANDS") in described
    assert ("MAX_PAYLOAD", "256KB", "default") in described
    assert ("QUEUES", "all", "default") in described
    assert ("PUBLIC_URL", "none", "default") in described


def test_what_code_decided_is_said_so() -> None:
    """Settings made in code have no other source."""
    assert ("PORT", "0", "code") in describe_settings(Settings(port=0))


@given(st.sampled_from(sorted(SETTINGS)), st.text(max_size=40))
def test_any_text_is_a_value_or_one_sentence(name: str, text: str) -> None:
    """Nothing that can stand in an environment ends in anything but a value or our error."""
    found: InvalidSettingError | None = None
    try:
        load_settings({f"PUNTUAL_{name}": text})
    except InvalidSettingError as error:
        found = error
    assert found is None or found.field == name
    assert "\n" not in str(found)


@given(st.sampled_from(sorted(SETTINGS)))
def test_what_is_shown_can_be_written(name: str) -> None:
    """The default of each setting, written as ``doctor`` shows it, is read back as the same."""
    shown = {key: value for key, value, _ in describe_settings(Settings())}[name]
    if shown not in ("none", "all"):
        assert load_settings({f"PUNTUAL_{name}": shown}) == msgspec.structs.replace(
            Settings(), sources={name: f"PUNTUAL_{name}"}
        )
