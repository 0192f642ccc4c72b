"""Phrases: a closed grammar in English and Spanish that compiles to the rules that cron and intervals compile to."""

from __future__ import annotations

from puntual.timing.phrase.compile import needs_anchor, rule_of, start_of
from puntual.timing.phrase.languages import LANGUAGES, read
from puntual.timing.phrase.meaning import Meaning

__all__ = ["LANGUAGES", "Meaning", "needs_anchor", "read", "rule_of", "start_of"]
