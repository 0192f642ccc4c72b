"""A PgBouncer of the tests' own, in transaction mode, before a server of theirs."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.postgres import free_port

_READY_WITHIN = 30.0
_PLACES = ("/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/bin", "/opt/homebrew/bin")


def _program() -> str:
    found = shutil.which("pgbouncer", path=os.pathsep.join([os.environ.get("PATH", ""), *_PLACES]))
    assert found is not None, "PgBouncer is missing: apt-get install pgbouncer"
    return found


@contextmanager
def pgbouncer(port: int, settings: Mapping[str, str] | None = None) -> Iterator[int]:
    """The port of a pooler before the server on that port; it has two server connections, so that they are shared."""
    folder = Path(tempfile.mkdtemp(prefix="puntual-pgbouncer-"))
    own = int((settings or {}).get("listen_port", free_port()))
    lines = {
        "listen_addr": "127.0.0.1",
        "listen_port": str(own),
        "unix_socket_dir": "",
        "auth_type": "any",
        "pool_mode": "transaction",
        "default_pool_size": "2",
        "max_client_conn": "200",
        "logfile": str(folder / "log"),
        **(settings or {}),
    }
    text = f"[databases]\n* = host=127.0.0.1 port={port} user=postgres\n\n[pgbouncer]\n"
    config = folder / "pgbouncer.ini"
    config.write_text(text + "".join(f"{name} = {value}\n" for name, value in lines.items()), encoding="utf-8")
    account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
        config.chmod(0o644)
    process = subprocess.Popen(
        [_program(), "--quiet", str(config)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        user=None if account is None else account.pw_uid,
        group=None if account is None else account.pw_gid,
        extra_groups=None if account is None else [],
    )
    try:
        _wait(process, own, folder / "log")
        yield own
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + _READY_WITHIN
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, log.read_text() if log.exists() else "PgBouncer did not start"
        assert time.monotonic() < until, "PgBouncer did not answer"
