"""The types of the document that `conform --live --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Amount, Count


@frozen(kw_only=True)
class Scope:
    """What bounds the schedules."""

    members: Annotated[Count, "Members at once."]
    static_members: Annotated[Count, "How many members are static: the first ones."]
    generations: Annotated[Count, "Generations after which a schedule ends."]
    partitions: Annotated[Count, "Partitions that the leader gives away."]
    max_size: Annotated[Count | None, "group.max.size of the broker; null for no limit."]
    two_step: Annotated[bool, "Whether dynamic members first ask for an id (KIP-394)."]
    protocols: Annotated[
        str, "What each member lists in JoinGroup, if they differ; otherwise empty."
    ]


@frozen(kw_only=True)
class ConformLiveDocument:
    """What `groupcheck conform --live --json` prints: schedules of raw requests, each answer of a
    real broker compared with what the model allows.
    """

    variant: Annotated[str, "The protocol variant."]
    scope: Scope
    kafka: Annotated[str, "The Kafka version."]
    mutation: Annotated[
        str | None, "Id of the known bug that was put into the model; null for the healthy model."
    ]
    seed: Annotated[int, "Seed of the schedules."]
    verdict: Annotated[
        Literal["agrees", "differs", "unknown"],
        "`unknown` if fewer schedules were run than were asked for.",
    ]
    reason: Annotated[str, "Why the verdict is unknown; otherwise empty."]
    schedules: Annotated[Count, "Schedules that were run."]
    requests: Annotated[Count, "Requests that were sent."]
    rows: Annotated[Count, "Different pairs of memory and request."]
    rules: Annotated[list[str], "Rules of the model's coordinator that fired, with their outcomes."]
    refused_by_the_api: Annotated[list[str], "Kinds of requests that the broker refuses by itself."]
    differs: Annotated[list[str], "What differs in the shortest disagreement; empty without one."]
    transcript: Annotated[list[str], "The shortest disagreement, as lines; empty without one."]
    seconds: Annotated[Amount, "Seconds of wall clock."]
