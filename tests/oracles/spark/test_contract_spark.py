"""The contract of every variant, over Spark: two executors count as one process does."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck import check
from groupcheck.model.variants import names

# Small, with values of every kind that travel: members that come and go, and one that comes back.
SCOPE: dict[str, Any] = {"members": 2, "generations": 1, "faults": {"crash": 1}}
MORE = {"offsets": {"commits": "transactions"}}


@pytest.mark.parametrize("name", names())
def test_two_executors_count_as_one_process_does(name: str) -> None:
    scope = {**SCOPE, **MORE.get(name, {})}
    alone = check(name, **scope)
    over = check(name, **scope, spark="local[2]", hand_over=20)
    keys = ("verdict", "states", "transitions", "depth", "rules", "goals")
    counts = [{key: getattr(r.verdict, key) for key in keys} for r in (alone, over)]
    assert counts[0] == counts[1]
    assert over.verdict.distribution
