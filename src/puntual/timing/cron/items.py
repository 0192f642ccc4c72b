"""One field of a cron expression, read item by item; an item that is not understood is refused with its column."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from puntual.model.errors import InvalidRuleError
from puntual.model.said import Said, as_said, said
from puntual.timing.cron.days import ALL_DAYS, ALL_WEEKDAYS
from puntual.timing.spread import stable_offset

if TYPE_CHECKING:
    from puntual.timing.cron.fields import Field

_ITEM: Final = re.compile(
    r"(?P<star>\*)(?:/(?P<star_step>\d{1,4}))?"
    r"|(?P<hash>H)(?:\((?P<hash_low>\d{1,4})-(?P<hash_high>\d{1,4})\))?(?:/(?P<hash_step>\d{1,4}))?"
    r"|(?P<low>\d{1,4}|[A-Z]{3})(?:-(?P<high>\d{1,4}|[A-Z]{3}))?(?:/(?P<step>\d{1,4}))?",
    re.ASCII,
)
_DAY_ITEM: Final = re.compile(r"L(?:-(?P<back>\d{1,4}))?(?P<lw>W)?|(?P<near>\d{1,4})W", re.ASCII)
_WEEKDAY_ITEM: Final = re.compile(r"(?P<day>\d{1,4}|[A-Z]{3})(?:#(?P<nth>\d{1,4})|(?P<last>L))", re.ASCII)


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


class FieldReader:
    """Reads one field; what only days and weekdays can say is collected beside the mask."""

    def __init__(self, field: Field, text: str, column: int, hash_key: str) -> None:
        self.field = field
        self.text = text
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
        if self.text == "?":
            return self._question_mark()
        mask = 0
        place = self.column
        for item in self.text.split(","):
            mask |= self._item(item, place)
            place += len(item) + 1
        return Values(self.text, mask, starred=self.text.startswith("*"), **self._flags)

    def _question_mark(self) -> Values:
        if self.field.name not in ("day", "weekday") or self.field.hashes:
            self._refuse(said("? stands only in quartz, for the day or the weekday"), self.column)
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
            fault = said(
                "{item} is not understood: write numbers {range}, *, ranges like 1-5, lists like 1,3 or steps like */5",
                item=quoted(item),
                range=self._range(),
            )
            self._refuse(fault, column)
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
        back = int(found["back"] or 0)
        if back > 30:
            self._refuse(said("{item} counts back further than a month is long: at most L-30", item=found[0]), column)
        (self.near_before_last if found["lw"] else self.before_last).append(back)

    def _weekday_item(self, found: re.Match[str], column: int) -> None:
        weekday = (self._number(found["day"], column) - self.field.base) % 7
        if found["last"]:
            self.last_weekdays |= 1 << weekday
            return
        which = int(found["nth"])
        if not 1 <= which <= 5:
            self._refuse(said("{item}: a month has a weekday 1 to 5 times, so # takes 1 to 5", item=found[0]), column)
        self.nth.append((weekday, which))

    def _ranged(self, found: re.Match[str], column: int) -> list[int]:
        field = self.field
        low = self._number(found["low"], column)
        if found["high"] is None:
            if found["step"] is None:
                return self._meant([low])
            if field.name == "weekday" and not field.base:
                fault = said(
                    "{item} has no end: write a range, like {right}",
                    item=found[0],
                    right=f"{found['low']}-6/{found['step']}",
                )
                self._refuse(fault, column)
            self._flags["open_step"] = True
            return self._stepped(self._meant(list(range(low, field.high + 1))), found["step"], column)
        high = self._number(found["high"], column)
        if low > high:
            if not field.wraps:
                fault = said(
                    "{item} runs backwards: write {right} if that is meant",
                    item=found[0],
                    right=f"{low}-{field.high},{field.low}-{high}",
                )
                self._refuse(fault, column)
            high += field.size
        return self._stepped(self._meant(list(range(low, high + 1))), found["step"], column)

    def _hashed(self, found: re.Match[str], column: int) -> list[int]:
        if not self.field.hashes:
            self._refuse(said("H is not part of quartz: declare the dialect unix or seconds"), column)
        self._flags["hashed"] = True
        low, high = self.field.low, {"day": 28, "weekday": 6}.get(self.field.name, self.field.high)
        if found["hash_low"]:
            low, high = self._number(found["hash_low"], column), self._number(found["hash_high"], column)
            if low > high:
                right = f"H({high}-{low})"
                self._refuse(said("{item} runs backwards: write {right}", item=found[0], right=right), column)
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
        step = int(text)
        if not 1 <= step < self.field.size:
            most = self.field.size - 1
            self._refuse(said("the step /{step} is outside 1-{most}", step=text, most=most), column)
        return step

    def _number(self, text: str, column: int) -> int:
        field = self.field
        if text in field.names:
            return field.names[text]
        if not text.isdigit() or not field.low <= int(text) <= field.high:
            self._refuse(said("{item} is not {range}", item=text, range=self._range()), column)
        return int(text)

    def _range(self) -> Said:
        low, high, names = self.field.low, self.field.high, [*self.field.names]
        if names:
            return said("within {low}-{high} or {names}", low=low, high=high, names=f"{names[0]}-{names[-1]}")
        return said("within {low}-{high}", low=low, high=high)

    def _refuse(self, fault: Said, column: int) -> NoReturn:
        message = said("{field}: {fault}", field=as_said(self.field.name), fault=fault)
        raise InvalidRuleError(message, column=column)


def quoted(text: str) -> str:
    """The text as an error may show it: in quotes and short."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
