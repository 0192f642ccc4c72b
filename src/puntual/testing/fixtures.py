"""Pytest fixtures for apps that use puntual: import them into a ``conftest.py``."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from puntual.testing.manual import ManualApp


@pytest.fixture
async def manual_app() -> AsyncIterator[ManualApp]:
    """An empty app driven by hand, open for the length of a test (needs pytest-asyncio)."""
    async with ManualApp() as manual:
        yield manual
