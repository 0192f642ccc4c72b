"""Which code works with which schema: its own and older ones after `migrate`, newer ones as far back as they say."""

from __future__ import annotations

import re

import pytest

from puntual.model.errors import StoreUnusableError
from puntual.store.migration import Applied, Migration, Schema, compare, outdated, shipped

FIRST = Migration(1, "0001_first", "CREATE TABLE one (x);")
#: The release after adds, and the one after that takes away what only the first used.
EXPAND = Migration(2, "0002_expand", "-- What the second release needs.\n-- oldest: 1\nALTER TABLE one ADD COLUMN y;")
CONTRACT = Migration(3, "0003_contract", "-- oldest: 2\nALTER TABLE one DROP COLUMN x;")
STEPS = [FIRST, EXPAND, CONTRACT]


def _applied(*steps: Migration) -> list[Applied]:
    return [Applied(step.version, step.checksum, step.oldest) for step in steps]


@pytest.mark.parametrize("knows", [1, 2, 3])
@pytest.mark.parametrize("has", [1, 2, 3])
def test_code_works_with_the_schema_of_the_next_release_and_with_no_later_one(has: int, knows: int) -> None:
    """And what it lacks itself is told, whichever of the three it is."""
    applied, steps = _applied(*STEPS[:has]), STEPS[:knows]
    if (has, knows) == (3, 1):
        told = "It has schema 3, which works with schema 2 or newer, and this puntual knows 1: install a newer puntual."
        with pytest.raises(StoreUnusableError, match=f"^{re.escape(told)}$"):
            compare(applied, steps, database="It")
    else:
        assert compare(applied, steps, database="It") == Schema(has, STEPS[has:knows])


def test_what_a_later_migration_allows_takes_no_bound_of_an_earlier_one_away() -> None:
    """A step that only adds may follow one that took something away."""
    later = Migration(4, "0004_later", "-- oldest: 1\n")
    with pytest.raises(StoreUnusableError, match="has schema 4, which works with schema 2 or newer"):
        compare(_applied(*STEPS, later), [FIRST], database="It")


@pytest.mark.parametrize("text", ["", "-- oldest: x\n", "  -- oldest: 1\n", "-- not older than: -- oldest: 1 then\n"])
def test_a_migration_that_does_not_say_so_works_with_no_older_code(text: str) -> None:
    """What was forgotten, or mistyped, is safe."""
    assert Migration(2, "0002_two", text).oldest == 2


def test_a_database_that_nobody_migrated_lacks_all() -> None:
    """Its schema is 0."""
    assert compare([], STEPS, database="It") == Schema(0, STEPS)


def test_a_newer_database_must_have_been_made_by_the_same_files() -> None:
    """That it is newer excuses no file that was changed."""
    changed = Migration(1, "0001_first", "CREATE TABLE another (x);")
    with pytest.raises(StoreUnusableError, match="migrated by another version of 0001_first"):
        compare(_applied(FIRST, EXPAND), [changed], database="It")


def test_an_older_database_is_told_with_both_numbers_and_the_command() -> None:
    """As code may not migrate wherever it looks."""
    told = outdated(Schema(1, STEPS[1:]), database="It")
    assert str(told) == "It has schema 1 and this puntual works with 3: `puntual migrate` brings it there."


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_shipped_migrations_say_what_can_be(store: str) -> None:
    """They are numbered without a hole, and none names code that is newer than itself."""
    steps = shipped(store)
    assert [step.version for step in steps] == list(range(1, len(steps) + 1))
    assert all(1 <= step.oldest <= step.version for step in steps)
