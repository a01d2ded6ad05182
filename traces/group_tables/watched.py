"""Followers of the outputs about one group, one after the other: each keeps what has to be
compared, and says what follows from it as statements like those of clients.

Offsets are those of `--describe` (and `--offsets`); `members.py` has `--members` and `--state`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from typing import Any

from attrs import Factory, define, evolve

from groupcheck.traces.clients.statement import TEXT_CHARS, Statement
from groupcheck.traces.clients.who import TOOL
from groupcheck.traces.group_tables.outputs import EMPTY, REBALANCING, Output
from groupcheck.traces.group_tables.tables import TableRow
from groupcheck.traces.phrases import some_of

MARKER_OFFSETS = 3
"""The end of a partition moves by so much without records that somebody has to read: markers of
transactions."""
NAMED = 5
MOST_SAID = 500
"""Statements of one kind about one group."""
IN_ROUND = {REBALANCING, "PreparingRebalance", "CompletingRebalance", "AwaitingSync", "Assigning",
            "Reconciling"}  # fmt: skip


def some(names: list[str]) -> str:
    """A few of the names, and how many more there are."""
    return some_of(sorted(names), NAMED)


@define
class Speaker:
    """Makes statements about one group, a bounded number of each kind."""

    group: str
    out: list[Statement] = Factory(list)
    _said: Counter[str] = Factory(Counter)

    def __call__(
        self,
        kind: str,
        line: int,
        text: str,
        time: int | None,
        row: TableRow | None = None,
        *,
        earlier: TableRow | None = None,
        **fields: Any,
    ) -> None:
        """`earlier`: the row of an output before with which this one was compared."""
        self._said[kind] += 1
        if self._said[kind] > MOST_SAID:
            return
        said = Statement(
            kind=kind,
            line=line,
            text=text[:TEXT_CHARS],
            time=time,
            library=TOOL,
            group=self.group,
            member=row.name("member") if row else "",
            instance=row.name("instance") if row else "",
            fields={k: v for k, v in fields.items() if v is not None},
        )
        if earlier is not None:
            first = evolve(said, line=earlier.line, text=earlier.text[:TEXT_CHARS])
            said = evolve(said, subject=earlier.partition, rests_on=(first, said))
        self.out.append(said)

    def of(self, kind: str, span: OutputSpan, row: TableRow | None = None, **fields: Any) -> None:
        """A statement about something that lasted."""
        self(
            kind,
            span.line,
            span.text,
            span.since,
            row,
            held=span.lasted_ms,
            outputs=span.outputs,
            lasting=1 if span.sure else 0,
            **fields,
        )


@define
class Track:
    """One partition while its committed offset stands still."""

    stands: OutputSpan
    row: TableRow
    # The number of the output in which it began.
    since: int
    # The end of the log then, and now.
    begin_end: int
    end: int


@define
class Offsets:
    """Follows the committed offsets of one group."""

    say: Speaker
    # How many outputs with offsets there were.
    count: int = 0
    _last: Output | None = None
    _rows: Mapping[str, TableRow] = Factory(dict)
    _tracks: dict[str, Track] = Factory(dict)
    # Partition -> since when nobody owns it, although others of its topic have owners.
    _unowned: dict[str, tuple[OutputSpan, TableRow]] = Factory(dict)
    # Partition -> since when its owner has committed nothing, and the end of the log then.
    _uncommitted: dict[str, tuple[OutputSpan, TableRow, int]] = Factory(dict)
    _empty: tuple[OutputSpan, int, bool] | None = None
    # Member -> the last output in which one of its offsets had advanced.
    _advanced: dict[str, int] = Factory(dict)
    # Those that stood still for long: (member, scope) -> tracks.
    _stood: dict[tuple[str, str], list[Track]] = Factory(dict)
    _lags: list[tuple[int | None, int, int, int]] = Factory(list)
    _moved_empty: bool = False
    # A table of `--reset-offsets` stood before this output.
    reset: bool = False

    def add(self, output: Output, later: bool = True) -> None:
        """Compares an output with those before it, if it shows a `later` moment."""
        rows = {row.partition: row for row in output.rows if row.partition}
        last = self._last
        if last is not None and not (later and self._follows(last, output, rows)):
            self.forget()
            last = None
        self.count += 1
        if last is not None:
            self._compare(output, rows)
        self._moment(output, rows)
        self._keep(output, rows)
        self._last, self._rows, self.reset = output, rows, False

    def _follows(self, last: Output, output: Output, rows: Mapping[str, TableRow]) -> bool:
        """Is it the same group, later? Ends of several topics that went back are another cluster's;
        times that run backwards are outputs in another order; a table without any partition of the
        one before shows other topics, or another group.
        """
        if self._rows and rows and self._rows.keys().isdisjoint(rows):
            return False
        if last.time is not None and output.time is not None and output.time < last.time:
            return False
        back = {row.name("topic") for p, row in rows.items() if self._end_went_back(p, row)}
        return len(back) < 2

    def _end_went_back(self, partition: str, row: TableRow) -> bool:
        before = self._rows.get(partition)
        end, was = row.number("end"), before.number("end") if before else None
        return end is not None and was is not None and end < was

    def forget(self) -> None:
        """What follows is not compared with what was read."""
        self._settle_tracks()
        self._rows, self._unowned, self._uncommitted, self._empty = {}, {}, {}, None
        self._advanced, self._lags = {}, []

    # --- between two outputs

    def _compare(self, output: Output, rows: Mapping[str, TableRow]) -> None:
        assert self._last is not None
        for partition, row in rows.items():
            before = self._rows.get(partition)
            if before is None:
                continue
            now, was = row.number("committed"), before.number("committed")
            if self._end_went_back(partition, row):
                self.say(
                    "log_end_went_back", row.line, row.text, output.time, None,
                    partition=partition, was=before.number("end"), end=row.number("end"),
                )  # fmt: skip
            elif now is not None and was is not None and now < was:
                self._went_back(output, partition, row, before)
            elif now is not None and was is not None and now > was:
                self._advanced[row.name("member")] = self.count
                self._moved_empty |= not row.name("member") and not before.name("member")

    def _went_back(self, output: Output, partition: str, row: TableRow, before: TableRow) -> None:
        now, was = row.number("committed"), before.number("committed")
        assert self._last is not None and now is not None and was is not None
        told = f"the committed offset of {partition} went back from {was:,} to {now:,}"
        empty = not row.name("member") or not before.name("member")
        kind = "offsets_set_back" if self.reset or empty else "committed_offset_went_back"
        if kind == "committed_offset_went_back":
            told += f" between two outputs, while {row.name('member')} owned it"
        at = (row.line, row.text, output.time, row)
        self.say(kind, *at, earlier=before, told=told, partition=partition, before=was, now=now)

    # --- one output

    def _moment(self, output: Output, rows: Mapping[str, TableRow]) -> None:
        """Says what shows in this output alone."""
        owned = 0
        lags = [_lag(row) for row in rows.values()]
        shown = [bool({"committed", "lag"} & row.columns) for row in rows.values()]
        unknown = sum(so and lag is None for so, lag in zip(shown, lags, strict=True))
        # None at all is only told where nothing is unknown.
        waits = sum(lag or 0 for lag in lags) or (None if None in lags else 0)
        held: dict[str, list[str]] = {}
        first: dict[str, TableRow] = {}
        for partition, row in rows.items():
            committed, end = row.number("committed"), row.number("end")
            if committed is not None and end is not None and committed > end:
                self.say(
                    "committed_beyond_end", row.line, row.text, output.time, row,
                    partition=partition, committed=committed, end=end,
                )  # fmt: skip
            if row.name("member"):
                owned += 1
                held.setdefault(row.name("member"), []).append(partition)
                first.setdefault(row.name("member"), row)
        self.say(
            "described", output.line, output.text, output.time, None,
            state=output.state or None, partitions=len(rows), owned=owned,
            members=len(held), lag=waits, unknown=unknown or None,
        )  # fmt: skip
        for member, partitions in held.items():
            self.say(
                "owns", first[member].line, first[member].text, output.time, first[member],
                partitions=", ".join(sorted(partitions)[:1000]), whole=True,
            )  # fmt: skip

    def _keep(self, output: Output, rows: Mapping[str, TableRow]) -> None:
        """Keeps what has to be compared with the next output."""
        told = all("member" in row.columns for row in output.rows)
        members = any(row.name("member") for row in output.rows)
        in_round = output.state in IN_ROUND
        self._keep_empty(output, rows, told and not members and not output.cut and not in_round)
        owned = {row.name("topic") for row in rows.values() if row.name("member")}
        for partition, row in rows.items():
            member, committed, end = row.name("member"), row.number("committed"), row.number("end")
            alone = told and members and not member and row.name("topic") in owned and not in_round
            _kept(self._unowned, partition, output, alone and (end or 0) > 0, row)
            self._keep_uncommitted(output, partition, row, bool(member) and not in_round)
            track = self._tracks.get(partition)
            same = (
                track is not None
                and track.row.number("committed") == committed
                and track.row.name("member") == member
                and not in_round
            )
            if track is not None and same and end is not None:
                track.stands.goes_on(output)
                track.end = end
                continue
            if track is not None:
                self._stood_still(partition, self._tracks.pop(partition))
            if member and committed is not None and end is not None and not in_round:
                span = OutputSpan.start(output, row.line, row.text)
                self._tracks[partition] = Track(span, row, self.count, end, end)
        if members and not in_round:
            numbers = [
                (c, e) for row in rows.values()
                if row.name("member") and (c := row.number("committed")) is not None
                and (e := row.number("end")) is not None
            ]  # fmt: skip
            done, ends = sum(c for c, _ in numbers), sum(e for _, e in numbers)
            if len(self._lags) < 10_000:
                self._lags.append((output.time, done, ends, len(numbers)))

    def _keep_empty(self, output: Output, rows: Mapping[str, TableRow], empty: bool) -> None:
        empty = empty or output.state == EMPTY
        if not empty or not rows:
            self._settle_empty() if rows else None
            return
        lag = sum(max(row.number("lag") or 0, 0) for row in rows.values())
        sure = output.state == EMPTY
        if self._empty is None:
            self._empty = (OutputSpan.start(output), lag, sure)
        else:
            span, begun, was = self._empty
            span.goes_on(output)
            self._empty = (span, begun, was or sure)

    def _keep_uncommitted(self, output: Output, partition: str, row: TableRow, owned: bool) -> None:
        end = row.number("end") or 0
        if not owned or "committed" not in row.columns or row.number("committed") is not None:
            self._uncommitted.pop(partition, None)
        elif partition not in self._uncommitted:
            self._uncommitted[partition] = (OutputSpan.start(output, row.line, row.text), row, end)
        else:
            self._uncommitted[partition][0].goes_on(output)

    # --- at the end of something

    def _stood_still(self, partition: str, track: Track) -> None:
        """Whose offsets stood still with it: those of the partition, the member or the group."""
        if track.stands.outputs < 2 or track.end - track.begin_end < MARKER_OFFSETS:
            return
        member = track.row.name("member")
        if self._advanced.get(member, 0) > track.since:
            scope = "partition"
        elif any(at > track.since for who, at in self._advanced.items() if who != member):
            scope = "member"
        else:
            scope = "group"
        self._stood.setdefault(("" if scope == "group" else member, scope), []).append(track)

    def _settle_tracks(self) -> None:
        for partition, track in self._tracks.items():
            self._stood_still(partition, track)
        self._tracks.clear()
        for (_, scope), tracks in self._stood.items():
            longest = max(
                tracks, key=lambda t: (t.stands.sure, t.stands.lasted_ms or 0, t.stands.outputs)
            )
            self.say.of(
                "stands_still",
                longest.stands,
                longest.row,
                scope=scope,
                partitions=some([t.row.partition for t in tracks]),
                partition=longest.row.partition,
                committed=longest.row.number("committed"),
                arrived=sum(t.end - t.begin_end for t in tracks),
            )
        self._stood.clear()

    def _settle_empty(self) -> None:
        if self._empty is None:
            return
        span, lag, sure = self._empty
        self._empty = None
        rows = self._rows.values()
        now = sum(max(row.number("lag") or 0, 0) for row in rows)
        moved, self._moved_empty = self._moved_empty, False
        self.say.of(
            "group_empty", span, lag=now, arrived=max(now - lag, 0), told=1 if sure else 0,
            moved=1 if moved else 0,
        )  # fmt: skip

    def settle(self) -> None:
        """Says what lasted until the last output."""
        self._settle_tracks()
        self._settle_empty()
        for span, row in self._unowned.values():
            self.say.of("partition_unowned", span, None, partition=row.partition,
                        lag=row.number("lag"))  # fmt: skip
        for span, row, end in self._uncommitted.values():
            now = self._rows.get(row.partition, row).number("end") or 0
            if now > 0:
                self.say.of("uncommitted", span, row, partition=row.partition,
                            arrived=now - end, end=now)  # fmt: skip
        self._settle_lag()
        if self._last is not None:
            self._settle_topics(self._last)

    def _settle_topics(self, output: Output) -> None:
        """Topics of which nobody owns any partition, although the group has members."""
        rows = [row for row in output.rows if row.partition]
        if output.state in IN_ROUND or not any(row.name("member") for row in rows):
            return
        owned = {row.name("topic") for row in rows if row.name("member")}
        for row in {r.name("topic"): r for r in rows if r.name("topic") not in owned}.values():
            self.say("topic_left_out", row.line, row.text, output.time, topic=row.name("topic"))

    def _settle_lag(self) -> None:
        """Whether the group keeps up, as far as the outputs tell."""
        output = self._last
        if output is None or not self._lags:
            return
        stuck = any(s.kind == "stands_still" for s in self.say.out)
        (began, done_first, ends_first, n), (ended, done, ends, m) = self._lags[0], self._lags[-1]
        lag = ends - done
        at = (output.line, output.text, output.time)
        if lag <= 0 and m:
            self.say("progress", *at)
        elif len(self._lags) < 2 or n != m:
            self.say("lag_once", *at, lag=lag) if m else None
        elif done > done_first and not stuck:
            more, ms = lag - (ends_first - done_first), (ended or 0) - (began or 0)
            self.say("progress", *at)
            steps = [e - d for _, d, e, _ in self._lags]
            up = sum(b > a for a, b in itertools.pairwise(steps))
            timed = began is not None and ended is not None and ms >= 60_000
            if timed and more >= max(100, (lag - more) // 10) and up >= 0.8 * (len(steps) - 1):
                self.say(
                    "lag_grows", *at, lag=lag, was=lag - more, held=ms,
                    arriving=round((ends - ends_first) * 1000 / ms, 1),
                    handled=round((done - done_first) * 1000 / ms, 1),
                )  # fmt: skip
        elif not stuck and ends > ends_first:
            self.say("lag_once", *at, lag=lag)
        elif not stuck:
            self.say("lag_rests", *at, lag=lag)


def _lag(row: TableRow) -> int | None:
    """How many records of the partition wait; None if that is not known: nothing is committed."""
    lag, committed, end = row.number("lag"), row.number("committed"), row.number("end")
    if lag is None and end is not None:
        lag = 0 if end == 0 else None if committed is None else end - committed
    return None if lag is None else max(lag, 0)


def _kept(
    kept: dict[str, tuple[OutputSpan, TableRow]], name: str, output: Output, so: bool, row: TableRow
) -> None:
    """Goes on with the span of this name if it is `so`, begins it, or ends it."""
    if not so:
        kept.pop(name, None)
    elif name in kept:
        kept[name][0].goes_on(output)
    else:
        kept[name] = (OutputSpan.start(output, row.line, row.text), row)


# -- How long something lasted that outputs show at single moments.

LONG_MS = 60_000
"""A state that lasts so long is no passing one: a commit or a round of a healthy group takes less.
"""
MANY_OUTPUTS = 5
"""So many outputs in a row show the same, where no line tells their times."""


@define
class OutputSpan:
    """Something that each of some outputs in a row shows."""

    # The line that shows it first, and its time in ms.
    line: int
    text: str
    since: int | None
    until: int | None = None
    outputs: int = 1

    @classmethod
    def start(cls, output: Output, line: int = 0, text: str = "") -> OutputSpan:
        """It shows in this output, in the given line of it."""
        return cls(line or output.line, text or output.text, output.time, output.time)

    def goes_on(self, output: Output) -> None:
        """It shows in the next output, too."""
        self.outputs += 1
        self.until = output.time

    @property
    def lasted_ms(self) -> int | None:
        """How long, in ms; None if the times are not known."""
        if self.since is None or self.until is None or self.outputs < 2:
            return None
        return self.until - self.since

    @property
    def sure(self) -> bool:
        """It lasted, and is not only what one moment shows."""
        return (
            self.lasted_ms >= LONG_MS
            if self.lasted_ms is not None
            else self.outputs >= MANY_OUTPUTS
        )
