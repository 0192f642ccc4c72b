from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from puntual.model.errors import InvalidSettingError
from puntual.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(environ: dict[str, str]) -> InvalidSettingError:
    """The error that this environment gets."""
    with pytest.raises(InvalidSettingError) as caught:
        load_settings(environ)
    return caught.value


def test_nothing_said_gives_the_defaults() -> None:
    """An empty environment in an empty folder is a working configuration."""
    assert load_settings({}) == Settings()


def test_the_order_of_sources(folder: Path) -> None:
    """The command line beats the environment, which beats the file, which beats the default."""
    (folder / "puntual.toml").write_text("port = 1\nhost = 'file'\nconcurrency = 7\n", encoding="utf-8")
    settings = load_settings({"PUNTUAL_PORT": "2", "PUNTUAL_HOST": "environment"}, overrides={"port": 3})
    assert (settings.port, settings.host, settings.concurrency, settings.log_level) == (3, "environment", 7, "info")
    assert settings.sources == {
        "PORT": "the command line",
        "HOST": "PUNTUAL_HOST",
        "CONCURRENCY": "concurrency in puntual.toml",
    }


def test_an_option_that_was_not_given_says_nothing() -> None:
    """None from the command line and an empty variable count as not set."""
    assert load_settings({"PUNTUAL_HOST": ""}, overrides={"PORT": None}) == Settings()


@pytest.mark.parametrize("by", ["argument", "variable"])
def test_another_file_can_be_named(folder: Path, by: str) -> None:
    """A named file is read instead of puntual.toml."""
    (folder / "puntual.toml").write_text("port = 1", encoding="utf-8")
    (folder / "other.toml").write_text("port = 2", encoding="utf-8")
    if by == "argument":
        settings = load_settings({"PUNTUAL_CONFIG": "nowhere.toml"}, config_path="other.toml")
    else:
        settings = load_settings({"PUNTUAL_CONFIG": "other.toml"})
    assert settings.port == 2


def test_a_named_file_has_to_exist() -> None:
    """A file that was asked for and is not there is an error, not a default."""
    assert refusal({"PUNTUAL_CONFIG": "nowhere.toml"}).message == (
        "The settings file nowhere.toml cannot be read: No such file or directory."
    )


def test_a_file_that_is_no_toml_is_an_error(folder: Path) -> None:
    """The error says where the file stops making sense."""
    (folder / "puntual.toml").write_text("port: 1", encoding="utf-8")
    assert "puntual.toml is not valid TOML" in refusal({}).message
    (folder / "puntual.toml").write_bytes(b"port = '\xff'")
    assert "puntual.toml is not valid TOML" in refusal({}).message


def test_an_unknown_key_in_the_file_is_an_error(folder: Path) -> None:
    """Nobody else writes into our file, so a name that is unknown is a mistake."""
    (folder / "puntual.toml").write_text("lease_tl = '15s'", encoding="utf-8")
    error = refusal({})
    assert error.message == "lease_tl in puntual.toml is no setting; the nearest one is lease_ttl."
    assert error.field == "lease_tl"
    (folder / "puntual.toml").write_text("[server]\nport = 1", encoding="utf-8")
    assert "server" in refusal({}).message
    (folder / "puntual.toml").write_text("PORT = 1", encoding="utf-8")
    assert refusal({}).message == "PORT in puntual.toml is no setting; the nearest one is port."


def test_an_unknown_variable_warns() -> None:
    """The environment is shared, so an unknown name is told and not refused."""
    settings = load_settings({"PUNTUAL_PROT": "1", "PUNTUAL_ZZZ": "1", "OTHER": "1"})
    assert settings.warnings == (
        "PUNTUAL_PROT is no setting of puntual; the nearest one is PUNTUAL_PORT.",
        "PUNTUAL_ZZZ is no setting of puntual.",
    )


def test_what_a_command_finds_in_its_environment_does_not_warn() -> None:
    """A puntual started by a command of puntual is quiet."""
    names = ("RUN_ID", "SCHEDULE", "TICK_AT", "DUE_AT", "ATTEMPT")
    assert load_settings({f"PUNTUAL_{name}": "x" for name in names}) == Settings()


def test_names_of_later_releases_warn(folder: Path) -> None:
    """A fleet's shared environment still starts this release, which says what it passes over."""
    (folder / "puntual.toml").write_text("smtp_url = 'smtp://x'", encoding="utf-8")
    settings = load_settings({"PUNTUAL_REDIS_URL": "redis://x", "PUNTUAL_SECRET_KEYS_FILE": "/run/keys"})
    assert settings.warnings == (
        "PUNTUAL_REDIS_URL is set, but this release does not use it.",
        "PUNTUAL_SECRET_KEYS_FILE is set, but this release does not use it.",
        "smtp_url in puntual.toml is set, but this release does not use it.",
    )


