"""Crontabs become manifests, line by line."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import Any

import msgspec
import pytest

from puntual.manifest import Manifest, ManifestSchedule, TargetChecks, read_manifest
from puntual.manifest.crontab import Imported, Reading, import_crontab
from puntual.model.command import check_command
from puntual.model.errors import InvalidManifestError, InvalidZoneError
from puntual.timing.rule import CronRule, Timetable
from tests.support.manifest import check_http, context


def imported(text: str | bytes, **how: Any) -> Imported:
    """What an indented crontab becomes."""
    data = text if isinstance(text, bytes) else dedent(text).encode()
    return import_crontab(data, Reading(**how))


def manifest(found: Imported) -> Manifest:
    """The manifest, read with the checks of a real app."""
    checks = TargetChecks(http=check_http, command=lambda args, /, *, field: check_command(args, field=field))
    return read_manifest(found.manifest, source="import", context=context(checks=checks))


def only(text: str | bytes, **how: Any) -> ManifestSchedule:
    """The one schedule that a crontab becomes, with nothing left out."""
    found = imported(text, **how)
    assert found.left_out == ()
    (schedule,) = manifest(found).schedules
    return schedule


def command(text: str | bytes, **how: Any) -> Any:
    """The command of the one schedule."""
    return json.loads(only(text, **how).spec.target.args)


def reasons(text: str | bytes, **how: Any) -> list[tuple[int, str]]:
    """What is left out, by line."""
    return [(line.number, line.reason) for line in imported(text, **how).left_out]


def test_an_entry_becomes_a_schedule_with_its_fields_and_its_shell_line() -> None:
    """Cron hands every command to a shell, and so does the manifest."""
    schedule = only("*/5\t9-17 * *  mon-fri   /usr/bin/report --all | mail ana\n")
    assert schedule.spec.source["when"] == "*/5 9-17 * * mon-fri"
    assert json.loads(schedule.spec.target.args) == {"shell": "/usr/bin/report --all | mail ana"}


@pytest.mark.parametrize("name", ["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"])
def test_a_name_is_kept(name: str) -> None:
    """They mean the same here."""
    assert only(f"{name} x\n").spec.source["when"] == name


def test_defaults_are_written_with_what_cron_does() -> None:
    """As cron does it, but that runs do not pile up while a machine is away."""
    found = imported("@daily x\n")
    spec = manifest(found).schedules[0].spec
    assert (spec.overlap.value, spec.misfire_policy.value, spec.timeout_us, spec.retry.max_attempts) == (
        "skip",
        "skip",
        None,
        1,
    )
    assert "cron starts a command whatever" in found.manifest


def test_variables_hold_for_the_entries_below_them() -> None:
    """As environment; quotes go, spaces around the sign are nothing, and nothing is expanded."""
    found = imported("""\
        @daily before
        A = "one two "
        'B'=$HOME/x   # no comment
        @daily below
        A=
        @daily last
    """)
    envs = [json.loads(schedule.spec.target.args).get("env") for schedule in manifest(found).schedules]
    assert envs == [
        None,
        {"A": "one two ", "B": "$HOME/x   # no comment"},
        {"A": "", "B": "$HOME/x   # no comment"},
    ]


def test_another_shell_is_called_by_its_path() -> None:
    """The text of `shell` is for /bin/sh; the variable stays in the environment."""
    assert command("SHELL=/bin/bash\n@daily [[ -f x ]] && y\n") == {
        "argv": ["/bin/bash", "-c", "[[ -f x ]] && y"],
        "env": {"SHELL": "/bin/bash"},
    }
    assert "shell" in command("SHELL=/bin/sh\n@daily x\n")


def test_home_is_where_a_command_starts() -> None:
    """Cron changes to it."""
    assert command("HOME=/srv/app\n@daily x\n") == {"shell": "x", "cwd": "/srv/app", "env": {"HOME": "/srv/app"}}


@pytest.mark.parametrize("name", ["MAILTO", "MAILFROM", "LOGNAME", "USER", "CONTENT_TYPE"])
def test_variables_for_cron_itself_are_comments(name: str) -> None:
    """With what becomes of them; the commands never saw them as written."""
    found = imported(f"{name}=ana@example.com\n@daily x\n")
    assert f"  # {name}=ana@example.com: " in found.manifest
    assert json.loads(manifest(found).schedules[0].spec.target.args) == {"shell": "x"}


def test_cron_tz_is_the_zone_of_the_entries_below_it() -> None:
    """An empty one is the machine's again."""
    found = imported("""\
        CRON_TZ=Europe/Madrid
        @daily a
        CRON_TZ=:Asia/Tokyo
        @daily b
        CRON_TZ=
        @daily c
    """)
    zones = [json.loads(schedule.spec.timetable).get("timezone") for schedule in manifest(found).schedules]
    assert zones == ["Europe/Madrid", "Asia/Tokyo", None]


