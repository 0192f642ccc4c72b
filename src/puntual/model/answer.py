"""What a handler says became of a run, where returning a value or raising an error does not say it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from puntual.model.outcome import Steer


class Outcome:
    """What became of one run, in its handler's words (exported as ``puntual.Outcome``).

    A batch handler gives one for each of its runs; any other handler may return one too. It is made by `succeeded` or
    `failed`; `Retry`, `Dead` and `Snooze` can stand in its place.
    """

    __slots__ = ("error", "result")

    def __init__(self, result: object, error: BaseException | str | None) -> None:
        self.result: Final = result
        self.error: Final = error

    @classmethod
    def succeeded(cls, result: object = None) -> Outcome:
        """The run has succeeded.

        Args:
            result: what to keep of it; what JSON cannot become is kept as text.
        """
        return cls(result, None)

    @classmethod
    def failed(cls, error: BaseException | str) -> Outcome:
        """This attempt has failed; the task's policy decides about another one.

        Args:
            error: the exception, of which type, message and trace are kept, or a sentence.
        """
        return cls(None, error)

    def __repr__(self) -> str:
        return f"<Outcome failed: {self.error}>" if self.error is not None else f"<Outcome succeeded: {self.result!r}>"


#: What a batch handler says of one run. An exception is a failure, None a success without a result.
Answer: TypeAlias = Outcome | BaseException | None
#: What it returns: one for each run in their order, or one that goes for all of them.
Answers: TypeAlias = Sequence[Answer] | Outcome | Steer | None
