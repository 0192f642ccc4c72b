"""Between rows and values: how runs are written as parameters and read from the JSON that a statement answers."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

import msgspec

from puntual.model.errors import StoreDataError
from puntual.model.policy import RunPolicy
from puntual.model.run import NewRun

SqlValue = str | bytes | int | float | None
#: The columns of ``enqueue_runs``, in its order.
NewRow = tuple[SqlValue, ...]

T = TypeVar("T")

_texts = msgspec.json.Decoder(tuple[str, ...])


def encode(value: object) -> str:
    """The JSON text of a value."""
    return msgspec.json.encode(value).decode()


def decode(decoder: msgspec.json.Decoder[T], text: str) -> T:
    """What a statement answered.

    Raises:
        StoreDataError: it holds what this version does not know.
    """
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise StoreDataError(f"The database holds what cannot be read: {error}.") from error


def decode_texts(text: str) -> tuple[str, ...]:
    """Texts from an array of them."""
    return decode(_texts, text)


def new_row(run: NewRun) -> NewRow:
    """A run as the parameters of ``enqueue_runs``."""
    return (
        run.id,
        run.task,
        run.args,
        run.queue,
        int(run.priority),
        str(run.origin),
        run.replay_of,
        run.schedule_id,
        run.schedule,
        run.tick_at,
        run.tick_number,
        run.due_at,
        run.delay_us,
        run.max_attempts,
        run.unique_key,
        encode(run.tags) if run.tags else "[]",
        _policy(run.policy),
    )


@lru_cache(maxsize=1024)
def _policy(policy: RunPolicy) -> str:
    """Runs of one task or schedule share their policy: its text is made once."""
    return encode(policy)
