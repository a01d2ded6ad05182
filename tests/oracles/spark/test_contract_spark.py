"""The contract of every variant, over Spark: two executors count as one process does."""

from __future__ import annotations

import pytest

from groupcheck import check
from groupcheck.model.variants import load, names


@pytest.mark.parametrize("name", names())
def test_two_executors_count_as_one_process_does(name: str) -> None:
    cover = load(name).covers[6]
    alone = check(name, **cover.fields)
    over = check(name, **cover.fields, spark="local[2]", hand_over=20)
    keys = ("verdict", "states", "transitions", "depth", "rules", "goals")
    counts = [{key: getattr(r.verdict, key) for key in keys} for r in (alone, over)]
    assert counts[0] == counts[1]
    assert over.verdict.distribution