def test_a_zone_that_does_not_exist_leaves_out_what_is_below_it() -> None:
    """At another hour nothing may run."""
    ((line, reason),) = reasons("CRON_TZ=Mars/Base\n@daily a\n")
    assert line == 2
    assert "Mars/Base" in reason


def test_tz_is_the_clock_of_the_commands_and_not_of_the_times() -> None:
    """And the manifest says so."""
    found = imported("TZ=Asia/Tokyo\n@daily a\n", timezone="Europe/Madrid")
    spec = manifest(found).schedules[0].spec
    assert json.loads(spec.timetable)["timezone"] == "Europe/Madrid"
    assert json.loads(spec.target.args)["env"] == {"TZ": "Asia/Tokyo"}
    assert "# TZ=Asia/Tokyo: it is for the commands below" in found.manifest


def test_without_a_zone_the_manifest_asks_for_the_machines() -> None:
    """It is known there and not here; nothing is guessed."""
    assert "# timezone: Europe/Madrid" in imported("@daily a\n").manifest
    assert "cron read times" not in imported("@daily a\n", timezone="UTC").manifest


@pytest.mark.parametrize(
    ("written", "shell", "stdin"),
    [
        ("mail ana%Hello%world", "mail ana", "Hello\nworld\n"),
        (r"date +\%F", "date +%F", None),
        (r"date +\%F%a\%b", "date +%F", "a%b\n"),
        ("cat%", "cat", None),
        ("cat%a%", "cat", "a\n"),
        ("cat%%a", "cat", "\na\n"),
        (r"echo \n \\ \%", r"echo \n \\ %", None),
        (r"echo \\%in", "echo \\\\", "in\n"),
        ("echo \\", "echo \\", None),
    ],
)
def test_percent_signs_are_crons(written: str, shell: str, stdin: str | None) -> None:
    """The first begins the input, others end its lines, and with a backslash before it one is itself."""
    found = command(f"@daily {written}\n")
    assert (found["shell"], found.get("stdin")) == (shell, stdin)


def test_a_system_crontab_has_users() -> None:
    """Each is said above its schedule, for it is the worker's user that counts here."""
    found = imported("17 * * * * www-data  cd / && run-parts /etc/cron.hourly\n", system=True, why="it was said")
    assert found.manifest.startswith("# Made from standard input, read as a system crontab: a user stands")
    assert "  # cron ran it as www-data.\n" in found.manifest
    (schedule,) = manifest(found).schedules
    assert json.loads(schedule.spec.target.args) == {"shell": "cd / && run-parts /etc/cron.hourly"}
    assert schedule.spec.name.startswith("cron-hourly-")


def test_a_system_crontab_read_as_a_users_is_suspected() -> None:
    """Nobody has a program that is called root."""
    (warning,) = imported("@daily x\n17 * * * * root run-parts /etc/cron.hourly\n").warnings
    assert "Line 2" in warning
    assert "--system" in warning
    assert imported("17 * * * * root x\n", system=True).warnings == ()


