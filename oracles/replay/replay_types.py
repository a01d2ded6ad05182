"""The types of the document that `replay --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import field, frozen

from groupcheck.oracles.replay.finding_types import Findings
from groupcheck.oracles.replay.member_types import ClientLife, ClientRound, Handover, clock
from groupcheck.oracles.replay.request_fact_types import RequestFacts
from groupcheck.oracles.show.json_schemas import ABSENT, BESIDE, Also, Count, Positive

Verdict = Annotated[
    Literal["holds", "violated", "unknown"],
    "`violated`: a line that no correct protocol explains. `unknown`: not everything could be"
    " judged.",
]


@frozen(kw_only=True)
class UnreadLine:
    """One line."""

    line: Annotated[Count, "Its number."]
    text: Annotated[str, "Its text."]


@frozen(kw_only=True)
class Anomaly:
    """Something that stands out."""

    kind: Annotated[str, "Its kind (`groupcheck list anomalies`)."]
    line: Annotated[Count | None, "Line at which it shows; null if there is no single one."]
    text: Annotated[str, "What stands out."]
    evidence: Annotated[list[str], "The figures or lines behind it."]


@frozen(kw_only=True)
class Part:
    """Where the lines of one file stand in the log."""

    path: Annotated[str, "The file."]
    first_line: Annotated[
        Positive, "The number, in the log, of its first line that was not left out."
    ]
    lines: Annotated[Count, "How many of its lines the log has."]
    left_out: Annotated[
        Count,
        "How many lines at its beginning are left out, because the file before it ends with them.",
    ]


@frozen(kw_only=True)
class Reading:
    """How lines were judged, and how many could be read."""

    verdict: Verdict
    reason: Annotated[str, "Why."]
    lines: Annotated[Count, "Lines."]
    lines_understood: Annotated[Count, "Lines of coordinators that were understood."]
    lines_of_others: Annotated[Count, "Lines that no coordinator wrote."]
    lines_not_understood: Annotated[Count, "Lines of a coordinator that no known version prints."]


@frozen(kw_only=True)
class File:
    """One file."""

    file: Annotated[str, "Its path."]
    format: Annotated[str, "Its format (`groupcheck list formats`)."]
    reading: Reading = field(metadata=BESIDE)
    not_understood: Annotated[list[UnreadLine], "Some of the lines that were not understood."]
    versions: Annotated[list[str], "Kafka versions that write such lines."]
    notes: Annotated[list[str], "What else a reader should know."]
    files: Annotated[
        list[Part],
        "The files that the log consists of, in order of time; empty if it could not be read.",
    ]
    anomalies: Annotated[list[Anomaly], "What stands out in the file as a whole."]


@frozen(kw_only=True)
class GenerationSpan:
    """Generations that the log shows."""

    lowest: Annotated[int | None, "The lowest; null without any."]
    highest: Annotated[int | None, "The highest; null without any."]


@frozen(kw_only=True)
class TimeShares:
    """How the time went."""

    first: Annotated[str | None, clock("First line")]
    last: Annotated[str | None, clock("Last line")]
    observed_ms: Annotated[
        int | None,
        "From the first to the last line, in milliseconds; null if the log does not tell.",
    ]
    preparing_ms: Annotated[int, "Milliseconds in join phases."]
    unstable_ms: Annotated[int, "Milliseconds from the beginning of a rebalance to its assignment."]
    unstable_share: Annotated[
        float | None, "`unstable_ms` as a share of `observed_ms` with a group; null if not known."
    ]
    median_period_ms: Annotated[
        float | None,
        "Median milliseconds from the beginning of one rebalance to that of the next; null with"
        " fewer than two, or where generations show that lines of others are missing.",
    ]
    most_in_an_hour: Annotated[Count, "Most rebalances within one hour."]


@frozen(kw_only=True)
class Rebalance:
    """One rebalance."""

    from_generation: Annotated[
        int | None, "The generation that it ended; null if the log does not tell."
    ]
    to_generation: Annotated[int | None, "The generation that it began; null if it began none."]
    cause: Annotated[str, "Why it began."]
    member: Annotated[str | None, "The member that caused it; null if no single one is named."]
    members: Annotated[list[str], "All members that caused it."]
    reason: Annotated[str, "The coordinator's own words."]
    client_reason: Annotated[str | None, "The client's own words (KIP-800); null if it gave none."]
    started: Annotated[str | None, clock("When it began")]
    started_line: Annotated[
        Count | None, "Number of the line at which it began; null if the log does not show it."
    ]
    joined: Annotated[str | None, clock("When the join phase ended")]
    ended: Annotated[str | None, clock("When it ended")]
    ended_line: Annotated[
        Count | None, "Number of the line at which it ended; null if the log does not show it."
    ]
    join_ms: Annotated[
        int | None, "Length of the join phase, in milliseconds; null if the log does not tell."
    ]
    duration_ms: Annotated[
        int | None, "Length of the rebalance, in milliseconds; null if the log does not tell."
    ]
    outcome: Annotated[
        str,
        Also(enum="open stabilized assigned emptied interrupted lost unseen".split()),
        "How it ended: `stabilized` before an assignment was seen, `interrupted` by another"
        " rebalance before its assignment; `unseen`: no line tells.",
    ]
    size: Annotated[Count | None, "Members of the new generation; null if the log does not tell."]
    leader: Annotated[str | None, "Its leader; null if the log does not tell."]
    held_up_by: Annotated[list[str], "Members for which it waited."]
    waited_for: Annotated[str, "What ended the wait, in words."]
    members_joined: Annotated[list[str], "Members that joined."]
    members_left: Annotated[list[str], "Members that left."]
    members_expired: Annotated[list[str], "Members whose session expired."]
    members_not_rejoined: Annotated[
        list[str], "Members that were removed because they did not rejoin in time."
    ]
    handovers: Annotated[
        list[Handover], "Of a consumer group: which partitions it takes from whom."
    ] = ABSENT
    seen: Annotated[list[ClientRound], "As members saw it, by the logs of their clients."] = ABSENT


_WENT = "left expired fenced not_rejoined not_synced never_joined replaced away gone".split()


@frozen(kw_only=True)
class Member:
    """One member id."""

    member: Annotated[str, "The member id."]
    client: Annotated[str, "The client id, as far as the member id shows it."]
    instance: Annotated[str | None, "Its group.instance.id; null for a dynamic member."]
    first_seen: Annotated[str | None, clock("When it is first named")]
    first_line: Annotated[
        Count | None, "Number of the line that first names it; null if the log does not show it."
    ]
    id_handed_out: Annotated[str | None, clock("When the id was handed out (KIP-394)")]
    joined: Annotated[str | None, clock("When it joined")]
    gone: Annotated[
        str | None,
        Also(enum=[*_WENT, None]),
        "How it went; null while it is there. `replaced`: the old id of a static member. KIP-848:"
        " `fenced` by the coordinator, not because its session expired; `away`: a static member"
        " that may come back. `gone`: the log does not tell how.",
    ]
    ended: Annotated[str | None, clock("When it went")]
    ended_line: Annotated[
        Count | None, "Number of the line at which it went; null if the log does not show it."
    ]
    client_reason: Annotated[str | None, "The client's own words; null if it gave none."]
    led_generations: Annotated[Count, "Generations that it led."]
    rebalances_caused: Annotated[Count, "Rebalances that it caused."]
    log: ClientLife = field(default=ABSENT, metadata=BESIDE)


@frozen(kw_only=True)
class GroupEpoch:
    """One epoch."""

    epoch: Annotated[int, "Its number."]
    what: Annotated[str, "What happened."]
    time: Annotated[str | None, clock("When")]
    line: Annotated[Count, "Number of the line."]


@frozen(kw_only=True)
class Setting:
    """A setting to look at."""

    name: Annotated[str, "Its name."]
    present: Annotated[str | None, "Its value as the log tells it; null if it does not."]
    wanted: Annotated[
        str | None, "The value that it should have; null if nothing general can be said."
    ]


@frozen(kw_only=True)
class Ticket:
    """A ticket that fits."""

    id: Annotated[str, "Such as KAFKA-7610."]
    affects: Annotated[str, "Versions."]
    fixed: Annotated[str, "Versions."]
    here: Annotated[
        list[str],
        "Of the versions that the logs tell, those that it affects; empty if they tell none.",
    ]


@frozen(kw_only=True)
class Evidence:
    """A line that shows the cause."""

    file: Annotated[str, "The log."]
    line: Annotated[Count, "Its number; 0 if no single line shows it."]
    text: Annotated[str, "The line as it stands in the log, cut if it is long."]


@frozen(kw_only=True)
class Quoted:
    """A line of a log."""

    file: Annotated[str, "The log."]
    line: Annotated[Count, "Its number."]
    time: Annotated[str | None, "When, by the clock that wrote the line; null if it does not tell."]
    text: Annotated[str, "The line."]


@frozen(kw_only=True)
class Cause:
    """A cause that the lines show."""

    kind: Annotated[str, "Its name, see `list causes`."]
    title: Annotated[str, "A few words."]
    text: Annotated[str, "One sentence about this group."]
    action: Annotated[str, "What to look at or to change."]
    confidence: Annotated[Literal["certain", "likely", "possible"], "How sure it is."]
    decide: Annotated[str, "What would decide, if it is only possible; else empty."]
    severity: Annotated[Literal["calm", "troubled", "broken"], "What it does to the group."]
    who: Annotated[
        list[str], "The members, clients or instances concerned, the most frequent first."
    ]
    since: Annotated[str | None, "When the lines show it first; null without timestamps."]
    until: Annotated[str | None, "When the lines show it last; null without timestamps."]
    settings: Annotated[list[Setting], "Settings that matter."]
    tickets: Annotated[list[Ticket], "Issues that report it."]
    evidence: Annotated[list[Evidence], "The lines that show it."]
    overcome: Annotated[
        Quoted | None,
        "Where its members went on: it is no cause of what is wrong now; null if it is not over.",
    ]


@frozen(kw_only=True)
class UnfitCause:
    """A cause that does not fit."""

    kind: Annotated[str, "Its name, see `list causes`."]
    title: Annotated[str, "A few words."]
    text: Annotated[str, "Why not."]
    proof: Quoted
    evidence: Annotated[list[Quoted], "The lines that looked like it."]


@frozen(kw_only=True)
class Fact:
    """A fact about the group, a member, a partition or a broker."""

    kind: Annotated[str, "Its kind, see the page of facts (`groupcheck list statements`)."]
    sort: Annotated[
        Literal["went_back", "stands_still", "repeats", "shared", "changed", "steps"],
        "What it is.",
    ]
    subject: Annotated[str, "Whom it is about; empty for the group."]
    text: Annotated[str, "One sentence."]
    values: Annotated[
        dict[str, int | float | str | bool], "What the lines tell, such as `before` and `now`."
    ]
    count: Annotated[Positive, "How many facts of this kind there are."]
    alarm: Annotated[bool, "A group with it is not calm."]
    lines: Annotated[list[Quoted], "The lines on which it rests, in order."]


@frozen(kw_only=True)
class Lapse:
    """One membership."""

    client: Annotated[str, "The client."]
    member: Annotated[str, "The member id; empty if no line names it."]
    generation: Annotated[Count, "The last generation that it joined."]
    shown: Quoted
    refused: Quoted
    request: Annotated[str, "The request that was refused."]
    partitions: Annotated[list[str], "What it held until then."]
    given_up: Annotated[Quoted | None, "Where it gave them up; null if no line tells."]
    next_generation: Annotated[
        int | None, "The next generation that it joined; null if no line tells."
    ]
    missed_generations: Annotated[int, "How many generations passed without it."]


@frozen(kw_only=True)
class ImpossibleLine:
    """One line."""

    text: Annotated[str, "Why."]
    line: Quoted
    against: Quoted


@frozen(kw_only=True)
class ClientFit:
    """How far the lines of clients fit the model's member."""

    members: Annotated[Count, "Members that were followed."]
    steps: Annotated[Count, "Lines that are steps of the model's member."]
    gaps: Annotated[list[Quoted], "Lines before which others are missing."]
    shared_names: Annotated[list[str], "Names of clients under which several processes write."]
    lapses: Annotated[list[Lapse], "Memberships that ended without the member's doing."]
    impossible: Annotated[
        list[ImpossibleLine], "Lines that say what no client and no coordinator does."
    ]


