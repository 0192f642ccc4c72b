"""Starts one command and ends its whole process group when the command ends or the worker is gone, however it went.

It is run as a script of its own (``python -I -S shim.py SOCKET PROGRAM ARGV...``). It leads the group, so that the
group's number cannot pass to anybody else while it lives. On the socket it tells the worker how the command ended; that
the socket ends tells it that the worker is gone. Nothing is polled. It imports little: it starts with every command.
"""

from __future__ import annotations

import os
import select
import sys

try:
    # Without the enums that `signal` makes: 5 of the 13 ms that a start took.
    import _signal as signal  # type: ignore[import-not-found]  # a part of the interpreter that has no stub
except ImportError:
    import signal

#: On the socket: how a start failed, and an errno; or how the command ended, and a wait status.
NOT_STARTED = "E"
ENDED = "S"
#: What the worker may send to the group to end it politely, and what a terminal or a session's end sends.
_NOT_FOR_US = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_DEFAULTED = (*_NOT_FOR_US, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)


def main(number: str, program: str, *argv: str) -> None:
    """Runs until the command has ended or the worker is gone; ends with its group."""
    for each in _NOT_FOR_US:
        signal.signal(each, signal.SIG_IGN)
    worker = int(number)
    os.set_inheritable(worker, False)
    ended, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        child = os.posix_spawn(program, argv, os.environ, setsigdef=_DEFAULTED, setsigmask=())
    except OSError as error:
        os.write(worker, f"{NOT_STARTED}{error.errno}".encode())
        return
    _let_go_of_standard_streams()
    while True:
        ready, _, _ = select.select((worker, ended), (), ())
        if worker in ready:
            break
        os.read(ended, 512)
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            os.write(worker, f"{ENDED}{status}".encode())
            break
    os.killpg(0, signal.SIGKILL)


def _let_go_of_standard_streams() -> None:
    """The pipes to the worker belong to the command: they must end when it closes them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


if __name__ == "__main__":
    main(*sys.argv[1:])
