"""Fails when a file or a function is longer than a reader takes in at once; there is no list of exceptions.

A file's lines are all its lines. A function's lines run from ``def`` to its last, its docstring not counted: a promise
is no complexity. Its parameters are all that it takes, keyword-only ones too, without ``self`` and ``cls``.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_LINES = {"src": 400, "tests": 500, "tools": 400, "examples": 400}
SQL_LINES = 80
FUNCTION_LINES = 40
PARAMETERS = 5

Function = ast.FunctionDef | ast.AsyncFunctionDef


def offenders(root: Path) -> Iterator[str]:
    """One sentence for each file or function under ``root`` that is over a cap, in the order of their paths."""
    for folder, cap in FILE_LINES.items():
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root)
            if path.suffix == ".py":
                text = path.read_text(encoding="utf-8")
                yield from _file_offence(str(name), text, cap)
                yield from _function_offences(str(name), text)
            elif path.suffix == ".sql" and "migrations" not in name.parts:
                yield from _file_offence(str(name), path.read_text(encoding="utf-8"), SQL_LINES)


def _file_offence(name: str, text: str, cap: int) -> Iterator[str]:
    lines = len(text.splitlines())
    if lines > cap:
        yield f"{name}: {lines} lines, {cap} allowed"


def _function_offences(name: str, text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text, filename=name)):
        if isinstance(node, Function):
            where = f"{name}:{node.lineno}: {node.name}"
            lines, parameters = function_lines(node), parameter_count(node)
            if lines > FUNCTION_LINES:
                yield f"{where}: {lines} lines, {FUNCTION_LINES} allowed"
            if parameters > PARAMETERS:
                yield f"{where}: {parameters} parameters, {PARAMETERS} allowed"


def function_lines(node: Function) -> int:
    """The lines from ``def`` to the last one, decorators and docstring not counted."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if ast.get_docstring(node, clean=False) is not None:
        docstring = node.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def parameter_count(node: Function) -> int:
    """All parameters, ``*args`` and ``**kwargs`` one each, without a leading ``self`` or ``cls``."""
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args]
    if named and named[0].arg in {"self", "cls"}:
        named = named[1:]
    gathered = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return len(named) + len(arguments.kwonlyargs) + len(gathered)


def main(root: Path) -> int:
    """Prints each offender with its number; 1 if there is one."""
    found = list(offenders(root))
    for sentence in found:
        print(sentence)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent.parent))
