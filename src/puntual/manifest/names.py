"""The names in a manifest are such as `puntual.model.names` allows, or are refused as a fault of it."""

from __future__ import annotations

from puntual.model.errors import InvalidManifestError
from puntual.model.names import fault_of


def check_name(name: str, *, field: str, what: str = "name") -> str:
    """The name, unchanged.

    Raises:
        InvalidManifestError: it is none; the sentence says which character is in the way.
    """
    if (fault := fault_of(name)) is not None:
        raise InvalidManifestError(f"the {what} {fault}", field=field)
    return name
