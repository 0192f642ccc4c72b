"""The same key gets the same offset on every machine and in every release: what spread, jitter and ``H`` use."""

from __future__ import annotations

from hashlib import sha256


def stable_offset(key: str, bound_us: int) -> int:
    """A number from 0 up to but not including ``bound_us``, even over keys and fixed for each of them.

    Args:
        key: what is spread, for example a schedule's id, or its id and a tick.
        bound_us: the exclusive upper bound in microseconds (or in any unit the caller counts in); below 1 gives 0.
    """
    if bound_us < 1:
        return 0
    # 128 bits over a bound below 2**63 leave a bias that no observer of a schedule can measure.
    return int.from_bytes(sha256(key.encode("utf-8", "surrogatepass")).digest()[:16], "big") % bound_us
