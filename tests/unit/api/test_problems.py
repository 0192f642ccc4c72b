"""Errors as problems."""

from __future__ import annotations

import msgspec
import pytest

from puntual.api.problems import MisdirectedError, TooLargeError, problem_of
from puntual.model import errors


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidRuleError("x"), 400),
        (errors.TaskUnknownError("x"), 400),
        (errors.UnauthorizedError("x"), 401),
        (errors.ForbiddenError("x"), 403),
        (errors.NotFoundError("x"), 404),
        (errors.ConflictError("x"), 409),
        (errors.ChangedError("x"), 409),
        (TooLargeError("x"), 413),
        (MisdirectedError("x"), 421),
        (errors.StoreDataError("x"), 400),
        (errors.StoreBusyError("x"), 503),
        (errors.StoreUnusableError("x"), 503),
        (errors.PuntualError("x"), 500),
    ],
)
def test_each_error_has_its_status(error: errors.PuntualError, status: int) -> None:
    """And its code, title and sentence."""
    reply = problem_of(error)
    body = msgspec.json.decode(reply.body)
    assert (reply.status_code, body["status"], body["code"], body["detail"]) == (status, status, error.code, "x")
    assert reply.media_type == "application/problem+json"
    assert body["title"]


def test_what_an_error_knows_is_told() -> None:
    """Hint, field and column, and nothing that is not set."""
    body = msgspec.json.decode(problem_of(errors.InvalidError("x", hint="h", field="f", column=3)).body)
    assert (body["hint"], body["field"], body["column"]) == ("h", "f", 3)
    assert not {"hint", "field", "column"} & set(msgspec.json.decode(problem_of(errors.InvalidError("x")).body))


def test_a_revision_that_does_not_fit_is_412_only_where_it_was_sent() -> None:
    """Without ``If-Match`` the same error is a conflict."""
    error = errors.ChangedError("x")
    assert (problem_of(error, conditional=True).status_code, problem_of(error).status_code) == (412, 409)
    assert problem_of(errors.ConflictError("x"), conditional=True).status_code == 409


def test_the_way_out_stands_in_the_headers() -> None:
    """The scheme, the scope that lacks, when to come again, and that the connection ends."""
    assert problem_of(errors.UnauthorizedError("x")).headers["www-authenticate"] == 'Bearer realm="puntual"'
    assert 'scope="admin"' in problem_of(errors.ForbiddenError("x"), scope="admin").headers["www-authenticate"]
    assert problem_of(errors.StoreUnavailableError("x")).headers["retry-after"] == "1"
    assert problem_of(TooLargeError("x")).headers["connection"] == "close"
