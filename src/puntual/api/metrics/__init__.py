"""``/metrics``: one answer in the format of Prometheus, of the whole fleet and of this process; numbers only.

What the fleet's numbers need is read from the database when it is asked for; without the database the process still
tells its own, and that it cannot reach it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from puntual.api.metrics.family import gauge
from puntual.api.metrics.fleet import fleet
from puntual.api.metrics.process import process
from puntual.api.route import app_of
from puntual.app import App
from puntual.engine.offset import Offset
from puntual.model.errors import StoreError
from puntual.operations.local.health import clock_offset
from puntual.store.requests import Snapshot

#: Prometheus gives up after 10 seconds, unless told otherwise.
_PATIENCE: Final = 3.0


async def scrape(request: Request) -> Response:
    """Everything, in the format that the request accepts."""
    app = app_of(request)
    snapshot, offset = await _asked(app)
    up = gauge("puntual_database_up", "Whether the database answers.", float(snapshot is not None))
    families = [up, *fleet(snapshot), *process(app.node, offset)]
    encode, media_type = choose_encoder(request.headers.get("accept", ""))
    # A hundred queues make some thousand lines, and the loop has other things to do.
    text = await asyncio.to_thread(encode, _registry(families))
    return Response(text, headers={"content-type": media_type})


async def _asked(app: App) -> tuple[Snapshot | None, Offset | None]:
    """What the database tells; nothing while it is away."""
    try:
        async with asyncio.timeout(_PATIENCE):
            return await app.store.snapshot(), await clock_offset(app)
    except (StoreError, TimeoutError):
        return None, None if app.node is None else app.node.clock_offset


def _registry(families: Iterable[Metric]) -> CollectorRegistry:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Made(families))
    return registry


class _Made(Collector):
    """Families that were made before."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Those."""
        return self._families
