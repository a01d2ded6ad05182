"""Forecasts: from three scopes to the next, for families that were measured, and for what no
forecast can be made.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.forecast import Families, Forecast
from groupcheck.oracles.sweep.growing import grown
from groupcheck.oracles.sweep.outcome import Outcome


def cells(*grids: dict[str, Any]) -> list[Cell]:
    return list(grown({"grid": [{"variant": "classic", **grid} for grid in grids]}, "file").cells)


def whole(states: int, seconds: float = 1.0) -> Outcome:
    return Outcome(
        "holds", "", states, 3 * states, 10, seconds, seconds, states // 10, complete=True
    )


def forecast(sizes: list[int], **more: Any) -> Forecast:
    """Of the fourth of a family, from the sizes of three."""
    asked = cells({"members": 2, "generations": [1, 2, 3, 4], **more})
    told = Families.among(asked).forecast(
        asked[3], {cell.id: whole(n) for cell, n in zip(asked, sizes)}
    )
    assert told is not None
    return told


@pytest.mark.parametrize(
    # states of the classic variant, measured: by members, by generations, by the budget of a fault,
    # by partitions
    "sizes",
    [
        (9, 96, 1229, 16920),
        (142, 2807, 43564, 578997),
        (37, 1072, 32153, 716684),
        (10847, 35063, 55298, 60785),
        (1229, 2807, 3179, 3179),
        (142, 1072, 4842, 17222),
        (9, 148, 1393, 8774),
        (336, 672, 1008, 1344),
        (9, 9, 9, 9),
    ],
)
def test_the_next_of_families_that_were_measured_lies_within_the_interval(sizes: tuple[int, ...]):
    told = forecast(list(sizes[:3]))
    assert told.states_low <= sizes[3] <= told.states_high
    assert told.states_high <= 5 * max(told.states_low, 1)
    assert told.states_low <= told.states <= told.states_high
    assert told.seconds_low < told.seconds < told.seconds_high


def test_a_family_that_grows_by_the_same_factor_is_forecast_to_go_on_so_or_a_little_slower():
    told = forecast([100, 1000, 10000])
    assert told.states_low == 63_095  # 10^4.8
    assert 100_000 <= told.states_high <= 100_001


def test_seconds_grow_with_the_work_of_the_last_scope():
    asked = cells({"members": 2, "generations": [1, 2, 3, 4]})
    families = Families.among(asked)
    slow, quick = (
        families.forecast(
            asked[3], {c.id: whole(n, s) for c, n, s in zip(asked, (10**4, 10**5, 10**6), times)}
        )
        for times in ((1, 2, 40.0), (1, 2, 4.0))
    )
    assert slow is not None and quick is not None
    assert slow.seconds == pytest.approx(10 * quick.seconds, rel=1e-3)
    assert 2 * 4.0 < quick.seconds < 10 * 4.0


def test_the_scope_without_a_fault_is_the_first_of_the_faults_family():
    asked = cells(
        {"members": 1, "faults": {"crash": [0, 1, 2, 3]}},
        {"members": 1, "faults": {"close": [1, 2]}},
    )
    families = Families.among(asked)
    assert [cell.number for cell in asked if families.is_next(cell)] == [4]
    told = families.forecast(asked[3], {cell.id: whole(n) for cell, n in zip(asked, (9, 37, 106))})
    assert told is not None and told.by == "fault crash 3"
    assert told.basis == tuple(cell.id for cell in asked[:3])


def test_no_forecast_rests_on_a_search_that_was_cut_off_or_on_too_few_or_uneven_scopes():
    asked = cells({"generations": [1, 2, 3, 4]})
    known = {cell.id: whole(n) for cell, n in zip(asked, (10, 20, 30))}
    families = Families.among(asked)
    assert families.forecast(asked[3], known) is not None
    assert (
        families.forecast(
            asked[3], {**known, asked[1].id: Outcome("unknown", "stopped at the limit", 20)}
        )
        is None
    )
    assert families.forecast(asked[3], {asked[0].id: whole(10), asked[1].id: whole(20)}) is None
    assert families.forecast(asked[2], known) is None
    uneven = cells({"generations": [1, 2, 3, 5]})
    assert not any(Families.among(uneven).is_next(cell) for cell in uneven)


def test_cells_that_differ_in_more_than_one_number_or_in_a_mutation_are_no_family():
    asked = cells(
        {"generations": [1, 2, 3]},
        {"generations": 4, "members": 3},
        {"generations": 4, "mutation": "leader_forgotten"},
    )
    assert not any(Families.among(asked).is_next(cell) for cell in asked)


def test_a_forecast_is_compared_with_what_came_only_where_everything_was_seen():
    told = forecast([100, 1000, 10000])
    assert told.states_held(whole(70_000)) is True
    assert told.states_held(whole(150_000)) is False
    assert told.seconds_held(whole(70_000, told.seconds)) is True
    assert told.seconds_held(whole(70_000, told.seconds_high + 1)) is False
    assert told.states_held(attrs.evolve(whole(70_000), complete=False)) is None


def test_the_longest_forecast_starts_first_and_what_is_unknown_by_its_size_before_it():
    asked = cells({"members": [2, 1], "generations": [1, 2, 3, 4, 5]})
    families = Families.among(asked)
    sizes = {
        cell.id: 10 ** (3 * cell.scope["members"] + cell.scope["generations"])
        for cell in asked
        if cell.scope["generations"] <= 3
    }
    known = {name: whole(size, size / 1e5) for name, size in sizes.items()}
    order = families.longest_first([cell for cell in asked if cell.id not in known], known)
    assert [(cell.scope["members"], cell.scope["generations"]) for cell in order] == [
        (2, 5),
        (2, 4),
        (1, 5),
        (1, 4),
    ]
    assert families.longest_first(asked, {})[0] is asked[4]
