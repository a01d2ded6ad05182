"""The answer to `replay --what-if` for people: sentences, rebalances, processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.printable import printable
from groupcheck.oracles.replay.what_if.answer import RebalanceRow, Stood, WhatIf, interval
from groupcheck.oracles.replay.what_if.document import generations, replication_words, sentences
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.phrases import plural
from groupcheck.traces.story.member import client_of
from groupcheck.traces.story.moments import elapsed

MOST_ROWS = 24  # a screenful
MOST_PROCESSES = 12  # of more than that, those of one client are one row
HEAD = ("started", "line", "generation", "why", "in the log", "baseline", "after", "")
PROCESSES = ("process", "stands still: baseline", "after", "saved")


def view(found: Sequence[WhatIf]) -> RenderableType:
    """All groups."""
    return Group(*(part for one in found for part in _group(one)))


def change_of(w: WhatIf) -> str:
    """The question in a few words."""
    settings = (f"{name}={value}" for name, value in sorted(w.change.settings.items()))
    return ", ".join([*w.change.words, *settings])


def _group(w: WhatIf) -> Iterator[RenderableType]:
    yield Text(printable(f"{w.outside.group}: what if {change_of(w)}?"), "bold")
    yield Text(
        f"{w.baseline[0]} -> {w.changed[0]}, {len(w.outside.processes)} processes,"
        f" {w.partitions} partitions; seed {w.seed}, {w.replications} replications"
    )
    yield Text("\n" + "\n".join(printable(text) for text in sentences(w)) + "\n")
    yield _table(HEAD, [cells(row) for row in w.rows[:MOST_ROWS]])
    if len(w.rows) > MOST_ROWS:
        yield Text(f"... and {folded(w.rows[MOST_ROWS:])} (--json and --html have all)", "dim")
    yield Text("")
    if not w.like_the_log:
        return
    stood = by_client(w.stood)
    yield _table(PROCESSES, [stood_cells(s) for s in stood[:MOST_PROCESSES]])
    if len(stood) > MOST_PROCESSES:
        yield Text(f"... and {len(stood) - MOST_PROCESSES} more (--json has all)", "dim")
    yield Text("")


def cells(row: RebalanceRow) -> tuple[str, ...]:
    """A rebalance, in the order of `HEAD`."""
    r = row.round
    started = r.started
    took = elapsed(r.started, r.ended)
    return (
        show_time(started.time)[11:19] if started and started.time is not None else "-",
        str(started.line) if started else "-",
        generations(r),
        r.cause.value.replace("_", " ")
        + (": " + ", ".join(map(client_of, r.causers[:2])) if r.causers else ""),
        "-" if took is None else f"{took / 1000:.1f} s",
        replication_words(row, row.baseline),
        replication_words(row, row.changed),
        _judged(row),
    )


def _judged(row: RebalanceRow) -> str:
    if not row.simulated:
        return "not simulated"
    if not row.reproduced:
        return "not reproduced"
    if row.doubt:
        return "not judged"
    if row.avoided > 0.5:
        return "would not have happened"
    return "in one with another" if row.merges else ""


def by_client(stood: Sequence[Stood]) -> Sequence[Stood]:
    """How long processes stand still; of many processes, those with one client id in one, each on
    average.
    """
    if len(stood) <= MOST_PROCESSES:
        return stood
    found: dict[str, list[Stood]] = {}
    for one in stood:
        found.setdefault(client_of(one.names[-1]), []).append(one)
    return [
        mine[0]
        if len(mine) == 1
        else Stood(
            (f"{client} ({len(mine)} processes, each on average)",),
            tuple(map(fmean, zip(*(one.baseline for one in mine)))),
            tuple(map(fmean, zip(*(one.changed for one in mine)))),
        )
        for client, mine in found.items()
    ]


def stood_cells(s: Stood) -> tuple[str, ...]:
    """A process, in the order of `PROCESSES`."""
    saved = s.saved
    half = "" if saved.high is None else f" ± {(saved.high - saved.mean) / 1000:.2f}"
    return (
        ", later ".join(s.names[:3]) + (", ..." if len(s.names) > 3 else ""),
        f"{interval(s.baseline).mean / 1000:.2f} s",
        f"{interval(s.changed).mean / 1000:.2f} s",
        f"{round(saved.mean / 1000, 2) + 0.0:.2f}{half} s",
    )


def folded(rows: Sequence[RebalanceRow]) -> str:
    """`9 more rebalances: 7 would not have happened, 2 not reproduced`: rows that are not shown."""
    counts = Counter(filter(None, map(_judged, rows)))
    judged = ", ".join(f"{count} {words}" for words, count in counts.most_common())
    more = plural(len(rows), "more rebalance")
    return f"{more}: {judged}" if judged else more


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
