"""The words with which a handler steers its run."""

from __future__ import annotations

import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.errors import InvalidDurationError
from puntual.model.outcome import Dead, Outcome, Retry, Snooze, Steer


def test_retry_may_name_its_wait() -> None:
    """Without one the policy's own wait counts."""
    assert (Retry().after_us, Retry("1m").after_us, Retry(after="90s").after_us) == (None, 60_000_000, 90_000_000)


def test_retry_and_dead_keep_their_reason() -> None:
    """It is what history shows."""
    assert (Retry(reason="busy").reason, Dead("bad input").reason) == ("busy", "bad input")
    assert str(Dead("bad input")) == "bad input"


def test_snooze_names_its_wait() -> None:
    """It has no other meaning."""
    assert Snooze("5m").after_us == 300_000_000


@pytest.mark.parametrize("make", [Retry, Snooze])
def test_a_wait_that_is_none_is_refused(make: type[Retry | Snooze]) -> None:
    """The error names the argument."""
    with pytest.raises(InvalidDurationError) as caught:
        make("soon")
    assert caught.value.field == "after"


def test_all_of_them_can_be_raised() -> None:
    """One base class catches them all."""
    for word in (Retry(), Dead("x"), Snooze("1s")):
        with pytest.raises(Steer):
            raise word


def test_an_outcome_is_plain_until_told_otherwise() -> None:
    """Nothing is final, asked for or kept by default."""
    outcome = Outcome(kind=OutcomeKind.FAILED)
    assert (outcome.final, outcome.again, outcome.retry_after_us, outcome.follow_ups, outcome.evidence) == (
        False,
        False,
        None,
        (),
        None,
    )
