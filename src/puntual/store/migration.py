"""Numbered SQL files, each applied once and in order, and how old the code may be that works with what they made.

Processes are replaced one by one, so code of the release before works on the schema of the next one meanwhile. A
migration that only adds says in a line ``-- oldest: N`` that code which knows schema N and no later one goes on working
beside it. The database keeps that number with the migration, because code that is older than it has not got the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from importlib.resources import files
from typing import Final

import msgspec

from puntual.model.errors import StoreUnusableError

_OLDEST: Final = re.compile(r"^-- oldest: ([0-9]+)$", re.MULTILINE)


class Migration(msgspec.Struct, frozen=True):
    """One numbered file."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """What tells that a file was changed after it had been applied."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def oldest(self) -> int:
        """The oldest schema whose code works with what this makes; where the file says nothing, none but its own."""
        found = _OLDEST.search(self.text)
        return int(found[1]) if found else self.version


class Applied(msgspec.Struct, frozen=True):
    """What a database keeps of a migration that it has."""

    version: int
    checksum: str
    oldest: int


class Schema(msgspec.Struct, frozen=True):
    """The schema of a database, 0 where there is none, and the migrations that it lacks, in order."""

    version: int
    missing: list[Migration]


def shipped(store: str) -> list[Migration]:
    """The migrations that come with this code, for the store of that name."""
    folder = files(f"puntual.store.{store}") / "migrations"
    texts = [(file.name, file.read_text(encoding="utf-8")) for file in folder.iterdir() if file.name.endswith(".sql")]
    return [Migration(int(name.split("_", 1)[0]), name.removesuffix(".sql"), text) for name, text in sorted(texts)]


def compare(applied: Collection[Applied], steps: Sequence[Migration], *, database: str) -> Schema:
    """How a database stands to this code. One that is newer lacks nothing, if it lets code of this age work with it.

    Args:
        applied: the migrations that it has.
        steps: those that this code knows.
        database: what its errors call it.

    Raises:
        StoreUnusableError: it is too new for this code, or was made by other files.
    """
    version = max((one.version for one in applied), default=0)
    oldest = max((one.oldest for one in applied), default=0)
    newest = max((step.version for step in steps), default=0)
    if oldest > newest:
        raise StoreUnusableError(
            f"{database} has schema {version}, which works with schema {oldest} or newer, and this puntual knows "
            f"{newest}: install a newer puntual."
        )
    checksums = {one.version: one.checksum for one in applied}
    for step in steps:
        if checksums.get(step.version, step.checksum) != step.checksum:
            raise StoreUnusableError(
                f"{database} was migrated by another version of {step.name}: use the puntual that made it."
            )
    return Schema(version, [step for step in steps if step.version not in checksums])


def outdated(schema: Schema, *, database: str) -> StoreUnusableError:
    """The error for a database that this code would have to migrate first, and may not."""
    return StoreUnusableError(
        f"{database} has schema {schema.version} and this puntual works with {schema.missing[-1].version}: "
        "`puntual migrate` brings it there."
    )
