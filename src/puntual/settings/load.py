"""Settings are read once, from the command line, the environment, ``puntual.toml`` and the defaults, in that order.

Whatever cannot be used is one sentence that names the setting, where it came from, its value and what would be right.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import msgspec

from puntual.model.errors import InvalidSettingError
from puntual.settings.model import Settings
from puntual.settings.table import NOT_SETTINGS, RESERVED, SETTINGS, Setting
from puntual.settings.values import Wrong

PREFIX: Final = "PUNTUAL_"
CONFIG_FILE: Final = "puntual.toml"
_FILE: Final = "_FILE"
_LONGEST_FILE: Final = 64 << 10
#: What may hold a password: all between the scheme of a URL and its last @, its query, and libpq's other way to write.
_SECRETS: Final = (
    (re.compile(r"(://|//|:).*@", re.DOTALL), r"\1***@"),
    (re.compile(r"\?.*", re.DOTALL), "?***"),
    (re.compile(r"(pass\w*\s*=).*", re.DOTALL | re.IGNORECASE), r"\1***"),
)
_NONE: Final[Mapping[str, object]] = {}


class _Given(msgspec.Struct, frozen=True):
    """A raw value and, in words, where it came from."""

    value: object
    source: str


def load_settings(
    environ: Mapping[str, str], *, config_path: str | None = None, overrides: Mapping[str, object] = _NONE
) -> Settings:
    """The settings of this process.

    Args:
        environ: the environment; an empty variable counts as one that is not set.
        config_path: the file to read instead of ``PUNTUAL_CONFIG`` or ``puntual.toml``; it has to exist.
        overrides: what the command line said, by setting name in any case; None counts as not said.

    Raises:
        InvalidSettingError: a value or a file cannot be used, or a key is unknown.
    """
    said = {name.upper(): _Given(value, "the command line") for name, value in overrides.items() if value is not None}
    for name in said:
        if name not in SETTINGS:
            raise InvalidSettingError(f"{name} is no setting{_nearest(name, str.upper)}.", field=name)
    from_environ, warnings = _environment(environ)
    from_file, file_warnings = _file(_config(environ, config_path))
    given = {**from_file, **from_environ, **said}
    found: dict[str, object] = {SETTINGS[name].field: _read(SETTINGS[name], raw) for name, raw in given.items()}
    sources = {name: raw.source for name, raw in given.items()}
    if "LANGUAGE" not in given and _locale(environ).startswith("es"):
        found["language"] = "es"
        sources["LANGUAGE"] = "the locale"
    return msgspec.structs.replace(Settings(), **found, sources=sources, warnings=(*warnings, *file_warnings))


def settled(settings: Settings, overrides: Mapping[str, object]) -> Settings:
    """The settings with what an app says of itself: over the environment and the file, under the command line.

    Raises:
        InvalidSettingError: an override is unknown or cannot be used.
    """
    said = {name.upper(): value for name, value in overrides.items()}
    own = load_settings({}, config_path=os.devnull, overrides=said)
    names = [name for name in said if settings.sources.get(name) != "the command line"]
    changes = {SETTINGS[name].field: getattr(own, SETTINGS[name].field) for name in names}
    sources = {**settings.sources, **dict.fromkeys(names, "the app")}
    return msgspec.structs.replace(settings, **changes, sources=sources)


def describe_settings(settings: Settings) -> list[tuple[str, str, str]]:
    """Name, value as it would be written, and source of each setting, in the order of the documentation."""
    defaults = Settings()
    described = []
    for name, setting in SETTINGS.items():
        value: object = getattr(settings, setting.field)
        usual = "default" if value == getattr(defaults, setting.field) else "code"
        described.append((name, setting.show(value), settings.sources.get(name, usual)))
    return described


def _environment(environ: Mapping[str, str]) -> tuple[dict[str, _Given], list[str]]:
    """What the environment sets. Unknown names only warn: other programs' variables may start with ours."""
    raw: dict[str, _Given] = {}
    warnings = []
    for variable in sorted(environ):
        name = variable.removeprefix(PREFIX)
        if name == variable or name in NOT_SETTINGS or not environ[variable]:
            continue
        if _plain_name(name) in RESERVED:
            warnings.append(f"{variable} is set, but this release does not use it.")
        elif _plain_name(name) in SETTINGS:
            raw[name] = _Given(environ[variable], variable)
        else:
            warnings.append(f"{variable} is no setting of puntual{_nearest(name, PREFIX.__add__)}.")
    return _resolve_files(raw), warnings