@frozen(kw_only=True)
class Removal:
    """The end of one membership."""

    client: Annotated[str, "The client's name."]
    member: Annotated[str, "The member id."]
    generation: Annotated[int, "The last generation in which the client's log shows it."]
    how: Annotated[
        str, Also(enum="left expired not_rejoined not_synced replaced".split()), "How it ended."
    ]
    client_reason: Annotated[
        str | None, "The reason that the client gave in LeaveGroup; null if it gave none."
    ]
    line: Annotated[Quoted, "The coordinator's line."]
    learnt: Annotated[
        Quoted | None, "The line where the client learns of it; null if its log shows none."
    ]


@frozen(kw_only=True)
class Lead:
    """How far the client's clock is ahead, in milliseconds; negative if it is behind."""

    at_least: Annotated[int, "The lower bound."]
    at_most: Annotated[int, "The upper bound."]


@frozen(kw_only=True)
class OrderProof:
    """Two lines that have to be in order."""

    client: Quoted
    broker: Quoted


@frozen(kw_only=True)
class Clock:
    """The clock of one process against that of a broker."""

    process: Annotated[str, "The client's log or process."]
    broker: Annotated[str, "The broker's."]
    ahead_ms: Lead
    pairs: Annotated[Positive, "How many pairs of lines show it."]
    below: OrderProof
    above: OrderProof


