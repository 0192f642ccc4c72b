"""The comparison of held claims: what the store thinks this worker holds against what it does hold.

They differ after an answer was lost: a claim that committed but was never heard of, or a settle that was. One
difference may be a write still on its way; only a pair that differs in two comparisons in a row, with no claim or
settle of it in flight, counts.
"""

from __future__ import annotations

import msgspec

Claim = tuple[str, int]


class Difference(msgspec.Struct, frozen=True):
    """``orphans`` are held by the store only: give them back. ``phantoms`` are held by the worker only: drop them."""

    orphans: frozenset[Claim] = frozenset()
    phantoms: frozenset[Claim] = frozenset()

    def confirmed_by(self, later: Difference) -> Difference:
        """What both found."""
        return Difference(self.orphans & later.orphans, self.phantoms & later.phantoms)

    def __bool__(self) -> bool:
        return bool(self.orphans or self.phantoms)


def compare(theirs: set[Claim], ours: set[Claim], *, settling: set[Claim], claiming: bool) -> Difference:
    """How the two sides differ, leaving out what may be on its way.

    Args:
        theirs: the claims that the store holds for this worker.
        ours: the claims that the worker holds.
        settling: claims whose end is being written.
        claiming: whether a claim is being made, so that the store may know more than we do.
    """
    orphans = frozenset() if claiming else frozenset(theirs - ours - settling)
    return Difference(orphans, frozenset(ours - theirs - settling))
