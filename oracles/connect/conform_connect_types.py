"""The types of the document that `conform connect --json` prints."""

from __future__ import annotations

from typing import Annotated, Any

from attrs import field, frozen

from groupcheck.oracles.kafka.tallied import ComparisonFields
from groupcheck.oracles.show.json_schemas import ABSENT, BESIDE, Also, Amount, Count


@frozen(kw_only=True)
class Config:
    """What a worker has read of the topic of configurations."""

    offset: Annotated[int, "The offset up to which it has read."]
    configured: Annotated[list[str], "The connectors and tasks that exist: `a`, `a-0`."]


@frozen(kw_only=True)
class Worker:
    """One worker."""

    offset: Annotated[int, "How far it has read the configurations."]
    runs: Annotated[list[str], "What it runs, in the order in which it has it."]


@frozen(kw_only=True)
class Memory:
    """What the leader remembers, by the names of IncrementalCooperativeAssignor's fields in
    Python's spelling. What is as in a process that has just started is left out.
    """

    previous_assignment: Annotated[list[str], "What it believes to be assigned."] = ABSENT
    previous_revocation: Annotated[list[str], "What the last round revoked."] = ABSENT
    previous_members: Annotated[list[str], "The workers of the last round."] = ABSENT
    previous_generation_id: Annotated[int, "The generation in which it last assigned."] = ABSENT
    scheduled_rebalance: Annotated[int, "When a delayed round is due, in ms."] = ABSENT
    delay: Annotated[int, "What the last answers said, in ms."] = ABSENT
    candidate_workers: Annotated[list[str], "Workers that came with nothing while a delay ran."] = (
        ABSENT
    )
    revoked_in_previous: Annotated[bool, "Whether the last round revoked for balance."] = ABSENT
    num_successive_revoking_rebalances: Annotated[
        Count, "How many rounds in turn wanted to revoke."
    ] = ABSENT


@frozen(kw_only=True)
class RoundInput:
    """The smallest input: a memory and a round."""

    protocol: Annotated[
        str, Also(enum=["eager", "compatible", "sessioned"]), "The protocol that the group uses."
    ]
    leader: Annotated[str, "The leader's member id."]
    now: Annotated[int, "The time, in ms."]
    max_delay: Annotated[Count, "scheduled.rebalance.max.delay.ms."]
    generation: Annotated[int, "The generation of the round."]
    last_completed: Annotated[int, "The generation that the leader completed last."]
    config: Config
    workers: Annotated[
        dict[str, Worker], "Member id -> what the worker reports, in the order of the leader's map."
    ]
    memory: Memory
    fresh: Annotated[Config, "What the leader can read at once if it is behind."] = ABSENT


@frozen(kw_only=True)
class Difference:
    """A kind of difference."""

    differs: Annotated[
        list[str], "The facts that differ, for some worker or in the leader's memory."
    ]
    inputs: Annotated[Count, "How many rounds show it."]
    input: RoundInput
    answers: Annotated[
        dict[str, Any], "Side, by its name in `compared` -> fact that differs -> its value."
    ] = field(metadata=BESIDE)


@frozen(kw_only=True)
class Family:
    """One family."""

    family: Annotated[str, "Its name."]
    bound: Annotated[str, "Its bounds, in words."]
    inputs: Annotated[Count, "Rounds."]
    agreeing: Annotated[
        Count,
        "Rounds in which everything is equal: all answers, the memory and the owners afterwards.",
    ]
    differing: Annotated[Count, "Rounds in which something differs."]
    seconds: Annotated[Amount, "Seconds of wall clock."]
    differences: Annotated[
        list[Annotated[Difference, Also(minProperties=5, maxProperties=5)]],
        "One object for each kind of difference. What each side makes of it has the names in"
        " `compared`: fact -> value.",
    ]


@frozen(kw_only=True)
class ConformConnectDocument:
    """What `groupcheck conform connect --json` prints: groupcheck's leader of Connect's workers
    compared with Kafka's classes, or those of two versions.
    """

    compared: ComparisonFields = field(metadata=BESIDE)
    families: Annotated[list[Family], "One object for each family of rounds."]
