"""Why an epoch of a consumer group began, by the coordinator's lines before it."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.traces.story.events import OtherProtocol
from groupcheck.traces.story.timeline import Timeline

JOINS = ("joined", {"member": "a", "detail": "consumer"})
BACK = ("rejoined", {"member": "a", "detail": "a"})


def told(*events: tuple[int, str, dict[str, Any]]) -> Timeline:
    """The timeline of events: when each came in ms, what it is, and its other fields."""
    timeline = Timeline()
    for number, (at, what, more) in enumerate(events, 1):
        given: dict[str, Any] = {"member": None, "epoch": None, "detail": None, **more}
        timeline.observe(
            OtherProtocol(line=number, time=at, group="g", protocol="consumer", what=what, **given)
        )
    return timeline


@pytest.mark.parametrize(
    ("events", "cause"),
    [
        ([(10, "metadata", {})], "metadata_change"),
        ([(10, "away", {"member": "a"})], "not_told"),
        ([(10, *BACK)], "static_replaced"),
        ([(10, *BACK), (10, "metadata", {})], "static_replaced"),
        ([(10, *BACK), (900, "metadata", {})], "metadata_change"),
        ([(10, "left", {"member": "b"}), (10, "metadata", {})], "leave"),
    ],
)
def test_an_epoch_has_the_cause_that_lines_tell(
    events: list[tuple[int, str, dict[str, Any]]], cause: str
) -> None:
    first = [(0, *JOINS), (0, "epoch", {"epoch": 2})]
    last = (events[-1][0], "epoch", {"epoch": 3})
    timeline = told(*first, *events, last)
    assert timeline.rounds[-1].cause.value == cause


def test_a_static_member_that_comes_back_under_its_own_id_is_still_there() -> None:
    timeline = told((0, *JOINS), (0, "epoch", {"epoch": 2}), (9, *BACK), (9, "epoch", {"epoch": 3}))
    assert timeline.rounds[-1].size == 1
    assert timeline.members["a"].gone == ""


def test_an_epoch_that_begins_again_is_one_whose_records_were_lost() -> None:
    timeline = told(
        (0, *JOINS),
        (0, "epoch", {"epoch": 2}),
        (10, "joined", {"member": "b", "detail": "consumer"}),
        (10, "epoch", {"epoch": 3}),
        (900, "joined", {"member": "c", "detail": "consumer"}),
        (900, "epoch", {"epoch": 3}),
    )
    assert [(r.to_generation, r.causers, r.size) for r in timeline.rounds] == [
        (2, ("a",), 1),
        (3, ("c",), 2),
    ]
    assert timeline.counts["rebalances"] == 2
