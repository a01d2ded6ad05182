"""A search whose log lies on disk finds what one in memory finds, with an index of keys that never
looks at the log; and a folder that is no store of this search gets a clear answer.
"""

from __future__ import annotations

import errno
import os
import re

import attrs
import numpy as np
import pytest
from small_group import small_group

from groupcheck.model.engine import (
    CheckpointError,
    Limits,
    Spec,
    UserError,
    array,
    rule,
    single,
)
from groupcheck.model.engine.fast import disk_log, folding, segments, stored_log, threads
from groupcheck.model.engine.fast import explore as run_of_search
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.fast.segments import FILE, LOCK, LOG_NAME
from groupcheck.model.engine.fast.stored_log import StoredLog
from groupcheck.oracles.check.run import check
from groupcheck.oracles.explain.subject import subject

SPEC = small_group(2, 2, 2, 1, 0)


@pytest.fixture(autouse=True)
def folds(monkeypatch):
    """Even a small log has an index of keys; how often one was made, has grown, and was made again
    because a combination had no number.
    """
    monkeypatch.setattr(stored_log, "FOLD_FROM", 64)
    monkeypatch.setattr(stored_log, "LEAST_LINES", 8)
    monkeypatch.setattr(stored_log, "CHEAP_LINES", 8)
    monkeypatch.setattr(disk_log, "LET_GO", 0.0)
    seen = {"folded": 0, "grown": 0, "outgrown": 0}
    refold, grow = StoredLog._refold, StoredLog._grow

    def refolding(self, count):
        seen["folded"] += 1
        seen["outgrown"] += len(self.outgrown)
        refold(self, count)

    def growing(self):
        seen["grown"] += 1
        grow(self)

    monkeypatch.setattr(StoredLog, "_refold", refolding)
    monkeypatch.setattr(StoredLog, "_grow", growing)
    return seen


def answer(spec, folder=None, **more):
    """All but what a run took. With a folder, that of a search whose log lies there."""
    stored = {"checkpoint": folder, "stored": True} if folder else {}
    verdict = explore(spec, more.pop("limits", Limits()), **stored, **more)
    paths = [(v.invariant, v.depth, len(v.path.steps)) for v in verdict.violations]
    return attrs.evolve(verdict, seconds=0.0, bytes_per_state=0.0, violations=()), paths


@pytest.fixture(scope="module")
def whole():
    return answer(SPEC)


def logs(folder):
    return [file.name for file in folder.iterdir() if LOG_NAME.fullmatch(file.name)]


def test_all_counts_are_those_of_a_log_in_memory(tmp_path, whole, folds):
    assert answer(SPEC, tmp_path / "small") == whole
    assert folds["folded"]
    assert len(logs(tmp_path / "small")) <= 2  # the saved one, and where it has moved since
    spec = small_group(2, 2, 4, 2, 1)
    assert answer(spec, tmp_path / "large") == answer(spec)
    assert folds["grown"] > 10


@pytest.mark.parametrize("symmetry", [False, True])
def test_threads_and_symmetry_change_no_count(tmp_path, folds, monkeypatch, symmetry):
    for name, number in {"WORTH": 2, "LEAST": 16}.items():
        monkeypatch.setattr(threads, name, number)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(8))
    spec = subject("classic", members=3, faults={"crash": 1}).spec
    alone = answer(spec, symmetry=symmetry)
    for workers in (1, 3):
        assert answer(spec, tmp_path / str(workers), workers=workers, symmetry=symmetry) == alone
    assert folds["folded"]


def test_combinations_that_no_sample_has_shown_are_numbered_when_they_come(
    tmp_path, folds, monkeypatch
):
    """Two dials that turn together at first: their pairs are few, and then all."""

    @rule
    def together(apart, near, far):
        if not apart:
            yield (0, near + 1, far + 1) if near < 120 else (1, 0, 0)

    @rule
    def turn_near(apart, near):
        if apart and near < 120:
            yield apart, near + 1

    @rule
    def turn_far(apart, far):
        if apart and far < 120:
            yield apart, far + 1

    slots = {name: single(0) for name in ("apart", "near", "far")}
    spec = Spec("dials", slots, [together, turn_near, turn_far], deadlock=False)
    monkeypatch.setattr(stored_log, "SPARE", 0)
    monkeypatch.setattr(folding, "_combinations", lambda codes, bits: len(np.unique(codes)))
    saved = explore(spec, checkpoint=tmp_path / "saved")  # so that it stays in the tables
    saved = attrs.evolve(saved, seconds=0, bytes_per_state=0)
    assert answer(spec, tmp_path / "stored") == (saved, [])
    assert folds["outgrown"] > 2


