"""A cron expression is read once, by the grammar of the dialect it declares, and every character of it is understood.

The day rule is vixie-cron's (crontab(5)): where both day and weekday are restricted either is enough, but a field that
begins with ``*`` does not count as restricted, so that the two must agree. ``L``, ``W`` and ``#`` follow Quartz, ``H``
follows Jenkins: a value fixed by a hash of the schedule's name, so that a fleet of ``H H * * *`` does not start at once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NoReturn

import msgspec

from puntual.model.errors import InvalidRuleError
from puntual.timing.cron.days import ALL_DAYS, ALL_WEEKDAYS, DayRule
from puntual.timing.cron.fields import ALIASES, FIELDS, LAYOUTS, CronDialect, Field
from puntual.timing.cron.wall import WallPattern
from puntual.timing.spread import stable_offset

_LONGEST: Final = 1_000
_ITEM: Final = re.compile(
    r"(?P<star>\*)(?:/(?P<star_step>\d+))?"
    r"|(?P<hash>H)(?:\((?P<hash_low>\d+)-(?P<hash_high>\d+)\))?(?:/(?P<hash_step>\d+))?"
    r"|(?P<low>\d+|[A-Z]{3})(?:-(?P<high>\d+|[A-Z]{3}))?(?:/(?P<step>\d+))?",
    re.ASCII,
)
_DAY_ITEM: Final = re.compile(r"L(?:-(?P<back>\d+))?(?P<lw>W)?|(?P<near>\d+)W", re.ASCII)
_WEEKDAY_ITEM: Final = re.compile(r"(?P<day>\d+|[A-Z]{3})(?:#(?P<nth>\d+)|(?P<last>L))", re.ASCII)


class Values(msgspec.Struct, frozen=True):
    """What one field says: the mask of its values and how it said it, for the day rule, descriptions and warnings."""

    text: str
    mask: int = 0
    starred: bool = False
    """The field begins with ``*`` or is ``?``: vixie-cron's star flag."""
    wild: bool = False
    """It holds ``*``, ``*/n`` or ``H/n``: it means "again and again" and follows elapsed time."""
    open_step: bool = False
    """It holds ``n/m``, which only some crons read as ``n-end/m``."""
    hashed: bool = False


class CronSpec(msgspec.Struct, frozen=True):
    """An expression understood: the values of each time field, the rule for days, and the years if it names some."""

    second: Values
    minute: Values
    hour: Values
    day: Values
    month: Values
    weekday: Values
    days: DayRule
    years: tuple[int, ...] = ()

    @property
    def elapsed(self) -> bool:
        """Whether the rule repeats by itself within the day, and so follows elapsed time through gaps and folds."""
        return self.minute.wild or self.hour.wild

    def pattern(self) -> WallPattern:
        """The pattern of wall clock seconds that the expression matches."""
        return WallPattern(self.second.mask, self.minute.mask, self.hour.mask, self.days, self.years)


