"""A search continues from its checkpoint to the numbers of one that was never stopped; nothing else
is accepted as a checkpoint.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from small_group import small_group
from two_phase_commit import two_phase_commit

from groupcheck.model.engine import CheckpointError, Limits, Spec, explore, rule, single
from groupcheck.model.engine.checkpoint import FILE, MAGIC
from groupcheck.model.engine.identity import identity

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
    """Also where the values of the batch that was given up need wider fields than the states have."""
    wider = []
    for batch in range(0, 60, 3):
        left = [batch]

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
            assert explore.explore(SPEC, checkpoint=tmp_path, workers=workers).reason.startswith(
                "enough"
            )
        assert answer(explore.explore(SPEC, resume=tmp_path, workers=workers)) == whole
    assert 2 < sum(wider) < len(wider)


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
from groupcheck.model.engine.explore import explore
explore(small_group(2, 2, 3, 1, 1), progress=lambda p: p.level == 15 and os._exit(9), checkpoint={str(tmp_path)!r})
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=240, check=False).returncode == 9
    assert [p.name for p in tmp_path.iterdir()] == [FILE]
    assert answer(explore.explore(SPEC, resume=tmp_path)) == whole


def test_a_model_is_the_same_after_other_classes_were_made():
    before = identity(SPEC)
    attrs.make_class("MadeLater", ["x"], frozen=True)
    assert identity(SPEC) == before


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    directory = tmp_path_factory.mktemp("checkpoint")
    explore.explore(SPEC, Limits(states=5_000), checkpoint=directory)
    return (directory / FILE).read_bytes()


def refused(directory, spec=SPEC):
    with pytest.raises(CheckpointError) as caught:
        explore.explore(spec, resume=directory)
    return str(caught.value)


def test_a_missing_checkpoint_is_refused(tmp_path):
    assert "cannot be read" in refused(tmp_path)


@pytest.mark.parametrize(
    "spec", [small_group(2, 2, 3, 1, 0), two_phase_commit(3)], ids=["scope", "spec"]
)
def test_another_scope_or_model_is_refused(tmp_path, written, spec):
    (tmp_path / FILE).write_bytes(written)
    assert "belongs to another" in refused(tmp_path, spec)


def test_changed_rules_are_refused(tmp_path, written):
    @rule
    def crash(member, link, scope):
        if member.crashes < scope.crashes:
            yield member, link

    (tmp_path / FILE).write_bytes(written)
    assert "another version of the model" in refused(tmp_path, SPEC.replaced(crash))


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


@pytest.mark.parametrize(
    "damage", ["empty", "half", "bit in the header", "bit in the log", "longer", "text"]
)
def test_a_torn_file_is_detected(tmp_path, written, damage):
    torn = bytearray(written)
    if damage == "bit in the header":
        torn[len(MAGIC) + 40] ^= 1
    elif damage == "bit in the log":
        torn[-2000] ^= 1
    else:
        torn = {
            "empty": b"",
            "half": written[: len(written) // 2],
            "longer": written + b"x",
            "text": b"hello\n",
        }[damage]
    (tmp_path / FILE).write_bytes(torn)
    message = refused(tmp_path)
    assert any(word in message for word in ("torn", "no checkpoint", "belongs to another"))


def test_a_forged_file_with_a_right_digest_reaches_no_native_code(tmp_path, written):
    """Numbers out of range are found before anything is packed."""
    import hashlib

    import numpy as np

    head = len(MAGIC) + written[len(MAGIC) :].index(b"\n") + 1
    sizes = json.loads(written[len(MAGIC) : head])["arrays"]
    for k, size in enumerate(sizes):
        for at in range(0, size, max(1, size // 5)):
            body = np.frombuffer(written[head:-32], np.uint64).copy()
            body[sum(sizes[:k]) + at] = 0xFFFFFFFFFF
            forged = written[:head] + body.tobytes()
            (tmp_path / FILE).write_bytes(forged + hashlib.blake2b(forged, digest_size=32).digest())
            assert "does not fit this model" in refused(tmp_path)


def test_a_directory_that_cannot_be_written_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be written"):
        explore.explore(SPEC, Limits(states=10), checkpoint=tmp_path / "file")


def test_a_checkpoint_holds_no_code(written):
    assert b"pickle" not in written
    assert (
        Path(sys.modules["groupcheck.model.engine.checkpoint"].__file__).read_text().count("pickle")
        == 0
    )
