"""Refusals and warnings in Spanish: nothing that may be said of a phrase lacks words, and the request decides."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import msgspec
import pytest

from puntual import timing
from puntual.model.errors import InvalidRuleError
from puntual.model.instant import parse_instant
from puntual.model.said import as_said, either, said
from puntual.timing.messages import CATALOGUES, say
from puntual.timing.phrase.lexicon import HOLIDAYS, ONCE, TIMES_SAID
from puntual.timing.preview import PreviewRequest, preview
from tests.support.manifest import fault, read_spec

NOW = parse_instant("2026-05-28T12:00:00Z")
SOURCES = Path(next(iter(timing.__path__)))
#: Where what is said is looked for, and which argument of a call it is.
FILES = [
    *sorted((SOURCES / "phrase").glob("*.py")),
    *(SOURCES / name for name in ("spoken.py", "warn.py", "options.py", "sift.py", "combine.py")),
]
FILES += [SOURCES / "cron" / name for name in ("items.py", "grammar.py")]
SAYS = {"said": 0, "refuse": 0, "expected": 0, "once": 1, "InvalidRuleError": 0}
SPANISH = CATALOGUES["es"]


def templates(file: Path) -> Iterator[str]:
    """Every text in a file that becomes a sentence or a part of one."""
    tree = ast.parse(file.read_text())
    named = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in SAYS and len(node.args) > SAYS[name]:
                argument: ast.expr = node.args[SAYS[name]]
                argument = named.get(argument.id, argument) if isinstance(argument, ast.Name) else argument
                yield from _texts(argument)


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*_texts(node.body), *_texts(node.orelse))


def places(template: str) -> set[str]:
    """What a template leaves open."""
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_sentence_has_spanish_words(file: Path) -> None:
    """A new refusal or warning is translated with it."""
    for template in templates(file):
        assert template in SPANISH, f"{file.name}: {template}"


def test_the_search_finds_what_is_said() -> None:
    """So that the test above is about something."""
    assert sum(len([*templates(file)]) for file in FILES) > 120
    assert {ONCE, HOLIDAYS, TIMES_SAID} <= set(SPANISH)


@pytest.mark.parametrize("template", SPANISH)
def test_both_languages_leave_the_same_open(template: str) -> None:
    """No word of the user's is lost."""
    assert places(SPANISH[template]) == places(template)


def test_parts_are_said_in_the_same_language_and_data_are_left_alone() -> None:
    """A user's word may look like one of ours."""
    message = said("the phrase ends where {what} is expected", what=as_said("a day"))
    assert say(message, "es") == "la frase acaba donde se espera un día"
    assert str(message) == say(message, "en") == "the phrase ends where a day is expected"
    assert say(said("{words!r} is no part of a phrase", words="a day"), "es").startswith("'a day'")
    assert say(either([said("'{offer}'", offer=name) for name in "abc"]), "en") == "'a' or 'b' or 'c'"
    assert say("nobody translated this {", "es") == "nobody translated this {"
    assert str(as_said("{braces}")) == "{braces}"


def refusal(expr: str, **how: str) -> InvalidRuleError:
    """What is said of a phrase."""
    request = msgspec.convert({"expr": expr, "dialect": "phrase", "timezone": "UTC", **how}, PreviewRequest)
    with pytest.raises(InvalidRuleError) as caught:
        preview(request, now=NOW, language=how.get("lang", "en"))
    return caught.value


CASES = Path(__file__).parents[2] / "cases" / "phrases_es.json"
REFUSED = [case["phrase"] for case in json.loads(CASES.read_text()) if "mentions" in case]


@pytest.mark.parametrize("phrase", REFUSED)
def test_what_is_refused_in_spanish_is_explained_in_spanish(phrase: str) -> None:
    """Message and exception alike; the code is the same in any language."""
    spanish = refusal(phrase, lang="es")
    assert (str(spanish), spanish.code) == (spanish.message, "invalid_rule")
    assert not re.search(r"\b(?:the|is|are|write|of|where)\b", re.sub(r"[«'\"].*?[»'\"]", "", spanish.message))


def test_the_request_decides_and_else_the_language_of_the_operator() -> None:
    """Warnings too."""
    request = PreviewRequest(expr="0 9 1 * MON", timezone="UTC")
    assert "day 1 and weekday MON" in str(preview(request, now=NOW)["warnings"])
    assert "se dan el día 1" in str(preview(request, now=NOW, language="es")["warnings"])
    asked = msgspec.structs.replace(request, lang="en")
    assert "day 1 and weekday MON" in str(preview(asked, now=NOW, language="es")["warnings"])


def test_a_schedule_with_a_spanish_rule_is_told_in_spanish() -> None:
    """Its key lang says in which language it is written."""
    do = "lang: es, timezone: UTC, task: a.b"
    assert "no se usa en frases" in fault(f"when: cada lunez a las 9, {do}").message
    assert read_spec(f"when: el día 31 de cada mes a las 9, {do}").warnings == (
        "se saltan los meses sin día 31; L es el último día de cada mes",
    )
