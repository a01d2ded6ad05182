"""The model's shortest way to an answer, for what a client was not brought to."""

from __future__ import annotations

from functools import cache

from groupcheck.model.protocol.messages import NO_ID, Store
from groupcheck.oracles.conform.conformance import rows_at
from groupcheck.oracles.conform.row import Asks, Input, Memory
from groupcheck.oracles.judge.client.targets import Target

FAULTS = ("session_timeout", "rebalance_timeout")


def shortest_way(target: Target) -> tuple[str, ...]:
    """What one member and its coordinator do until the request is answered so, each in words; empty
    where the code depends on where the coordinator is, or is put in the answer's place.
    """
    if target.move.put or not target.move.code:
        return ()
    ways = _ways("static_membership" if target.setting.static else "classic")
    return ways.get((target.move.at, target.move.code), ())


@cache
def _ways(variant: str) -> dict[tuple[str, int], tuple[str, ...]]:
    """(request, code) -> the shortest way there, of a group with one member."""
    _, rows = rows_at(variant, 1, 2, FAULTS, None, {})
    start = rows.start()
    before: dict[Memory, tuple[Memory, Input] | None] = {start: None}
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    level = [start]
    while level:
        beyond = []
        for memory in level:
            for given in rows.inputs(memory):
                for outcome in rows.outcomes(memory, given):
                    for told in outcome.told:
                        request = told.answer.request
                        asked = request.commit if isinstance(request, Store) else request
                        key = (type(asked).__name__, told.answer.code)
                        if key not in found:
                            found[key] = (*_back(before, memory), _words(given))
                    if outcome.after not in before:
                        before[outcome.after] = (memory, given)
                        beyond.append(outcome.after)
        level = beyond
    return found


def _back(before: dict[Memory, tuple[Memory, Input] | None], memory: Memory) -> list[str]:
    steps = []
    while (came := before[memory]) is not None:
        memory, given = came
        steps.append(_words(given))
    return steps[::-1]


def _words(given: Input) -> str:
    if not isinstance(given, Asks):
        return given.rule.replace("_", " ")
    request = given.request
    words = f"it sends {type(request).__name__}"
    if getattr(request, "id", None) == NO_ID:
        words += " without an id"
    generation = getattr(request, "generation", None)
    return words if generation is None else f"{words} with generation {generation}"
