"""A process under a supervisor: it says when it is up and when it has drained, and hears when it shall drain."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from puntual.cli.options import apply_all

F = TypeVar("F", bound=Callable[..., Any])

#: What a member says, each on a line: that it works, with the seconds that a drain may take; how many runs it took
#: with ``--once``; that it ends because it is done, whatever its exit code would let one think.
UP: Final = "up"
TAKEN: Final = "taken"
DONE: Final = "done"

#: How a supervisor starts a member.
supervised = apply_all(
    click.option("--lifeline", type=int, hidden=True, help="A socket whose other end is the supervisor's."),
    click.option("--aside", is_flag=True, hidden=True, help="Another process speaks to people; log only."),
)


class Member:
    """This process as its supervisor knows it. That the line ends is the wish to drain, or the supervisor's death.

    Args:
        lifeline: the descriptor of a stream socket.
        aside: whether it leaves standard output to others.
    """

    def __init__(self, lifeline: int, *, aside: bool) -> None:
        self.aside = aside
        self._line = socket.socket(fileno=lifeline)
        self._line.set_inheritable(False)

    def tell(self, word: str, value: float | None = None) -> None:
        """Says one thing; a supervisor that is gone need not know."""
        with contextlib.suppress(OSError):
            self._line.sendall(f"{word} {value}\n".encode() if value is not None else f"{word}\n".encode())

    def when_asked(self, call: Callable[[], None]) -> None:
        """Calls it, in a thread of its own, when the line ends."""

        def wait() -> None:
            with contextlib.suppress(OSError):
                while self._line.recv(64):
                    pass
            call()

        threading.Thread(target=wait, name="puntual-lifeline", daemon=True).start()


def member_of(said: dict[str, Any]) -> Member | None:
    """The member that the options of `supervised` make of this process, taken out of what was said."""
    lifeline, aside = said.pop("lifeline"), said.pop("aside")
    return None if lifeline is None else Member(lifeline, aside=aside)