@lru_cache(maxsize=4_096)
def parse_cron(expr: str, dialect: CronDialect, hash_key: str) -> CronSpec:
    """What an expression means in a dialect.

    Args:
        expr: the fields, or an ``@name``, which means the same in each dialect.
        dialect: which grammar; never guessed.
        hash_key: what ``H`` is spread by, the schedule's name.

    Raises:
        InvalidRuleError: with the column, what was wrong there and what would be right; or no date ever matches.
    """
    if len(expr) > _LONGEST:
        raise InvalidRuleError(f"a cron expression has at most {_LONGEST} characters, this one has {len(expr)}")
    if not expr.isascii():
        column = next(place for place, letter in enumerate(expr, 1) if not letter.isascii())
        raise InvalidRuleError(f"{expr[column - 1]!r} is no part of a cron expression", column=column)
    if expr.strip().startswith("@"):
        expr, dialect = _alias(expr), "unix"
    fields = FIELDS[dialect]
    tokens = [(found[0].upper(), found.start() + 1) for found in re.finditer(r"\S+", expr)]
    optional = 1 if dialect == "quartz" else 0
    if not len(fields) - optional <= len(tokens) <= len(fields):
        raise InvalidRuleError(
            f"a {dialect} cron expression has the fields {LAYOUTS[dialect]!r}, but {_short(expr)} has {len(tokens)} of them"
        )
    builders = {
        field.name: _FieldReader(field, token, column, hash_key)
        for field, (token, column) in zip(fields, tokens, strict=False)
    }
    read = {name: builder.read() for name, builder in builders.items()}
    day, weekday = builders["day"], builders["weekday"]
    _check_question_marks(day, weekday, quartz=dialect == "quartz")
    spec = CronSpec(
        second=read.get("second", Values("0", 1)),
        minute=read["minute"],
        hour=read["hour"],
        day=read["day"],
        month=read["month"],
        weekday=read["weekday"],
        days=DayRule(
            months=read["month"].mask,
            days=read["day"].mask,
            before_last=tuple(day.before_last),
            near=tuple(day.near),
            near_before_last=tuple(day.near_before_last),
            weekdays=read["weekday"].mask,
            nth=tuple(weekday.nth),
            last_weekdays=weekday.last_weekdays,
            both=read["day"].starred or read["weekday"].starred,
        ),
        years=_numbers(read["year"].mask) if "year" in read and read["year"].text != "*" else (),
    )
    if not spec.pattern().ever_matches():
        raise InvalidRuleError(
            f"{_short(expr)} never fires: no date has the day {spec.day.text} in the month {spec.month.text}"
            + (f" of {read['year'].text}" if spec.years else ""),
            column=day.column,
        )
    return spec


