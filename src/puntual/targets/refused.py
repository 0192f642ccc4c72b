"""Whether the system refused this process a thread or a child: whoever looks after the process may look closer."""

from __future__ import annotations

import threading
from typing import Final

#: Set by who was refused one, and cleared by who got one after it had looked.
REFUSED: Final = threading.Event()