@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_that_is_stopped_again_and_again_comes_to_the_same_end(
    tmp_path, whole, workers, monkeypatch
):
    monkeypatch.setattr(threads, "WORTH", 2)
    resume = None
    for states in range(300, 1900, 300):
        found, _ = answer(
            SPEC, tmp_path, limits=Limits(states=states), resume=resume, workers=workers
        )
        assert found.verdict == "unknown" and found.reason.startswith("stopped at the limit of")
        resume = tmp_path
    assert answer(SPEC, tmp_path, resume=tmp_path, workers=workers) == whole


def test_the_path_to_a_violation_is_found_from_the_store(tmp_path):
    spec = subject("classic", mutation="leader_forgotten").spec
    alone = answer(spec)
    assert alone[1]
    assert answer(spec, tmp_path / "whole") == alone
    part = tmp_path / "part"
    answer(spec, part, limits=Limits(states=alone[0].states // 2))
    assert answer(spec, part, resume=part) == alone
    shown = explore(spec, checkpoint=part, resume=part, stored=True).violations[0].path
    assert shown.steps[0].state and len(shown.steps) == alone[1][0][2]


class KilledError(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("at", range(0, 12, 3))
def test_a_kill_at_any_moment_loses_no_more_than_the_last_levels(tmp_path, monkeypatch, whole, at):
    """Also where fields have just grown, so that the log has moved to another file."""
    monkeypatch.setattr(run_of_search, "PATIENCE", -1)
    left = [at]

    def killed(self):
        left[0] -= 1
        if left[0] < 0:
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(disk_log.DiskWords, "sync", killed)
        with pytest.raises(KilledError):
            answer(SPEC, tmp_path)
    resume = tmp_path if (tmp_path / FILE).exists() else None
    assert (resume is not None) == (at > 0)
    assert answer(SPEC, tmp_path, resume=resume) == whole
    assert len(logs(tmp_path)) == 1


def test_a_full_disk_ends_the_search_and_room_lets_it_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_log, "STEP", 1_000)
    allocate = disk_log.allocate

    def full(file, size):
        if size > 8 * 60_000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        allocate(file, size)

    spec = small_group(2, 2, 4, 2, 1)
    with monkeypatch.context() as patch:
        patch.setattr(disk_log, "allocate", full)
        found, _ = answer(spec, tmp_path)
    assert found.verdict == "unknown" and not found.unsaved
    assert re.match(r"No space left on device: the log of [\d,]+ states, in level", found.reason)
    assert answer(spec, tmp_path, resume=tmp_path) == answer(spec)


def test_some_disk_is_left_for_others(tmp_path, monkeypatch):
    room = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    monkeypatch.setattr(disk_log, "LEFT_FREE", room)
    with pytest.raises(CheckpointError, match="No space left on device"):
        answer(SPEC, tmp_path)


def test_a_store_that_cannot_be_saved_names_the_options_that_go_on_with_it(
    tmp_path, whole, monkeypatch
):
    monkeypatch.setattr(run_of_search, "PATIENCE", -1)
    to_disk, left = segments._to_disk, [7]

    def failing(file):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        to_disk(file)

    with monkeypatch.context() as patch:
        patch.setattr(segments, "_to_disk", failing)
        verdict, _ = answer(SPEC, tmp_path)
    then = f"make room there, then --store {tmp_path} --resume {tmp_path})"
    assert str(verdict.unsaved).endswith(then)
    assert answer(SPEC, tmp_path, resume=tmp_path) == whole


def test_the_outlook_tells_what_memory_and_disk_would_hold(tmp_path):
    def told(folder=None):
        reason = answer(SPEC, folder, limits=Limits(states=1_700))[0].reason
        return [int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", reason.split("about")[1])]

    states, memory = told()
    words, rest = divmod(memory, 16 * states)
    assert words and not rest
    states, memory, disk = told(tmp_path)
    assert (memory, disk) == (6 * states, 8 * words * states)


def test_too_little_memory_ends_the_search_and_more_lets_it_go_on(tmp_path, whole, monkeypatch):
    monkeypatch.setattr(
        run_of_search.Watch, "needed", lambda self: 2_000 * self.search.log.states + 1
    )
    found, _ = answer(SPEC, tmp_path, limits=Limits(memory=1_000_000, memory_of="a cgroup"))
    assert found.verdict == "unknown" and "bytes of memory" in found.reason
    assert answer(SPEC, tmp_path, resume=tmp_path) == whole


@rule
def flip(switch):
    yield 1 - switch


OTHERS = {
    "other scope": (small_group(2, 2, 2, 0, 0), "belongs to another"),
    "other model": (Spec("switches", {"switch": array(3, 0)}, [flip]), "belongs to another"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_store_of_another_search_is_refused_and_kept(tmp_path, whole, other):
    spec, match = OTHERS[other]
    answer(SPEC, tmp_path, limits=Limits(states=300))
    with pytest.raises(CheckpointError, match=match):
        answer(spec, tmp_path, resume=tmp_path)
    options = f"--store {tmp_path} --resume {tmp_path}"
    with pytest.raises(CheckpointError, match=f"holds a store already .go on with it .{options}"):
        answer(spec, tmp_path)
    assert answer(SPEC, tmp_path, resume=tmp_path) == whole


def test_a_store_and_a_checkpoint_are_not_taken_for_each_other(tmp_path):
    store, saved = tmp_path / "store", tmp_path / "saved"
    answer(SPEC, store, limits=Limits(states=300))
    explore(SPEC, Limits(states=300), checkpoint=saved)
    with pytest.raises(CheckpointError, match=r"is a store, in which the search goes on \(add --s"):
        explore(SPEC, resume=store)
    with pytest.raises(CheckpointError, match="is a checkpoint, not a store"):
        answer(SPEC, saved, resume=saved)


def test_a_folder_that_holds_something_else_is_refused(tmp_path):
    (tmp_path / "photos").mkdir()
    with pytest.raises(CheckpointError, match=r"holds something else \(photos\)"):
        answer(SPEC, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["photos"]
    file = tmp_path / "photos" / "one"
    file.write_text("picture")
    with pytest.raises(CheckpointError, match="cannot be written"):
        answer(SPEC, file)


def test_a_store_of_another_version_is_refused(tmp_path):
    answer(SPEC, tmp_path, limits=Limits(states=300))
    text = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(text.replace(b"store/1", b"store/9", 1))
    with pytest.raises(CheckpointError, match="not a checkpoint of this version"):
        answer(SPEC, tmp_path, resume=tmp_path)


@pytest.mark.parametrize("harm", ["changed", "short", "gone"])
def test_a_torn_log_is_noticed(tmp_path, harm):
    answer(SPEC, tmp_path, limits=Limits(states=300))
    (name,) = logs(tmp_path)
    file = tmp_path / name
    with file.open("r+b") as opened:
        if harm == "changed":
            opened.seek(100)
            byte = opened.read(1)
            opened.seek(100)
            opened.write(bytes([byte[0] ^ 1]))
        if harm == "short":
            opened.truncate(800)
    if harm == "gone":
        file.unlink()
    with pytest.raises(CheckpointError, match="is torn"):
        answer(SPEC, tmp_path, resume=tmp_path)


def test_two_searches_do_not_share_a_store(tmp_path):
    told = pytest.raises(CheckpointError, match="another run keeps its checkpoints there")
    with segments.held(tmp_path, False, True), told:
        answer(SPEC, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [LOCK]


def test_promises_about_progress_are_refused_in_words(tmp_path):
    with pytest.raises(UserError, match="--progress: cannot be combined with --store: promises ab"):
        check("classic", members=1, store=str(tmp_path / "store"), progress=True)
    assert not (tmp_path / "store").exists()
