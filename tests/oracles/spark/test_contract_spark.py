"""The contract of every variant, over Spark: two executors count as one process does."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck import check
from groupcheck.model.variants import load, names

# The values of transactions travel, too.
MORE: dict[str, dict[str, Any]] = {
    # One state of each orbit travels.
    "classic": {"members": 3},
    "offsets": {"records": 1, "faults": {"session_timeout": 1}, "commits": "transactions"},
}


QUICK = ("classic", "offsets")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.night] * (n not in QUICK)) for n in names()]
)
def test_two_executors_count_as_one_process_does(name: str) -> None:
    cover = next(c for c in load(name).covers if c.fields.keys() & {"faults", "any_faults"})
    scope = {**cover.fields, **MORE.get(name, {})}
    alone = check(name, **scope)
    over = check(name, **scope, spark="local[2]", hand_over=0)
    keys = ("verdict", "states", "transitions", "depth", "rules", "goals")
    counts = [{key: getattr(r.verdict, key) for key in keys} for r in (alone, over)]
    assert counts[0] == counts[1]
    assert over.verdict.distribution and over.verdict.distribution["levels"]
    assert over.verdict.symmetry.used or name != "classic"
    cpu = over.verdict.distribution["cpu"]
    whole = cpu["driver"] + cpu["executors"] + cpu["spark"]
    assert min(cpu["driver"], cpu["executors"], cpu["spark"]) > 0
    assert 0 < cpu["one_process"] < whole == pytest.approx(cpu["ratio"] * cpu["one_process"])