class _FieldReader:
    """Reads one field; what only days and weekdays can say is collected beside the mask."""

    def __init__(self, field: Field, token: str, column: int, hash_key: str) -> None:
        self.field = field
        self.token = token
        self.column = column
        self._hash_key = hash_key
        self._flags = {"wild": False, "open_step": False, "hashed": False}
        self.before_last: list[int] = []
        self.near: list[int] = []
        self.near_before_last: list[int] = []
        self.nth: list[tuple[int, int]] = []
        self.last_weekdays = 0

    def read(self) -> Values:
        """The field's values.

        Raises:
            InvalidRuleError: with the column of the item that is wrong.
        """
        if self.token == "?":
            return self._question_mark()
        mask = 0
        place = self.column
        for item in self.token.split(","):
            mask |= self._item(item, place)
            place += len(item) + 1
        return Values(self.token, mask, starred=self.token.startswith("*"), **self._flags)

    def _question_mark(self) -> Values:
        if self.field.name not in ("day", "weekday") or self.field.hashes:
            self._refuse("? stands only in quartz, for the day or the weekday", self.column)
        return Values("?", ALL_DAYS if self.field.name == "day" else ALL_WEEKDAYS, starred=True)

    def _item(self, item: str, column: int) -> int:
        if self.field.name == "day" and (found := _DAY_ITEM.fullmatch(item)):
            self._day_item(found, column)
            return 0
        if self.field.name == "weekday" and (found := _WEEKDAY_ITEM.fullmatch(item)):
            self._weekday_item(found, column)
            return 0
        if item == "L" and self.field.name == "weekday" and self.field.base:
            return 1 << 6
        found = _ITEM.fullmatch(item)
        if found is None:
            self._refuse(f"{_short(item)} is not understood: " + self._help(), column)
        if found["star"]:
            self._flags["wild"] = True
            values = self._stepped(self._all(), found["star_step"], column)
        elif found["hash"]:
            values = self._hashed(found, column)
        else:
            values = self._ranged(found, column)
        mask = 0
        for value in values:
            mask |= 1 << value
        return mask

    def _day_item(self, found: re.Match[str], column: int) -> None:
        if found["near"]:
            self.near.append(self._number(found["near"], column))
            return
        back = int((found["back"] or "0")[:4])
        if back > 30:
            self._refuse(f"{found[0]} counts back further than a month is long: at most L-30", column)
        (self.near_before_last if found["lw"] else self.before_last).append(back)

    def _weekday_item(self, found: re.Match[str], column: int) -> None:
        weekday = (self._number(found["day"], column) - self.field.base) % 7
        if found["last"]:
            self.last_weekdays |= 1 << weekday
            return
        which = int(found["nth"][:4])
        if not 1 <= which <= 5:
            self._refuse(f"{found[0]}: a month has a weekday 1 to 5 times, so # takes 1 to 5", column)
        self.nth.append((weekday, which))

    def _ranged(self, found: re.Match[str], column: int) -> list[int]:
        field = self.field
        low = self._number(found["low"], column)
        if found["high"] is None:
            if found["step"] is None:
                return self._meant([low])
            if field.name == "weekday" and not field.base:
                self._refuse(f"{found[0]} has no end: write a range, like {found['low']}-6/{found['step']}", column)
            self._flags["open_step"] = True
            return self._stepped(self._meant(list(range(low, field.high + 1))), found["step"], column)
        high = self._number(found["high"], column)
        if low > high:
            if not field.wraps:
                self._refuse(
                    f"{found[0]} runs backwards: write {low}-{field.high},{field.low}-{high} if that is meant", column
                )
            high += field.size
        return self._stepped(self._meant(list(range(low, high + 1))), found["step"], column)

    def _hashed(self, found: re.Match[str], column: int) -> list[int]:
        if not self.field.hashes:
            self._refuse("H is not part of quartz: declare the dialect unix or seconds", column)
        self._flags["hashed"] = True
        low, high = self.field.low, {"day": 28, "weekday": 6}.get(self.field.name, self.field.high)
        if found["hash_low"]:
            low, high = self._number(found["hash_low"], column), self._number(found["hash_high"], column)
            if low > high:
                self._refuse(f"{found[0]} runs backwards: write H({high}-{low})", column)
        key = f"{self._hash_key}\0{self.field.name}"
        if found["hash_step"] is None:
            return self._meant([low + stable_offset(key, high - low + 1)])
        self._flags["wild"] |= not found["hash_low"]
        step = self._step(found["hash_step"], column)
        return self._meant(list(range(low + stable_offset(key, min(step, high - low + 1)), high + 1, step)))

    def _all(self) -> list[int]:
        high = 6 if self.field.name == "weekday" and not self.field.base else self.field.high
        return self._meant(list(range(self.field.low, high + 1)))

    def _meant(self, values: list[int]) -> list[int]:
        """Written numbers as the numbers meant: weekdays from Sunday as 0, and past the end on from the start."""
        base, low = (self.field.base, 0) if self.field.name == "weekday" else (self.field.low, self.field.low)
        return [(value - base) % self.field.size + low for value in values]

    def _stepped(self, values: list[int], step: str | None, column: int) -> list[int]:
        return values if step is None else values[:: self._step(step, column)]

    def _step(self, text: str, column: int) -> int:
        step = int(text[:6])
        if not 1 <= step < self.field.size:
            self._refuse(f"the step /{text} is outside 1-{self.field.size - 1}", column)
        return step

    def _number(self, text: str, column: int) -> int:
        field = self.field
        if text in field.names:
            return field.names[text]
        if not text.isdigit() or not field.low <= int(text[:6]) <= field.high:
            self._refuse(f"{text} is not {self._help()}", column)
        return int(text)

    def _help(self) -> str:
        names = f" or {next(iter(self.field.names))}-{list(self.field.names)[-1]}" if self.field.names else ""
        return f"within {self.field.low}-{self.field.high}{names}"

    def _refuse(self, what: str, column: int) -> NoReturn:
        raise InvalidRuleError(f"{self.field.name}: {what}", column=column)


def _check_question_marks(day: _FieldReader, weekday: _FieldReader, *, quartz: bool) -> None:
    if quartz and (day.token == "?") == (weekday.token == "?"):
        raise InvalidRuleError(
            "quartz needs ? in exactly one of day and weekday: the one that does not matter", column=day.column
        )


def _alias(expr: str) -> str:
    name = expr.strip().lower()
    if name == "@reboot":
        raise InvalidRuleError("@reboot is no time: puntual's schedules do not start with the machine", column=1)
    if name not in ALIASES:
        raise InvalidRuleError(f"{_short(name)} is no name puntual knows: use {', '.join(ALIASES)}", column=1)
    return ALIASES[name]


def _numbers(mask: int) -> tuple[int, ...]:
    return tuple(number for number in range(mask.bit_length()) if mask >> number & 1)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")

