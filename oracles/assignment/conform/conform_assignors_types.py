"""The types of the document that `conform assignors --json` prints."""

from __future__ import annotations

from typing import Annotated, Any

from attrs import field, frozen

from groupcheck.oracles.assignment.group_types import Group
from groupcheck.oracles.kafka.tallied import ComparisonFields
from groupcheck.oracles.show.build_types import Build
from groupcheck.oracles.show.json_schemas import ABSENT, BESIDE, Also, Amount, Count


@frozen(kw_only=True)
class Bound:
    """A family."""

    bound: Annotated[str, "Its bound, in words."]
    inputs: Annotated[Count, "How many inputs it has."]


@frozen(kw_only=True)
class Difference:
    """A kind of difference."""

    kind: Annotated[str, "The kind."]
    inputs: Annotated[Count, "How many inputs show it."]
    input: Annotated[Group, "The smallest input."]
    answers: Annotated[dict[str, Any], "Side, by its name in `compared` -> its answer."] = field(
        metadata=BESIDE
    )


@frozen(kw_only=True)
class Finding:
    """A broken promise."""

    promise: Annotated[str, "The promise."]
    circumstances: Annotated[
        list[str],
        "What is unusual about these inputs; what also happens under fewer circumstances is left"
        " out.",
    ]
    answers: Annotated[Count, "How many answers break it."]
    words: Annotated[str, "What is wrong with the smallest one."]
    input: Annotated[Group, "The smallest input."]
    answer: Annotated[Any, "What Kafka's class answers: member -> partitions."]


@frozen(kw_only=True)
class Assignor:
    """One assignor."""

    assignor: Annotated[str, "Its name."]
    inputs: Annotated[Count, "Inputs."]
    agreeing: Annotated[Count, "Inputs with equal answers."]
    differing: Annotated[Count, "Inputs with different answers."]
    threw: Annotated[Count, "Inputs for which Kafka's class throws."]
    seconds: Annotated[Amount, "Seconds of wall clock."]
    bounds: Annotated[list[Bound], "The families of inputs."]
    differences: Annotated[
        list[Annotated[Difference, Also(minProperties=5, maxProperties=5)]],
        "One object for each kind of difference. The two answers have the names in `compared`.",
    ]
    asked: Annotated[
        Count, "Only with `--findings`: answers of Kafka's class that were checked."
    ] = ABSENT
    findings: Annotated[
        list[Finding], "Only with `--findings`: promises that Kafka's class breaks."
    ] = ABSENT


@frozen(kw_only=True)
class ConformAssignorsDocument:
    """What `groupcheck conform assignors --json` prints: groupcheck's assignors compared with
    Kafka's classes, or those of two versions, or of a release and a build.
    """

    compared: ComparisonFields = field(metadata=BESIDE)
    assignors: Annotated[list[Assignor], "One object for each assignor."]
    build: Build = ABSENT
