"""A search continues from its checkpoint to the numbers of one that was never stopped; nothing else
is accepted as a checkpoint.
"""

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from small_group import small_group
from two_phase_commit import two_phase_commit

from groupcheck.model.engine import CheckpointError, Limits, Spec, rule, single
from groupcheck.model.engine.fast import exploration, explore, segments
from groupcheck.model.engine.fast.identity import identity
from groupcheck.model.engine.fast.segments import FILE, FOLDER, LOCK, MAGIC

SPEC = small_group(2, 2, 3, 1, 1)


def answer(verdict):
    """Everything but time and memory."""
    return attrs.evolve(verdict, seconds=0.0, bytes_per_state=0.0)


@pytest.fixture(scope="module")
def whole():
    return answer(explore.explore(SPEC))


@pytest.mark.parametrize("states", [0, 1, 5_000, 20_000])
def test_a_search_continues_to_the_same_answer(tmp_path, whole, states):
    assert explore.explore(SPEC, Limits(states=states), checkpoint=tmp_path).verdict == "unknown"
    assert answer(explore.explore(SPEC, resume=tmp_path)) == whole


def test_a_search_may_stop_and_continue_many_times(tmp_path, whole):
    explore.explore(SPEC, Limits(states=100), checkpoint=tmp_path)
    for states in range(3_000, 24_000, 3_000):
        explore.explore(SPEC, Limits(states=states), checkpoint=tmp_path, resume=tmp_path)
    assert answer(explore.explore(SPEC, resume=tmp_path)) == whole


@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_that_is_stopped_while_rules_are_called_continues(
    tmp_path, monkeypatch, whole, workers
):
    """Also where the values of the batch that was given up need wider fields than the
    states have.
    """
    monkeypatch.setattr(exploration, "PULSE", -1.0)  # limits are looked at in each batch
    wider = []
    for batch in range(0, 60, 4):
        left, folder = [batch], tmp_path / str(batch)

        def limit(run, filling=False, left=left):
            left[0] -= filling
            return "enough" if left[0] < 0 else ""

        with monkeypatch.context() as patch:
            patch.setattr(explore.Run, "limit", limit)
            save = explore.Run.save

            def saving(run, save=save):
                packed = run.search.packed
                wider.append(packed.needed_widths() != packed._widths)
                save(run)

            patch.setattr(explore.Run, "save", saving)
            stopped = explore.explore(SPEC, checkpoint=folder, workers=workers)
            assert stopped.reason.startswith("enough")
        assert answer(explore.explore(SPEC, resume=folder, workers=workers)) == whole
    assert 2 < sum(wider) < len(wider), wider


def test_nothing_is_lost_by_control_c(tmp_path, whole):
    def listen(progress):
        if progress.level == 12:
            os.kill(os.getpid(), signal.SIGINT)

    stopped = explore.explore(SPEC, progress=listen, checkpoint=tmp_path)
    assert stopped.reason.startswith("interrupted")
    assert answer(explore.explore(SPEC, resume=tmp_path)) == whole


