"""One frozen settings object, read and checked once at the start of a process."""

from __future__ import annotations

from puntual.settings.load import describe_settings, load_settings, settled
from puntual.settings.model import ROLES, Settings
from puntual.settings.postgres import shown_url
from puntual.settings.values import Hidden, Network

__all__ = ["ROLES", "Hidden", "Network", "Settings", "describe_settings", "load_settings", "settled", "shown_url"]
