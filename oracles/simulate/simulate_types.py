"""The types of the document that `simulate --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import field, frozen

from groupcheck.oracles.show.json_schemas import BESIDE, Count, Positive


@frozen(kw_only=True)
class Interval:
    """A mean with its t interval."""

    mean: Annotated[
        float | None,
        "The mean over replications; of a ratio the geometric one. Null: in some it had"
        " not ended when the run did.",
    ]
    low: Annotated[float | None, "Lower end of the 95 % t interval; null without one."]
    high: Annotated[float | None, "Upper end of it; null without one."]


@frozen(kw_only=True)
class Estimate:
    """Longest pause of any member that the scenario does not stop itself: from the moment at which
    it works on no partition until it works again.
    """

    interval: Interval = field(metadata=BESIDE)
    values: Annotated[
        list[float | None],
        "The figure of each replication, in the order of their seeds; null: it had not ended when"
        " the run did.",
    ]


@frozen(kw_only=True)
class Measures:
    """Figures by name. Durations are in milliseconds of virtual time."""

    longest_pause_ms: Estimate
    total_pause_ms: Annotated[Estimate, "All pauses together."]
    paused_members: Annotated[Estimate, "Members that paused."]
    longest_start_ms: Annotated[
        Estimate,
        "Longest time from the start of a process until it works on its share, or knows that it"
        " has none.",
    ]
    settled_ms: Annotated[
        Estimate, "From the begin of the scenario until nothing changed any more."
    ]
    rounds: Annotated[Estimate, "Generations that began."]
    moved_partitions: Annotated[
        Estimate,
        "How often somebody began to work on a partition on which another member had worked"
        " before.",
    ]
    false_expiries: Annotated[Estimate, "How often the session of a process that ran expired."]
    requests: Annotated[Estimate, "Requests that members sent until the end of the run."]
    join_answer_bytes: Annotated[Estimate, "Bytes of all answers to JoinGroup."]
    stopped_partitions: Annotated[Estimate, "Partitions on which nobody worked for some time."]
    stopped_total_ms: Annotated[Estimate, "How long, all together."]
    stopped_longest_ms: Annotated[
        Estimate, "How long, the longest time without work on one partition."
    ]
    lag_built_records: Annotated[
        Estimate, "Records that arrived in partitions while nobody worked on them."
    ]
    lag_peak_records: Annotated[Estimate, "The most records that waited at one time."]
    lag_peak_behind_ms: Annotated[
        Estimate, "How long the oldest unread record of any partition had waited at most."
    ]
    lag_recovered_ms: Annotated[Estimate, "From the begin of the scenario until no lag is left."]


@frozen(kw_only=True)
class Variant:
    """One variant."""

    variant: Annotated[str, "Its name."]
    measures: Measures
    requests: Annotated[
        dict[str, float],
        "Name of a request -> how many members sent, on average over replications.",
    ]
    came_to_rest: Annotated[Count, "Replications in which the group came to rest."]


PairedRatio = Annotated[
    Interval | None,
    "The ratio of paired runs; null: some figure is 0, or had not ended when its run did.",
]


@frozen(kw_only=True)
class Ratio:
    """One ratio."""

    measure: Annotated[str, "The figure."]
    variant: Annotated[str, "The first variant, whose figure stands above."]
    over: Annotated[str, "The other variant."]
    ratio: PairedRatio


@frozen(kw_only=True)
class RatioAtMultiple:
    """One multiple."""

    factor: Annotated[
        float | None, "The multiple; null where `value` says the value, as for what is 0."
    ]
    value: Annotated[float | None, "The value itself; null where it is a multiple."]
    ratio: PairedRatio
    came_to_rest: Annotated[
        bool, "Whether all groups came to rest; otherwise pauses are those until the run ended."
    ]


@frozen(kw_only=True)
class Assumption:
    """One assumption, all others being as they are."""

    assumption: Annotated[str, "Its name."]
    value: Annotated[str, "Its value."]
    ratios: Annotated[
        list[RatioAtMultiple],
        "The ratio at multiples of that value, or at other values, as far as Kafka allows these.",
    ]


@frozen(kw_only=True)
class Sensitivity:
    """How the ratio moves with each assumption: with --sensitivity, and of a smaller group if the
    ratio of two variants is below 100; otherwise null.
    """

    measure: Annotated[str, "The figure."]
    members: Annotated[Positive, "Members of the groups that were asked."]
    replications: Annotated[Positive, "Runs behind each ratio."]
    ratio: PairedRatio
    deciding: Annotated[
        str | None, "The assumption that moves the ratio most; null: none moves it."
    ]
    assumptions: Annotated[list[Assumption], "The assumptions."]
    not_asked: Annotated[
        dict[str, str], "Assumptions that were not asked, by name, each with the reason."
    ]


@frozen(kw_only=True)
class GroupFigures:
    """One set of figures."""

    native_ms: Annotated[Interval, "The longest pause natively."]
    asynchronous_ms: Annotated[Interval, "The same with the asynchronous coordinator."]
    ratio_of_means: Annotated[float | None, "The ratio of the two means; null: there is none."]
    ratio: Annotated[
        Interval | None,
        "The ratio of the geometric means, with its t interval: Welch's for the article's runs,"
        " that of paired runs for ours.",
    ]


Kind = Literal["setting", "scenario", "measured", "assumed", "fitted", "given"]


@frozen(kw_only=True)
class FittedInput:
    """One input."""

    name: Annotated[str, "The assumption."]
    value: Annotated[str, "Its value."]
    kind: Annotated[Kind, "Where that value comes from."]
    source: Annotated[str, "The figure that it was fitted to, or what it comes from."]


@frozen(kw_only=True)
class Article:
    """The figures that a large video company measured in a group of this size, beside ours, if
    `classic` and `async_server` are compared in it (`scale-out`, 1,600 or 3,000 members and
    partitions); otherwise null.
    """

    article: Annotated[GroupFigures, "Of its eight runs of each."]
    overlaps: Annotated[
        dict[str, list[Literal["native", "asynchronous", "ratio"]]],
        "`ours` and `of_that_time` -> the figures whose interval meets that of the article.",
    ]
    ours: Annotated[GroupFigures, "With the assumptions of this document."]
    of_that_time: Annotated[
        GroupFigures | None,
        "With `inputs` in place of their defaults; null where an assumption was given.",
    ]
    inputs: Annotated[list[FittedInput], "The inputs of `of_that_time` that are not the defaults."]


@frozen(kw_only=True)
class SimulateDocument:
    """What `groupcheck simulate --json` prints: what a rebalance costs with each variant."""

    scenario: Annotated[str, "What happened to the group."]
    members: Annotated[Count, "Members that the group has at most."]
    partitions: Annotated[Count, "Partitions of its topic."]
    seed: Annotated[
        int, "The seed of the first replication; the next ones have the numbers after it."
    ]
    replications: Annotated[Count, "Runs of each variant."]
    confidence: Annotated[float, "Probability of the intervals."]
    verdict: Annotated[
        Literal["answered", "unknown"],
        "`unknown` where a group did not come to rest before the run ended (only if runs last until"
        " they rest), or where the command was interrupted.",
    ]
    reason: Annotated[str | None, "Why it is unknown; null if it is not."]
    seconds: Annotated[float, "Virtual time after which a run ended at the latest."]
    until_rest: Annotated[bool, "Whether a run ended once its group rested."]
    assumptions: Annotated[
        dict[str, float | str],
        "Every assumption by its name: numbers, and distributions as text such as"
        " `lognormal:MEDIAN,SIGMA`. See `groupcheck list assumptions`.",
    ]
    kinds: Annotated[
        dict[str, Kind],
        "Where each assumption comes from: a default of Kafka (`setting`), what happens"
        " (`scenario`), `measured` on real brokers, `assumed` before any figure was known, or"
        " `given`.",
    ]
    variants: Annotated[list[Variant], "The variants, in the order in which they were given."]
    ratios: Annotated[
        list[Ratio], "How many times the figure of another variant the first one's is."
    ]
    sensitivity: Sensitivity | None
    article: Article | None
