"""HTTP requests as runs: checked when written, guarded when sent, capped when answered."""

from __future__ import annotations

from puntual.targets.http.request import HttpRequest, check_http
from puntual.targets.http.target import HttpSettings, HttpTarget

__all__ = ["HttpRequest", "HttpSettings", "HttpTarget", "check_http"]
