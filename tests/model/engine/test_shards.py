"""A distributed search gives what one process gives, however many shards there are and whatever is
done twice, lost or stopped.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import shutil
from functools import cache

import pytest
from in_process import InProcess, manifest_in

from groupcheck.model.engine import CheckpointError, Limits, RuleError, UserError, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.fast.shards import store as store_module
from groupcheck.model.engine.fast.shards import working
from groupcheck.model.engine.fast.shards.distribute import UNWRITTEN, distribute
from groupcheck.model.engine.fast.shards.owned import local_folder
from groupcheck.model.engine.fast.shards.store import Store, StoreError
from groupcheck.oracles.explain.subject import subject


@pytest.fixture(autouse=True)
def local_disk(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path_factory.mktemp("local")))


def counted(verdict):
    """All that must not depend on how a search was spread."""
    violations = [
        (x.invariant, x.depth, len(x.path.steps), x.statement) for x in verdict.violations
    ]
    v = verdict
    return (
        v.verdict,
        v.reason,
        v.states,
        v.transitions,
        v.depth,
        v.rules,
        v.goals,
        v.rule_calls,
        violations,
    )


def outcome(search):
    try:
        return counted(search())
    except RuleError as error:
        return type(error).__name__, error.rule
    except UserError as error:
        return type(error).__name__, str(error)


@cache
def faulty(**more):
    return subject("classic", members=2, faults={"session_timeout": 1}, **more).spec


@cache
def alone():
    """What one process gives for `faulty()`."""
    return counted(explore(faulty()))


@pytest.fixture(scope="module")
def stopped_once(tmp_path_factory):
    """The store of a search that a limit has ended; `stopped` copies it."""
    folder = tmp_path_factory.mktemp("stopped")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_DIRS", str(tmp_path_factory.mktemp("local")))
        found = distribute(faulty(), InProcess(2), str(folder), Limits(states=1000), widest=0)
    assert found.verdict == "unknown"
    working._replicas.clear()
    return folder


@pytest.fixture
def stopped(stopped_once, tmp_path):
    """Another process finds it: nothing of the search is left but the store."""
    return shutil.copytree(stopped_once, tmp_path / "store")


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_counts_are_those_of_one_process_for_any_number_of_shards(tmp_path, shards):
    spec = faulty()
    assert counted(distribute(spec, InProcess(shards), str(tmp_path), widest=200)) == alone()


def test_calls_that_are_repeated_and_caches_that_vanish_change_nothing(tmp_path):
    spec = faulty()
    cluster = InProcess(3, unrest=0.4, seed=5)
    assert counted(distribute(spec, cluster, str(tmp_path), widest=0)) == alone()
    assert cluster.retries > 30


def test_more_unknown_rows_than_can_be_handed_over_at_once_change_nothing(tmp_path):
    spec = faulty()
    found = distribute(spec, InProcess(2), str(tmp_path), widest=0, most=20)
    assert counted(found) == alone()
    assert sum(level["rounds"] for level in found.distribution["levels"]) > 20


@pytest.mark.parametrize(
    "mutation",
    [
        "keeps_partitions_when_lost",
        "superseded_join_answered",
        "commit_ignores_generation",
        "no_sync_deadline",
    ],
)
def test_a_mistake_is_found_at_the_same_depth_with_a_path_that_replays(tmp_path, mutation):
    about = subject("classic", mutation=mutation)
    by_itself, spread = (
        explore(about.spec),
        distribute(about.spec, InProcess(3), str(tmp_path), widest=0),
    )
    assert counted(spread) == counted(by_itself) and spread.verdict == "violated"
    for violation in spread.violations:
        assert reference.Semantics(about.spec).follow(violation.key) == violation.path


def test_a_scope_that_one_process_ends_sooner_is_refused_unless_it_is_asked_for(tmp_path):
    with pytest.raises(UserError, match=r"sooner than Spark starts.* --hand-over 0 spreads them"):
        distribute(faulty(), InProcess(2), str(tmp_path))
    asked = distribute(faulty(), InProcess(2), str(tmp_path), widest=1 << 20)
    assert counted(asked) == alone() and asked.distribution["shards"] == 0
    stopped = distribute(faulty(), InProcess(2), str(tmp_path), Limits(states=1000))
    assert stopped.verdict == "unknown" and "1,000 states" in stopped.reason
    broken = subject("classic", mutation="no_sync_deadline").spec  # an answer is not withheld
    assert distribute(broken, InProcess(2), str(tmp_path)).verdict == "violated"


class Dies(InProcess):
    """A driver that is gone after so many calls."""

    def __init__(self, shards, calls):
        super().__init__(shards)
        self.left = calls

    def run(self, function, arguments, pulse):
        self.left -= 1
        if not self.left:
            raise SystemExit
        return super().run(function, arguments, pulse)


@pytest.mark.parametrize("calls", [1, 2, 15])
def test_a_driver_that_is_killed_is_resumed_from_its_store(tmp_path, calls):
    spec = faulty()
    with pytest.raises(SystemExit):
        distribute(spec, Dies(2, calls), str(tmp_path), widest=0)
    half = tmp_path / "0123456789ab/level-00029/states-000-0-0123456789ab.0123456789ab.new"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half")  # of a driver that was killed while it wrote
    assert counted(distribute(spec, InProcess(5), str(tmp_path), resume=True)) == alone()
    names = Store(str(tmp_path)).names()
    assert not [name for name in names if "/dealt-" in name or "/left-" in name]
    assert not half.exists()


def test_a_search_that_is_complete_answers_again(tmp_path):
    about = subject("classic", mutation="keeps_partitions_when_lost")
    once = distribute(about.spec, InProcess(2), str(tmp_path), widest=0)
    again = InProcess(2)
    assert counted(distribute(about.spec, again, str(tmp_path), resume=True)) == counted(once)
    assert again.calls <= 2 * once.depth  # for the path alone


def test_a_limit_ends_it_with_unknown_and_the_store_goes_on(tmp_path):
    spec = faulty()
    stopped = distribute(spec, InProcess(2), str(tmp_path), Limits(states=1000), widest=0)
    assert (
        stopped.verdict == "unknown"
        and "limit of 1,000 states" in stopped.reason
        and str(tmp_path) in stopped.reason
    )
    resumed = distribute(spec, InProcess(2), str(tmp_path), resume=True)
    assert counted(resumed) == alone()
    before, after = stopped.distribution["cpu"], resumed.distribution["cpu"]
    for part in ("driver", "one_process"):
        assert after[part] > before[part] > 0
    assert after["one_process"] < after["driver"]  # which does the executors' work here, too


def test_a_store_of_another_scope_or_with_a_search_in_it_is_refused(stopped):
    with pytest.raises(CheckpointError, match="belongs to another"):
        distribute(faulty(generations=2), InProcess(2), str(stopped), resume=True)
    with pytest.raises(UserError, match="holds a search already"):
        distribute(faulty(), InProcess(2), str(stopped), widest=0)


def block_of(store, kind):
    """The last block of this kind in a store."""
    manifest = manifest_in(store)[1]
    names = {
        "states": [p["name"] for p in manifest["pieces"][0]],
        "dealt": manifest["incoming"],
        "update": manifest["updates"],
    }
    return store / names[kind][-1]


@pytest.mark.parametrize("kind", ["states", "dealt", "update"])
@pytest.mark.parametrize("how", ["torn", "changed", "missing"])
def test_a_damaged_block_is_a_clear_error_and_never_another_verdict(stopped, kind, how):
    block = block_of(stopped, kind)
    data = block.read_bytes()
    if how == "missing":
        block.unlink()
    else:
        block.write_bytes(
            data[:-9] if how == "torn" else data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]
        )
    with pytest.raises(StoreError, match=r"is torn, or not a block|is missing"):
        distribute(faulty(), InProcess(2), str(stopped), resume=True)


def test_a_hostile_manifest_runs_nothing(stopped):
    (stopped / manifest_in(stopped)[0]).write_text('{"digest": "0"}\n' + "[" * 100_000)
    with pytest.raises(StoreError, match="is torn"):
        distribute(faulty(), InProcess(2), str(stopped), resume=True)


@pytest.mark.parametrize(
    "change",
    [
        {"updates": ["../../elsewhere"]},
        {"incoming": ["/etc/hostname"]},
        {"pieces": 3},
        {"level": "x"},
        {"goals": None},
        {"witness": [1]},
        {"run": "../../elsewhere"},
        {"run": "/elsewhere"},
        {"run": "a\0b"},
        {"run": "0" * 5000},
        {"updates": ["a\0b"]},
        {"updates": ["0" * 5000]},
    ],
)
def test_a_manifest_that_was_tampered_with_is_refused(tmp_path, stopped, change):
    store = Store(str(stopped))
    name, document = manifest_in(stopped)
    store.write_document(name, {**document, **change})
    before = sorted(path for path in tmp_path.rglob("*") if "store" not in path.parts)
    with pytest.raises(
        UserError, match=r"is not the name of a file in a store|does not fit this model"
    ):
        distribute(faulty(), InProcess(2), store.uri, resume=True)
    assert sorted(path for path in tmp_path.rglob("*") if "store" not in path.parts) == before


def test_a_store_that_cannot_be_made_costs_no_answer(tmp_path):
    (tmp_path / "file").write_text("")
    found = distribute(faulty(), InProcess(2), str(tmp_path / "file" / "store"), widest=0)
    assert found.verdict == "unknown" and "cannot be" in str(found.unsaved)


class Meddled(InProcess):
    """Something is done to the folder of each shard before a late level."""

    def __init__(self, meddle, shards=2):
        super().__init__(shards)
        self.meddle, self.left = meddle, 12

    def run(self, function, arguments, pulse):
        self.left -= 1
        if not self.left:
            for folder in sorted(local_folder().glob("groupcheck-*/shard-?")):
                self.meddle(folder)
        return super().run(function, arguments, pulse)


def test_a_shard_whose_files_another_process_holds_is_made_again_beside_them(tmp_path):
    """As a second attempt of the same task finds them (speculation), or one after an attempt that
    Spark gave up.
    """
    spec, held = faulty(), {}
    with contextlib.ExitStack() as stack:

        def hold(folder):
            held[folder] = (folder / "holds.json").read_bytes()
            fcntl.flock(stack.enter_context((folder / "lock").open("w")), fcntl.LOCK_EX)

        found = distribute(spec, Meddled(hold), str(tmp_path), widest=0)
    assert counted(found) == alone()
    assert len(held) == 2
    assert all((folder / "holds.json").read_bytes() == was for folder, was in held.items())
    assert not [folder for folder in min(held).parent.iterdir() if folder not in held]


MISFITS = ({"crowded": -1}, {"slots": 0}, {"slots": 1 << 60}, {"size": 77}, {"crowded": 1 << 40})


def test_a_marker_that_does_not_fit_its_index_has_the_index_made_again(tmp_path):
    """Each shard finds another one."""
    spec, left = faulty(), list(MISFITS)

    def change(folder):
        document, told = json.loads((folder / "holds.json").read_text()), left.pop()
        assert told.keys() < document.keys()
        (folder / "holds.json").write_text(json.dumps({**document, **told}))

    found = distribute(spec, Meddled(change, len(MISFITS)), str(tmp_path), widest=0)
    assert counted(found) == alone() and not left


class Failing:
    """A file system of Arrow whose writes fail after some."""

    def __init__(self, files, room, error):
        self.files, self.room, self.error = files, room, error

    def __getattr__(self, name):
        return getattr(self.files, name)

    def open_output_stream(self, path):
        self.room[0] -= 1
        if self.room[0] < 0:
            raise self.error
        return self.files.open_output_stream(path)


@pytest.mark.parametrize(
    ("error", "first", "later"),
    [
        (OSError(28, "no"), "make room there, or name another", "make room there, then --resume"),
        (OSError("DSQuotaExceeded"), "make room there, or name", "make room there, then --resume"),
        (OSError("AWS Error ACCESS_DENIED"), r"it must be writable\)", "writable; then --resume"),
        (OSError(30, "no"), r"it must be writable\)", "it must be writable; then --resume"),
        (OSError("SLOW_DOWN"), "SLOW_DOWN$", "--resume goes on from what is complete there"),
    ],
    ids=["full", "quota", "denied", "read-only", "other"],
)
def test_a_store_that_cannot_be_written_says_what_helps_and_goes_on(
    tmp_path, monkeypatch, error, first, later
):
    spec, room, opened = faulty(), [0], store_module.filesystem_of
    monkeypatch.setattr(
        store_module,
        "filesystem_of",
        lambda uri: (Failing(opened(uri)[0], room, error), opened(uri)[1]),
    )
    for bytes_left, said in ((0, first), (60, later)):
        room[0] = bytes_left
        found = distribute(spec, InProcess(2), str(tmp_path), widest=0)
        assert found.verdict == "unknown" and found.reason.startswith(UNWRITTEN) and found.states
        assert re.search(said, str(found.unsaved))
    if error.errno == 28:  # what went wrong is in no file
        room[0] = 1 << 30
        assert counted(distribute(spec, InProcess(2), str(tmp_path), resume=True)) == alone()


class Flickering:
    """A file system of Arrow of which every third call fails."""

    def __init__(self, files, calls):
        self.files, self.calls = files, calls

    def __getattr__(self, name):
        call = getattr(self.files, name)

        def flickers(*args, **more):
            self.calls.append(name)
            if len(self.calls) % 3 == 0:
                raise OSError("AWS Error SLOW_DOWN")
            return call(*args, **more)

        asked = ("open_input_file", "open_output_stream", "get_file_info", "move")
        return flickers if name in asked else call


def test_a_store_that_fails_now_and_then_is_asked_again(tmp_path, monkeypatch):
    calls, opened = [], store_module.filesystem_of
    monkeypatch.setattr(
        store_module,
        "filesystem_of",
        lambda uri: (Flickering(opened(uri)[0], calls), opened(uri)[1]),
    )
    monkeypatch.setattr(store_module, "PAUSES", (0, 0, 0, 0))
    assert counted(distribute(faulty(), InProcess(2), str(tmp_path), widest=0)) == alone()
    assert {*calls} >= {"open_input_file", "open_output_stream", "get_file_info", "move"}


def test_a_store_that_does_not_stay_is_not_said_to_be_resumed(tmp_path, monkeypatch):
    opened, room = store_module.filesystem_of, [60]
    monkeypatch.setattr(
        store_module,
        "filesystem_of",
        lambda uri: (Failing(opened(uri)[0], room, OSError(28, "no")), opened(uri)[1]),
    )
    found = distribute(faulty(), InProcess(2), str(tmp_path), widest=0, lasting=False)
    assert "make room there, or name another" in str(found.unsaved)


def test_a_writer_that_is_stopped_in_the_middle_leaves_no_block(tmp_path):
    def parts():
        yield b"half of it"
        raise OSError(28, "No space left on device")

    store = Store(str(tmp_path))
    with pytest.raises(StoreError, match=r"block cannot be written: .*No space left"):
        store._write("block", parts())
    assert store.names() == []


@pytest.mark.parametrize("words", ["x://nowhere", "s3://", "http://host/folder", "/"])
def test_what_is_no_place_for_a_store_is_refused(words):
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(words)
