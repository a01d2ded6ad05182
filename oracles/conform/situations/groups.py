"""The groups with which situations begin: one or more dynamic members, with m1 as their leader."""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.conform.situations.situation import Does, answer_of, does
from groupcheck.oracles.kafka.commands import Advance, JoinGroup, LeaveGroup, SyncGroup

T0, T1 = ("t", 0), ("t", 1)


def joining(count: int, **join: Any) -> list[Does]:
    """Members m1, m2, ... whose first JoinGroups are parked."""
    steps = []
    for k in range(1, count + 1):
        steps += [
            does(JoinGroup(**join), 79, member=f"m{k}"),
            does(JoinGroup(member=f"m{k}", **join), name=f"join of m{k}"),
        ]
    return steps


def joined(count: int, **join: Any) -> list[Does]:
    """Members m1, m2, ... of generation 1 whose leader, m1, has not sent its plan."""
    ids = tuple(f"m{k}" for k in range(1, count + 1))
    answers = {
        f"join of {id}": answer_of(
            0, generation=1, leader="m1", member=id, members=ids if id == "m1" else ()
        )
        for id in ids
    }
    # A member that is added in the first 3 s has the coordinator wait 3 s more (KIP-134).
    ends = does(
        Advance(ms=6000 if count > 1 else 3000),
        releases=answers,
        group={"state": "CompletingRebalance", "generation": 1, "pending_sync": ids},
        log=(),
    )
    return [*joining(count, **join), ends]


def stable(count: int, **join: Any) -> list[Does]:
    """A Stable group of generation 1; member k + 1 has partition k, of two."""
    ids = [f"m{k}" for k in range(1, count + 1)]
    shares = {id: frozenset({("t", k)}) if k < 2 else frozenset() for k, id in enumerate(ids)}
    plan = {id: {"t": [k]} if k < 2 else {} for k, id in enumerate(ids)}
    return [
        *joined(count, **join),
        does(
            SyncGroup(member="m1", generation=1, assignments=plan),
            0,
            assigned=shares["m1"],
            group={"state": "Stable", "generation": 1},
            log=(("group", 1, "m1", tuple(ids)),),
        ),
        *(does(SyncGroup(member=id, generation=1), 0, assigned=shares[id]) for id in ids[1:]),
    ]


def emptied(**join: Any) -> list[Does]:
    """A group of generation 2 that is Empty again."""
    return [
        *stable(1, **join),
        does(
            LeaveGroup(member="m1"),
            0,
            members=(0,),
            group={"state": "Empty", "generation": 2},
            log=(("group", 2, None, ()),),
        ),
    ]


def at(number: int, partition: int = 0) -> tuple[tuple[str, int, int], ...]:
    """An offset of a partition of t."""
    return (("t", partition, number),)
