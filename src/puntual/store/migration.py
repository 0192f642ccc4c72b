"""Numbered SQL files, each applied once and in order; a database that other files made is not worked with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files

import msgspec

from puntual.model.errors import StoreUnusableError


class Migration(msgspec.Struct, frozen=True):
    """One numbered file."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """What tells that a file was changed after it had been applied."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def shipped(store: str) -> list[Migration]:
    """The migrations that come with this code, for the store of that name."""
    folder = files(f"puntual.store.{store}") / "migrations"
    texts = [(file.name, file.read_text(encoding="utf-8")) for file in folder.iterdir() if file.name.endswith(".sql")]
    return [Migration(int(name.split("_", 1)[0]), name.removesuffix(".sql"), text) for name, text in sorted(texts)]


def lacking(applied: Mapping[int, str], steps: Sequence[Migration], *, database: str) -> list[Migration]:
    """The migrations that a database lacks, in order.

    Args:
        applied: the checksums of those that it has, by version.
        steps: those that this code knows.
        database: what its errors call it.

    Raises:
        StoreUnusableError: it is newer than this code, or was made by other files.
    """
    version = max(applied, default=0)
    newest = max((step.version for step in steps), default=0)
    if version > newest:
        raise StoreUnusableError(
            f"{database} has schema {version}, this puntual knows {newest}: install the newer puntual that made it."
        )
    for step in steps:
        if applied.get(step.version, step.checksum) != step.checksum:
            raise StoreUnusableError(
                f"{database} was migrated by another version of {step.name}: use the puntual that made it."
            )
    return [step for step in steps if step.version not in applied]


def outdated(version: int, missing: Sequence[Migration], *, database: str) -> StoreUnusableError:
    """The error for a database that this code would have to migrate first, and may not."""
    return StoreUnusableError(
        f"{database} has schema {version} and this puntual works with {missing[-1].version}: "
        "`puntual migrate` brings it there."
    )
