from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from puntual.model.errors import StoreUnusableError
from puntual.store.requests import Page, RunFilter
from puntual.store.sqlite import same
from tests.support.flaky import file_store, new_run


@pytest.fixture(autouse=True)
def looks_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for the next look."""
    monkeypatch.setattr(same, "_EVERY", 0.0)


@pytest.mark.parametrize("how", ["removed", "replaced"])
async def test_a_file_that_is_no_longer_ours_is_neither_read_nor_written(how: str, tmp_path: Path) -> None:
    """A backup moved over a database in use would make ticks run twice: nothing more is accepted, and it says why."""
    store = file_store(tmp_path)
    await store.open()
    try:
        await store.enqueue([new_run(1)])
        path = tmp_path / "puntual.db"
        copy = tmp_path / "copy.db"
        await store.backup(str(copy))
        if how == "replaced":
            shutil.move(copy, path)
        else:
            path.unlink()
        with pytest.raises(StoreUnusableError, match="removed or replaced"):
            await store.enqueue([new_run(2)])
        with pytest.raises(StoreUnusableError, match="start again"):
            await store.list_runs(RunFilter(), Page())
    finally:
        await store.close()


async def test_a_file_that_is_ours_is_used_on(tmp_path: Path) -> None:
    """Looking changes nothing."""
    store = file_store(tmp_path)
    await store.open()
    await store.enqueue([new_run(1)])
    await store.enqueue([new_run(2)])
    await store.close()