@frozen(kw_only=True)
class GroupLog:
    """A group in one broker's log, or as its members tell it; then fields about the broker are
    absent.
    """

    file: Annotated[str, "The file."] = ABSENT
    coordinator: Annotated[int | None, "Id of the broker; null if the log does not tell."] = ABSENT
    protocol: Annotated[
        str,
        "What the group speaks: classic, consumer, share or streams; a request log also tells"
        " cooperative, static and other protocol types.",
    ] = ABSENT
    verdict: Verdict
    reason: Annotated[str, "Why."]
    begins: Annotated[str, "In which state the group is when the log begins."] = ABSENT
    lines: Annotated[Count, "Lines about it."] = ABSENT
    unexplained: Annotated[Count, "Lines that no correct coordinator writes at that point."]
    assumed_missing: Annotated[Count, "Lines that had to be assumed to be missing."] = ABSENT
    generations: GenerationSpan = ABSENT
    rebalance_causes: Annotated[
        dict[str, Count], "Cause -> rebalances, the most frequent first."
    ] = ABSENT
    counts: Annotated[dict[str, Count], "What happened -> how often."] = ABSENT
    time: TimeShares = ABSENT
    rebalances: Annotated[list[Rebalance], "The rebalances, in order."]
    rebalances_not_listed: Annotated[Count, "Rebalances beyond the limit of the list."] = ABSENT
    members: Annotated[list[Member], "The member ids."]
    members_not_listed: Annotated[Count, "Member ids beyond the limit of the list."] = ABSENT
    epochs: Annotated[list[GroupEpoch], "Epochs of a KIP-848 group."] = ABSENT
    anomalies: Annotated[list[Anomaly], "What stands out."]
    findings: Findings = ABSENT
    answers_judged: Annotated[
        Count, "Only of request logs: answers that were compared with the model."
    ] = ABSENT
    request_facts: Annotated[
        RequestFacts, "Only of request logs: what they say without any model."
    ] = ABSENT


