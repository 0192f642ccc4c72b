"""What a run carries with it: how often it may be tried, how long to wait between, and how long one try may take."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from puntual.model.instant import SECOND

#: Above this doubling has long passed every cap that a user may set.
_DOUBLINGS = 30


class Backoff(StrEnum):
    """How the wait before attempt n+1 grows with n."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"
    FIXED = "fixed"


class OnLostLease(StrEnum):
    """What a worker that cannot renew its lease does with a run that it has started."""

    RUN_ON = "run_on"
    CANCEL = "cancel"


class RetryPolicy(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How often and when.

    ``on`` and ``not_on`` name status classes (``5xx``), statuses (``429``) or error types (``ConnectionError``); an
    empty ``on`` means every failure. A status or type has the word before a class (``on: [429], not_on: [4xx]`` retries
    429), and of two that are as exact ``not_on`` wins.
    """

    max_attempts: int = 5
    backoff: Backoff = Backoff.EXPONENTIAL
    delay_us: int = 5 * SECOND
    max_delay_us: int = 3600 * SECOND
    jitter: bool = True
    on: tuple[str, ...] = ()
    not_on: tuple[str, ...] = ()

    def wait(self, tries: int, random: float) -> int:
        """Microseconds to wait after the ``tries``-th charged attempt (1, 2, ...).

        ``delay * 2**(n-1)``, ``delay * n`` or ``delay``; capped; then, with jitter, between half of that and all of it.

        Args:
            tries: how many attempts were charged so far, at least 1.
            random: a number in [0, 1).
        """
        match self.backoff:
            case Backoff.EXPONENTIAL:
                wait = self.delay_us << min(tries - 1, _DOUBLINGS)
            case Backoff.LINEAR:
                wait = self.delay_us * tries
            case Backoff.FIXED:
                wait = self.delay_us
        wait = min(wait, self.max_delay_us)
        return wait - int(wait * random / 2) if self.jitter else wait

    def allows(self, error_type: str, status_code: int | None) -> bool:
        """Whether this kind of failure is worth another attempt."""
        exact, classes = {error_type}, set[str]()
        if status_code is not None:
            exact.add(str(status_code))
            classes.add(f"{status_code // 100}xx")
        for names in (exact, classes):
            if not names.isdisjoint(self.not_on):
                return False
            if not names.isdisjoint(self.on):
                return True
        return not self.on


class RunPolicy(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The policy of one run, fixed when it was made: an edit of its schedule or task does not reach it.

    ``timeout_us`` None means no deadline.
    """

    retry: RetryPolicy = RetryPolicy()
    timeout_us: int | None = 3600 * SECOND
    on_lost_lease: OnLostLease = OnLostLease.RUN_ON
