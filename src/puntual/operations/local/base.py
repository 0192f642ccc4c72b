"""What all local operations share: the app that they work on, and its moment."""

from __future__ import annotations

from puntual.app import App
from puntual.operations.filters import Moment


class Local:
    """Operations on the database of an app, which is open while they are used."""

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def _moment(self) -> Moment:
        """Now, and the operator's zone: what filters refer to. What is due is decided by the database alone."""
        return Moment(self._app.clock.now(), self._app.settings.timezone)
