"""Tasks and schedules declared in code: the decorators of an app."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from puntual.manifest import ManifestContext, ManifestSchedule, as_the_task_says, keys_of, read_schedule
from puntual.model.errors import InvalidError, InvalidManifestError
from puntual.model.naming import module_of
from puntual.model.task import Task, TaskRegistry

TaskT = TypeVar("TaskT", bound=Task[..., Any])


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule declared in code; its owner is ``app:MODULE``."""

    name: str
    task: Task[..., object]
    written: dict[str, object]

    def item(self, context: ManifestContext) -> ManifestSchedule:
        """The schedule as a manifest would have it; what it does not say, its task says."""
        owned = msgspec.structs.replace(context, code_owner=f"app:{module_of(self.task.function)}")
        try:
            item = read_schedule(self.name, self.written, owned)
        except InvalidError as error:
            where = f"The schedule {self.name} of {self.task.function.__qualname__} in {module_of(self.task.function)}"
            raise InvalidManifestError(f"{where}: {error.message}", hint=error.hint, field=error.field) from error
        return msgspec.structs.replace(item, spec=as_the_task_says(item.spec, self.task.defaults))


class Declares:
    """The decorators. ``task`` is the registry's own, with all its typing."""

    def __init__(self) -> None:
        self.registry = TaskRegistry()
        self.declared: list[Declared] = []
        self.task = self.registry.task

    def schedule(self, when: str | list[str], *, name: str | None = None, **fields: object) -> Callable[[TaskT], TaskT]:
        """Declares a schedule of the task below it; the fields are those of a manifest.

        Args:
            when: the rule, as in a manifest.
            name: the schedule's name; the task's name without it.
            fields: ``timezone=``, ``overlap=``, ``args=`` and the others; ``except`` is written ``except_=``.
        """

        def declare(task: TaskT) -> TaskT:
            written = {"task": task.name, "when": when, **keys_of(fields)}
            self.declared.append(Declared(name=name or task.name, task=task, written=written))
            return task

        return declare
