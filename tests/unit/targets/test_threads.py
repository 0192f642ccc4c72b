"""Tests of `puntual.targets.function.threads`: a system that has no thread to give."""

from __future__ import annotations

import threading

import pytest

from puntual.targets.function.threads import Threads
from puntual.targets.refused import REFUSED


async def test_what_no_thread_was_found_for_is_never_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caller is told at once, and the thread that comes later does later work alone."""
    threads = Threads(1)
    did: list[str] = []

    def note(what: str) -> bool:
        did.append(what)
        return True

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            await threads.run(lambda: note("first"))
    assert REFUSED.is_set(), "whoever looks after the process is told"
    REFUSED.clear()
    await threads.run(lambda: note("second"))
    await threads.run(lambda: note("third"))
    threads.close()
    assert did == ["second", "third"]
