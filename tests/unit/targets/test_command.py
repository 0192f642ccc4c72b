from __future__ import annotations

import asyncio
import errno
import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.outcome import Outcome
from puntual.targets.command import CommandSettings, CommandTarget
from puntual.targets.refused import REFUSED
from tests.support.processes import Note, gone, python
from tests.support.runs import NOW, SECOND, running

# Starts a child in its group, notes both, and outlasts every polite word.
STUBBORN = "trap '' TERM; sh -c 'trap \"\" TERM; while :; do sleep 60; done' & echo $$ $! > note; wait"
# A worker that runs one command and waits for it: what the test kills.
WORKER = """
import asyncio, json, sys
from puntual.targets.command import CommandSettings, CommandTarget
from tests.support.processes import Note, gone, python
from tests.support.runs import running
target = CommandTarget(CommandSettings(allow=True, cwd=sys.argv[1]))
asyncio.run(target.execute(running(task="command", args=json.dumps({"shell": sys.argv[2]}))))
"""

REAL_ECHO = str(Path("/bin/echo").resolve())
Execute = Callable[..., asyncio.Task[Outcome]]


@pytest.fixture
def execute(tmp_path: Path) -> Execute:
    """Runs a command in an empty directory; every one is allowed unless the test says otherwise."""

    def start(settings: CommandSettings | None = None, **args: object) -> asyncio.Task[Outcome]:
        made = settings or CommandSettings(allow=True, cwd=str(tmp_path), grace_us=SECOND // 10)
        run = running(task="command", args=json.dumps(args), schedule="nightly", tick_at=NOW, attempt=2)
        return asyncio.create_task(CommandTarget(made).execute(run))

    return start


def output(outcome: Outcome) -> str:
    """What the command wrote."""
    assert outcome.evidence is not None
    return outcome.evidence.body.decode()


def message(outcome: Outcome) -> str:
    """What the error says."""
    assert outcome.error is not None
    return outcome.error.message


def script(text: str, **more: object) -> dict[str, object]:
    """The arguments of a command that is shell text."""
    return {"shell": text, **more}


class TestOutcomes:
    async def test_a_command_that_ends_well_succeeds_with_its_output(self, execute: Execute) -> None:
        """The result is small; the output is evidence."""
        outcome = await execute(argv=["/bin/sh", "-c", "echo out; echo err >&2; echo more"])
        assert (outcome.kind, outcome.status_code, outcome.result) == (OutcomeKind.SUCCEEDED, 0, '{"exit_code":0}')
        assert output(outcome) == "out\nerr\nmore\n"
        assert outcome.evidence is not None
        assert outcome.evidence.content_type == "text/plain"

    async def test_another_exit_code_is_a_failure_that_shows_the_last_line(self, execute: Execute) -> None:
        """The policy may speak about the code."""
        outcome = await execute(argv=["/bin/sh", "-c", "echo first; echo 'disk full'; exit 3"])
        assert (outcome.kind, outcome.status_code, outcome.final) == (OutcomeKind.FAILED, 3, False)
        assert message(outcome) == "/bin/sh ended with exit code 3: disk full"

    async def test_success_codes_are_the_users(self, execute: Execute) -> None:
        """Some programs say more than yes and no."""
        outcome = await execute(argv=["/bin/sh", "-c", "exit 3"], success_codes=[0, 3])
        assert (outcome.kind, outcome.result) == (OutcomeKind.SUCCEEDED, '{"exit_code":3}')
        assert (await execute(argv=["true"], success_codes=[3])).kind is OutcomeKind.FAILED

    @pytest.mark.parametrize("name", ["KILL", "SEGV", "TERM", "HUP", "INT"])
    async def test_a_signal_is_a_failure_that_names_it(self, execute: Execute, name: str) -> None:
        """Whatever killed it, the command had no say."""
        outcome = await execute(**script(f"kill -{name} $$"))
        assert outcome.error is not None
        assert (outcome.error.type, outcome.status_code) == ("Killed", None)
        assert message(outcome) == f"/bin/sh was killed by SIG{name}."

    async def test_output_that_is_no_text_is_kept_as_it_is(self, execute: Execute) -> None:
        """Evidence is bytes; the message is text that every store takes."""
        outcome = await execute(argv=["/bin/sh", "-c", r"printf '\377\000x'; exit 1"])
        assert outcome.evidence is not None
        assert outcome.evidence.body == b"\xff\x00x"
        assert message(outcome).endswith(": \ufffd\\x00x")

    @pytest.mark.parametrize(
        ("args", "says"),
        [
            ({"argv": ["no-such-program"]}, "There is no program 'no-such-program' in PATH"),
            ({"argv": ["/no/such/program"]}, "There is no program /no/such/program here."),
            ({"argv": ["/etc/passwd"]}, "The program /etc/passwd is not executable"),
            ({"argv": ["/"]}, "There is no program / here"),
            ({"argv": ["true"], "cwd": "/no/such"}, "The directory /no/such of cwd does not exist"),
            ({"argv": []}, "args.argv is empty"),
            ({}, "must have either argv"),
        ],
    )
    async def test_what_cannot_be_started_is_final_and_says_why(
        self, execute: Execute, args: dict[str, object], says: str
    ) -> None:
        """No other attempt here would go better."""
        outcome = await execute(**args)
        assert (outcome.kind, outcome.final, outcome.evidence) == (OutcomeKind.FAILED, True, None)
        assert says in message(outcome)

    async def test_a_command_line_that_is_too_long_is_final(self, execute: Execute) -> None:
        """The system's own limit, in its own words."""
        outcome = await execute(argv=["echo", "x" * 200_000])
        assert outcome.final
        assert "could not be started: Argument list too long." in message(outcome)

    async def test_a_file_that_the_system_cannot_execute_is_final(self, execute: Execute, tmp_path: Path) -> None:
        """It exists and may be executed, and still is no program."""
        (tmp_path / "broken").write_bytes(b"#!/no/such/interpreter\n")
        (tmp_path / "broken").chmod(0o755)
        outcome = await execute(argv=["./broken"])
        assert outcome.final
        assert "broken could not be started: No such file or directory." in message(outcome)

    @pytest.mark.parametrize(
        ("number", "why"),
        [(errno.EMFILE, "Too many open files"), (errno.EAGAIN, "Resource temporarily unavailable"),
         (errno.ENOMEM, "Cannot allocate memory"), (-1, "the system did not say why")],
    )  # fmt: skip
    async def test_what_the_system_had_no_room_to_start_is_put_back(
        self, execute: Execute, monkeypatch: pytest.MonkeyPatch, number: int, why: str
    ) -> None:
        """It costs no attempt: a neighbour's leak is no failure. uvloop may tell a number that is none of the system's.

        That the system has no child to give is told to whoever looks after the process.
        """

        async def refuse(*_: object) -> None:
            raise OSError(number, "unknown")

        REFUSED.clear()
        monkeypatch.setattr("puntual.targets.command.target.run_process", refuse)
        outcome = await execute(argv=["true"])
        assert (outcome.kind, outcome.retry_after_us) == (OutcomeKind.SNOOZED, 5 * SECOND)
        assert f"could not be started: {why}." in message(outcome)
        assert REFUSED.is_set() is (number == errno.EAGAIN)
        REFUSED.clear()

    async def test_a_program_that_is_being_written_is_tried_again(
        self, execute: Execute, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """That is its own matter, and an attempt."""

        async def refuse(*_: object) -> None:
            raise OSError(errno.ETXTBSY, "busy")

        monkeypatch.setattr("puntual.targets.command.target.run_process", refuse)
        outcome = await execute(argv=["true"])
        assert (outcome.kind, outcome.final) == (OutcomeKind.FAILED, False)


class TestSurroundings:
    async def test_the_environment_says_what_runs_and_hides_the_workers_settings(self, tmp_path: Path) -> None:
        """Identity and times of the run, what a program may expect, and what the user added."""
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": "/home/ana",
            "LC_TIME": "C",
            "PUNTUAL_SECRET_KEYS": "x",
            "AWS_KEY": "y",
        }
        settings = CommandSettings(allow=True, cwd=str(tmp_path), environ=environ)
        args = json.dumps({"argv": ["env"], "env": {"EXTRA": "ñ", "PUNTUAL_ATTEMPT": "9"}})
        run = running(args=args, schedule="nightly", tick_at=NOW, due_at=NOW + SECOND, attempt=2)
        found = dict(line.split("=", 1) for line in output(await CommandTarget(settings).execute(run)).splitlines())
        assert found == {
            "PATH": os.environ["PATH"],
            "HOME": "/home/ana",
            "LC_TIME": "C",
            "LANG": "C.UTF-8",
            "EXTRA": "ñ",
            "PUNTUAL_RUN_ID": run.id,
            "PUNTUAL_SCHEDULE": "nightly",
            "PUNTUAL_TICK_AT": "1970-01-01T00:16:40Z",
            "PUNTUAL_DUE_AT": "1970-01-01T00:16:41Z",
            "PUNTUAL_ATTEMPT": "2",
        }

    @pytest.mark.parametrize(
        ("args", "stdin"),
        [({}, ""), ({"args": {"day": "2026-03-08"}}, '{"day":"2026-03-08"}'), ({"stdin": "text\n"}, "text\n")],
    )
    async def test_standard_input_has_the_arguments(
        self, execute: Execute, args: dict[str, object], stdin: str
    ) -> None:
        """As JSON; empty where there are none; or the text that was written for it."""
        assert output(await execute(argv=["cat"], **args)) == stdin

    async def test_a_command_need_not_read_its_input(self, execute: Execute) -> None:
        """A pipe that nobody reads is no failure."""
        assert (await execute(argv=["true"], stdin="x" * 200_000)).kind is OutcomeKind.SUCCEEDED

    async def test_it_starts_in_the_workers_directory_or_in_cwd(self, execute: Execute, tmp_path: Path) -> None:
        """A relative ``cwd``, and a relative program, start from there."""
        (tmp_path / "sub").mkdir()
        assert output(await execute(argv=["pwd"])).strip() == str(tmp_path)
        assert output(await execute(argv=["pwd"], cwd="sub")).strip() == str(tmp_path / "sub")

    async def test_signals_are_handled_as_in_a_shell(self, execute: Execute) -> None:
        """What the worker or the shim ignores is not ignored by the command."""
        ignored = output(await execute(argv=["grep", "SigIgn", "/proc/self/status"])).split()[1]
        # 32 and 33 belong to the C library.
        assert int(ignored, 16) & 0x7FFFFFFF == 0

    async def test_no_descriptor_of_the_worker_is_open(self, execute: Execute) -> None:
        """Only the three standard streams, and the one that lists them."""
        assert output(await execute(argv=["ls", "/proc/self/fd"])).split() == ["0", "1", "2", "3"]


class TestPermission:
    async def outcome(self, allow: bool | tuple[str, ...], folder: Path, **args: object) -> Outcome:  # noqa: FBT001 - the setting itself
        """The outcome under this setting."""
        target = CommandTarget(CommandSettings(allow=allow, cwd=str(folder)))
        return await target.execute(running(args=json.dumps(args)))

    async def test_commands_are_off_unless_allowed(self, tmp_path: Path) -> None:
        """The sentence names the setting and the program."""
        outcome = await self.outcome(False, tmp_path, argv=["/bin/echo", "x"])
        assert outcome.final
        assert outcome.error is not None
        assert outcome.error.type == "ForbiddenError"
        assert "'/bin/echo' was not run: set ALLOW_COMMANDS" in message(outcome)

    async def test_a_list_allows_the_programs_that_it_names(self, tmp_path: Path) -> None:
        """By whatever name they are called."""
        for name in ("echo", "/bin/echo", REAL_ECHO):
            outcome = await self.outcome((REAL_ECHO,), tmp_path, argv=[name, "x"])
            assert outcome.kind is OutcomeKind.SUCCEEDED
        outcome = await self.outcome((REAL_ECHO,), tmp_path, argv=["/bin/cat"])
        assert "is not one that ALLOW_COMMANDS names" in message(outcome)

    async def test_a_link_to_an_allowed_program_is_allowed(self, tmp_path: Path) -> None:
        """It is the same program."""
        (tmp_path / "link").symlink_to("/bin/echo")
        assert (await self.outcome(("/bin/echo",), tmp_path, argv=["./link"])).kind is OutcomeKind.SUCCEEDED

    async def test_a_link_that_was_allowed_does_not_allow_its_siblings(self, tmp_path: Path) -> None:
        """Where many programs are links to one file, each has to be named."""
        for name in ("ls", "rm"):
            (tmp_path / name).symlink_to("/bin/echo")
        allow = (str(tmp_path / "ls"),)
        assert (await self.outcome(allow, tmp_path, argv=["./ls"])).kind is OutcomeKind.SUCCEEDED
        assert "ALLOW_COMMANDS" in message(await self.outcome(allow, tmp_path, argv=["./rm"]))

    async def test_a_program_that_took_an_allowed_name_is_refused(self, tmp_path: Path) -> None:
        """Names mean nothing, files do."""
        (tmp_path / "echo").write_text("#!/bin/sh\necho fake\n", encoding="ascii")
        (tmp_path / "echo").chmod(0o755)
        outcome = await self.outcome(("/bin/echo",), tmp_path, argv=["echo"], env={"PATH": str(tmp_path)})
        assert "ALLOW_COMMANDS" in message(outcome)

    async def test_shell_text_needs_everything_allowed(self, tmp_path: Path) -> None:
        """It may hold any program."""
        outcome = await self.outcome(("/bin/sh",), tmp_path, **script("echo x"))
        assert "needs ALLOW_COMMANDS to be true" in message(outcome)
        assert output(await self.outcome(True, tmp_path, **script("echo $((1 + 1))"))) == "2\n"


class TestEnding:
    async def test_a_cancelled_command_may_clean_up(self, execute: Execute, tmp_path: Path) -> None:
        """SIGTERM first, and what it writes then is on disk before the cancellation passes."""
        note = Note(tmp_path)
        attempt = execute(
            CommandSettings(allow=True, cwd=str(tmp_path), grace_us=10 * SECOND),
            **script("trap 'echo clean > done; exit' TERM; echo $$ > note; while :; do sleep 0.01; done"),
        )
        processes = await note.processes()
        attempt.cancel()
        assert (await attempt).kind is OutcomeKind.FAILED
        assert (tmp_path / "done").exists()
        assert gone(processes)

    async def test_a_cancelled_command_is_gone_with_what_ignores_sigterm(
        self, execute: Execute, tmp_path: Path
    ) -> None:
        """After the grace the whole group is killed, grandchildren too."""
        note = Note(tmp_path)
        attempt = execute(**script(STUBBORN))
        processes = await note.processes()
        attempt.cancel()
        assert (await attempt).kind is OutcomeKind.FAILED
        assert gone(processes)

    async def test_a_cancelled_command_leaves_its_output(self, execute: Execute, tmp_path: Path) -> None:
        """What it wrote until it was stopped, and while it was, is what tells why it had to be."""
        note = Note(tmp_path)
        attempt = execute(
            CommandSettings(allow=True, cwd=str(tmp_path), grace_us=10 * SECOND),
            **script("trap 'echo stopping; exit 0' TERM; echo step 1; echo $$ > note; while :; do sleep 0.01; done"),
        )
        await note.processes()
        attempt.cancel()
        outcome = await attempt
        assert outcome.kind is OutcomeKind.FAILED
        # A shell may say between them that its own child was terminated.
        assert (output(outcome).splitlines()[0], output(outcome).splitlines()[-1]) == ("step 1", "stopping")
        assert message(outcome) == "/bin/sh was stopped before it ended."

    async def test_a_large_output_of_a_killed_command_is_read_to_its_end(
        self, execute: Execute, tmp_path: Path
    ) -> None:
        """What the pipe holds when the group is killed is not thrown away."""
        note = Note(tmp_path)
        written = "x" * 50_000
        attempt = execute(
            CommandSettings(allow=True, cwd=str(tmp_path), grace_us=0),
            **script(f"trap '' TERM; printf {written}; echo $$ > note; while :; do sleep 60; done"),
        )
        await note.processes()
        attempt.cancel()
        assert output(await attempt) == written

    async def test_what_a_command_leaves_behind_ends_with_it(self, execute: Execute, tmp_path: Path) -> None:
        """A process in the background neither holds up its end nor outlives it."""
        note = Note(tmp_path)
        attempt = execute(**script("sleep 60 & echo $! > note; echo left"))
        processes = await note.processes()
        assert output(await attempt) == "left\n"
        assert gone(processes)

    async def test_what_left_the_group_does_not_hold_up_the_end(self, execute: Execute, tmp_path: Path) -> None:
        """A daemon keeps its pipe, and the run is over all the same."""
        note = Note(tmp_path)
        daemon = "setsid sh -c 'echo $$ > note; echo x > go; exec sleep 60'"
        attempt = execute(**script(f"mkfifo go; {daemon} & read x < go; echo left"))
        (left,) = await note.processes()
        assert output(await attempt) == "left\n"
        assert left.is_running()
        left.kill()

    async def test_a_worker_that_is_killed_takes_its_commands_along(self, tmp_path: Path) -> None:
        """SIGKILL leaves it no time for anything, and yet nothing runs on."""
        note = Note(tmp_path)
        with python(WORKER, str(tmp_path), STUBBORN) as worker:
            processes = await note.processes()
            worker.kill()
            assert gone(processes)

    async def test_a_shim_that_is_killed_takes_its_command_along(self, execute: Execute, tmp_path: Path) -> None:
        """The worker sees it, ends the group and records a failure."""
        note = Note(tmp_path)
        attempt = execute(**script(STUBBORN))
        processes = await note.processes()
        os.kill(os.getpgid(processes[0].pid), signal.SIGKILL)
        assert "the process that watches over it was killed" in message(await attempt)
        assert gone(processes)


class TestOutput:
    async def test_endless_output_is_drained_and_its_middle_dropped(self, execute: Execute) -> None:
        """100 MB go through; the beginning and the end stay, and the note between them says how much is missing."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        outcome = await execute(argv=["/bin/sh", "-c", "echo begin; head -c 100000000 /dev/zero; echo end"])
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
        text = output(outcome)
        assert text.startswith("begin\n")
        assert text.endswith("end\n")
        assert outcome.evidence is not None
        assert outcome.evidence.truncated == 100_000_010 - 64 * 1024
        assert f"... {outcome.evidence.truncated} bytes are missing here ..." in text

    async def test_output_of_the_length_of_the_cap_is_whole(self, tmp_path: Path) -> None:
        """Nothing is dropped that there was room for."""
        target = CommandTarget(CommandSettings(allow=True, cwd=str(tmp_path), max_output=9))
        for written, kept, missing in (
            ("123456789", "123456789", 0),
            ("1234567890", "1234\n... 1 bytes are missing here ...\n67890", 1),
        ):
            outcome = await target.execute(running(args=json.dumps({"argv": ["printf", written]})))
            assert outcome.evidence is not None
            assert (output(outcome), outcome.evidence.truncated) == (kept, missing)

    async def test_many_commands_leave_no_descriptor_open(self, execute: Execute) -> None:
        """A worker runs for months."""
        await execute(argv=["true"])
        before = psutil.Process().num_fds()
        await asyncio.gather(*(execute(argv=["true"]) for _ in range(20)))
        assert psutil.Process().num_fds() <= before
