"""Saves in a folder: they only append, one run alone writes there, a kill at any moment loses one
save at most, and an error of writing says what helps.
"""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from small_group import small_group

from groupcheck.model.engine import CheckpointError, Limits
from groupcheck.model.engine.fast import explore as run_of_search
from groupcheck.model.engine.fast import segments
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.fast.segments import FILE, FOLDER, LOCK

SPEC = small_group(2, 2, 2, 1, 0)


def counted(verdict):
    v = verdict
    return v.verdict, v.states, v.transitions, v.depth, v.rules, v.goals, v.rule_calls


@pytest.fixture(scope="module")
def whole():
    return counted(explore(SPEC))


def stopped(folder, states=300, **more):
    assert explore(SPEC, Limits(states=states), checkpoint=folder, **more).verdict == "unknown"


def content(folder):
    """Every file of a folder but the lock."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != LOCK)
    return {file: file.read_bytes() for file in files}


@pytest.mark.parametrize("spec", [SPEC, small_group(2, 2, 2, 0, 0)], ids=["same", "other"])
def test_a_checkpoint_of_another_run_is_never_overwritten(tmp_path, whole, spec):
    stopped(tmp_path)
    before = content(tmp_path)
    with pytest.raises(
        CheckpointError, match=r"holds a checkpoint already \(go on with it \(--res"
    ):
        explore(spec, checkpoint=tmp_path)
    assert content(tmp_path) == before
    assert counted(explore(SPEC, resume=tmp_path)) == whole


def test_a_run_that_resumes_goes_on_writing_there(tmp_path, whole):
    stopped(tmp_path)
    stopped(tmp_path, 600, resume=tmp_path)
    assert counted(explore(SPEC, checkpoint=tmp_path, resume=tmp_path)) == whole


def test_a_run_that_resumes_may_keep_its_checkpoints_elsewhere(tmp_path, whole):
    stopped(tmp_path / "one")
    before = content(tmp_path / "one")
    stopped(tmp_path / "two", 600, resume=tmp_path / "one")
    assert content(tmp_path / "one") == before
    assert counted(explore(SPEC, resume=tmp_path / "two")) == whole


def test_what_is_saved_once_is_never_written_again(tmp_path):
    """All segments together hold each state once, although fields grew wider meanwhile."""
    stopped(tmp_path)
    for states in range(600, 1500, 300):
        before = content(tmp_path / FOLDER)
        stopped(tmp_path, states, resume=tmp_path)
        after = content(tmp_path / FOLDER)
        assert before.items() < after.items()
    manifest = segments.read_manifest(tmp_path)
    listed = manifest["segments"]
    assert len(listed) > 4 and len({tuple(s["widths"]) for s in listed}) > 1
    assert sum(s["sizes"][2] for s in listed) == manifest["numbers"]["states"]


def test_a_second_run_in_one_folder_is_refused_and_the_first_goes_on(tmp_path, whole):
    refused = []

    def begin_another(progress):
        with pytest.raises(CheckpointError, match="another run keeps its checkpoints there"):
            explore(SPEC, checkpoint=tmp_path, resume=tmp_path)
        refused.append(progress.level)

    assert counted(explore(SPEC, checkpoint=tmp_path, progress=begin_another)) == whole
    assert len(refused) > 10
    assert counted(explore(SPEC, resume=tmp_path)) == whole


def test_a_folder_is_free_again_when_the_process_that_held_it_is_killed(tmp_path, whole):
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from groupcheck.model.engine.fast.segments import held
with held(Path({str(tmp_path)!r}), False):
    print("held", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(CheckpointError, match=rf"\(process {holder.pid} on "):
            explore(SPEC, checkpoint=tmp_path)
        holder.kill()
    assert counted(explore(SPEC, checkpoint=tmp_path)) == whole


def test_what_killed_saves_left_is_removed_and_nothing_else(tmp_path, whole):
    stopped(tmp_path)
    left = [tmp_path / f"{FILE}abcdefgh.new", tmp_path / f"{FILE}.new"]
    left.append(tmp_path / FOLDER / "00099-0123456789ab")
    others = [tmp_path / "notes.new", tmp_path / FOLDER / "notes.txt"]
    for file in (*left, *others):
        file.write_bytes(b"half")
    explore(SPEC, resume=tmp_path)  # only reads
    assert all(file.exists() for file in left)
    assert counted(explore(SPEC, checkpoint=tmp_path, resume=tmp_path)) == whole
    assert not [file for file in left if file.exists()]
    assert all(file.exists() for file in others)


class KilledError(BaseException):
    """The process is gone."""


@pytest.fixture
def saves_always(monkeypatch):
    """A save at the end of every level, however long the last one took."""
    monkeypatch.setattr(run_of_search, "PATIENCE", -1)


@pytest.mark.parametrize("write", range(8))
@pytest.mark.usefixtures("saves_always")
def test_a_kill_in_any_save_leaves_the_one_before(tmp_path, monkeypatch, whole, write):
    left = [write]
    to_disk = segments._to_disk

    def killed(file):
        left[0] -= 1
        if left[0] < 0:
            file.truncate(10)
            raise KilledError
        to_disk(file)

    with monkeypatch.context() as patch:
        patch.setattr(segments, "_to_disk", killed)
        with pytest.raises(KilledError):
            explore(SPEC, checkpoint=tmp_path)
    resume = tmp_path if write >= 2 else None  # before the first manifest there is nothing
    assert (tmp_path / FILE).exists() == (resume is not None)
    assert counted(explore(SPEC, checkpoint=tmp_path, resume=resume)) == whole
    assert counted(explore(SPEC, resume=tmp_path)) == whole


@pytest.mark.parametrize(
    ("number", "first", "later"),
    [
        (errno.ENOSPC, "make room there, or name another", "make room there, then --resume"),
        (errno.EDQUOT, "make room there, or name another", "make room there, then --resume"),
        (errno.EACCES, r"it must be writable\)", "it must be writable; then --resume"),
        (errno.EROFS, r"it must be writable\)", "it must be writable; then --resume"),
        (errno.EIO, "Input/output error$", "--resume .* goes on from what is complete there"),
    ],
)
@pytest.mark.usefixtures("saves_always")
def test_an_error_of_writing_says_what_helps_and_the_search_goes_on(
    tmp_path, monkeypatch, whole, number, first, later
):
    to_disk, left = segments._to_disk, [0]

    def failing(file):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(number, os.strerror(number))
        to_disk(file)

    with monkeypatch.context() as patch:
        patch.setattr(segments, "_to_disk", failing)
        for left[0], match in ((0, first), (7, later)):
            verdict = explore(SPEC, checkpoint=tmp_path)
            assert counted(verdict) == whole and re.search(match, str(verdict.unsaved))
    assert counted(explore(SPEC, checkpoint=tmp_path, resume=tmp_path)) == whole


def test_a_checkpoint_of_an_older_version_is_refused(tmp_path):
    Path(tmp_path / FILE).write_bytes(b"groupcheck.checkpoint/1\n{}\n")
    with pytest.raises(CheckpointError, match="not a checkpoint of this version of groupcheck"):
        explore(SPEC, resume=tmp_path)
