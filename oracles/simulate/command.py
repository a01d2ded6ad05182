"""`groupcheck simulate`: from options to an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.model.variants import registry
from groupcheck.oracles.show.terminal import answer
from groupcheck.oracles.simulate.assumptions import with_settings
from groupcheck.oracles.simulate.compare import compare
from groupcheck.oracles.simulate.document import document
from groupcheck.oracles.simulate.sensitivity import Sensitivity, deciding, sensitivity
from groupcheck.oracles.simulate.setup import Setup

COMPARED = 5  # replications of variants that are compared
TWO_ORDERS = 100  # a ratio below this is explained without being asked for


def run(
    *,
    variant: str,
    compared: str | None,
    scenario: str,
    members: int,
    partitions: int | None,
    replications: int | None,
    seed: int,
    seconds: float,
    whole: bool,
    settings: Mapping[str, str] | Sequence[tuple[str, str]],
    moves: bool,
    as_json: bool,
) -> int:
    """Simulates one variant, or several side by side, and prints the answer. Raises `UserError`."""
    variants = compared.split(",") if compared else [variant]
    for name in variants:
        registry.load(name)  # an unknown name is an error before anything runs
    if len(set(variants)) < len(variants):
        raise UserError("names a variant twice", where="--compare")
    if moves and len(variants) != 2:
        raise UserError(
            "is about the ratio of two variants", where="--sensitivity", do="add --compare A,B"
        )
    given = with_settings(dict(settings))
    setups = [
        Setup(
            variant=name,
            scenario=scenario,
            members=members,
            partitions=members if partitions is None else partitions,
            seconds=seconds,
            until_rest=not whole,
            assumptions=given,
        )
        for name in variants
    ]
    comparison = compare(setups, replications or (COMPARED if compared else 1), seed)
    moved: Sensitivity | None = None
    if moves:
        moved = sensitivity((setups[0], setups[1]), replications=replications or 1, seed=seed)
    elif len(setups) == 2:
        found = comparison.ratio("longest_pause_ms", 1)
        if found is not None and found.mean < TWO_ORDERS:
            moved = deciding((setups[0], setups[1]), seed)

    def shown() -> Any:
        from groupcheck.oracles.simulate.view import view

        return view(comparison, moved)

    answer(lambda: document(comparison, moved), shown, as_json)
    return 0
