"""``/metrics`` over HTTP: what it tells, to whom, and that the board and the rules ask for nothing that it does not."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client import Metric, parser
from prometheus_client.openmetrics import parser as strict

from puntual.engine.metrics import MOST_QUEUES, OTHER
from puntual.model.errors import StoreUnavailableError
from puntual.model.run import NewRun
from puntual.store.requests import RunFilter
from tests.docs.blocks import page
from tests.support.api import Served, dead_run, serving
from tests.support.docs import ROOT
from tests.support.flaky import until

BOARD = ROOT / "contrib" / "grafana" / "puntual.json"
RULES = ROOT / "contrib" / "prometheus" / "puntual-alerts.yaml"
#: What a scrape adds to every number, and a histogram to its buckets.
ADDED = {"job", "instance", "le"}
NAME = re.compile(r"\b(?:puntual|process)_[a-z_]+\b")
MATCHED = re.compile(r"((?:puntual|process)_[a-z_]+)\{([^}]*)\}")
GROUPED = re.compile(r"\b(?:by|on) \(([^)]*)\)")


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    """A served API with default settings."""
    async with serving(tmp_path) as served:
        yield served


async def scraped(api: Served, *, scope: str = "read", accept: str = "") -> tuple[int, str, str]:
    """Status, type and text of one scrape."""
    headers = {"authorization": f"Bearer {api.tokens[scope]}", "accept": accept}
    async with api.session.get("/metrics", headers=headers) as reply:
        return reply.status, reply.headers["content-type"], await reply.text()


async def families(api: Served) -> dict[str, Metric]:
    """What a scrape tells, by name."""
    status, _, text = await scraped(api)
    assert status == 200
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


def values(family: Metric, name: str | None = None) -> dict[tuple[tuple[str, str], ...], float]:
    """The samples of a family, by their labels."""
    return {tuple(sorted(one.labels.items())): one.value for one in family.samples if one.name == (name or one.name)}


async def test_it_needs_a_token_and_read_is_enough(api: Served) -> None:
    """As every route but the probes; and nobody changes anything here."""
    assert (await api.ask("GET", "//metrics", scope="none")).status == 401
    assert (await scraped(api, scope="read"))[0] == 200
    assert (await api.ask("POST", "//metrics")).status == 405


async def test_another_host_is_refused(api: Served) -> None:
    """A page of another site learns nothing by a name of its own."""
    assert (await api.ask("GET", "//metrics", host="evil.example")).status == 421


async def test_both_formats_can_be_parsed(api: Served) -> None:
    """The plain text, and OpenMetrics where it is asked for, which is strict about names, types and the end."""
    await dead_run(api.app)
    status, kind, text = await scraped(api)
    assert (status, kind.partition(";")[0]) == (200, "text/plain")
    plain = {family.name for family in parser.text_string_to_metric_families(text)}
    _, kind, text = await scraped(api, accept="application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    read = strict.text_string_to_metric_families(text)  # type: ignore[no-untyped-call]  # prometheus_client leaves it so
    assert {family.name for family in read} == plain


async def test_a_run_that_dies_is_told_as_attempts_end_and_histograms(api: Served) -> None:
    """By its queue; counted by the process while it runs, and by the fleet for as long as it is kept."""

    @api.app.task(name="broken", queue="mail", max_attempts=1)
    async def broken(n: int) -> None:
        raise ValueError(n)

    async with api.app.running():
        handle = await broken.enqueue(n=1)
        with pytest.raises(Exception, match="dead"):
            await handle.result(timeout="20s")
        found = await families(api)
    mail = ("queue", "mail")
    assert values(found["puntual_attempts"])[("outcome", "failed"), mail] == 1
    assert values(found["puntual_attempts"])[("outcome", "succeeded"), mail] == 0
    assert values(found["puntual_runs"])[mail, ("state", "dead")] == 1
    for name in ("puntual_run_lateness_seconds", "puntual_attempt_duration_seconds"):
        assert values(found[name], f"{name}_count")[(mail,)] == 1
        assert values(found[name], f"{name}_bucket")[("le", "+Inf"), mail] == 1
        assert values(found[name], f"{name}_bucket")[("le", "3600.0"), mail] == 1
    assert values(found["puntual_queue_dead_runs"])[(mail,)] == 1
    assert values(found["puntual_claimed_runs"]) == {(): 1}
    assert values(found["puntual_sweeps"])[()] >= 1


async def test_who_lives_is_told_from_the_leases(api: Served) -> None:
    """Both roles while the product runs here; nobody afterwards."""
    async with api.app.running():
        found = await families(api)
        assert values(found["puntual_workers"]) == {(("role", "scheduler"),): 1, (("role", "worker"),): 1}
        assert values(found["puntual_leases"])[(("state", "live"),)] == 1
        assert values(found["puntual_worker_slots"]) == values(found["puntual_slots"]) == {(): 100}
        assert set(values(found["puntual_loop_failures"]).values()) == {0}
    found = await families(api)
    assert set(values(found["puntual_workers"]).values()) == {0}
    assert values(found["puntual_loop_failures"]) == values(found["puntual_slots"]) == {}


async def test_what_is_due_is_told_with_how_long_it_has_waited(api: Served) -> None:
    """Also where nobody knows its task; a run of tomorrow only waits."""
    await api.ask("POST", "/runs", {"task": "unknown.task", "queue": "q", "at": "2020-01-01T00:00:00Z"})
    await api.ask("POST", "/runs", {"task": "unknown.task", "queue": "q", "delay": "1d"})
    found = await families(api)
    q = (("queue", "q"),)
    assert [values(found[f"puntual_queue_{name}_runs"])[q] for name in ("pending", "due", "running")] == [2, 1, 0]
    assert values(found["puntual_queue_oldest_due_seconds"])[q] >= 0
    assert values(found["puntual_unknown_task_due_runs"]) == {(): 1}


async def test_pauses_are_told(api: Served) -> None:
    """Of a queue, and of everything."""
    await api.ask("PUT", "/queues/q", {"paused": True})
    await api.ask("POST", "/schedules/pause", {"select": {"all": True}})
    found = await families(api)
    assert values(found["puntual_queue_paused"])[(("queue", "q"),)] == 1
    assert values(found["puntual_paused"]) == {(): 1}


async def test_however_many_queues_there_are_the_labels_are_bounded(api: Served) -> None:
    """The first hundred by name, and all others as one: sums of their counts."""
    runs = [{"task": "t", "queue": f"q{number:03}"} for number in range(MOST_QUEUES + 5)]
    await api.ask("POST", "/runs/batch", {"runs": [*runs, {"task": "t", "queue": OTHER}]})
    due = values((await families(api))["puntual_queue_due_runs"])
    assert len(due) == MOST_QUEUES
    assert due[("queue", OTHER),] + sum(value for key, value in due.items() if key[0][1] != OTHER) == MOST_QUEUES + 6


async def test_a_name_with_quotes_and_line_ends_breaks_no_line(api: Served) -> None:
    """What an older version let a queue be called is shown as it is."""
    await api.app.store.enqueue([NewRun(id=api.app.core.new_run_id(), task="t", queue='a "b"\\ é')])
    assert (("queue", 'a "b"\\ é'),) in values((await families(api))["puntual_queue_due_runs"])


async def test_without_the_database_the_process_still_tells_its_own(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And that it cannot reach it; of the fleet it tells nothing."""
    async with api.app.running():
        await families(api)
        node = api.app.node
        assert node is not None
        for name in ("snapshot", "claim"):
            monkeypatch.setattr(api.app.store, name, away)
        await until(lambda: node.store_errors)
        found = await families(api)
        monkeypatch.undo()
    assert values(found["puntual_database_up"]) == {(): 0}
    assert values(found["puntual_workers"]) == values(found["puntual_paused"]) == {}
    assert values(found["puntual_slots"]) == {(): 100}
    assert values(found["puntual_database_errors"])[("code", "store_unavailable"), ("loop", "claim")] >= 1