def test_an_unknown_override_is_an_error() -> None:
    """A wrong name in code does not pass unseen."""
    with pytest.raises(InvalidSettingError, match=r"PROT is no setting; the nearest one is PORT\."):
        load_settings({}, overrides={"prot": 1})


@pytest.mark.parametrize("text", ["s3cret", "s3cret\n", "s3cret\r\n"])
def test_a_value_can_come_from_a_file(folder: Path, text: str) -> None:
    """``_FILE`` names a file; the line's end is not part of the value."""
    (folder / "token").write_text(text, encoding="utf-8", newline="")
    settings = load_settings({"PUNTUAL_TOKEN_FILE": "token"})
    assert settings.token is not None
    assert settings.token.reveal() == "s3cret"
    assert settings.sources == {"TOKEN": "PUNTUAL_TOKEN_FILE"}


def test_the_settings_file_can_name_files_too(folder: Path) -> None:
    """``token_file`` in puntual.toml reads a file, and the environment still comes first."""
    (folder / "token").write_text("from-file", encoding="utf-8")
    (folder / "puntual.toml").write_text("token_file = 'token'", encoding="utf-8")
    from_file, from_environ = load_settings({}).token, load_settings({"PUNTUAL_TOKEN": "direct"}).token
    assert from_file is not None
    assert from_environ is not None
    assert (from_file.reveal(), from_environ.reveal()) == ("from-file", "direct")


def test_a_value_and_its_file_together_are_an_error() -> None:
    """Two answers to one question are not chosen between."""
    error = refusal({"PUNTUAL_TOKEN": "a", "PUNTUAL_TOKEN_FILE": "b"})
    assert error.message == "PUNTUAL_TOKEN and PUNTUAL_TOKEN_FILE are both set; keep one of them."


def test_a_file_that_cannot_be_read_is_an_error(folder: Path) -> None:
    """Missing, a folder, no text, or far too large: each is one sentence."""
    assert "cannot be read: No such file" in refusal({"PUNTUAL_TOKEN_FILE": "nowhere"}).message
    assert "cannot be read: Is a directory" in refusal({"PUNTUAL_TOKEN_FILE": "."}).message
    (folder / "bytes").write_bytes(b"\xff\xfe")
    assert "UTF-8" in refusal({"PUNTUAL_TOKEN_FILE": "bytes"}).message
    (folder / "large").write_bytes(b"x" * 100_000)
    assert "more than" in refusal({"PUNTUAL_TOKEN_FILE": "large"}).message
    (folder / "puntual.toml").write_text("token_file = 5", encoding="utf-8")
    assert "token_file in puntual.toml" in refusal({}).message


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "es_CO.UTF-8"}, "es"),
        ({"LANG": "es", "LC_ALL": "C"}, "en"),
        ({"LANG": "fr_FR", "LC_MESSAGES": "es_ES"}, "es"),
        ({"LANG": "es_CO", "PUNTUAL_LANGUAGE": "en"}, "en"),
        ({"PUNTUAL_LANGUAGE": "ES"}, "es"),
    ],
)
def test_the_language_follows_the_locale(environ: dict[str, str], language: str) -> None:
    """Spanish where the locale says so, English everywhere else, and the setting decides over both."""
    assert load_settings(environ).language == language


def test_an_error_names_setting_source_value_and_what_would_be_right(folder: Path) -> None:
    """One sentence, wherever the value came from."""
    error = refusal({"PUNTUAL_PORT": "99999"})
    assert error.message == "PORT is '99999' (from PUNTUAL_PORT); it must be a whole number from 0 to 65535."
    assert error.field == "PORT"
    (folder / "puntual.toml").write_text("lease_ttl = 15", encoding="utf-8")
    assert refusal({}).message.startswith("LEASE_TTL is 15 (from lease_ttl in puntual.toml); it must be a duration")


def test_loading_imports_little() -> None:
    """Every command pays for this import: no client, server or parser comes with it."""
    heavy = {"aiohttp", "asyncio", "click", "fastapi", "structlog", "tomllib", "yaml"}
    code = (
        "import sys, puntual; before = set(sys.modules); import puntual.settings;"
        f"print(sorted({heavy!r} & (set(sys.modules) - before)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