def _config(environ: Mapping[str, str], config_path: str | None) -> Path | None:
    """The file of settings, None when there is none; one that was asked for has to be there."""
    asked = config_path or environ.get(PREFIX + "CONFIG")
    path = Path(asked or CONFIG_FILE)
    return path if asked or path.is_file() else None


def _file(path: Path | None) -> tuple[dict[str, _Given], list[str]]:
    """What ``puntual.toml`` sets. Unknown keys are errors: nobody else writes into this file."""
    if path is None:
        return {}, []
    import tomllib  # noqa: PLC0415 - 5 ms, and most processes have no file of settings

    try:
        with path.open("rb") as stream:
            table = tomllib.load(stream)
    except OSError as error:
        raise InvalidSettingError(
            f"The settings file {path} cannot be read: {error.strerror}.", field="CONFIG"
        ) from error
    except ValueError as error:
        raise InvalidSettingError(f"The settings file {path} is not valid TOML: {error}.", field="CONFIG") from error
    raw: dict[str, _Given] = {}
    warnings = []
    for key, value in table.items():
        name = key.upper()
        if key == key.lower() and _plain_name(name) in RESERVED:
            warnings.append(f"{key} in {path} is set, but this release does not use it.")
        elif key == key.lower() and _plain_name(name) in SETTINGS:
            raw[name] = _Given(value, f"{key} in {path}")
        else:
            raise InvalidSettingError(f"{key} in {path} is no setting{_nearest(name, str.lower)}.", field=key)
    return _resolve_files(raw), warnings


def _resolve_files(raw: Mapping[str, _Given]) -> dict[str, _Given]:
    """The same values, with what the files of ``_FILE`` names hold in their place."""
    resolved: dict[str, _Given] = {}
    for name, given in raw.items():
        plain = _plain_name(name)
        if plain != name and plain in raw:
            raise InvalidSettingError(
                f"{raw[plain].source} and {given.source} are both set; keep one of them.", field=plain
            )
        resolved[plain] = given if plain == name else _Given(_text_of(plain, given), given.source)
    return resolved


def _text_of(name: str, given: _Given) -> str:
    try:
        if not isinstance(given.value, str):
            raise Wrong("the path of a file with the value")
        with Path(given.value).open(encoding="utf-8") as stream:
            text = stream.read(_LONGEST_FILE + 1)
    except OSError as error:
        problem = f"which cannot be read: {error.strerror or error}"
    except ValueError:
        problem = "which must be a file of UTF-8 text that holds the value"
    else:
        if len(text) <= _LONGEST_FILE:
            return text.removesuffix("\n")
        problem = f"which holds more than {_LONGEST_FILE} characters"
    raise InvalidSettingError(f"{name} is to be read from {given.value!r} ({given.source}), {problem}.", field=name)


def _read(setting: Setting, given: _Given) -> object:
    try:
        return setting.read(given.value)
    except Wrong as wrong:
        shown = "cannot be used" if setting.private else f"is {_shown(given.value)}"
        raise InvalidSettingError(
            f"{setting.name} {shown} (from {given.source}); it must be {wrong}.", field=setting.name
        ) from None


def _shown(value: object) -> str:
    """A value as an error may repeat it: short, and without what a URL may hold of passwords."""
    text = value if isinstance(value, str) else repr(value)
    for secret, instead in _SECRETS:
        text = secret.sub(instead, text)
    shown = repr(text) if isinstance(value, str) else text
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _plain_name(name: str) -> str:
    return name.removesuffix(_FILE)


def _locale(environ: Mapping[str, str]) -> str:
    """The language of messages by POSIX: the first of these three that is set decides."""
    return environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""


def _nearest(name: str, spell: Callable[[str], str]) -> str:
    """The known name most like this one, as the end of a sentence; nothing when none is like it."""
    close = get_close_matches(name, [*SETTINGS, *RESERVED], n=1)
    return f"; the nearest one is {spell(close[0])}" if close else ""