async def away(*args: object, **kwargs: object) -> None:
    """The database does not answer."""
    raise StoreUnavailableError("away")


async def all_told(api: Served) -> dict[str, set[str]]:
    """Every name that can be asked for, with its labels: after a run that died, and an error of the database."""
    died = await dead_run(api.app)
    async with api.app.running():
        node = api.app.node
        assert node is not None
        await api.app.dead.replay(RunFilter(ids=(died,)))
        await until(lambda: node.settler.metrics.queues)
        node.store_errors["claim", "store_busy"] += 1
        found = await families(api)
    names: dict[str, set[str]] = {}
    for one in (one for family in found.values() for one in family.samples):
        names.setdefault(one.name, set()).update(one.labels)
    return names


def expressions() -> Iterator[tuple[str, str]]:
    """Every question that the board and the rules ask, with its place."""
    board = json.loads(BOARD.read_text(encoding="utf-8"))
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for variable in board["templating"]["list"]:
        if "definition" in variable:
            yield variable["name"], variable["definition"]
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


async def test_the_board_and_the_rules_ask_for_nothing_that_is_not_told(api: Served) -> None:
    """Neither for a name nor for a label, and with as many brackets closed as opened."""
    told = await all_told(api)
    every_label = set().union(*told.values()) | ADDED
    for place, text in expressions():
        assert text.count("(") == text.count(")"), place
        assert set(NAME.findall(text)) <= told.keys(), place
        for grouped in GROUPED.findall(text):
            assert {label.strip() for label in grouped.split(",")} <= every_label, place
        for name, matchers in MATCHED.findall(text):
            assert set(re.findall(r"(\w+)\s*=", matchers)) <= told[name] | ADDED, place


async def test_the_page_of_operations_names_each_with_its_labels(api: Served) -> None:
    """And none that is not told; of a histogram the name without ``_bucket``, ``_sum`` and ``_count``."""
    histograms = ("puntual_run_lateness_seconds", "puntual_attempt_duration_seconds")
    told = {name: labels for name, labels in (await all_told(api)).items() if not name.startswith(histograms)}
    told |= {name: {"queue"} for name in histograms}
    section = page("operations").split("## Metrics")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`(?:puntual|process)_[^|]+) \| ([^|]*)\|", section, re.MULTILINE)
    quoted = re.compile(r"`(\w+)`")
    assert {name: set(quoted.findall(labels)) for names, labels in rows for name in quoted.findall(names)} == told
