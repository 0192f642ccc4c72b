"""What the variables above an entry mean for it: its zone, its environment, where it starts, how far it is spread."""

from __future__ import annotations

from typing import Final

import msgspec

from puntual.manifest.crontab.lines import Entry, Variable

_DEFAULT_SHELL: Final = "/bin/sh"

#: Variables that cron obeys or overrides itself, with what becomes of them.
_REMARKS: Final = {
    "MAILTO": "nothing is mailed; `puntual run show` has what a command printed",
    "MAILFROM": "nothing is mailed",
    "CONTENT_TYPE": "nothing is mailed",
    "CONTENT_TRANSFER_ENCODING": "nothing is mailed",
    "LOGNAME": "cron sets it to its user, whatever is written; here it is the worker's",
    "USER": "cron sets it to its user, whatever is written; here it is the worker's",
}
_TZ: Final = "it is for the commands below; when they are due is read on another clock (that of CRON_TZ)"


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What holds from one line to the next; made anew by each variable."""

    env: tuple[tuple[str, str], ...] = ()
    zone: str | None = None
    delay: str | None = None

    @property
    def kept(self) -> tuple[str, ...]:
        """What tells two entries of one text apart."""
        return (self.zone or "", self.delay or "", *(f"{name}={value}" for name, value in self.env))

    def set(self, variable: Variable) -> State:
        """The state below a variable's line."""
        match variable:
            case Variable(name="CRON_TZ", value=value):
                return msgspec.structs.replace(self, zone=value.removeprefix(":") or None)
            case Variable(name="RANDOM_DELAY", value=value):
                return msgspec.structs.replace(self, delay=value)
            case Variable(name=name) if name in _REMARKS:
                return self
        env = dict(self.env) | {variable.name: variable.value}
        return msgspec.structs.replace(self, env=tuple(sorted(env.items())))

    def remark(self, variable: Variable) -> str | None:
        """What is to be said of a variable; None where the schedules below show what became of it."""
        return _TZ if variable.name == "TZ" else _REMARKS.get(variable.name)

    def schedule(self, when: str, entry: Entry) -> dict[str, object]:
        """The keys and values of an entry's schedule, as a manifest has them."""
        env = dict(self.env)
        shell = env.get("SHELL", _DEFAULT_SHELL)
        command: dict[str, object] = {"shell": entry.command}
        if shell != _DEFAULT_SHELL:
            command = {"argv": [shell, "-c", entry.command]}
        if "HOME" in env:
            command["cwd"] = env["HOME"]
        if env:
            command["env"] = env
        if entry.stdin:
            command["stdin"] = entry.stdin
        return {
            "when": when,
            **({"timezone": self.zone} if self.zone else {}),
            **({"spread": f"{self.delay}m"} if self.delay not in (None, "", "0") else {}),
            "command": command,
        }
