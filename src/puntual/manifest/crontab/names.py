"""Names for entries that have none: the same for the same command, wherever it stands and whenever it is due.

So an entry that moves, or whose time is changed, stays the schedule that it was when the crontab is imported again. A
command that stands several times has numbered names, given out by when the entries are due and not by where they stand.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from puntual.manifest.crontab.lines import Entry

_LONGEST_WORDS: Final = 40
_LONGEST_QUEUE: Final = 100
_LOOKED_AT: Final = 500
_SEPARATORS: Final = re.compile(r"&&|\|\||[;|(){}\n]")
#: A segment that begins with one of these prepares the work or asks whether there is any.
_AROUND: Final = frozenset({"[", ".", ":", "cd", "export", "set", "sleep", "source", "test", "true", "umask"})
#: What is said of a command by these stands before it.
_BEFORE: Final = frozenset({"chronic", "env", "exec", "flock", "ionice", "nice", "nohup", "sudo", "time", "timeout"})
#: The program of these is the first thing that they are given.
_RUNS: Final = frozenset({"bash", "node", "perl", "php", "python", "python3", "ruby", "run-parts", "sh"})
_NO_PROGRAM: Final = re.compile(r"[A-Za-z_]\w*=.*|-.*|\d[\w.]*|.*[<>&].*", re.ASCII)
_ENDING: Final = re.compile(r"\.(?:bash|js|php|pl|py|rb|sh)$")
_NOT_WORDS: Final = re.compile(r"[^a-z0-9]+")


def name_entries(entries: Mapping[Entry, Sequence[str]], queue: str | None) -> dict[Entry, str]:
    """A name for each entry, all different.

    Args:
        entries: with what else tells two entries of one command apart, such as their zone.
        queue: where they run; two machines may have the same entries.
    """
    alike: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        alike[_name(entry, queue)].append(entry)
    names = {}
    for name, group in alike.items():
        group.sort(key=lambda entry: (entry.when, *entries[entry], entry.number))
        for place, entry in enumerate(group, 1):
            names[entry] = name if place == 1 else f"{name}-{place}"
    return names


def _name(entry: Entry, queue: str | None) -> str:
    said = "\0".join((queue or "", entry.user or "", entry.command, entry.stdin))
    mark = hashlib.sha256(said.encode()).hexdigest()[:6]
    prefix = f"{queue[:_LONGEST_QUEUE]}." if queue else ""
    return f"{prefix}{_words(entry.command)}-{mark}"


def _words(command: str) -> str:
    """The program that a shell line is about, for people to know it by; never its options, which may hold secrets."""
    for segment in _SEPARATORS.split(command[:_LOOKED_AT]):
        words = segment.replace('"', " ").replace("'", " ").split()
        if words and _base(words[0]) in _AROUND:
            continue
        programs = [base for word in words if not _NO_PROGRAM.fullmatch(word) and (base := _base(word))]
        own = {"flock": 1, "sudo": words.count("-u") + words.count("-g")}
        while programs and (programs[0] in _BEFORE or (programs[0] in _RUNS and len(programs) > 1)):
            programs = programs[1 + own.get(programs[0], 0) :]
        shown = _NOT_WORDS.sub("-", _ENDING.sub("", programs[0].lower())) if programs else ""
        if shown.strip("-"):
            return shown.strip("-")[:_LONGEST_WORDS].rstrip("-")
    return "command"


def _base(word: str) -> str:
    return word.rstrip("/").rpartition("/")[2]
