"""The catalogue of mutations fits the code as it is."""

from __future__ import annotations

import pytest

from puntual.model import transitions
from puntual.store.sqlite.statements import sql as text_of
from tests.mutations.catalogue import CATALOGUE, SERVER_CATALOGUE
from tests.mutations.edits import Mutation, StaleEditError, code, mutation, sql


@pytest.mark.parametrize("one", (CATALOGUE | SERVER_CATALOGUE).values(), ids=CATALOGUE | SERVER_CATALOGUE)
def test_a_mutation_can_be_applied_and_is_undone(one: Mutation) -> None:
    """Whatever it changes stands there as it was afterwards; one that no longer fits the code fails here."""
    settle, decide = text_of("settle_guard"), transitions.decide.__code__
    with one.applied():
        pass
    assert text_of("settle_guard") == settle
    assert transitions.decide.__code__ is decide


def _two() -> int:
    return 2


def test_an_edit_changes_the_living_code() -> None:
    """A function that was imported long since does something else, and so does a statement that was read."""
    broken = mutation("both", "Both.", code(_two, "2", "3"), sql("schema_version", "SELECT", "SELECT DISTINCT"))
    with broken.applied():
        assert _two() == 3
        assert "DISTINCT" in text_of("schema_version")
    assert _two() == 2
    assert "DISTINCT" not in text_of("schema_version")


@pytest.mark.parametrize(
    "edit",
    [
        code(len, "2", "3"),
        code(_two, "3", "4"),
        sql("settle_guard", "nothing of this", ""),
        sql("no_such_verb", "", "x"),
    ],
    ids=["no function of ours", "code that is not there", "text that is not there", "a file that is not there"],
)
def test_an_edit_that_does_not_fit_is_refused(edit: object) -> None:
    """It fails loudly, instead of breaking nothing."""
    assert callable(edit)
    with pytest.raises(StaleEditError), edit():
        pass
