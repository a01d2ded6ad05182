"""The types of the document that `conform consumer --json` prints."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from attrs import field, frozen

from groupcheck.oracles.kafka.tallied import ComparisonFields
from groupcheck.oracles.show.build_types import Build
from groupcheck.oracles.show.json_schemas import ABSENT, BESIDE, Also, Amount, Count

Side = Literal["coordinator", "member", "whole", "share", "share_partition", "streams", "migration"]


@frozen(kw_only=True)
class Difference:
    """A kind of difference."""

    differs: Annotated[
        list[str], "The facts that differ, in the answer, for some member or in the group."
    ]
    inputs: Annotated[Count, "How many rows show it."]
    input: Annotated[
        list[str], "The commands of the shortest schedule that shows it; the last one is the row's."
    ]
    answers: Annotated[
        dict[str, Any], "Side, by its name in `compared` -> fact that differs -> its value."
    ] = field(metadata=BESIDE)


@frozen(kw_only=True)
class Family:
    """One family."""

    family: Annotated[str, "Its name."]
    bound: Annotated[str, "Its bounds, in words."]
    inputs: Annotated[Count, "Rows: something that happens to the side in one of its memories."]
    memories: Annotated[Count, "The memories whose rows were executed."]
    agreeing: Annotated[
        Count,
        "Rows in which everything is equal: what is sent and written, memory, timers.",
    ]
    differing: Annotated[Count, "Rows in which something differs."]
    seconds: Annotated[Amount, "Seconds of wall clock."]
    differences: Annotated[
        list[Annotated[Difference, Also(minProperties=5, maxProperties=5)]],
        "One object for each kind of difference. What each side makes of it has the names in"
        " `compared`: fact -> value.",
    ]


@frozen(kw_only=True)
class ConformConsumerDocument:
    """What `groupcheck conform consumer --json` prints: a side of the model's consumer groups
    (KIP-848) compared with Kafka's, row by row; with `--diff` or `--jars` Kafka's of two versions.
    """

    compared: ComparisonFields = field(metadata=BESIDE)
    side: Annotated[
        Side,
        "What is compared: the coordinator, Java's member (`--side member`), real members on the"
        " real coordinator (`--whole`), whose rows are steps of random schedules, the"
        " coordinator of share groups (`conform share`), or that of groups that migrate"
        " (`conform migration`).",
    ]
    mutation: Annotated[str | None, "The known bug that was put into the model."]
    never_executed: Annotated[
        list[str], "Outcomes of the model's side that fired in no row that agrees."
    ]
    families: Annotated[list[Family], "One object for each family of rows."]
    build: Build = ABSENT
