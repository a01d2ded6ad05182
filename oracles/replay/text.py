"""A replay for a terminal: each file's verdict, each group's rebalances, members and what stands
out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from attrs import frozen
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.printable import printable
from groupcheck.oracles.replay.facts import facts_lines
from groupcheck.oracles.show.text import COLOUR, NARROW, Stacked, facts_table
from groupcheck.traces.anomalies import HOUR_MS, busiest, period, plural, seconds, unstable_share
from groupcheck.traces.formats import REQUEST_LOG
from groupcheck.traces.moments import Moment, Round, elapsed
from groupcheck.traces.report import RANK, Anomaly, FileReport, GroupReport
from groupcheck.traces.timeline import Timeline
from groupcheck.traces.timestamps import show_time

GROUPS_SHOWN = 12
ROUNDS_SHOWN = 24
EVIDENCE_SHOWN = 6
NAMES_SHOWN = 3
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


def replay_view(reports: Sequence[FileReport]) -> Group:
    """All files, one after the other."""
    return Group(*(part for r in reports for part in _file(r)))


def _file(r: FileReport) -> Iterator[RenderableType]:
    yield Text("  ").join(
        [
            Text(r.verdict, COLOUR[r.verdict]),
            Text(printable(r.path), "bold"),
            Text(printable(r.reason)),
        ]
    )
    yield Padding(facts_table(file_facts(r)), (0, 0, 0, 2))
    for a in r.anomalies:
        yield Padding(_anomaly(a), (0, 0, 0, 2))
    if len(r.groups) <= GROUPS_SHOWN:
        shown = list(r.groups)
    else:
        shown = sorted(
            r.groups, key=lambda g: (-RANK[g.verdict], -len(g.anomalies), -len(g.timeline.rounds))
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


def _writer(r: FileReport) -> str:
    return "the group APIs" if r.format == REQUEST_LOG else "a coordinator"


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
    table.add_column("started", no_wrap=True)
    table.add_column("generation", no_wrap=True)
    table.add_column("why", overflow="fold", ratio=3)
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("size", justify="right")
    table.add_column("held up by", overflow="fold", ratio=3)
    half = ROUNDS_SHOWN // 2
    left_out = range(half, len(rounds) - half) if len(rounds) > ROUNDS_SHOWN else range(0)
    for k, x in enumerate(rounds):
        if k not in left_out:
            table.add_row(*(Text(printable(cell)) for cell in round_cells(x, room)))
        elif k == half:
            more = Text(f"... {len(left_out)} more (--json has all)", "dim")
            table.add_row("", "", more, "", "", "")
    return table


def round_cells(x: Round, room: int | None = None) -> tuple[str, str, str, str, str, str]:
    """started (time of day), generations, why, how long, size, held up by. Member ids are cut to
    `room` characters.
    """
    at: Moment | None = x.started or x.joined_at
    took, join = elapsed(x.started, x.ended), elapsed(x.started, x.joined_at)
    length = (
        seconds(took)
        if took is not None
        else f"{seconds(join)} *"
        if join is not None
        else x.outcome
    )
    by = names(x.causers, room)
    why = x.cause.value.replace("_", " ") + (f": {by}" if by else "")
    if (
        x.client_reason
        and x.client_reason != "not provided"
        and not any(id in x.client_reason for id in x.causers)
    ):
        why += f" ({x.client_reason})"
    to = "?" if x.to_generation is None else str(x.to_generation)
    start = "?" if x.from_generation is None else str(x.from_generation)
    held = names(x.held_up_by, room)
    waited = f"{held}: {x.waited_for}" if held else x.waited_for
    return (
        show_time(at.time if at else None)[-12:],
        f"{start} to {to}",
        why,
        length,
        "" if x.size is None else str(x.size),
        waited,
    )


def names(ids: Sequence[str], room: int | None) -> str:
    """A few ids, and how many more there are."""
    more = f" and {len(ids) - NAMES_SHOWN} more" if len(ids) > NAMES_SHOWN else ""
    return ", ".join(short(id, room) for id in ids[:NAMES_SHOWN]) + more


def short(id: str, room: int | None) -> str:
    """A member id that still tells client and process: the beginning, and the last characters of
    its UUID.
    """
    return id if room is None or len(id) <= room else f"{id[: room - 8]}…{id[-6:]}"
