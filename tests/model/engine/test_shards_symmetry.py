"""A distributed search goes on with the symmetry that it began with; `test_symmetry` has its
numbers.
"""

from functools import partial
from pathlib import Path

import pytest
from in_process import InProcess
from test_symmetry import first_come, numbers, open_up, spec_of, use, wait

from groupcheck.model.engine import CheckpointError, Limits
from groupcheck.model.engine.fast import explore as fast
from groupcheck.model.engine.fast.shards.distribute import distribute


def test_a_search_over_shards_is_resumed_with_the_symmetry_of_its_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "local"))
    spec, plain = spec_of(use), numbers(fast.explore(spec_of(use)))
    for asked in (True, False):
        search = partial(distribute, spec, InProcess(2), f"{tmp_path}/{asked}", widest=0)
        assert search(Limits(states=2), symmetry=asked).verdict == "unknown"
        with pytest.raises(CheckpointError, match="--no-symmetry"):
            search(resume=True, symmetry=not asked)
        resumed = search(resume=True, symmetry=None)
        assert numbers(resumed) == plain and resumed.symmetry.used is asked
    assert resumed.symmetry.reason == "the store is of a search without it"


def test_shards_that_are_continued_with_symmetry_begin_again_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "local"))
    spec = spec_of(wait, open_up, first_come)
    search = partial(distribute, spec, InProcess(2), str(tmp_path / "store"), widest=0)
    stopped = search(Limits(states=1), symmetry=True)
    assert stopped.verdict == "unknown" and stopped.symmetry.used
    resumed = search(resume=True, symmetry=None)
    assert numbers(resumed) == numbers(fast.explore(spec))
    assert "first_come is possible at two indexes at once" in resumed.symmetry.reason
    # what the store holds is the second search
    again = search(resume=True, symmetry=None)
    assert numbers(again) == numbers(resumed) and not again.symmetry.used
