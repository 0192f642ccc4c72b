"""``MODULE:APP`` becomes an App, or one sentence that says which part of it was wrong."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path

from puntual.app import App
from puntual.model.errors import InvalidSettingError
from puntual.settings import Settings


def load_app(settings: Settings | None) -> App:
    """The app that the settings name; without one a bare app, which does http and command runs only.

    The working folder comes first on the path, as it does for ``python -m``.

    Raises:
        InvalidSettingError: there is no such module or name, importing it failed, or it is no App.
    """
    if settings is None or settings.app is None:
        return App()
    module_name, _, path = settings.app.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    found: object = _import(module_name)
    for name in path.split("."):
        if not hasattr(found, name):
            raise _wrong(f"{module_name} has no {path!r}", f"Name the App in it: MODULE:APP, like {module_name}:app.")
        found = getattr(found, name)
    if not isinstance(found, App):
        raise _wrong(f"{settings.app} is a {type(found).__name__}, not a puntual.App")
    return found


def _import(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            hint = f"Modules are looked for in {Path.cwd()} and where Python is installed."
            raise _wrong(f"there is no module {error.name!r}", hint) from error
        raise _failed(name, error) from error
    except Exception as error:
        raise _failed(name, error) from error


def _failed(name: str, error: Exception) -> InvalidSettingError:
    """What went wrong inside the user's module, with the line of it that was running."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if len(frames) > 1 else ""
    return _wrong(f"importing {name} failed: {type(error).__name__}: {error}{place}")


def _wrong(what: str, hint: str | None = None) -> InvalidSettingError:
    return InvalidSettingError(f"The app cannot be loaded: {what}.", hint=hint, field="APP")
