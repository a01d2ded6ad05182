"""The types of the document that `replay --what-if --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Amount, Count, Positive, Share
from groupcheck.oracles.simulate.simulate_types import Interval


@frozen(kw_only=True)
class Simulated:
    """A group as it is simulated."""

    variant: Annotated[str, "The variant that is simulated."]
    assumptions: Annotated[dict[str, float | str], "All of them by name."]


@frozen(kw_only=True)
class Estimate:
    """An estimate."""

    value_ms: Annotated[float, "The value, in milliseconds."]
    from_: Annotated[str, "What it is estimated from, in words."]


HappeningKind = Literal["start", "close", "crash", "stall", "pause"]
InBaseline = Annotated[Interval, "In the baseline."]
AfterChange = Annotated[Interval, "After the change."]
Saved = Annotated[Interval, "The paired difference: how much less after the change."]


@frozen(kw_only=True)
class Rounds:
    """How many rounds there are in all."""

    log: Annotated[Count, "Rebalances in the log."]
    baseline: InBaseline
    changed: AfterChange


@frozen(kw_only=True)
class Rebalance:
    """A rebalance."""

    from_generation: Annotated[
        int | None, "The generation that ended; null if the log does not tell."
    ]
    to_generation: Annotated[
        int | None, "The generation that began; null if the log does not tell."
    ]
    started: Annotated[str | None, "When it began, by the clock of the log."]
    line: Annotated[int | None, "The line where it began."]
    cause: Annotated[str, "Why it began, as in groupcheck.replay/2."]
    members: Annotated[list[str], "The members that caused it."]
    duration_ms: Annotated[float | None, "How long it took in the log; null if it did not end."]
    simulated: Annotated[bool, "Whether its cause can be simulated."]
    reproduced: Annotated[
        bool, "Whether the baseline has it in three quarters of the replications."
    ]
    baseline_rounds: Annotated[
        list[Count], "How many rounds its events began in each replication of the baseline."
    ]
    changed_rounds: Annotated[
        list[Count], "How many rounds its events began in each replication after the change."
    ]
    not_judged: Annotated[
        str | None, "Why the log does not tell enough to judge it; null if it does."
    ]
    changed_merged: Annotated[
        list[bool],
        "Whether a round that other events began serves its events, in each replication after"
        " the change.",
    ]
    avoided_share: Annotated[
        float | None,
        "The share of replications in which no round serves its events after the change; null if"
        " the baseline does not have it, or it cannot be judged.",
    ]


@frozen(kw_only=True)
class Event:
    """An event."""

    what: Annotated[
        HappeningKind,
        "A process starts, closes, crashes, stalls (it does not poll) or is paused (it stands"
        " still as a whole).",
    ]
    process: Annotated[str, "The last name of the process."]
    line: Annotated[Count, "The line that shows it."]
    t: Annotated[int, "When it happened, in milliseconds since 1970 by the clock of the log."]
    until: Annotated[
        int | None, "When a stall or a pause ends; null for other events and for stalls that last."
    ]
    slack_ms: Annotated[
        Amount, "It happened at most so long after `t`; when exactly is drawn for each replication."
    ]


@frozen(kw_only=True)
class NewName:
    """One of them."""

    from_: Annotated[str, "The name before."]
    to: Annotated[str, "The name after."]
    line: Annotated[Count, "The line that shows the new name."]


@frozen(kw_only=True)
class Standstill:
    """A process."""

    process: Annotated[str, "Its last name."]
    names: Annotated[list[str], "All its names in order."]
    baseline_ms: InBaseline
    changed_ms: AfterChange
    saved_ms: Saved


@frozen(kw_only=True)
class StopTime:
    """For how long no process reads a partition that was read before, while at least one process
    runs, summed over partitions.
    """

    baseline: InBaseline
    changed: AfterChange
    saved: Saved


@frozen(kw_only=True)
class Group:
    """A group."""

    group: Annotated[str, "Its id."]
    file: Annotated[str, "The log."]
    verdict: Annotated[
        Literal["answered", "unknown"],
        "`answered`, or `unknown` where the baseline has too few of the log's rebalances, or too"
        " many others, or too few can be judged.",
    ]
    sentences: Annotated[list[str], "The answer in words."]
    processes: Annotated[Positive, "Processes that the log shows."]
    partitions: Annotated[Positive, "Partitions that are simulated."]
    replications: Annotated[
        Positive,
        "Simulations of each side of this group; fewer where they take long, unless their number"
        " was given.",
    ]
    baseline: Annotated[Simulated, "The group as it was."]
    changed: Annotated[Simulated, "The group after the change."]
    told_by_the_log: Annotated[
        dict[str, float], "Settings that lines of the log state, in milliseconds."
    ]
    estimated: Annotated[
        dict[str, Estimate], "Those of `assumed` that are estimated from the times of the log."
    ]
    assumed: Annotated[
        list[str],
        "Settings that the log does not state and that were not given; `protocol` where nothing"
        " tells whether the group is cooperative; `partitions` where nothing tells how many there"
        " are.",
    ]
    reproduced: Annotated[
        Count, "Rebalances of the log that the baseline has in three quarters of the replications."
    ]
    avoided: Annotated[
        Count,
        "Of those, how many do not happen after the change in more than half of the replications.",
    ]
    rounds: Rounds
    rebalances: Annotated[list[Rebalance], "The rebalances of the log."]
    events: Annotated[list[Event], "What happened to the processes, in order of time."]
    renamed: Annotated[
        list[NewName], "Processes that are taken for others, restarted under another name."
    ]
    stood_still: Annotated[list[Standstill], "How long each process stands still."]
    stopped_ms: StopTime


@frozen(kw_only=True)
class WhatIfDocument:
    """What `groupcheck replay --what-if --json` prints: the events of a log under the group's own
    protocol and settings, and under others.
    """

    seed: Annotated[int, "The first seed."]
    replications: Annotated[Positive, "Simulations of each side; the most of any group."]
    confidence: Annotated[Share, "Of the intervals."]
    what_if: Annotated[list[str], "The change: words, and assumptions as NAME=VALUE."]
    groups: Annotated[list[Group], "One for each group in each log."]
