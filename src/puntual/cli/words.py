"""Times, durations, counts and names as people read them; nothing that a terminal would obey gets through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from puntual.model.instant import DAY, HOUR, LATEST, MINUTE, SECOND, Instant, format_instant, parse_instant

_UNITS: Final = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second"))
#: Further away than this, a date says more than a number of days.
_FAR: Final = 60 * DAY


def clean(value: object, most: int | None = None, *, keep: str = "") -> str:
    """A text with its control characters, escapes and invisible letters written out, cut to ``most`` letters."""
    text = str(value)
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() or letter in keep else repr(letter)[1:-1] for letter in text)
    return text if most is None or len(text) <= most else text[: max(most - 1, 1)] + "…"


def plural(count: int, noun: str) -> str:
    """``1 run``, ``1,200 runs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def spell(us: int) -> str:
    """A span of time in its largest unit: ``3 minutes``; below ten seconds with its milliseconds."""
    if us == 0:
        return "0 s"
    if us < 10 * SECOND:
        return f"{us / SECOND:.3g} s" if us >= SECOND else f"{us / 1000:.3g} ms"
    size, noun = next((size, noun) for size, noun in _UNITS if us >= size)
    return plural(us // size, noun)


def spell_ms(ms: object) -> str:
    """The same for a number of milliseconds from a reply; empty when there is none."""
    return spell(round(ms * 1000)) if isinstance(ms, int | float) and ms >= 0 else ""


def relative(instant: Instant, now: Instant, *, far: Instant = _FAR) -> str:
    """How far away an instant is: ``in 3 minutes``, ``2 hours ago``, ``now``; a date beyond ``far``."""
    away = abs(instant - now)
    if away < SECOND:
        return "now"
    if away > far:
        return format_instant(instant - instant % SECOND)[:10]
    away += SECOND // 2
    size, noun = next((size, noun) for size, noun in _UNITS if away >= size)
    # What lies three hours ahead is asked about a moment later: it is not two hours away then.
    words = plural((away + size // 10) // size, noun)
    return f"in {words}" if instant > now else f"{words} ago"


def when(text: object, now: Instant) -> str:
    """How far away the instant of a reply is; empty when there is none."""
    return relative(parse_instant(text), now) if isinstance(text, str) and text else ""


def local(text: object, zone: object) -> str:
    """The instant of a reply as the clocks of a zone show it: ``2026-12-01 07:00 +01:00 Europe/Madrid``.

    Empty for UTC, where it would be the same again.
    """
    if not isinstance(text, str) or not isinstance(zone, str) or not text or zone in ("UTC", "Etc/UTC", ""):
        return ""
    from puntual.model.errors import InvalidZoneError
    from puntual.timing.zone import load_zone

    instant = parse_instant(text)
    try:
        offset = load_zone(zone).offset(instant)
    except InvalidZoneError:
        # The server may know newer zones than this machine.
        return ""
    there = format_instant(min(instant + offset * SECOND, LATEST))
    sign, minutes = "-" if offset < 0 else "+", abs(offset) // 60
    clock = there[11:16] if instant % MINUTE == 0 else there[11:19]
    return f"{there[:10]} {clock} {sign}{minutes // 60:02}:{minutes % 60:02} {clean(zone, 60)}"


def listed(items: Sequence[object], most: int = 3) -> str:
    """``a, b and c``; of many only the first, and how many more."""
    names = [clean(item, 60) for item in items]
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
