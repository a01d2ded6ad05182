"""What follows from what the programs said: who owned what and when, who believed in the same
thing, what was read twice.
"""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.record.beliefs import (
    consumed,
    frozen_times,
    owned,
    processed_twice,
    two_owners,
)


def event(t: int, kind: str, *own: str) -> dict[str, Any]:
    return {"t": t, "ev": kind, "own": list(own)}


def action(t: int, do: str, who: str = "a") -> dict[str, Any]:
    return {"t": t, "who": who, "do": do}


def test_a_partition_is_owned_from_assigned_to_revoked():
    events = [
        event(10, "assigned", "o-0", "o-1"),
        {"t": 20, "ev": "revoked_begin", "parts": []},
        event(30, "revoked", "o-1"),
        event(40, "lost"),
    ]
    assert owned("a", events, [], 99) == [("o-0", 10, 30, "revoked"), ("o-1", 10, 40, "lost")]


def test_what_is_owned_at_the_end_is_owned_until_the_end():
    assert owned("a", [event(10, "assigned", "o-0")], [action(15, "SIGKILL", "b")], 99) == [
        ("o-0", 10, 99, "end of recording")
    ]


def test_the_dead_own_nothing():
    assert owned(
        "a", [event(10, "assigned", "o-0")], [action(50, "SIGKILL"), action(51, "ended")], 99
    ) == [("o-0", 10, 50, "killed")]


def test_a_process_stands_still_between_sigstop_and_sigcont():
    actions = [
        action(1, "SIGSTOP"),
        action(2, "SIGSTOP", "b"),
        action(5, "SIGCONT"),
        action(7, "SIGSTOP"),
    ]
    assert frozen_times("a", actions, 9) == [(1, 5), (7, 9)]


def test_two_owners_are_named_in_order_with_how_long_one_was_frozen():
    spans = {
        "a": [("o-0", 10, 50, "lost"), ("o-1", 10, 50, "lost")],
        "b": [("o-0", 40, 60, "revoked"), ("o-1", 50, 60, "revoked")],
    }
    (found,) = two_owners(spans, {"a": [(20, 45)], "b": []})
    assert found == {
        "partition": "o-0",
        "earlier_owner": "a",
        "later_owner": "b",
        "t": 40,
        "until": 50,
        "ms": 10,
        "earlier_owner_frozen_ms": 5,
    }


def test_one_after_the_other_is_no_overlap():
    assert (
        two_owners(
            {"a": [("o-0", 10, 40, "revoked")], "b": [("o-0", 40, 60, "revoked")]},
            {"a": [], "b": []},
        )
        == []
    )


def test_runs_of_records_stand_in_order_of_their_first():
    events = [
        {"ev": "consumed", "runs": {"o-1": [0, 4, 30, 40]}},
        {"ev": "assigned"},
        {"ev": "consumed", "runs": {"o-0": [2, 3, 10, 20]}},
    ]
    assert consumed(events) == [("o-0", 2, 3, 10, 20), ("o-1", 0, 4, 30, 40)]


def test_records_read_twice_are_told_as_ranges_with_who_was_first():
    found = processed_twice(
        {
            "a": [("o-0", 0, 5, 10, 20), ("o-0", 9, 9, 30, 30)],
            "b": [("o-0", 4, 12, 15, 40), ("o-1", 0, 5, 0, 9)],
        }
    )
    assert [(f["partition"], f["offsets"], f["first_by"], f["again_by"]) for f in found] == [
        ("o-0", [4, 5], "a", "b"),
        ("o-0", [9, 9], "b", "a"),
    ]


def test_a_program_can_read_twice_by_itself():
    (found,) = processed_twice({"a": [("o-0", 0, 5, 10, 20), ("o-0", 3, 8, 30, 40)]})
    assert found == {"partition": "o-0", "offsets": [3, 5], "first_by": "a", "again_by": "a"}
