from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import puntual
from puntual.model.errors import InvalidSettingError
from puntual.settings import Settings, describe_settings, load_settings, shown_url

GOOD = [
    "postgresql://puntual@db.example.com:5432/puntual",
    "postgres://ana:p%40ss%2Fword@db/jobs",
    "postgresql://db1:5432,db2:5433,[::1]:5434/jobs?sslmode=verify-full&sslrootcert=/etc/ca.pem",
    "postgresql://%2Frun%2Fpostgresql/jobs",
    "postgresql:///jobs",
    "postgresql:///?dbname=jobs&host=/run/postgresql&port=5433",
    "postgresql://ana@db/jobs?application_name=mine",
    "POSTGRESQL://db/jobs",
]
BAD = [
    "postgresql+asyncpg://db/jobs",
    "postgresql:db/jobs",
    "postgresql://db",
    "postgresql://db/",
    "postgresql://ana:p@ss@db/jobs",
    "postgresql://ana:p/ss@db/jobs",
    "postgresql://ana:p#ss@db/jobs",
    "postgresql://ana:p?ss@db/jobs",
    "postgresql://ana@db:port/jobs",
    "postgresql://ana@db:70000/jobs",
    "postgresql://ana@db:0/jobs",
    "postgresql://a,,b/jobs",
    "postgresql://[::1/jobs",
    "postgresql://db/jobs?sslmode=maybe",
    "postgresql://db/jobs?pgbouncer=true",
    "postgresql://db/jobs?port=x",
    "postgresql://db/my jobs",
    "postgresql://db/jobs\x00",
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)


def refusal(name: str, value: str) -> str:
    """The sentence that this value of a setting gets."""
    with pytest.raises(InvalidSettingError) as caught:
        load_settings({f"PUNTUAL_{name}": value})
    assert caught.value.field == name
    return caught.value.message


@pytest.mark.parametrize("url", GOOD)
@pytest.mark.parametrize("name", ["DATABASE_URL", "LISTEN_URL"])
def test_a_url_of_postgresql_is_taken_as_it_is_written(name: str, url: str) -> None:
    """One host or several, a socket, TLS, percent-encoded or not."""
    settings = load_settings({f"PUNTUAL_{name}": url})
    assert getattr(settings, name.lower()) == url


@pytest.mark.parametrize("url", BAD)
@pytest.mark.parametrize("name", ["DATABASE_URL", "LISTEN_URL"])
def test_a_url_that_leads_nowhere_is_refused(name: str, url: str) -> None:
    """With one that would be right, or with what is."""
    assert "it must be" in refusal(name, url)


def test_only_postgresql_is_listened_on() -> None:
    """A SQLite file sends no hints."""
    assert "it must be like postgresql://" in refusal("LISTEN_URL", "sqlite:///puntual.db")


def test_what_a_password_may_hold_is_said() -> None:
    """An @ in it is the usual mistake."""
    assert "write @ as %40" in refusal("DATABASE_URL", "postgresql://ana:p@ss@db/jobs")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana:hunter2@db/jobs?sslmode=require&password=hunter2&sslpassword=hunter2",
        "postgresql://ana:hunter2@db1,db2/jobs",
        "postgres://:hunter2@db/jobs",
    ],
)
def test_a_password_is_shown_nowhere(url: str) -> None:
    """Neither by the object, nor by its description, nor where it came from."""
    settings = load_settings({"PUNTUAL_DATABASE_URL": url, "PUNTUAL_LISTEN_URL": url})
    shown = [repr(settings), str(settings), str(describe_settings(settings)), settings.shown_database]
    assert not any("hunter2" in text for text in shown)
    assert ":***@" in settings.shown_database


@pytest.mark.parametrize(
    "value",
    [
        "postgresql://ana:hunter2@db",
        "postgresql://ana:a@hunter2@db/jobs",
        "postgresql://ana:x/hunter2@db/jobs",
        "postgresql://ana:x'hunter2@db",
        "postgresql://db/jobs?pass=hunter2",
        "postgres:ana:hunter2@db/jobs",
        "ana:hunter2@db/jobs",
        "host=db dbname=jobs password=hunter2",
        "host=db PASSWORD = 'hunter2'",
        "mysql://ana:hunter2@db/jobs",
    ],
)
def test_an_error_does_not_repeat_a_password(value: str) -> None:
    """However the URL was miswritten."""
    for name in ("DATABASE_URL", "LISTEN_URL"):
        assert "hunter2" not in refusal(name, value)


def test_a_url_may_be_read_from_a_file(tmp_path: Path) -> None:
    """Which keeps its password out of the environment."""
    file = tmp_path / "url"
    file.write_text("postgresql://ana:hunter2@db/jobs\n")
    settings = load_settings({"PUNTUAL_DATABASE_URL_FILE": str(file)})
    assert settings.database_url == "postgresql://ana:hunter2@db/jobs"
    assert settings.on_postgres
    file.write_text("postgresql://ana:hunter2@db\n")
    with pytest.raises(InvalidSettingError) as caught:
        load_settings({"PUNTUAL_DATABASE_URL_FILE": str(file)})
    assert "hunter2" not in caught.value.message


def test_a_pooler_is_one_of_two_things() -> None:
    """In any case of letters."""
    assert load_settings({"PUNTUAL_POOLER": "Transaction"}).pooler == "transaction"
    assert load_settings({}).pooler == "none"
    assert "none or transaction" in refusal("POOLER", "session")


def test_what_needs_a_file_says_so() -> None:
    """Asking where the SQLite file lies, when there is none."""
    settings = Settings(database_url="postgresql://ana:hunter2@db/jobs")
    with pytest.raises(InvalidSettingError) as caught:
        _ = settings.database_path
    assert "hunter2" not in caught.value.message


@given(st.from_regex(r"postgres(ql)?://[a-z]*(:[a-z%0-9]*)?@[a-z0-9.,:]*/[a-z]*(\?[a-z]+=[a-z]*)?", fullmatch=True))
def test_what_is_shown_names_the_same_place(url: str) -> None:
    """Host and database stay; what is shown is shown again as it is."""
    try:
        settings = load_settings({"PUNTUAL_DATABASE_URL": url})
    except InvalidSettingError:
        return
    shown = shown_url(settings.database_url)
    assert shown.partition("?")[0].rpartition("@")[2] == url.partition("?")[0].rpartition("@")[2]
    assert shown_url(shown) == shown


def test_without_the_driver_the_sentence_says_how_to_get_it() -> None:
    """PostgreSQL is an extra; SQLite needs none."""
    program = (
        "import sys\n"
        "sys.modules['asyncpg'] = None\n"
        "import puntual\n"
        "app = puntual.App(database_url='postgresql://db/jobs')\n"
        "try:\n"
        "    app.store\n"
        "except puntual.PuntualError as error:\n"
        "    print(error.message)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("pip install 'puntual[postgres]'"), done.stderr
    assert puntual.App(database_url="sqlite:///jobs.db").store is not None
