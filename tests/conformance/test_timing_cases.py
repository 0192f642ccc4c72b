"""The public cases: each expression gives exactly the instants that are listed, or is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from puntual.model.instant import parse_instant
from puntual.timing.preview import preview_batch

CASES: list[dict[str, Any]] = msgspec.json.decode((Path(__file__).parents[1] / "cases" / "timing.json").read_bytes())
NOW = parse_instant("2026-01-01T00:00:00Z")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']}-{case['kind']}")
def test_case(case: dict[str, Any]) -> None:
    """A case's reply is the one that is listed, or one of those."""
    reply = preview_batch([case], now=NOW)[0]
    answer = reply.get("fires", "error")
    honest = case["expect_any"] if "expect_any" in case else ["error" if "error" in case else case["expect"]]
    assert reply["id"] == case["id"]
    assert answer in honest, reply
