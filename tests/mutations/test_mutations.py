"""The simulation notices every deliberate breakage of the engine and of the store within the seeds of one run of CI."""

from __future__ import annotations

import os
import statistics
import sys
from typing import Final

import pytest

from tests.mutations.catalogue import CATALOGUE
from tests.mutations.hunt import WHOLE, Found, Seeds, hunt

#: The seeds of one run of CI.
_MOST: Final = 500
#: Before all else whole code is looked at for so many seeds: beside other trouble no mutation proves anything.
_QUIET: Final = 4
_PROCESSES: Final = 2
_FIRST: Final = int(os.environ.get("MUTATION_SEED", "1"))


@pytest.mark.mutation
@pytest.mark.timeout(3600)
def test_every_mutation_is_noticed_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    """Each breaks a promise in one of the first 500 seeds, and whole code breaks none in the seeds that told them."""
    found: list[Found] = []
    whole: list[Found] = []

    def report(one: Found) -> None:
        found.append(one)
        with capsys.disabled():
            sys.stdout.write(_row(one))
            sys.stdout.flush()

    hunt([WHOLE], Seeds(_FIRST, _QUIET), processes=1, report=whole.append)
    assert whole == [Found(WHOLE, _QUIET, None)]
    hunt(CATALOGUE, Seeds(_FIRST, _MOST), processes=_PROCESSES, report=report)
    assert sorted(one.name for one in found) == sorted(CATALOGUE)
    seeds = [one.seeds for one in found]
    with capsys.disabled():
        sys.stdout.write(f"{len(found)} mutations, median {statistics.median(seeds):g} seeds, most {max(seeds)}\n")
    assert not [one.name for one in found if one.sighting is None]
    telling = sorted({one.sighting.seed for one in found if one.sighting is not None})
    for seed in telling:
        hunt([WHOLE], Seeds(seed, 1), processes=1, report=whole.append)
    assert not [one.sighting for one in whole if one.sighting is not None]


def _row(one: Found) -> str:
    what = "not noticed" if one.sighting is None else f"{one.sighting.promise:<10} {one.sighting.what}"
    return f"\n{one.seeds:>5}  {one.name:<44} {what}"
