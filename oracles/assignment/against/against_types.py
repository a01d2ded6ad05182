"""The types of the document that `assign --against NAME --json` prints."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from attrs import frozen

from groupcheck.oracles.assignment.group_types import Group
from groupcheck.oracles.show.json_schemas import ABSENT, Count


@frozen(kw_only=True)
class QuestionMember:
    """One member."""

    id: Annotated[str, "Its id."]
    topics: Annotated[list[str], "What it subscribes to."]
    owned: Annotated[dict[str, list[Count]], "What it claims: topic -> numbers."]
    generation: Annotated[int, "The generation of its claims; -1 without any."]
    instance: Annotated[str | None, "Its group.instance.id."]
    rack: Annotated[str | None, "Its rack."]


@frozen(kw_only=True)
class Question:
    """A group as one line, which a program reads (`program:`), and `groupcheck assign FILE`,
    too.
    """

    topics: Annotated[dict[str, Count], "Topic -> number of partitions."]
    racks: Annotated[dict[str, list[list[str]]], "Topic -> racks of each partition's replicas."] = (
        ABSENT
    )
    members: Annotated[list[QuestionMember], "In the order in which the assignor sees them."]


@frozen(kw_only=True)
class Round:
    """One answer."""

    input: Annotated[Group, "The group."]
    answer: Annotated[Any, "What the assignor answered."]
    kept: Annotated[Count, "How many claimed partitions stayed with their member."]
    lost: Annotated[list[str], "Claimed partitions that their owner does not have any more."]
    gained: Annotated[dict[str, list[str]], "Member -> partitions that it did not claim."]


@frozen(kw_only=True)
class KafkaAnswer:
    """What Kafka's own assignor does with the same group; null if there is none to compare with."""

    assignor: Annotated[str, "Name of Kafka's assignor."]
    keeps: Annotated[bool, "Whether it keeps the promise."]
    answer: Annotated[Any, "What it answers."]


@frozen(kw_only=True)
class Finding:
    """A broken promise with the smallest group that shows it."""

    assignor: Annotated[str, "The assignor."]
    promise: Annotated[str, "The promise."]
    words: Annotated[str, "What is wrong."]
    fails: Annotated[bool, "Whether it fails, or only informs."]
    informs: Annotated[str | None, "Why it only informs; null if it fails."]
    circumstances: Annotated[list[str], "What is unusual about the group."]
    input: Annotated[
        Group | None,
        "The group, as `groupcheck assign FILE` reads it; null if the finding is about one"
        " member's claim.",
    ]
    question: Annotated[
        Question | None,
        "The same group in the form that a program reads; null if the finding is about one"
        " member's claim.",
    ]
    answer: Annotated[
        Any,
        "What the assignor answered: member -> partitions, or what it raised; null if the"
        " finding is about one member's claim.",
    ]
    rounds: Annotated[
        list[Round],
        "Of a promise about several answers: the groups that were asked about, one after the"
        " other.",
    ]
    code: Annotated[str, "Code that shows it again: Python, or for a program a shell command."]
    traceback: Annotated[
        str | None,
        "Traceback of the assignor's own code, or the end of the standard error of a program"
        " that gave no answer; null without one.",
    ]
    kafka: KafkaAnswer | None


@frozen(kw_only=True)
class AgainstDocument:
    """What `groupcheck assign --against NAME --json` prints: promises that somebody's assignors
    break.
    """

    library: Annotated[str, "Whose assignors were asked."]
    version: Annotated[str, "Version of the library."]
    examples: Annotated[Count, "Groups of each kind that were drawn."]
    seed: Annotated[Count, "Seed of the groups that were drawn."]
    searches: Annotated[Count, "Promises that were searched."]
    assignors: Annotated[list[str], "The assignors that were asked."]
    promises: Annotated[dict[str, str], "Promise -> statement, of those that were asked."]
    drawn: Annotated[
        dict[str, Count],
        "What was drawn: how many groups, and how many of them are large, have racks, or are"
        " unusual in some way.",
    ]
    given_up: Annotated[
        list[str], "Assignors that did not answer in time and were not asked to the end."
    ]
    verdict: Annotated[
        Literal["findings", "nothing found"],
        "Whether anything was found that does not only inform.",
    ]
    findings: Annotated[list[Finding], "One object for each promise that is broken."]
    gone: Annotated[
        list[str],
        "Known violations (`--baseline`) that were not found any more: assignor and promise.",
    ]
    stderr: Annotated[
        str | None,
        "The end of what a program wrote to its standard error; null if it wrote nothing.",
    ]
