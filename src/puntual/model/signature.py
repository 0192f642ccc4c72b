"""A function's parameters as a table made once: arguments are checked when sent and decoded by annotation on arrival.

The table is a Struct type with one field per parameter, so that names, presence and types are checked by one decode in
C, the same on both sides.
"""

from __future__ import annotations

import difflib
import inspect
import typing
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Final

import msgspec

from puntual.model import payload
from puntual.model.errors import InvalidError, InvalidPayloadError
from puntual.model.handle import Run
from puntual.model.profile import refuse_change

_ABSENT: Final = object()
_FIELD: Final = "args"
_PARAMETER = inspect.Parameter
Arguments = dict[str, Any]


class Signature:
    """The parameters of one task's function, without a leading ``run`` annotated as ``puntual.Run``.

    Args:
        task: the task's name, for errors.
        function: what it runs.

    Raises:
        InvalidError: an annotation cannot be resolved, or is of a kind that JSON cannot be decoded into.
    """

    def __init__(self, task: str, function: Callable[..., object]) -> None:
        self._task = task
        parameters = list(inspect.signature(function).parameters.values())
        annotations = _annotations(task, function, parameters)
        self.takes_run = bool(parameters) and annotations[parameters[0].name] is Run
        if self.takes_run:
            del parameters[0]
        self._annotations = annotations
        self._spread = next((each.name for each in parameters if each.kind is _PARAMETER.VAR_POSITIONAL), None)
        self._extra = next((each.name for each in parameters if each.kind is _PARAMETER.VAR_KEYWORD), None)
        named = [each for each in parameters if each.kind is not _PARAMETER.VAR_KEYWORD]
        self.names = tuple(each.name for each in named)
        self._placed = tuple(
            each.name for each in named if each.kind in (_PARAMETER.POSITIONAL_ONLY, _PARAMETER.POSITIONAL_OR_KEYWORD)
        )
        self._only_placed = tuple(each.name for each in named if each.kind is _PARAMETER.POSITIONAL_ONLY)
        self._defaults = {each.name: each.default for each in named}
        self._required = {each.name for each in named if each.default is _PARAMETER.empty} - {self._spread}
        self._simple = not (self._only_placed or self._spread or self._extra)
        self._optional = self._required != set(self.names)
        self._read = self._compile(named)

    def _compile(self, named: list[inspect.Parameter]) -> Callable[[bytes | str], msgspec.Struct]:
        fields: list[tuple[str, Any, Any]] = []
        for each in named:
            kind = self._annotations[each.name]
            if each.name == self._spread:
                kind = list[kind]  # type: ignore[valid-type]  # an annotation known only at run time
            fields.append((each.name, kind, msgspec.NODEFAULT if each.name in self._required else _ABSENT))
            try:
                msgspec.json.Decoder(kind)
            except (TypeError, NotImplementedError) as error:
                raise InvalidError(
                    f"Task {self._task}: the annotation of {each.name!r} cannot be read from JSON: {error}.",
                    field=each.name,
                ) from None
        shape = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=self._extra is None)
        return msgspec.json.Decoder(shape).decode

    def write(self, args: tuple[object, ...], kwargs: Arguments, max_bytes: int | None) -> str:
        """The arguments of a call as a JSON object by parameter name.

        Raises:
            InvalidPayloadError: one is missing, unknown, of another type, outside the profile, or would not arrive as
                it was sent.
        """
        sent = kwargs if not args and self._simple else self._bind(args, kwargs)
        raw = payload.write_plain(sent)
        if raw is None:
            self._refuse_names(sent)
            raw = payload.write_rich(sent, field=_FIELD)
            self._refuse_change(sent, self._decode(raw))
        else:
            self._decode(raw)
        return payload.sized(raw, field=_FIELD, max_bytes=max_bytes)

    def read(self, text: str) -> tuple[tuple[object, ...], Arguments]:
        """The arguments to call the function with: by position (only those that must be), and by name.

        Raises:
            InvalidPayloadError: the text does not fit the function as it is now.
        """
        received = self._decode(text)
        if self._simple:
            return (), received
        placed = self._only_placed if self._spread is None else self._placed
        values = [received.pop(name, self._defaults[name]) for name in placed]
        values += received.pop(self._spread, []) if self._spread is not None else []
        return tuple(values), received

    def _decode(self, text: bytes | str) -> Arguments:
        try:
            received = msgspec.structs.asdict(self._read(text))
        except msgspec.ValidationError as error:
            raise self._explain(text, error) from None
        if self._optional:
            received = {name: value for name, value in received.items() if value is not _ABSENT}
        if self._extra is not None:
            known = set(self.names)
            plain: Arguments = msgspec.json.decode(text)
            kind = self._annotations[self._extra]
            received |= {
                name: part if kind is Any else payload.convert(part, kind, field=f"{_FIELD}.{name}")
                for name, part in plain.items()
                if name not in known
            }
        return received

    def _bind(self, args: tuple[object, ...], kwargs: Arguments) -> Arguments:
        bound = dict(zip(self._placed, args, strict=False))
        for name in kwargs:
            if name in bound:
                raise self._fault(f"is given {name!r} twice, by position and by name", name)
        rest = args[len(self._placed) :]
        if rest and self._spread is None:
            raise self._fault(f"takes {len(self._placed)} arguments by position but was given {len(args)}", None)
        if rest and self._spread is not None:
            bound[self._spread] = list(rest)
        return bound | kwargs

    def _refuse_names(self, given: Mapping[str, object]) -> None:
        unknown = [name for name in given if name not in self.names]
        if unknown and self._extra is None:
            near = difflib.get_close_matches(str(unknown[0]), self.names, 1)
            takes = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(self.names) or 'none'}"
            raise self._fault(f"has no argument {unknown[0]!r}: {takes}", str(unknown[0]))
        missing = [name for name in self.names if name in self._required and name not in given]
        if missing:
            raise self._fault(f"needs the argument {missing[0]!r}", missing[0])

    def _refuse_change(self, sent: Arguments, received: Arguments) -> None:
        for name, value in sent.items():
            annotated = self._annotations.get(name if name in self.names else self._extra or "", Any) is not Any
            refuse_change(value, received[name], f"{_FIELD}.{name}", annotated=annotated)

    def _explain(self, text: bytes | str, error: msgspec.ValidationError) -> InvalidPayloadError:
        given = msgspec.json.decode(text)
        if not isinstance(given, dict):
            return self._fault("takes its arguments as a JSON object by name", None)
        try:
            self._refuse_names(given)
        except InvalidPayloadError as names:
            return names
        fault = payload.unfit(error, _FIELD)
        return InvalidPayloadError(f"Task {self._task}: {fault.message}", field=fault.field)

    def _fault(self, what: str, name: str | None) -> InvalidPayloadError:
        return InvalidPayloadError(f"Task {self._task} {what}.", field=_FIELD if name is None else f"{_FIELD}.{name}")


