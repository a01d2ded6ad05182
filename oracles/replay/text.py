"""A replay for a terminal: an overview where there are several groups, the answer about the worst,
then the figures of each log, with the rebalances and members of these groups and what stands out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.printable import printable
from groupcheck.oracles.replay.answers import Answer
from groupcheck.oracles.replay.claims import (
    KEEP,
    NAMELESS,
    NOT_TOLD,
    WORDS,
    AnswerInWords,
    headline,
    in_words,
    split_calm,
)
from groupcheck.oracles.replay.harm import finding_facts
from groupcheck.oracles.replay.round_tables import HandedOver, Rounds
from groupcheck.oracles.replay.rounds import cut
from groupcheck.oracles.replay.stories import (
    OWNED_COLUMNS,
    OWNED_SHOWN,
    member_sentences,
    owned_rows,
)
from groupcheck.oracles.show.text import COLOUR, StackedTable, facts_table
from groupcheck.traces.findings.anomalies import (
    HOUR_MS,
    busiest,
    period,
    unstable_share,
)
from groupcheck.traces.findings.report import (
    RANK,
    UNREADABLE,
    Anomaly,
    FileReport,
    GroupReport,
    Requests,
)
from groupcheck.traces.formats import (
    BROKER_JAVA,
    BROKER_SCALA,
    CLIENTS,
    GROUP_TABLES,
    OFFSETS_DUMP,
    PACKET_CAPTURE,
    REQUEST_LOG,
    UNKNOWN_FORMAT,
)
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.members.group_story import GroupStory
from groupcheck.traces.phrases import plural, seconds, some_of
from groupcheck.traces.story.moments import average_period, elapsed, unseen
from groupcheck.traces.story.timeline import Timeline

GROUPS_IN_FULL = 3
"""So many groups are told in full; where there are more, only the worst is."""
GROUPS_LISTED = 10
"""Of many groups the overview has so many, so that the answer about the worst is on one screen."""
LINES_SHOWN = 20
LOGS_SHOWN = 12
QUOTES_SHOWN = 3
QUOTE_CHARS = 320
EVIDENCE_SHOWN = 6
HEALTH_COLOUR = {
    "broken": "bold red",
    "troubled": "bold yellow",
    "unknown": "bold",
    "calm": "bold green",
}
MUST_SEE = (
    "unexplained_line",
    "partition_assigned_twice",
    "zombie_commit_accepted",
    "zombie",
    "gap",
    "missing_lines",
    "generation_reset",
)


def replay_view(reports: Sequence[FileReport], answers: Sequence[Answer]) -> Group:
    """How many groups are in which health, with a line for each, the worst first; the worst in
    full; then what the logs show in detail.
    """
    single, calm = split_calm(answers)
    full = single if len(single) <= GROUPS_IN_FULL else single[:1]
    names = {a.group for a in full}
    shown = [
        r for r in reports if len(reports) <= LOGS_SHOWN or any(g.group in names for g in r.groups)
    ]
    blocks: list[Iterator[RenderableType]] = [
        _overview(single, calm, reports) if len(single) + len(calm) > 1 else iter(()),
        *(_answer(in_words(answer, reports)) for answer in full),
        *(_told(answer) for answer in full),
        *(_file(r, full) for r in shown),
        _other_logs([r for r in reports if r not in shown]),
    ]
    whole = [Group(*parts) for block in blocks if (parts := list(block))]
    return Group(*[part for block in whole for part in (Text(), block)][1:])


def _overview(
    single: Sequence[Answer], calm: Sequence[Answer], reports: Sequence[FileReport]
) -> Iterator[RenderableType]:
    """The conclusion about several groups, and a line for each; calm groups share one."""
    yield Text(headline([*single, *calm]), "bold")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", style="bold", max_width=40)
    table.add_column(overflow="fold")
    for answer in single[:GROUPS_LISTED]:
        t = in_words(answer, reports)
        name = answer.group or "without a name"
        words = (Text(printable(name)), Text(printable(t.in_brief)))
        table.add_row(Text(t.health, HEALTH_COLOUR[answer.health]), *words)
    if calm:
        words = (Text(), Text(f"{len(calm):,} groups"))
        table.add_row(Text(WORDS["calm"], HEALTH_COLOUR["calm"]), *words)
    yield Padding(StackedTable(table, lead=2, named=False), (0, 0, 0, 2))
    if len(single) > GROUPS_LISTED:
        yield Text(
            f"  and {plural(len(single) - GROUPS_LISTED, 'more group')} (--json has all)", "dim"
        )
    if len(single) > GROUPS_IN_FULL:
        yield Text("  the worst in full below; --group shows any other, --html all", "dim")


def _answer(t: AnswerInWords) -> Iterator[RenderableType]:
    """Health and group, then cause, evidence, action and the rest, and the broker last."""
    style = HEALTH_COLOUR[t.answer.health]
    yield Text.assemble((t.health, style), "  ", (printable(t.group), "bold"))
    yield Padding(facts_table(_answer_facts(t)), (0, 0, 0, 2))


def _answer_facts(t: AnswerInWords) -> Iterator[tuple[str, str]]:
    if not t.causes and all(so.text != t.sentence for so in t.facts):
        yield "why", t.sentence
    for claim in t.causes:
        yield claim.label, f"{claim.text} ({claim.confidence})"
        if claim.when:
            yield "when", claim.when
        shown = QUOTES_SHOWN if claim.number == 1 else 1
        for quote in claim.evidence[:shown]:
            line = cut(printable(quote.text), QUOTE_CHARS)
            yield "", ": ".join(filter(None, (quote.place, line)))
        if len(claim.evidence) > shown:
            more = plural(len(claim.evidence) - shown, "more line")
            yield "", f"and {more} (--json has all)"
        if claim.action:
            yield "do", claim.action
        for s in claim.settings:
            yield "setting", f"{s.name}: {s.present or NOT_TOLD} -> {s.wanted or KEEP}"
        if claim.tickets:
            yield "tickets", ", ".join(claim.tickets)
    for text in t.harm:
        yield "harm", text
    for so in t.facts:
        yield so.label, so.text
        for quote in so.quotes:
            line = cut(printable(quote.text), QUOTE_CHARS)
            yield "", ": ".join(filter(None, (quote.place, line)))
    for k, quote in enumerate(t.shown):
        line = cut(printable(quote.text), QUOTE_CHARS)
        yield "" if k else "shown", ": ".join(filter(None, (quote.place, line)))
    for claim in t.candidates:
        decide = f" To decide: {claim.decide}" if claim.decide else ""
        yield "possible", claim.text if claim.decide in claim.text else f"{claim.text}{decide}"
    for no in t.ruled_out:
        yield "not", no.text
        yield "", f"{no.quote.place}: {cut(printable(no.quote.text), QUOTE_CHARS)}"
    for hint in t.hints:
        yield "look for", hint
    if t.answer.turn_on:
        yield "turn on", t.answer.turn_on
    if t.consequences:
        yield "so also", "; ".join(claim.title for claim in t.consequences)
    for text in t.clocks:
        yield "clock", text
    if t.members:
        yield "members", t.members
    yield "broker", t.verdict


def _other_logs(reports: Sequence[FileReport]) -> Iterator[RenderableType]:
    """Logs that have one line each, those first that could not be read or broke a promise."""
    worst = sorted(reports, key=lambda r: (r.format != UNREADABLE, -RANK[r.verdict]))
    yield from map(_log, worst[:LINES_SHOWN])
    if len(worst) > LINES_SHOWN:
        yield Text(f"and {plural(len(worst) - LINES_SHOWN, 'more log')} (--json has all)", "dim")


def _log(r: FileReport) -> Text:
    return Text.assemble((printable(r.path), "bold"), "  ", printable(r.reason))


def _file(r: FileReport, full: Sequence[Answer]) -> Iterator[RenderableType]:
    """The figures of a log, and those of its groups that are told in `full`."""
    yield _log(r)
    stories = {a.group: a.story for a in full}
    shown = [g for g in r.groups if g.group in stories]
    yield Padding(facts_table(file_facts(r)), (0, 0, 0, 2))
    for a in r.anomalies:
        yield Padding(_anomaly(a), (0, 0, 0, 2))
    if len(shown) < len(r.groups):
        yield Padding(facts_table(_all_groups(r)), (1, 0, 0, 2))
    for g in shown:
        yield from _group(g, stories[g.group])


def _told(answer: Answer) -> Iterator[RenderableType]:
    """What the members of a group tell: its rebalances, if no broker's log shows them, each member,
    and who owned what.
    """
    story = answer.story
    if not story.told:
        return
    name = f"group {answer.group}" if answer.group else NAMELESS
    yield Text.assemble((printable(name), "bold"), "  as its members tell it")
    rows, rounds = owned_rows(story), story.timeline.rounds
    alone = not answer.seen and bool(rows or len(rounds) > 1)
    facts = [f for g in answer.shown for f in group_facts(g)] if alone else []
    yield Padding(facts_table([*facts, *member_sentences(story)]), (0, 0, 0, 2))
    if alone and rounds:
        yield from _rebalances(answer.shown[0], story)
    table = Table(*OWNED_COLUMNS, box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    for row in rows[:OWNED_SHOWN]:
        table.add_row(*(Text(printable(cell)) for cell in row))
    if len(rows) > OWNED_SHOWN:
        table.add_row("", Text(f"... {len(rows) - OWNED_SHOWN} more (--json has all)", "dim"))
    if rows:
        yield StackedTable(table, lead=2)


def _all_groups(r: FileReport) -> Iterator[tuple[str, str]]:
    """How many groups ended how, and which kinds of anomalies they have."""
    verdicts = Counter(g.verdict for g in r.groups)
    kinds = Counter(kind for g in r.groups for kind in {a.kind for a in g.anomalies})
    for verdict, n in sorted(verdicts.items()):
        yield verdict, plural(n, "group")
    for kind, n in kinds.most_common():
        yield kind, f"in {plural(n, 'group')}"


def file_facts(r: FileReport) -> Iterator[tuple[str, str]]:
    """The numbers of a file as (name, text)."""
    versions = f", Kafka {'; '.join(v.split(': ', 1)[1] for v in r.versions)}" if r.versions else ""
    yield "format", r.format + versions
    yield (
        "lines",
        (
            f"{r.lines:,}: {r.understood:,} of {_writer(r)} understood, {r.strange:,} not,"
            f" {r.foreign:,} of others"
        ),
    )
    for line, text in r.samples[:3]:
        yield "not understood", f"line {line}: {text}"
    for note in r.notes:
        yield "note", note


_WRITERS = {
    REQUEST_LOG: "the group APIs",
    PACKET_CAPTURE: "the group APIs",
    OFFSETS_DUMP: "the dump",
    GROUP_TABLES: "the command",
    **dict.fromkeys(CLIENTS.keys() - {GROUP_TABLES}, "clients"),
}


def _writer(r: FileReport) -> str:
    brokers = (BROKER_SCALA, BROKER_JAVA, UNKNOWN_FORMAT)
    return _WRITERS.get(r.format, "a coordinator" if r.format in brokers else "clients")


def group_facts(g: GroupReport) -> Iterator[tuple[str, str]]:
    """The numbers of a group as (name, text)."""
    t = g.timeline
    if g.begins:
        yield "begins", g.begins
    if t.first is not None and t.last is not None and t.first.time is not None:
        if t.first.time == t.last.time:
            yield "at", show_time(t.first.time)
        else:
            yield "from", f"{show_time(t.first.time)} to {show_time(t.last.time)}"
    if t.lowest is not None:
        whole = elapsed(t.first, t.last)
        over = f" in {seconds(whole)}" if whole else ""
        span = f"{t.lowest}" if t.lowest == t.highest else f"{t.lowest} to {t.highest}"
        begun, missed = t.counts.get("rebalances", 0), unseen(t.rounds)
        many = f"at least {plural(begun + missed, 'rebalance')}{over}, {missed:,} of which no line"
        yield (
            "epochs" if g.protocol == "consumer" and not t.epochs else "generations",
            f"{span}, {f'{many} shows' if missed else plural(begun, 'rebalance') + over}",
        )
    numbers = [epoch for epoch, _, _ in t.epochs] + ([t.reached] if t.reached else [])
    if numbers:
        yield "epochs", f"{min(numbers)} to {max(numbers)}"
    if t.causes:
        yield (
            "causes",
            ", ".join(
                f"{name} {n:,}" for name, n in sorted(t.causes.items(), key=lambda c: (-c[1], c[0]))
            ),
        )
    counts = [
        f"{n:,} {name.replace('_', ' ')}" for name, n in t.counts.items() if n and name in _COUNTS
    ]
    most = [f"at most {t.largest} in a generation"] if t.largest else []
    if counts or most:
        yield "members", "; ".join([*filter(None, [", ".join(counts)]), *most])
    if t.starts:
        yield "time", _time(t)
    if g.requests is not None:
        yield from facts_lines(g.requests)
    yield from finding_facts(g.findings)
    if g.unexplained_count or g.assumed_count:
        yield (
            "unexplained",
            (
                f"{plural(g.unexplained_count, 'line')}, and {g.assumed_count:,} that fit if lines"
                " were filtered out"
            ),
        )


def _time(t: Timeline) -> str:
    starts, share = sorted(t.starts), unstable_share(t)
    told = (
        []
        if share is None
        else [f"{share:.0%} not Stable ({seconds(t.preparing_ms)} in join phases)"]
    )
    gap = period(starts)
    if unseen(t.rounds):  # neither the busiest hour nor a median is known
        often = average_period(t.rounds)
        told += [] if often is None else [f"one rebalance every {seconds(often)} (on average)"]
        return ", ".join(told)
    told.append(f"{plural(busiest(starts, HOUR_MS)[0], 'rebalance')} in an hour at most")
    if gap is not None:
        told.append(f"one every {seconds(gap)} (median)")
    return ", ".join(told)


_COUNTS = (
    "joined",
    "left",
    "expired",
    "fenced",
    "gone",
    "not_rejoined",
    "not_synced",
    "ids_handed_out",
    "pending_expired",
    "pending_left",
    "static_returns",
)


def _group(g: GroupReport, story: GroupStory) -> Iterator[RenderableType]:
    where = "" if g.coordinator is None else f"on broker {g.coordinator}"
    protocol = "" if g.protocol == "classic" else f"{g.protocol} protocol"
    words = [
        (g.verdict, COLOUR[g.verdict]),
        (f"group {g.group}", "bold"),
        (where, ""),
        (protocol, ""),
        (g.reason, ""),
    ]
    yield Text("\n") + Text("  ").join(
        Text(printable(text), style) for text, style in words if text
    )
    yield Padding(facts_table(group_facts(g)), (0, 0, 0, 2))
    for a in sorted(g.anomalies, key=lambda a: a.kind not in MUST_SEE):
        yield Padding(_anomaly(a), (0, 0, 0, 2))
    if g.timeline.rounds:
        yield from _rebalances(g, story)


def _rebalances(g: GroupReport, story: GroupStory) -> Iterator[RenderableType]:
    rounds = g.timeline.rounds
    yield Rounds(rounds, story)
    if g.protocol == "classic" and any(x.outcome == "interrupted" for x in rounds):
        yield Text(
            "* the join phase alone: another rebalance began before the leader's assignment", "dim"
        )
    if any(x.handovers for x in rounds):
        yield HandedOver(rounds)


def _anomaly(a: Anomaly) -> Group:
    style = "bold red" if a.kind == "unexplained_line" else "bold yellow"
    at = f"line {a.line}: " if a.line else ""
    head = Text.assemble((a.kind, style), "  ", printable(at + a.text))
    shown = [Text(printable("- " + line[:400]), "dim") for line in a.evidence[:EVIDENCE_SHOWN]]
    return Group(head, *(Padding(line, (0, 0, 0, 2)) for line in shown))


# -- The facts that a request log adds to the screen. They need no model. Processes are named by
# their client id.

LATE_JOINS_SHOWN = 3


def facts_lines(requests: Requests) -> Iterator[tuple[str, str]]:
    """The facts of one group as (name, text), for people."""
    facts = requests.facts
    if facts.requests:
        yield "requests", ", ".join(f"{name} {n:,}" for name, n in facts.requests.most_common())
    if requests.judged:
        yield "judged", plural(requests.judged, "answer")
    if facts.errors:
        yield (
            "refused",
            "; ".join(
                f"{name}: {_clients(clients)}" for name, clients in sorted(facts.errors.items())
            ),
        )
    late = [g for g in facts.generations if g.later]
    if late:
        many = sum(len(g.later) for g in late)
        yield (
            "joined without a rebalance",
            f"{plural(many, 'time')}, in generation {_numbers([g.generation for g in late])}",
        )


def _clients(clients: Counter[str]) -> str:
    return some_of([f"{client} {n:,}" for client, n in clients.most_common()], LATE_JOINS_SHOWN)


def _numbers(numbers: Sequence[int]) -> str:
    return some_of([*map(str, numbers)], LATE_JOINS_SHOWN)
