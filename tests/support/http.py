"""What tests of the HTTP target need: runs, a clock that stands still, and a resolver that knows invented names."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
import ssl
from pathlib import Path

from aiohttp.abc import AbstractResolver, ResolveResult

from puntual.model.policy import RunPolicy
from puntual.model.run import Origin, Priority, Run, RunState
from puntual.targets.http import HttpSettings

NOW = 1_784_894_400_000_000
"""2026-07-24T12:00:00Z."""

LOOPBACK = ipaddress.ip_network("127.0.0.1")
OPEN = HttpSettings(allow_private=(LOOPBACK,), version="1.2.3")


class StillClock:
    """A clock on which no time passes."""

    def now(self) -> int:
        """Always the same instant."""
        return NOW

    def steady(self) -> float:
        """Always the same reading."""
        return 5.0

    async def sleep(self, seconds: float) -> None:
        """Returns after one turn of the loop."""
        await asyncio.sleep(0 * seconds)


class KnownNames(AbstractResolver):
    """Resolves the names that it was given and no others; asks nobody."""

    def __init__(self, names: dict[str, list[str]]) -> None:
        self.names = names
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a known name."""
        self.asked.append(host)
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in self.names[host]
        ]

    async def close(self) -> None:
        """Holds nothing."""


def http_run(**args: object) -> Run:
    """A claimed run of the task ``http`` with these arguments."""
    return Run(
        id="0198a0de-0000-7000-8000-000000000001",
        task="http",
        args=json.dumps(args),
        queue="default",
        priority=Priority.NORMAL,
        state=RunState.RUNNING,
        reason=None,
        origin=Origin.EVENT,
        replay_of=None,
        schedule_id=None,
        schedule=None,
        tick_at=None,
        tick_number=None,
        due_at=NOW,
        claim_at=NOW,
        created_at=NOW,
        started_at=None,
        finished_at=None,
        attempt=1,
        max_attempts=5,
        released=0,
        interrupted=0,
        lost=0,
        worker="w",
        claimed_at=NOW,
        cancel_requested=False,
        unique_key=None,
        tags=(),
        policy=RunPolicy(),
        attempts=(),
        result=None,
        discarded_at=None,
    )


def untrusted_tls() -> ssl.SSLContext:
    """A server's side of TLS with a certificate for localhost that nobody signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("untrusted.pem"))
    return context
