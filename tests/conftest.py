"""After each test nothing leaks: no thread, no task, no child process, no open database file."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.leaks import held, leaks_since, tasks_left

# Before any test imports it: each of them may be the first.
pytest.register_assert_rewrite("puntual.testing.conformance")


@pytest.fixture(autouse=True)
def _nothing_leaks() -> Iterator[None]:
    """Compares what the process holds before the test's fixtures are made and after they, and its loop, are gone."""
    before = held()
    yield
    if found := leaks_since(before):
        pytest.fail("the test leaked: " + "; ".join(found), pytrace=False)


@pytest.fixture(autouse=True)
def _no_task_leaks(request: pytest.FixtureRequest, _nothing_leaks: None) -> None:
    """Gives each async test, and no other, the check that has to run inside its loop before that is closed."""
    function = request.function
    hypothesis = getattr(function, "hypothesis", None)
    if inspect.iscoroutinefunction(hypothesis.inner_test if hypothesis else function):
        request.getfixturevalue("_tasks_end")


@pytest.fixture
async def _tasks_end() -> AsyncIterator[None]:
    yield
    if found := await tasks_left():
        pytest.fail("the test leaked: " + "; ".join(found), pytrace=False)
