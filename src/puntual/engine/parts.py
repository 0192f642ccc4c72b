"""What a node is made from, and how it shall run."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from puntual.engine.calendars import Resolve
from puntual.engine.pulse import Pulse, ThreadPulse
from puntual.engine.service import Randomness
from puntual.model.clock import Clock
from puntual.store.contract import Store
from puntual.targets.contract import Targets
from puntual.wake.contract import Wake


class NodeConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a node runs. ``lease`` and ``grace`` are seconds; ``queues`` None means all."""

    roles: tuple[str, ...] = ("scheduler", "worker")
    queues: tuple[str, ...] | None = None
    concurrency: int = 100
    lease: float = 15.0
    grace: float = 30.0
    host: str = ""
    pid: int = 0
    version: str = ""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The contracts' implementations, where time and chance come from, and what a heart beats with.

    ``resolve`` finds out what calendars mean; None leaves them as they are.
    """

    store: Store
    wake: Wake
    targets: Targets
    clock: Clock
    random: Randomness
    pulse: Callable[[], Pulse] = ThreadPulse
    resolve: Resolve | None = None
