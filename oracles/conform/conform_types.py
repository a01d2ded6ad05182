"""The types of the document that `conform --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.kafka.coverage.coverage_types import Coverage
from groupcheck.oracles.show.json_schemas import ABSENT, Amount, Count

Agreement = Literal["agrees", "differs", "unknown"]


@frozen(kw_only=True)
class Scope:
    """What bounds the rows."""

    members: Annotated[Count, "Members at once."]
    generations: Annotated[
        Count | None, "Generations after which the scope ends; null for no end (`--whole`)."
    ]
    partitions: Annotated[Count, "Partitions of the topic."]
    faults: Annotated[list[str], "Faults that may happen, any number of times."]
    max_size: Annotated[Count | None, "group.max.size; null for no limit."]
    two_step: Annotated[bool, "Whether members first ask for an id (KIP-394)."]
    protocols: Annotated[
        str, "What each member lists in JoinGroup, if they differ; otherwise empty."
    ]
    commits: Annotated[
        str,
        "Who commits: `consumer`, or the producer in `transactions` or `anonymous`. Only of a"
        " variant that has both.",
    ] = ABSENT
    phases: Annotated[bool, "A fail-over takes its phases; absent if it is one step."] = ABSENT
    commit_style: Annotated[
        str, "How the member commits: `auto`, `sync` or `async`; absent if the rows know no style."
    ] = ABSENT
    topics: Annotated[
        str,
        "The topics, each with its partitions at the beginning and the most that it may have"
        " (triggers).",
    ] = ABSENT
    subscriptions: Annotated[
        str,
        "The topics to which each member subscribes; empty if any subscription is tried"
        " (triggers).",
    ] = ABSENT
    protocols_after: Annotated[
        str,
        "What each member lists once it was configured anew; empty if nothing changes (triggers).",
    ] = ABSENT


@frozen(kw_only=True)
class ScopeShare:
    """A scope and its share of the rows."""

    member: Annotated[
        str,
        "Which kind of member it is, where the variant has several: the fields of its scope;"
        " else empty.",
    ]
    autocommit: Annotated[bool, "Whether the member commits in poll."]
    commit_style: Annotated[
        str | None, "The style of commits whose rows they are; null if they know no style."
    ]
    records: Annotated[Count, "Records in each partition."]
    rows: Annotated[Count, "Rows."]
    memories: Annotated[Count, "Different memories."]


@frozen(kw_only=True)
class TouredScope:
    """A scope and its share of the rows."""

    scope: Scope
    rows: Annotated[Count, "Rows."]
    executed: Annotated[Count, "Rows that were executed."]
    memories: Annotated[Count, "Different memories of the model's coordinator."]
    real_memories: Annotated[Count, "Different real memories behind them."]


@frozen(kw_only=True)
class RealMemories:
    """Several real memories can stand behind one memory of the model. Each row is executed from
    all of them that rows were seen to lead to.
    """

    real_memories: Annotated[
        Count,
        "Different real memories (docs/explanation/conformance.md says what makes them different).",
    ]
    executions: Annotated[
        Count, "Executions of rows: each row from each real memory, and with other seeds."
    ]


@frozen(kw_only=True)
class OutcomeCounts:
    """Choices of the model."""

    of_rows_with_several: Annotated[Count, "Outcomes of the rows that allow several."]
    seen: Annotated[Count, "How many of them the real coordinator showed."]
    unseen: Annotated[Count, "How many of them it never showed, of rows that were executed."]


@frozen(kw_only=True)
class UnseenOutcome:
    """An outcome."""

    row: Annotated[Count, "Number of the row."]
    input: Annotated[str, "The input."]
    memory: Annotated[str, "The model's memory before it."]
    rules: Annotated[list[str], "The outcomes of rules that fire, in order."]
    after: Annotated[str, "The model's memory after it."]


@frozen(kw_only=True)
class Finding:
    """A broken promise."""

    promise: Annotated[str, "The promise."]
    statement: Annotated[str, "What it says."]
    kind: Annotated[str, "In which way it is broken."]
    transcript: Annotated[list[str], "The shortest schedule that shows it, as lines."]


@frozen(kw_only=True)
class Difference:
    """A row that differs. With `--whole`, a schedule that ends where model and real group part, or
    where a promise is broken.
    """

    settings: Annotated[
        dict[str, str],
        "Settings of its scope that are not the defaults, such as `max_size`; not with `--whole`.",
    ] = ABSENT
    input: Annotated[str, "The input."]
    memory: Annotated[str, "The model's memory before it; not with `--whole`."] = ABSENT
    promise: Annotated[
        str | None,
        "Only with `--whole`: the promise that the real group breaks; null if it parts from the"
        " model.",
    ] = ABSENT
    differs: Annotated[list[str], "What differs."]
    transcript: Annotated[list[str], "The shortest schedule that shows it, as lines."]


@frozen(kw_only=True)
class Cause:
    """A cause."""

    kind: Annotated[str, "The request, or the rule of what the coordinator does by itself."]
    differs: Annotated[list[str], "What differs, without names, numbers and values."]
    rows: Annotated[Count, "Rows that differ in this way."]
    first: Annotated[Difference, "The one with the shortest schedule."]


@frozen(kw_only=True)
class SituationDifference:
    """A situation that differs."""

    situation: Annotated[str, "Its name: what is expected."]
    source: Annotated[str, "Where the expectation comes from."]
    differs: Annotated[list[str], "What differs, step by step."]
    transcript: Annotated[list[str], "The schedule as the coordinator carried it out, as lines."]


@frozen(kw_only=True)
class Situations:
    """Schedules that no row of the model reaches, with stated expectations; absent with
    --mutation.
    """

    executed: Annotated[Count, "Situations that were executed."]
    agreeing: Annotated[Count, "Situations in which everything is as expected."]
    differences: Annotated[list[SituationDifference], "The situations that differ."]


@frozen(kw_only=True)
class GroupSteps:
    """Only with `--side member`: the steps of the group's model that were compared with the
    rows.
    """

    states: Annotated[Count, "States of the model's member and its connection."]
    compared: Annotated[Count, "How often a rule of the model was asked for its outcomes."]
    differing: Annotated[
        Count, "Steps that differ from the rows; at most as many as `--max-differences`."
    ]


@frozen(kw_only=True)
class ConformDocument:
    """What `groupcheck conform --json` prints: every row (memory, input) of the model's
    coordinator, or of its member, compared with Kafka's; with `--whole`, random schedules of a
    whole group, followed by the model step by step. The same question gives the same document,
    except for `seconds`.
    """

    side: Annotated[
        Literal["coordinator", "member", "whole"],
        "Whose rows these are: the coordinator's, the member's (`--side member`), or steps of a"
        " whole group of real members on a real coordinator (`--whole`).",
    ]
    variant: Annotated[str, "The protocol variant."]
    scope: Scope
    drawn: Annotated[
        dict[str, str],
        "With `--whole`: what each schedule draws anew, so that `scope` does not fix it -> from"
        " what it is drawn.",
    ] = ABSENT
    toured: Annotated[
        list[TouredScope],
        "The scopes whose rows were executed: `scope`, and small ones beside it with settings of"
        " their own.",
    ] = ABSENT
    scopes: Annotated[
        list[ScopeShare], "Only of the member: the scopes whose rows were executed."
    ] = ABSENT
    kafka: Annotated[str, "The Kafka version."]
    mutation: Annotated[
        str | None, "Id of the known bug that was put into the model; null for the healthy model."
    ]
    seed: Annotated[int, "Seed of the ids, and with them of every hash order."]
    verdict: Annotated[
        Agreement,
        "`unknown` if none differs, and not every row was executed or an outcome that the model"
        " allows was never seen.",
    ]
    reason: Annotated[
        str, "Why the run stopped early, or why the verdict is unknown; otherwise empty."
    ]
    rows: Annotated[
        Count,
        "Rows: pairs of the coordinator's memory and an input. With `--whole`, steps of schedules.",
    ]
    executed: Annotated[Count, "Rows that were executed on the real coordinator."]
    agreeing: Annotated[Count, "Executed rows that agree, from every real memory."]
    differing: Annotated[Count, "Executed rows that differ."]
    unrealizable: Annotated[Count, "Rows that were not executed."]
    unrealizable_reasons: Annotated[
        dict[str, Count], "Reason -> rows that were not executed for it."
    ] = ABSENT
    memories: Annotated[Count, "Different memories of the coordinator."] = ABSENT
    executed_from: RealMemories = ABSENT
    outcomes: OutcomeCounts = ABSENT
    unseen: Annotated[
        list[UnseenOutcome],
        "Outcomes that the model allows and the real coordinator never showed; the first 100.",
    ] = ABSENT
    excuses: Annotated[
        dict[str, Count], "Name of an abstraction -> how many executions of rows needed it."
    ] = ABSENT
    group_steps: GroupSteps = ABSENT
    schedules: Annotated[Count, "Schedules that were executed."]
    commands: Annotated[Count, "Commands in these schedules."] = ABSENT
    steps: Annotated[dict[str, Count], "Only with `--whole`: kind of step -> how many agreed."] = (
        ABSENT
    )
    fired: Annotated[
        dict[str, Count],
        "Only with `--whole`: outcome of the model -> how many steps may have been it.",
    ] = ABSENT
    seconds: Annotated[Amount, "Seconds of wall clock."]
    real: Annotated[str, "The real coordinator that was executed."]
    never_executed: Annotated[
        list[str],
        "Outcomes of the model's coordinator that fired in no row that agrees, in no scope of"
        " `toured`; a larger scope may reach them. With `--whole`, outcomes that no step may have"
        " been; more schedules may reach them.",
    ]
    not_executed: Annotated[
        dict[str, str], "Only of the member: outcomes of its rules that no row executes -> why."
    ] = ABSENT
    abstractions: Annotated[
        dict[str, str],
        "Where the model's coordinator is deliberately coarser than Kafka's: name -> what it"
        " means.",
    ]
    promises: Annotated[
        dict[str, str],
        "Only with `--whole`: what is asked of the real group after each step: name -> what it"
        " says.",
    ] = ABSENT
    asked: Annotated[Count, "Only with `--findings`: how often the real memory was checked."] = (
        ABSENT
    )
    findings: Annotated[
        list[Finding], "Only with `--findings`: promises that the real coordinator breaks."
    ] = ABSENT
    causes: Annotated[
        list[Cause],
        "Rows that differ, grouped by the kind of their input and by what differs; the largest"
        " group first.",
    ] = ABSENT
    differences: Annotated[list[Difference], "The first rows that differ."]
    situations: Situations = ABSENT
    coverage: Coverage = ABSENT
