from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "puntual"
# Packages whose parts lie in different layers: the contract names the parts.
SPLIT = {"store", "wake", "targets"}


def layered() -> set[str]:
    """The modules that the layers contract names."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    lines = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    return {name.strip(" ()") for line in lines for name in line.split("|")}


def parts(package: Path) -> set[str]:
    """The names of what a package is made of."""
    modules = {path.stem for path in package.glob("*.py")}
    packages = {path.parent.name for path in package.glob("*/__init__.py")}
    return (modules | packages) - {"__init__", "__main__"}


def test_every_part_of_the_package_has_a_layer() -> None:
    """A new module cannot stay outside the import contracts by not being named in them."""
    names = {f"puntual.{name}" for name in parts(PACKAGE) - SPLIT}
    names |= {f"puntual.{folder}.{name}" for folder in SPLIT for name in parts(PACKAGE / folder)}
    assert sorted(names - layered()) == []
