"""The types of the document that `advise --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import field, frozen

from groupcheck.oracles.show.json_schemas import BESIDE, Also, Amount, Positive, Share
from groupcheck.oracles.simulate.simulate_types import Interval

CostMeasure = Literal["stopped_total_ms", "total_pause_ms", "moved_partitions"]


@frozen(kw_only=True)
class Configuration:
    """A protocol and settings."""

    variant: Annotated[
        str,
        "The protocol, as `groupcheck list variants` names it; `consumer+static` is `consumer` with"
        " static members.",
    ]
    settings: Annotated[dict[str, str], "Settings of the consumer, by Kafka's names."]


@frozen(kw_only=True)
class Event:
    """One event of the week."""

    event: Annotated[str, "Its name."]
    scenario: Annotated[str, "The scenario that simulates it."]
    per_week: Annotated[Amount, "How often it happens."]


@frozen(kw_only=True)
class Alternative:
    """One alternative."""

    configuration: Configuration = field(metadata=BESIDE)
    recommended: Annotated[bool, "Whether it is the recommended one."]
    now: Annotated[bool, "Whether it is what the group has now."]
    as_good_as_the_best: Annotated[
        bool,
        "Whether the intervals of its paired differences from and ratios to the cheapest one do not"
        " say that it costs more, or it costs less than 1 % more.",
    ]
    cost_per_week: Annotated[Interval, "What a week costs."]
    more_than_the_best: Annotated[
        Interval, "How much more than the cheapest one, from paired runs."
    ]
    longest_pause_ms: Annotated[
        float | None,
        "The longest pause of a member that nothing happens to, in any event and replication.",
    ]
    rounds_per_week: Annotated[float | None, "Rebalance rounds in a week."]
    cost_of_one: Annotated[
        dict[str, Annotated[Interval, "The cost of one."]],
        "What an event costs when it happens once to a group at rest, by its name: until it is at"
        " rest again, with whatever else happens meanwhile.",
    ]


@frozen(kw_only=True)
class Threshold:
    """One threshold."""

    event: Annotated[str, "The event."]
    per_week: Annotated[Amount, "How often it would have to happen."]
    when: Annotated[
        Literal["more often", "less often"],
        "Whether the other recommendation holds above or below.",
    ]
    near: Annotated[
        bool,
        "Whether it is within 10 % of the given frequency: the recommendation is not stable there.",
    ]
    instead: Annotated[Configuration, "The other recommendation."]


@frozen(kw_only=True)
class AdviseDocument:
    """What `groupcheck advise --json` prints: a recommended protocol and timeouts, with the
    predicted cost of each alternative.
    """

    members: Annotated[int, Also(minimum=2), "Members of the group."]
    partitions: Annotated[Positive, "Partitions of its topic."]
    restart_ms: Annotated[Amount, "How long a process is away when it restarts."]
    slow_ms: Annotated[
        Amount, "The longest work between two polls; 0: nothing out of the ordinary."
    ]
    outage_ms: Annotated[
        Amount, "How long an outage lasts: a member that works does not reach the coordinator."
    ]
    kafka: Annotated[
        str | None,
        "The version of the brokers; null if it was not given, and KIP-848 is no alternative then.",
    ]
    now: Annotated[
        Configuration | None,
        "The protocol and settings that the group has now, as far as given, else Kafka's defaults;"
        " null if none was given.",
    ]
    cost: Annotated[
        CostMeasure,
        "The measure that counts as cost, as in groupcheck.simulate/1.",
    ]
    verdict: Annotated[
        Literal["answered", "unknown"], "`unknown` where the command was interrupted."
    ]
    reason: Annotated[str | None, "Why it is unknown; null if it is not."]
    seed: Annotated[int, "The first seed."]
    replications: Annotated[int, Also(minimum=2), "Runs of each event under each alternative."]
    confidence: Annotated[Share, "Of the intervals."]
    assumptions: Annotated[
        dict[str, float | str],
        "All of them by name; the settings of each alternative take the place of those given here.",
    ]
    events: Annotated[list[Event], "What happens to the group in a week."]
    recommended: Annotated[
        Configuration,
        "Of the alternatives that cannot be told apart from the cheapest one, the one that"
        " changes least of what the group has now, or of Kafka's defaults if that was not given.",
    ]
    alternatives: Annotated[list[Alternative], "All of them, the cheapest one first."]
    thresholds: Annotated[
        list[Threshold],
        "How often an event would have to happen for another recommendation, all else being"
        " equal; none below 0.001 times a week.",
    ]
    notes: Annotated[list[str], "Remarks, in words."]
