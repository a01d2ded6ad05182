"""A replay for a terminal: the answer about each group, then the figures of each log and
its groups, their rebalances, members and what stands out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set

from attrs import frozen
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.printable import printable
from groupcheck.oracles.replay.answers import Answer
from groupcheck.oracles.replay.claims import KEEP, NOT_TOLD, Told, split_calm, told
from groupcheck.oracles.replay.facts import facts_lines
from groupcheck.oracles.replay.harm import finding_facts
from groupcheck.oracles.replay.rounds import COLUMNS, cut, fold_cells, folded
from groupcheck.oracles.show.text import COLOUR, NARROW, Stacked, facts_table
from groupcheck.traces.findings.anomalies import (
    HOUR_MS,
    busiest,
    period,
    plural,
    seconds,
    unstable_share,
)
from groupcheck.traces.findings.report import RANK, Anomaly, FileReport, GroupReport
from groupcheck.traces.formats import (
    CLIENTS,
    GROUP_TABLES,
    OFFSETS_DUMP,
    PACKET_CAPTURE,
    REQUEST_LOG,
)
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.story.moments import Round, elapsed
from groupcheck.traces.story.timeline import Timeline

ANSWERS_SHOWN = 5
LINES_SHOWN = 20
GROUPS_SHOWN = 12
ROUNDS_SHOWN = 24
QUOTES_SHOWN = 3
QUOTE_CHARS = 320
EVIDENCE_SHOWN = 6
HEALTH_COLOUR = {
    "broken": "bold red",
    "troubled": "bold yellow",
    "unknown": "bold",
    "calm": "bold green",
}
FIXED = 52  # columns of the table of rebalances that hold no member ids
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
    """The answer about each group, the worst first; then what the logs show in detail."""
    single, calm = split_calm(answers)
    hidden = {a.group for a in calm}
    blocks: list[Iterator[RenderableType]] = [
        *(_answer(told(answer, reports)) for answer in single[:ANSWERS_SHOWN]),
        _more(single[ANSWERS_SHOWN:], calm, reports),
        *(_file(r, hidden) for r in reports),
    ]
    whole = [Group(*parts) for block in blocks if (parts := list(block))]
    return Group(*[part for block in whole for part in (Text(), block)][1:])


def _answer(t: Told) -> Iterator[RenderableType]:
    """Health and group, then cause, evidence, action and the rest, and the broker last."""
    style = HEALTH_COLOUR[t.answer.health]
    yield Text.assemble((t.health, style), "  ", (printable(t.group), "bold"))
    yield Padding(facts_table(_answer_facts(t)), (0, 0, 0, 2))


def _answer_facts(t: Told) -> Iterator[tuple[str, str]]:
    if not t.causes:
        yield "why", t.sentence
    for claim in t.causes:
        yield "cause", f"{claim.text} ({claim.confidence})"
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


def _more(
    troubled: Sequence[Answer], calm: Sequence[Answer], reports: Sequence[FileReport]
) -> Iterator[RenderableType]:
    """Groups that have one line each, and calm groups that share one."""
    for answer in troubled[:LINES_SHOWN]:
        t = told(answer, reports)
        yield Text.assemble(
            (t.health, HEALTH_COLOUR[answer.health]),
            "  ",
            (printable(t.group), "bold"),
            "  ",
            printable(t.sentence),
        )
    if len(troubled) > LINES_SHOWN:
        yield Text(f"and {len(troubled) - LINES_SHOWN:,} more groups (--json has all)", "dim")
    if calm:
        yield Text.assemble(("calm", HEALTH_COLOUR["calm"]), f"  {len(calm):,} groups are calm")


def _file(r: FileReport, hidden: Set[str]) -> Iterator[RenderableType]:
    """The figures of a log, and those of its groups but the `hidden`."""
    yield Text.assemble((printable(r.path), "bold"), "  ", printable(r.reason))
    yield Padding(facts_table(file_facts(r)), (0, 0, 0, 2))
    for a in r.anomalies:
        yield Padding(_anomaly(a), (0, 0, 0, 2))
    shown = [g for g in r.groups if g.group not in hidden]
    if len(shown) > GROUPS_SHOWN:
        shown = sorted(
            shown, key=lambda g: (-RANK[g.verdict], -len(g.anomalies), -len(g.timeline.rounds))
        )[:GROUPS_SHOWN]
        yield Padding(_overview(r), (1, 0, 0, 2))
        yield Text(
            f"  {len(r.groups):,} groups; here are the {GROUPS_SHOWN} that stand out most (--group"
            " shows any one, --json has all)",
            "dim",
        )
    for g in shown:
        yield from _group(g)


def _overview(r: FileReport) -> Table:
    """How many groups ended how, and which kinds of anomalies they have."""
    verdicts = Counter(g.verdict for g in r.groups)
    kinds = Counter(kind for g in r.groups for kind in {a.kind for a in g.anomalies})
    pairs: list[tuple[str, str]] = [
        (verdict, f"{n:,} groups") for verdict, n in sorted(verdicts.items())
    ]
    pairs += [(kind, f"in {n:,} groups") for kind, n in kinds.most_common()]
    return facts_table(pairs)


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
    return _WRITERS.get(r.format, "a coordinator")


def group_facts(g: GroupReport) -> Iterator[tuple[str, str]]:
    """The numbers of a group as (name, text)."""
    t = g.timeline
    if g.begins:
        yield "begins", g.begins
    if t.first is not None and t.last is not None and t.first.time is not None:
        yield "from", f"{show_time(t.first.time)} to {show_time(t.last.time)}"
    if t.lowest is not None:
        whole = elapsed(t.first, t.last)
        over = f" in {seconds(whole)}" if whole else ""
        yield (
            "generations",
            f"{t.lowest} to {t.highest}, {t.counts.get('rebalances', 0):,} rebalances{over}",
        )
    if t.epochs:
        numbers = [epoch for epoch, _, _ in t.epochs]
        yield "epochs", f"{min(numbers)} to {max(numbers)}"
    if t.causes:
        yield (
            "causes",
            ", ".join(
                f"{name} {n:,}" for name, n in sorted(t.causes.items(), key=lambda c: (-c[1], c[0]))
            ),
        )
    went = ", ".join(
        f"{n:,} {name.replace('_', ' ')}" for name, n in t.counts.items() if name in _COUNTS
    )
    if went:
        yield "members", went + (f"; at most {t.largest} in a generation" if t.largest else "")
    if t.starts:
        yield "time", _time(t)
    if g.requests is not None:
        yield from facts_lines(g.requests)
    yield from finding_facts(g.findings)
    if g.unexplained_count or g.assumed_count:
        yield (
            "unexplained",
            (
                f"{g.unexplained_count:,} lines, and {g.assumed_count:,} that fit if lines were"
                " filtered out"
            ),
        )


def _time(t: Timeline) -> str:
    starts, share = sorted(t.starts), unstable_share(t)
    told = (
        []
        if share is None
        else [f"{share:.0%} not Stable ({seconds(t.preparing_ms)} in join phases)"]
    )
    told.append(f"{plural(busiest(starts, HOUR_MS)[0], 'rebalance')} in an hour at most")
    gap = period(starts)
    if gap is not None:
        told.append(f"one every {seconds(gap)} (median)")
    return ", ".join(told)


_COUNTS = (
    "joined",
    "left",
    "expired",
    "gone",
    "not_rejoined",
    "not_synced",
    "ids_handed_out",
    "pending_expired",
    "pending_left",
    "static_returns",
)


def _group(g: GroupReport) -> Iterator[RenderableType]:
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
        yield Rounds(g.timeline.rounds)
        if g.protocol == "classic" and any(x.outcome == "interrupted" for x in g.timeline.rounds):
            yield Text(
                "* the join phase alone: another rebalance began before the leader's assignment",
                "dim",
            )


def _anomaly(a: Anomaly) -> Group:
    style = "bold red" if a.kind == "unexplained_line" else "bold yellow"
    at = f"line {a.line}: " if a.line else ""
    head = Text.assemble((a.kind, style), "  ", printable(at + a.text))
    shown = [Text(printable("- " + line[:400]), "dim") for line in a.evidence[:EVIDENCE_SHOWN]]
    return Group(head, *(Padding(line, (0, 0, 0, 2)) for line in shown))


@frozen
class Rounds:
    """The table of a group's rebalances, with member ids as long as there is room for them."""

    rounds: Sequence[Round]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Stacked]:
        room = (console.width - FIXED) // 2 if console.width >= NARROW else None
        yield Stacked(_rounds(self.rounds, room), lead=2)


def _rounds(rounds: Sequence[Round], room: int | None) -> Table:
    table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    for name in COLUMNS:
        wide = name in ("why", "held up by")
        table.add_column(
            name,
            overflow="fold",
            ratio=3 if wide else None,
            no_wrap=name == "generation",
            justify="right" if name in ("took", "size") else "left",
        )
    folds = folded(rounds)
    half = ROUNDS_SHOWN // 2
    left_out = folds[half:-half] if len(folds) > ROUNDS_SHOWN else []
    for k, fold in enumerate(folds):
        if not left_out or k < half or k >= len(folds) - half:
            table.add_row(*(Text(printable(cell)) for cell in fold_cells(fold, room)))
        elif k == half:
            more = Text(f"... {sum(len(f.rounds) for f in left_out)} more (--json has all)", "dim")
            table.add_row("", "", more, "", "", "")
    return table