def test_reboot_is_left_out_with_the_reason_and_is_no_error() -> None:
    """There is no such time."""
    (line,) = imported("@reboot /usr/bin/agent\n").left_out
    assert not line.wrong
    assert "  #   @reboot /usr/bin/agent\n" in imported("@reboot /usr/bin/agent\n").manifest
    assert manifest(imported("@Reboot x\n")).schedules == ()


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("61 * * * * x", "minute: 61"),
        ("0 0 30 2 * x", "never fires"),
        ("@every 5m", "@every"),
        ("@fortnightly x", "@fortnightly"),
        ("@daily", "the command is missing"),
        ("* * * * *", "the command is missing"),
        ("* * * *", "neither an entry"),
        ("hello", "neither an entry"),
        ('A="open', "neither an entry"),
        ('""=x', "neither an entry"),
        ("@daily %input", "its command is empty"),
        ("@daily echo ${args.x}", "${args.x}"),
        ("@daily a\0b", "NUL"),
        (f"@daily {'x' * 70_000}", "65,536"),
    ],
)
def test_what_cannot_be_read_is_a_comment_with_the_reason(line: str, part: str) -> None:
    """The rest is there all the same."""
    found = imported(f"{line}\n@hourly good\n".encode())
    (left,) = found.left_out
    assert left.wrong
    assert left.number == 1
    assert part in left.reason
    assert len(manifest(found).schedules) == 1


def test_a_user_without_a_command_is_no_command() -> None:
    """In a system crontab the first word is never run."""
    assert "a user stands before it" in reasons("@daily reboot\n", system=True)[0][1]


def test_text_that_is_not_utf8_is_left_out_and_shown_as_bytes() -> None:
    """A comment in another encoding is still a comment."""
    found = imported(b"# caf\xe9\n@daily echo caf\xe9\n@hourly ok\n")
    assert [line.number for line in found.left_out] == [2]
    assert r"# caf\xe9" in found.manifest
    assert len(manifest(found).schedules) == 1


def test_line_ends_of_windows_are_taken_away_and_told() -> None:
    """Cron would make them a part of each command."""
    found = imported(b"# hello\r\n@daily x\r\n")
    assert json.loads(manifest(found).schedules[0].spec.target.args) == {"shell": "x"}
    assert "those of Windows" in found.manifest
    assert "\r" not in found.manifest


def test_comments_and_disabled_entries_stay_where_they_are() -> None:
    """Even with letters that end a line in YAML."""
    found = imported("# Nightly\n#0 5 * * * /usr/bin/old\n\n@daily x\n#\u2028@hourly evil: yes\n# \x1b[31m\n")
    lines = found.manifest.split("schedules:\n")[1].splitlines()
    assert lines[:3] == ["  # Nightly", "  #0 5 * * * /usr/bin/old", ""]
    assert lines[-2:] == [r"  #\u2028@hourly evil: yes", r"  # \x1b[31m"]
    assert len(manifest(found).schedules) == 1


def test_what_cannot_be_seen_is_written_out() -> None:
    """A command may hold what turns a line around, or looks like a space; it is kept, and shown."""
    hidden = "echo a\u202eb\xa0c\u2028d \U000e0041 \x07"
    found = imported(f"X=\u200b\n@daily {hidden}\n")
    (schedule,) = manifest(found).schedules
    assert json.loads(schedule.spec.target.args) == {"shell": hidden, "env": {"X": "\u200b"}}
    assert found.manifest.replace("\n", "").isprintable()


def test_a_day_and_a_weekday_are_warned_of() -> None:
    """Either is enough, for cron and here."""
    assert "# Warning: day 1 and weekday MON are both set" in imported("0 9 1 * MON x\n").manifest


def test_a_value_by_lot_is_one_by_name() -> None:
    """Of cronie and OpenBSD."""
    schedule = only("~ 0~5 * * ~3 x\n")
    assert schedule.spec.source["when"] == "H(0-59) H(0-5) * * H(0-3)"


def test_a_random_delay_is_a_spread() -> None:
    """Of cronie: up to so many minutes, the same each time."""
    assert only("RANDOM_DELAY=30\n@daily x\n").spec.spread_us == 30 * 60 * 1_000_000
    assert "spread" in reasons("RANDOM_DELAY=often\n@daily x\n")[0][1]


def test_a_minus_before_an_entry_says_nothing_here() -> None:
    """It keeps a line out of cronie's log."""
    assert only("-*/15 * * * * x\n").spec.source["when"] == "*/15 * * * *"