def _annotations(task: str, function: Callable[..., object], parameters: list[inspect.Parameter]) -> dict[str, Any]:
    """What each parameter's annotation stands for; one without is ``Any``."""
    found: dict[str, Any] = {}
    names: dict[str, object] = getattr(inspect.unwrap(function), "__globals__", {})
    for each in parameters:
        if each.annotation is _PARAMETER.empty:
            found[each.name] = Any
            continue
        try:
            holder = SimpleNamespace(__annotations__={each.name: each.annotation})
            found |= typing.get_type_hints(holder, globalns=names, include_extras=True)
        except Exception as error:
            raise InvalidError(
                f"Task {task}: the annotation {each.annotation!r} of {each.name!r} cannot be resolved: {error}.",
                field=each.name,
                hint="Import or define the type at the top of the module, outside `if TYPE_CHECKING`.",
            ) from error
    return found


def batch_signature(task: str, function: Callable[..., object]) -> Signature:
    """The signature of a batch task's runs: anything by name, for its function takes the runs themselves.

    Args:
        task: its name, for errors.
        function: what takes the list.

    Raises:
        InvalidError: the function's first parameter is annotated, and not as a list of runs.
    """
    first = next(iter(inspect.signature(function).parameters.values()))
    kind = _annotations(task, function, [first])[first.name]
    holder, parts = typing.get_origin(kind) or kind, typing.get_args(kind)
    takes_list = isinstance(holder, type) and issubclass(list, holder)
    if kind is not Any and not (takes_list and parts in ((), (Any,), (Run,))):
        raise InvalidError(
            f"Task {task} has batch=: {first.name!r} is annotated {first.annotation!r} and must be list[puntual.Run].",
            field=first.name,
        )
    return Signature(task, _anything)


def _anything(**args: Any) -> None:  # noqa: ANN401 - any JSON value
    """What a run of a batch task may be given."""


def result_reader(function: Callable[..., object]) -> Callable[[str | None], object]:
    """Reads a stored result by the function's return annotation, or as plain JSON where there is none that fits."""
    try:
        holder = SimpleNamespace(__annotations__={"return": inspect.signature(function).return_annotation})
        names: dict[str, object] = getattr(inspect.unwrap(function), "__globals__", {})
        decoder = msgspec.json.Decoder(typing.get_type_hints(holder, globalns=names, include_extras=True)["return"])
    except Exception:  # noqa: BLE001 - an annotation that cannot be used must not keep anyone from the result
        decoder = msgspec.json.Decoder(Any)

    def read(text: str | None) -> object:
        try:
            return None if text is None else decoder.decode(text)
        except msgspec.ValidationError:
            # A result that could not be encoded was stored as its text.
            return plain_reader(text)

    return read


def plain_reader(text: str | None) -> object:
    """Reads a stored result as plain JSON."""
    return None if text is None else msgspec.json.decode(text)