@frozen(kw_only=True)
class Group:
    """One group. Fields beyond health and causes are those of one broker's log; if only clients'
    lines name the group, they are what its members tell.
    """

    group: Annotated[str, "The group id."]
    health: Annotated[
        Literal["calm", "troubled", "broken", "unknown"],
        "`broken`: the group does not do its work, or the broker broke a promise; `troubled`: it"
        " does it badly; `unknown`: the logs show too little.",
    ]
    health_reason: Annotated[str, "Why, in a few words."]
    causes: Annotated[
        list[Cause], "The causes of its trouble that are certain or likely, the most telling first."
    ]
    candidates: Annotated[list[Cause], "Causes that are possible, each with what would decide."]
    consequences: Annotated[list[Cause], "What is only a consequence of the causes."]
    ruled_out: Annotated[
        list[UnfitCause],
        "Causes whose signs are there and that a line of the member itself rules out.",
    ]
    facts: Annotated[
        list[Fact],
        "What changed, went back, repeats, stands still or is shared, whatever the cause is; first"
        " one of each kind, alarms before others, then the rest.",
    ]
    hints: Annotated[list[str], "What would tell the cause of trouble that is not explained."]
    turn_on: Annotated[
        str,
        "What to turn on so that the next log tells the cause; empty if this one does, or if all"
        " is well.",
    ]
    followed: ClientFit
    removals: Annotated[
        list[Removal], "How memberships that clients' logs show ended, by the coordinator's log."
    ]
    clocks: Annotated[list[Clock], "By how much clocks of clients differ from those of brokers."]
    log: GroupLog = field(metadata=BESIDE)


@frozen(kw_only=True)
class ReplayDocument:
    """What `groupcheck replay --json` prints. Times are text, as `2024-10-25 17:25:16.582`, of the
    clock that wrote the line (a broker's log does not print its zone); durations are
    milliseconds.
    """

    format: Annotated[str, "The format of the files; `mixed` if they differ."]
    health: Annotated[
        Literal["calm", "troubled", "broken", "unknown"],
        "That of the group in worst health. `unknown`: the logs show too little.",
    ]
    conclusion: Annotated[
        str, "How many groups are in which health, as in `3 groups: 1 broken, 2 calm`."
    ]
    reading: Reading = field(metadata=BESIDE)
    notes: Annotated[list[str], "What was passed over in folders and archives."]
    answers_judged: Annotated[
        Count, "Only of request logs: answers that were compared with the model."
    ] = ABSENT
    request_facts: Annotated[
        RequestFacts, "Only of request logs: the facts of all groups together."
    ] = ABSENT
    files: Annotated[list[File], "The files."]
    groups: Annotated[list[Group], "Every group of every file."]