def test_a_queue_names_its_machine_everywhere() -> None:
    """Two machines with one crontab have different schedules, and pruning one leaves the other."""
    one, two = (imported("@daily x\n", queue=queue) for queue in ("web1", "web2"))
    assert not {*one.schedules} & {*two.schedules}
    assert manifest(one).owner == "crontab:web1"
    (schedule,) = manifest(two).schedules
    assert schedule.spec.queue == "web2"
    assert schedule.spec.name.startswith("web2.x-")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/usr/local/bin/backup.sh --all", "backup"),
        ("cd /srv/app && php artisan schedule:run >> /dev/null 2>&1", "artisan"),
        ("test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )", "cron-daily"),
        ("FOO=1 nice -n 19 ionice -c3 /opt/x/report.py", "report"),
        ("flock -n /tmp/x.lock /usr/bin/sync-all", "sync-all"),
        ("sudo -u bob /usr/bin/sync", "sync"),
        ("python3 -m shop.report --token=abc", "shop-report"),
        ("curl -fsS -u ana:secret https://example.com/ping", "curl"),
        ("[ -f /tmp/x ] && /usr/bin/y", "y"),
        ("日本", "command"),
        ("'", "command"),
    ],
)
def test_a_name_begins_with_the_program(line: str, words: str) -> None:
    """For people to know it by; options, where secrets are, are never in it."""
    name = only(f"@daily {line}\n").spec.name
    assert name.rpartition("-")[0] == words


def test_a_name_stays_when_the_time_or_the_place_changes() -> None:
    """The schedule is edited then, and keeps its history."""
    before = imported("0 1 * * * a\n0 2 * * * b\n").schedules
    after = imported("# new\nX=1\n30 2 * * * b\n@hourly c\n0 1 * * * a\n").schedules
    assert {*before} < {*after}


def test_one_command_at_several_times_is_numbered_by_them() -> None:
    """And not by where they stand."""
    one, two = imported("0 2 * * * a\n0 1 * * * a\n"), imported("0 1 * * * a\n0 2 * * * a\n")
    rules = [{s.spec.name: s.spec.source["when"] for s in manifest(found).schedules} for found in (one, two)]
    assert rules[0] == rules[1]
    assert len(rules[0]) == 2


def test_an_entry_that_stands_twice_runs_twice() -> None:
    """As under cron, and it is said."""
    found = imported("@daily a\n@daily a\n")
    assert len(manifest(found).schedules) == 2
    assert found.manifest.count("stands more than once") == 1


def test_an_empty_crontab_is_an_empty_manifest() -> None:
    """A comment alone, too."""
    for text in (b"", b"\n", b"# nothing yet\n", b"\xef\xbb\xbf"):
        assert manifest(imported(text)).schedules == ()


@pytest.mark.parametrize("how", [{"queue": "a b"}, {"queue": ""}])
def test_a_queue_that_is_no_name_is_refused(how: dict[str, str]) -> None:
    """Before anything is printed."""
    with pytest.raises(InvalidManifestError, match="queue"):
        imported("@daily a\n", **how)


def test_a_zone_that_is_none_is_refused() -> None:
    """Before anything is printed."""
    with pytest.raises(InvalidZoneError):
        imported("@daily a\n", timezone="Madrid/Europe")


def test_what_would_be_endless_is_refused() -> None:
    """A crontab has a megabyte at most, and its manifest what a manifest may have."""
    with pytest.raises(InvalidManifestError, match="1 MB"):
        imported(b"#" * (1 << 20 | 1))
    variables = b"".join(b"A%d=%s\n" % (n, b"x" * 10_000) for n in range(20))
    with pytest.raises(InvalidManifestError, match="16 MB"):
        imported(variables + b"@daily x\n" * 200)


def test_the_rule_that_is_stored_is_the_line_itself() -> None:
    """In the dialect of crontab."""
    timetable = only("0 9 1,15 * *\tx\n").spec.timetable
    assert msgspec.json.decode(timetable, type=Timetable).rule == CronRule(expr="0 9 1,15 * *", dialect="unix")
