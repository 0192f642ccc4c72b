from __future__ import annotations

from puntual.wake.local import LocalWake


def test_who_left_is_not_woken_and_a_second_leave_does_nothing() -> None:
    """A node that stopped is called no more, so that the next one in this process does not keep it alive."""
    woken: list[str] = []
    wake = LocalWake()
    leave = wake.subscribe(runs=lambda: woken.append("runs"), schedules=lambda: woken.append("schedules"))
    wake.hint(["default"])
    wake.hint_planner()
    leave()
    leave()
    wake.hint(["default"])
    wake.hint_planner()
    assert woken == ["runs", "schedules"]


def test_a_hint_wakes_who_serves_its_queue() -> None:
    """Who serves all is woken by each, and a hint about all wakes everybody."""
    woken: list[str] = []
    wake = LocalWake()
    wake.subscribe(queues=["mail"], runs=lambda: woken.append("mail"))
    wake.subscribe(runs=lambda: woken.append("all"))
    for queues, expected in ((["mail"], ["mail", "all"]), (["other"], ["all"]), (["*"], ["mail", "all"])):
        wake.hint(queues)
        assert woken == expected
        woken.clear()


def test_a_hint_without_a_queue_wakes_nobody() -> None:
    """Naming no queue says that nothing changed."""
    woken: list[str] = []
    wake = LocalWake()
    wake.subscribe(runs=lambda: woken.append("runs"))
    wake.hint([])
    assert woken == []