def test_a_killed_run_leaves_a_checkpoint(tmp_path, whole):
    code = f"""
import os, sys
sys.path[:0] = {sys.path!r}
from small_group import small_group
from groupcheck.model.engine.fast.explore import explore
explore(
    small_group(2, 2, 3, 1, 1),
    progress=lambda p: p.level == 15 and os._exit(9),
    checkpoint={str(tmp_path)!r},
)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=240, check=False).returncode == 9
    assert {p.name for p in tmp_path.iterdir()} == {FILE, FOLDER, LOCK}
    assert answer(explore.explore(SPEC, resume=tmp_path)) == whole


def test_a_model_is_the_same_after_other_classes_were_made():
    before = identity(SPEC)
    attrs.make_class("MadeLater", ["x"], frozen=True)
    assert identity(SPEC) == before


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    directory = tmp_path_factory.mktemp("kept")
    explore.explore(SPEC, Limits(states=5_000), checkpoint=directory)
    return directory


@pytest.fixture
def written(tmp_path, kept):
    """A folder with a checkpoint of several segments."""
    return Path(shutil.copytree(kept, tmp_path / "written"))


def a_segment(folder):
    """Its largest one."""
    return max((folder / FOLDER).iterdir(), key=lambda file: file.stat().st_size)


def relisted(folder, change):
    """Writes a manifest anew, changed, with a right digest."""
    text = (folder / FILE).read_bytes()[len(MAGIC) :].splitlines()[0]
    document = json.loads(text)
    change(document)
    text = MAGIC + json.dumps(document).encode() + b"\n"
    (folder / FILE).write_bytes(text + hashlib.blake2b(text).hexdigest().encode() + b"\n")


def refused(directory, spec=SPEC):
    with pytest.raises(CheckpointError) as caught:
        explore.explore(spec, resume=directory)
    return str(caught.value)


def test_a_missing_checkpoint_is_refused(tmp_path):
    assert "cannot be read" in refused(tmp_path)


@pytest.mark.parametrize(
    "spec", [small_group(2, 2, 3, 1, 0), two_phase_commit(3)], ids=["scope", "spec"]
)
def test_another_scope_or_model_is_refused(written, spec):
    assert "belongs to another" in refused(written, spec)


def test_changed_rules_are_refused(written):
    @rule
    def crash(member, link, scope):
        if member.crashes < scope.crashes:
            yield member, link

    assert "another version of the model" in refused(written, SPEC.replaced(crash))


def limit():
    return 3


def test_a_changed_function_behind_a_rule_is_refused(tmp_path, monkeypatch):
    @rule
    def grow(n):
        if n < limit():
            yield n + 1

    spec = Spec("grow", {"n": single(0)}, [grow])
    explore.explore(spec, Limits(states=1), checkpoint=tmp_path)
    explore.explore(spec, resume=tmp_path)
    monkeypatch.setitem(globals(), "limit", lambda: 4)
    assert "another version of the model" in refused(tmp_path, spec)


@pytest.mark.parametrize("damage", ["empty", "half", "bit", "longer", "text", "missing"])
@pytest.mark.parametrize("which", ["manifest", "segment"])
def test_a_torn_file_is_detected(written, damage, which):
    file = written / FILE if which == "manifest" else a_segment(written)
    text = file.read_bytes()
    changed = text[:100] + bytes([text[100] ^ 1]) + text[101:]
    torn = {
        "empty": b"",
        "half": text[: len(text) // 2],
        "bit": changed,
        "longer": text + b"x",
        "text": b"hello\n",
    }
    file.unlink()
    if damage != "missing":
        file.write_bytes(torn[damage])
    message = refused(written)
    assert any(x in message for x in ("is torn", "is not a checkpoint", "cannot be read")), message


@pytest.mark.parametrize("k", range(3), ids=["origins", "rows", "states"])
def test_a_forged_file_with_a_right_digest_reaches_no_native_code(written, k):
    """Numbers out of range are found before anything is packed."""
    file = a_segment(written)
    right = np.fromfile(file, np.uint64)
    told = json.loads((written / FILE).read_bytes()[len(MAGIC) :].splitlines()[0])
    sizes = next(s["sizes"] for s in told["segments"] if s["name"] == file.name)
    for at in range(sum(sizes[:k]), sum(sizes[: k + 1]), max(1, sizes[k] // 5)):
        body = right.copy()
        body[at] = 0xFFFFFFFFFF

        def sign(document, digest=hashlib.blake2b(body.tobytes(), digest_size=32).hexdigest()):
            next(s for s in document["segments"] if s["name"] == file.name)["digest"] = digest

        file.write_bytes(body.tobytes())
        relisted(written, sign)
        assert "does not fit this model" in refused(written)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "../../elsewhere"},
        {"name": "/etc/hostname"},
        {"name": "a\0b"},
        {"name": "0" * 5000},
        {"sizes": [-1, 0, 0]},
        {"sizes": [1 << 60] * 3},
        {"widths": [1]},
        {"widths": [0] * 13},
        {"widths": [1 << 40] * 13},
        {"widths": None},
    ],
    ids=str,
)
def test_a_forged_manifest_with_a_right_digest_is_refused(written, change):
    relisted(written, lambda document: document["segments"][0].update(change))
    message = refused(written)
    assert any(x in message for x in ("is torn", "does not fit this model")), message


def test_a_directory_that_cannot_be_written_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be written"):
        explore.explore(SPEC, Limits(states=10), checkpoint=tmp_path / "file")


def test_a_full_disk_costs_the_checkpoint_and_not_the_answer(tmp_path, monkeypatch):
    def is_full(handle):
        if saves.pop() == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    saves = ["full", "fits", "fits"]  # from the end: a segment, its manifest, the next segment
    monkeypatch.setattr(explore, "PATIENCE", 0)
    monkeypatch.setattr(segments.os, "fsync", is_full)
    verdict = explore.explore(SPEC, checkpoint=tmp_path)
    assert verdict.states == explore.explore(SPEC).states and not saves
    told = str(verdict.unsaved)
    assert f"{tmp_path}: cannot be written: No space left on device (make room there" in told
    monkeypatch.undo()
    assert explore.explore(SPEC, resume=tmp_path).states == verdict.states


def test_a_checkpoint_holds_no_code(written):
    assert all(b"pickle" not in file.read_bytes() for file in written.rglob("*") if file.is_file())
    for name in ("checkpoint", "segments"):
        code = Path(sys.modules[f"groupcheck.model.engine.fast.{name}"].__file__).read_text()
        assert "pickle" not in code
