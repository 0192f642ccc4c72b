from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from puntual.manifest import ManifestErrors, ManifestSchedule, read_manifest, read_schedule, to_manifest, to_mapping
from puntual.manifest.document import read_documents
from puntual.manifest.keys import POLICY_KEYS, RETRY_KEYS, Key
from puntual.manifest.kinds import Choice, Duration, Failure, Flag, Name, Several, Text, Whole
from puntual.model.duration import format_duration
from puntual.model.errors import PuntualError
from puntual.model.instant import HOUR
from puntual.model.schedule import Pause
from tests.support.manifest import CONTEXT, NOW, stored

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.from_regex(r"[a-zA-Z0-9_][a-zA-Z0-9_.:@+-]{0,20}", fullmatch=True)
LINE = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40).filter(str.strip)
TIMES = st.sampled_from(["2026-01-01T00:00", "2027-06-01T12:30:15", "2026-02-01T00:00Z", "2026-02-01T00:00-05:00"])


FAILURES = st.sampled_from(["5xx", "4xx", 429, 503, "ConnectionError", "a.b.Bad"])
PARAGRAPHS = st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("\n\t"), max_size=80)


def values(key: Key) -> st.SearchStrategy[object]:
    """What may be written for a key."""
    found: st.SearchStrategy[object] = LINE
    match key.kind:
        case Choice(values=words, also=also):
            found = st.sampled_from([*words, *also])
        case Duration(least_us=least, none=none):
            found = st.integers(max(least, 1), HOUR).map(format_duration) | st.sampled_from(
                ["none"] if none else ["0s"]
            )
        case Whole(least=least, most=most):
            found = st.integers(least, most)
        case Flag():
            found = st.booleans()
        case Name():
            found = NAMES
        case Several(kind=Failure()):
            found = st.lists(FAILURES, max_size=4, unique=True)
        case Several():
            found = st.lists(NAMES, max_size=4, unique=True)
        case Text(multiline=True):
            found = PARAGRAPHS
    return found


def written(keys: tuple[Key, ...]) -> st.SearchStrategy[dict[str, object]]:
    """Some of the keys, each with a value."""
    return st.fixed_dictionaries({}, optional={key.name: values(key) for key in keys})


RULES = st.one_of(
    st.builds(lambda minute, hour: {"when": f"{minute} {hour} * * *"}, st.integers(0, 59), st.integers(0, 23)),
    st.fixed_dictionaries({"cron": st.just({"expr": "0 0 2 ? * MON-FRI", "dialect": "quartz"})}),
    st.fixed_dictionaries({"every": st.sampled_from(["90s", "7h", "2 weeks"]), "anchor": TIMES}),
    st.fixed_dictionaries({"every": st.sampled_from(["1h", "5s"])}, optional={"start": TIMES}),
    st.fixed_dictionaries(
        {"when": st.just(["@daily", "every 5m"])}, optional={"dst_gap": st.just("skip"), "end": TIMES}
    ),
    st.fixed_dictionaries({"at": TIMES}),
)
TARGETS = st.one_of(
    st.fixed_dictionaries(
        {"task": NAMES.filter({"http", "command"}.isdisjoint)}, optional={"args": st.dictionaries(TEXT, JSON)}
    ),
    st.fixed_dictionaries({"http": st.fixed_dictionaries({"url": LINE}, optional={"json": JSON})}),
    st.fixed_dictionaries({"command": st.lists(TEXT, min_size=1, max_size=4)}),
)
ZONES = st.fixed_dictionaries({"timezone": st.sampled_from(["UTC", "America/Bogota", "Europe/Madrid"])})


@st.composite
def schedules(draw: st.DrawFn) -> ManifestSchedule:
    """A schedule as some mapping was read."""
    mapping: dict[str, object] = draw(RULES) | draw(TARGETS) | draw(ZONES) | draw(written((*POLICY_KEYS,)))
    retry = draw(st.none() | written((*RETRY_KEYS,)))
    if retry is not None:
        mapping["retry"] = retry
    if draw(st.booleans()):
        mapping["paused"] = True
    owner = draw(st.none() | NAMES)
    return read_schedule(draw(NAMES), mapping, msgspec.structs.replace(CONTEXT, code_owner=owner))


@given(schedules())
def test_an_export_is_read_back_to_the_same_schedule(item: ManifestSchedule) -> None:
    """Rule, target, policies, what was left to defaults, and the pause: all as they were."""
    text = to_manifest([stored(item.spec, Pause(since=NOW) if item.paused else None)])
    assert read_manifest(text, context=CONTEXT).schedules == (item,)


@given(schedules())
def test_a_mapping_is_read_back_to_the_same_schedule(item: ManifestSchedule) -> None:
    """What a PATCH merges into is what a manifest would hold."""
    context = msgspec.structs.replace(CONTEXT, code_owner=item.spec.owner)
    assert read_schedule(item.spec.name, to_mapping(item.spec, paused=bool(item.paused)), context) == item


def faults_of(read: Callable[[], object]) -> Sequence[PuntualError]:
    """What is wrong, if anything is; anything but errors of ours is raised."""
    try:
        read()
    except ManifestErrors as error:
        return error.errors
    except PuntualError as error:
        return [error]
    return ()


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_is_read_or_refused_in_words(text: str | bytes) -> None:
    """Whatever arrives, the answer is documents or one kind of error with a sentence."""
    for error in faults_of(lambda: read_documents(text, "m.yaml")):
        assert error.message.startswith("m.yaml")
        assert error.message.isprintable()


@given(JSON)
def test_any_tree_is_a_manifest_or_refused_in_words(tree: object) -> None:
    """No shape of values gets past the reader or makes it fail otherwise."""
    text = msgspec.json.encode(tree)
    for error in faults_of(lambda: read_manifest(text, context=CONTEXT)):
        assert error.message.isprintable()


@given(st.dictionaries(st.sampled_from([key.name for key in POLICY_KEYS]), JSON, max_size=3))
def test_any_value_of_a_key_is_read_or_refused_with_its_key(mapping: dict[str, object]) -> None:
    """A fault names the key that it is about."""
    for error in faults_of(lambda: read_schedule("job", {"every": "1h", "task": "a.b", **mapping}, CONTEXT)):
        assert (error.field or "").startswith(tuple(mapping))
