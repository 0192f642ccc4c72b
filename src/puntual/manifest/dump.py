"""A tree is written as YAML that every reader takes back to the same tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import yaml

from puntual.manifest.document import plain_scalar

_Base: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

#: Wide enough that no text is folded, whatever it is.
_WIDTH: Final = 1 << 30


def dump_documents(documents: Iterable[Mapping[str, object]]) -> str:
    """The YAML text of several documents, keys in the order in which they stand; nothing in it is invisible."""
    text: str = yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    if text.replace("\n", "").isprintable():
        return text
    # What cannot be seen stands in double quotes, where YAML's escapes are those of Python.
    return "".join(letter if letter.isprintable() or letter == "\n" else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    number = ord(letter)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


class _Dumper(_Base):  # type: ignore[valid-type, misc]  # which of the two it is depends on how PyYAML was built
    """Writes plain trees without anchors, and every text so that no reader takes it for something else."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the question is PyYAML's
        """Whether a value that stands twice is written twice: always."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if not isinstance(plain_scalar(text), str):
        style = "'"
    elif "\n" in text and all(line.isprintable() for line in text.split("\n")) and not text.startswith((" ", "\n")):
        style = "|"
    elif not text.isprintable():
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
