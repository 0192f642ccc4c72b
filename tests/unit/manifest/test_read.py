from __future__ import annotations

from pathlib import Path

import pytest

from puntual.manifest import (
    Manifest,
    ManifestErrors,
    QueueSettings,
    Text,
    gather_texts,
    read_manifest,
    read_manifests,
    read_schedule,
)
from puntual.model.errors import InvalidManifestError
from tests.support.manifest import CONTEXT, context, faults, read

JOB = "{every: 1h, task: a.b}"


def read_all(*texts: str) -> tuple[Manifest, ...]:
    """The manifests of several files."""
    return read_manifests([Text(text, f"{place}.yaml") for place, text in enumerate(texts)], CONTEXT)


def names(manifest: Manifest) -> list[str]:
    """The names of its schedules."""
    return [item.spec.name for item in manifest.schedules]


def test_an_owner_marks_every_schedule() -> None:
    """``--prune`` removes by this mark, so each schedule carries it."""
    manifest = read(f"owner: billing\nschedules: {{a: {JOB}, b: {JOB}}}")
    assert manifest.owner == "billing"
    assert {item.spec.owner for item in manifest.schedules} == {"billing"}


def test_without_an_owner_the_callers_own_is_used() -> None:
    """What code declares belongs to the app; a file without an owner belongs to nobody."""
    assert read(f"schedules: {{a: {JOB}}}").owner is None
    assert read(f"schedules: {{a: {JOB}}}", code_owner="app:shop").schedules[0].spec.owner == "app:shop"


def test_queues_have_their_limits() -> None:
    """``none`` and silence both mean no limit."""
    manifest = read("queues: {mail: {concurrency: 20}, free: {concurrency: none}, bare: }")
    assert manifest.queues == (
        QueueSettings(name="mail", concurrency=20),
        QueueSettings(name="free"),
        QueueSettings(name="bare"),
    )


def test_an_empty_text_is_an_empty_manifest() -> None:
    """With ``--prune`` it is how everything of an owner is removed."""
    assert read("") == Manifest()
    assert read("owner: billing\nschedules:\nqueues:\ndefaults:\n") == Manifest(owner="billing")


def test_documents_of_one_owner_are_one_manifest() -> None:
    """Whether they stand in one file or in several."""
    (manifest,) = read_all(
        f"owner: x\nschedules: {{a: {JOB}}}\n---\nowner: x\nschedules: {{b: {JOB}}}",
        f"owner: x\nschedules: {{c: {JOB}}}",
    )
    assert names(manifest) == ["a", "b", "c"]


def test_documents_of_several_owners_are_several_manifests() -> None:
    """Each is pruned by itself; ``defaults`` reach no further than their document."""
    first, second = read_all(
        f"owner: x\ndefaults: {{queue: q}}\nschedules: {{a: {JOB}}}\n---\nowner: y\nschedules: {{b: {JOB}}}"
    )
    assert (first.owner, names(first), first.schedules[0].spec.queue) == ("x", ["a"], "q")
    assert (second.owner, names(second), second.schedules[0].spec.queue) == ("y", ["b"], "default")


def test_one_manifest_has_one_owner() -> None:
    """Where one is asked for, two are refused."""
    with pytest.raises(ManifestErrors, match="one manifest has one owner"):
        read_manifest("owner: x\n---\nowner: y", context=CONTEXT)


def test_a_name_that_stands_in_two_files_is_refused_with_both_places() -> None:
    """Which of the two is meant is not guessed."""
    with pytest.raises(ManifestErrors) as caught:
        read_all(f"schedules:\n  a: {JOB}", f"owner: x\nschedules:\n\n  a: {JOB}")
    assert caught.value.message == "1.yaml:4: schedules.a: the name 'a' stands twice: it is already at 0.yaml:2"


def test_a_schedule_and_a_queue_may_share_a_name() -> None:
    """They are different things."""
    assert names(read(f"queues: {{a: }}\nschedules: {{a: {JOB}}}")) == ["a"]


def test_all_faults_are_told_at_once_in_the_order_of_the_text() -> None:
    """Whoever writes a manifest mends it in one round, and nothing of it is applied before."""
    errors = faults("""
        owner: a b
        schedules:
          one:
            when: 61 * * * *
            task: a.b
            timeout: 30
          two:
            retry: {max_attempts: 0}
            htp: {}
        defaults: {overlap: never}
        queues: {mail: {concurrency: 0}}
        nonsense: 1
        """)
    assert [error.message.split(": ")[0:2] for error in errors] == [
        ["m.yaml:2", "owner"],
        ["m.yaml:5", "schedules.one.when"],
        ["m.yaml:7", "schedules.one.timeout"],
        ["m.yaml:8", "schedules.two"],
        ["m.yaml:8", "schedules.two"],
        ["m.yaml:9", "schedules.two.retry.max_attempts"],
        ["m.yaml:10", "schedules.two.htp"],
        ["m.yaml:11", "defaults.overlap"],
        ["m.yaml:12", "queues.mail.concurrency"],
        ["m.yaml:13", "there is no key 'nonsense' here"],
    ]
    assert errors[1].code == "invalid_rule"


def test_faults_of_several_files_are_told_together() -> None:
    """One broken file does not hide another's faults."""
    with pytest.raises(ManifestErrors) as caught:
        read_all("a: [", "b: 1", f"schedules: {{a: {JOB}}}")
    assert [error.message.split(":")[0] for error in caught.value.errors] == ["0.yaml", "1.yaml"]


