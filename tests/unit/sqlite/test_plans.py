"""No statement grows with the history or the backlog: each is read through an index, or is bounded by its own input."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib.resources import files

import pytest

from puntual.model.run import RunState
from puntual.store.requests import RunFilter
from puntual.store.sqlite import SqliteStore
from puntual.store.sqlite.listing import condition
from puntual.store.sqlite.statements import sql

#: What may be read from end to end: it is small by its nature, or stops after one row.
SMALL = re.compile(
    r"SCAN (CONSTANT ROW|\(subquery-\d+\)|given|clock|lane|class|busy|named|n|s|lone"
    r"|workers|queues|tokens|leases|pause_of_all|schema_migrations"
    # The fleet never runs more than its slots.
    r"|(runs|r|b) USING (COVERING )?INDEX runs_(running|alone)"
    # One row each: the first lane, and the first queue.
    r"|runs USING INDEX runs_claim"
    # The dead-letter list, by its own index.
    r"|run_history USING COVERING INDEX history_dead_queue"
    r"|json_each .*|[jt] VIRTUAL TABLE .*)"
)
#: These look at every schedule because that is what they are for, or at a list from its beginning until a page is
#: full; ``r`` in ``rescue_lost`` is the part that has been chosen.
WHOLE = {
    "change_read_chosen": "SCAN s",
    "list_ticks": "SCAN schedules USING INDEX schedules_open",
    "pause_all_look": "SCAN schedules",
    "dead_find": "SCAN r USING INDEX sqlite_autoindex_run_history_1",
    "rescue_lost": "SCAN r",
    "edit_find": "SCAN runs USING INDEX sqlite_autoindex_runs_1",
    "list_runs_from": "SCAN r USING INDEX sqlite_autoindex_run_history_1",
}
NAMES = sorted(
    file.name.removesuffix(".sql")
    for file in (files("puntual.store.sqlite") / "sql").iterdir()
    if not file.name.startswith("_")
)


@pytest.fixture
def connection(path: str, store: SqliteStore) -> Iterator[sqlite3.Connection]:
    """A connection of our own to an open store's file."""
    with closing(sqlite3.connect(path)) as made:
        yield made


def _text(name: str) -> str:
    """The statement as it is run, with one row where it takes rows."""
    text = sql(name).replace("run_source", "run_history").replace("ONE_SCHEDULE", "schedule = ?8")
    given = re.search(r"given \(([^)]*)\)", text)
    return text.replace("(:row)", f"({', '.join('?' * len(given[1].split(',')))})") if given else text


def _plan(connection: sqlite3.Connection, statement: str) -> list[str]:
    numbered = [int(number) for number in re.findall(r"\?(\d+)", statement)]
    count = max(numbered) if numbered else statement.count("?")
    rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}", [None] * count).fetchall()
    return [row[3] for row in rows]


def _uses(connection: sqlite3.Connection, statement: str, *wanted: str) -> None:
    plan = _plan(connection, statement)
    for line in wanted:
        assert any(line in step for step in plan), plan


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_read_from_end_to_end(connection: sqlite3.Connection, name: str) -> None:
    """Tables that grow are searched, never scanned."""
    scans = [step for step in _plan(connection, _text(name)) if step.startswith("SCAN")]
    grown = [step for step in scans if not SMALL.fullmatch(step) and step != WHOLE.get(name)]
    assert grown == []


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("enqueue_known", ("runs USING COVERING INDEX", "run_history USING COVERING INDEX")),
        ("enqueue_held", ("INDEX runs_unique_key (task=? AND unique_key=?)",)),
        (
            "claim_lanes",
            (
                "INDEX runs_claim (queue=? AND priority>?)",
                "INDEX runs_claim (queue=? AND priority=? AND claim_at<?)",
                "INDEX runs_claim (queue=? AND priority=? AND claim_at>?)",
                "INDEX runs_running (queue=?)",
            ),
        ),
        ("claim_runs", ("runs USING INTEGER PRIMARY KEY",)),
        ("settle_guard", ("INDEX sqlite_autoindex_runs_1 (id=?)",)),
        ("end_runs", ("r USING INTEGER PRIMARY KEY",)),
        ("put_back_runs", ("runs USING INTEGER PRIMARY KEY",)),
        ("plan_read", ("INDEX schedules_look (look_at<?)", "INDEX runs_schedule (schedule_id=?)")),
        ("plan_next_look", ("COVERING INDEX schedules_look",)),
        ("beat_read", ("INDEX runs_cancelling (worker=?", "COVERING INDEX runs_running")),
        ("prune_read", ("INDEX history_expiry (expires_on<?)",)),
        ("prune_stretches", ("INDEX stretches_all_ticks (tick_at<?)",)),
        ("fold_replace", ("PRIMARY KEY (schedule_id=? AND number=?)",)),
        ("get_run", ("INDEX sqlite_autoindex_run_history_1 (id=?)",)),
        (
            "list_ticks",
            ("INDEX runs_ticks (schedule=?", "INDEX history_ticks (schedule=?", "stretches_ticks (schedule=?"),
        ),
    ],
)
def test_the_index_meant_for_it_is_used(connection: sqlite3.Connection, name: str, steps: tuple[str, ...]) -> None:
    """The statements of every run and every tick go straight to their rows."""
    _uses(connection, _text(name), *steps)


def test_ticks_of_all_schedules_are_read_by_instant(connection: sqlite3.Connection) -> None:
    """The newest page costs the same however many there are."""
    statement = sql("list_ticks").replace("ONE_SCHEDULE", "TRUE")
    _uses(
        connection,
        statement,
        "INDEX history_all_ticks (tick_at>? AND tick_at<?)",
        "INDEX stretches_all_ticks (tick_at<?)",
    )


@pytest.mark.parametrize(
    ("where", "step"),
    [
        (RunFilter(), "sqlite_autoindex_run_history_1 (id<?)"),
        (RunFilter(states=(RunState.DEAD,)), "history_dead (id<?)"),
        (RunFilter(states=(RunState.DEAD,), queues=("a",)), "history_dead (id<?)"),
        (RunFilter(schedules=("a",)), "history_schedule (schedule=? AND id<?)"),
        (RunFilter(schedules=("a", "b")), "sqlite_autoindex_run_history_1 (id<?)"),
        (RunFilter(queues=("a",), tags=("t",)), "sqlite_autoindex_run_history_1 (id<?)"),
        (RunFilter(ids=("a", "b")), "sqlite_autoindex_run_history_1 (id=?)"),
    ],
)
def test_lists_are_read_in_their_order(connection: sqlite3.Connection, where: RunFilter, step: str) -> None:
    """No page sorts what it does not show."""
    asked = condition(where, after="x")
    statement = sql("list_runs_from").replace("run_source", "run_history").replace("TRUE", asked.text)
    plan = _plan(connection, statement)
    assert any(step in line for line in plan), plan
    assert where.ids or not any("TEMP B-TREE" in line for line in plan), plan