def test_the_first_fault_is_the_errors_own_and_all_are_shown() -> None:
    """The command line prints one sentence or all of them from the same error."""
    with pytest.raises(ManifestErrors) as caught:
        read_manifest("a: 1\nb: 2", source="m.yaml", context=CONTEXT)
    shown = caught.value.as_dict()
    assert shown["code"] == "invalid_manifest"
    assert shown["message"] == caught.value.errors[0].message
    assert shown["errors"] == [error.as_dict() for error in caught.value.errors]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schedule: {}", "did you mean schedules?"),
        ("zzz: {}", "the keys here are calendars, defaults, owner, queues, schedules"),
        ("channels: {}", "channels is not in this release yet"),
        ("queues: {mail: {retry_budget: 100/m}}", "retry_budget is not in this release yet"),
        ("queues: {mail: {concurency: 5}}", "did you mean concurrency?"),
        ("defaults: {description: x}", "there is no key 'description' here"),
        ("defaults: {alerts: {}}", "alerts is not in this release yet"),
        ("defaults: [queue]", "it must be a mapping of keys to values, not a list"),
        ("schedules: [a]", "it must be a mapping of names, not a list"),
        ("schedules: {a: 5}", "it must be a mapping of keys to values, not the number 5"),
        ("owner: 5", "no name for an owner"),
        ("owner: 'a/b'", "'/'"),
        ("just a text", "a manifest is a mapping with the key schedules, not 'just a text'"),
        ("- a", "not a list"),
    ],
)
def test_a_document_of_another_shape_is_refused(text: str, message: str) -> None:
    """A key that means nothing is never passed over."""
    assert message in faults(text)[0].message


@pytest.mark.parametrize(
    "key",
    [
        "alerts",
        "concurrency_key",
        "stalled_after",
    ],
)
def test_keys_of_later_releases_say_so(key: str) -> None:
    """A key that is documented but not built yet is refused, never passed over."""
    (error,) = faults(f"schedules: {{a: {{every: 1h, task: a.b, {key}: 1}}}}")
    assert f"{key} is not in this release yet: leave it out" in error.message


def test_a_hostile_name_is_shown_and_not_obeyed() -> None:
    """Names come from anywhere, and a terminal obeys what it is sent."""
    errors = faults('schedules: {"a\\e[31m": {every: 1h, task: a.b, x: 1}}')
    assert len(errors) == 2
    assert all(error.message.isprintable() and (error.field or "").isprintable() for error in errors)


def test_files_and_folders_are_gathered_in_order(tmp_path: Path) -> None:
    """A folder gives its manifests and those below it, by path, and nothing else."""
    (tmp_path / "b.yaml").write_text("b: 1")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "z.json").write_text("{}")
    (tmp_path / "a" / "y.yml").write_text("")
    (tmp_path / "a" / "notes.txt").write_text("")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "c.yaml").write_text("")
    found = gather_texts([tmp_path, tmp_path / "a" / "notes.txt"])
    assert [Path(text.source or "").name for text in found] == ["y.yml", "z.json", "b.yaml", "notes.txt"]


def test_a_path_without_a_manifest_is_refused(tmp_path: Path) -> None:
    """An empty folder or a slip in a name applies nothing, and says so."""
    with pytest.raises(InvalidManifestError, match="holds no manifest"):
        gather_texts([tmp_path])
    with pytest.raises(InvalidManifestError, match="cannot be read: no such file"):
        gather_texts([tmp_path / "gone.yaml"])


def test_a_file_without_end_is_refused() -> None:
    """A slip like ``apply /dev/zero`` ends in a sentence, not in an empty machine."""
    with pytest.raises(ManifestErrors, match="/dev/zero: it is longer than 16 MB"):
        read_manifests(gather_texts(["/dev/zero"]), CONTEXT)


def test_a_schedule_is_read_from_a_mapping_with_the_same_keys() -> None:
    """Requests and code go through the reader of files; times may be datetimes and lists tuples."""
    item = read_schedule(
        "job", {"every": "1h", "task": "a.b", "tags": ("x", "y"), "paused": True}, context(code_owner="me")
    )
    assert (item.spec.name, item.spec.owner, item.spec.tags, item.paused) == ("job", "me", ("x", "y"), True)


def test_one_fault_of_a_mapping_is_raised_as_what_it_is() -> None:
    """A client sees ``invalid_rule`` with a path inside its own body."""
    with pytest.raises(InvalidManifestError, match="timeout") as caught:
        read_schedule("job", {"every": "1h", "task": "a.b", "timeout": 5}, CONTEXT)
    assert (type(caught.value), caught.value.field) == (InvalidManifestError, "timeout")


def test_several_faults_of_a_mapping_are_raised_together() -> None:
    """The name is checked with the rest."""
    with pytest.raises(ManifestErrors) as caught:
        read_schedule("a/b", {"every": "1h", "task": "a.b", "timeout": 5, "x": float("nan")}, CONTEXT)
    assert [error.field for error in caught.value.errors] == ["name", "x", "timeout"]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("every: 1h, url: 'https://example.com/'", "did you mean http: {url: ...}?"),
        ("every: 1h, shell: echo hi", "did you mean command: {shell: ...}?"),
        ("every: 1h, command: echo hi", "it must be a list, like [/bin/echo, hi]"),
        ("every: 1h, task: a.b, timezone: UTC-5", "is no IANA time zone but an offset"),
        ("every: 1h, task: a.b, timezone: '+02:00'", "is no IANA time zone but an offset"),
    ],
)
def test_what_people_write_first_has_a_way_out(keys: str, said: str) -> None:
    """Each of the slips of a first day is answered with the line that is right."""
    assert any(said in error.message for error in faults(f"schedules: {{a: {{{keys}}}}}"))
