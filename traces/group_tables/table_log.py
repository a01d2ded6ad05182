"""Reads a log for output of kafka-consumer-groups.sh, and adds what it shows to the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from attrs import Factory, define, evolve

from groupcheck.model.engine.verdict import UNKNOWN
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.findings.report import FileReport
from groupcheck.traces.formats import GROUP_TABLES
from groupcheck.traces.group_tables.changes import offsets_told, statuses_told
from groupcheck.traces.group_tables.member_tables import States, TableMembers
from groupcheck.traces.group_tables.outputs import NEEDLES, Output, Outputs
from groupcheck.traces.group_tables.watched import IN_ROUND, NAMED, Offsets, Speaker
from groupcheck.traces.reading import Notes, Source

MOST_GROUPS, MOST_KINDS = 2_000, 100
NOT_JUDGED = "the output of a tool shows moments"


@define
class GroupTables:
    """All that is known of one group on one cluster."""

    say: Speaker
    offsets: Offsets
    members: TableMembers
    states: States
    # The number of the present moment and its time; the kinds and columns of its tables; and the
    # partitions that it shows.
    _moment: int = 0
    _time: int | None = None
    _shapes: set[tuple[str, tuple[str, ...]]] = Factory(set)
    _shown: set[str] = Factory(set)
    # It is a share group.
    _share: bool = False
    # Each follower -> the moment that it has read.
    _read: dict[str, int] = Factory(dict)

    @classmethod
    def of(cls, group: str) -> GroupTables:
        say = Speaker(group)
        return cls(say, Offsets(say), TableMembers(say), States(say))

    def add(self, output: Output) -> None:
        if output.kind in ("change", "reset", "deleted offsets"):
            self._changed(output)
            return
        if self._is_later(output):
            self._moment += 1
        elif not output.group:
            self.offsets.forget()
            self.members.forget()
            self.states.forget()
        self.states.add(output, self._later("states"))
        self._share = self._share or output.share
        output = evolve(output, share=self._share)
        if output.kind == "share":
            self._share_partitions(output)
        if output.kind == "offsets":
            self.offsets.add(output, self._later("offsets"))
        if output.kind in ("offsets", "members"):
            self.members.add(output, self._later("members"))

    def _changed(self, output: Output) -> None:
        """What the command changed, or could not."""
        at = (output.line, output.text, output.time)
        if output.change is not None:
            self.say(output.change.kind, *at, None, **output.change.fields)
        elif output.kind == "reset":
            self.offsets.reset = output.executed is not False
            self.say("admin_done", *at, None, told=offsets_told(output.rows, output.executed))
        else:
            done, failed = statuses_told(output.rows)
            if done:
                told = f"the command deleted the committed offsets of {done}"
                self.say("admin_done", *at, None, told=told)
            if failed:
                self.say("admin_failed", *at, None, action="delete offsets", error=failed)

    def _share_partitions(self, output: Output) -> None:
        """What a table of a share group's partitions shows."""
        begun = [row for row in output.rows if row.number("share_start") is not None]
        starts = [f"{row.partition} at {row.name('share_start')}" for row in begun]
        lags = [lag for row in output.rows if (lag := row.number("lag")) is not None]
        self.say(
            "described", output.line, output.text, output.time, of="share",
            partitions=len(output.rows), begun=len(begun),
            starts=", ".join(starts[:NAMED]) or None, lag=sum(lags) if lags else None,
        )  # fmt: skip

    def _later(self, follower: str) -> bool:
        """Is the present moment another one than that which the follower has read?"""
        before, self._read[follower] = self._read.get(follower), self._moment
        return before != self._moment

    def _is_later(self, output: Output) -> bool:
        """Is it another moment than the output before? Two tables of one paste are not, unless
        their times differ, or the same group is shown again in the same columns. Other partitions
        of it are the rest of the same moment.
        """
        shape = (output.kind, output.layout)
        partitions = {row.partition for row in output.rows if row.partition}
        timed = self._time is not None and output.time is not None
        rest = bool(partitions) and self._shown.isdisjoint(partitions) and not timed
        again = bool(output.group) and shape in self._shapes and not rest
        later = again or (timed and self._time != output.time)
        self._shapes = {shape} if later else self._shapes | {shape}
        self._shown = partitions if later else self._shown | partitions
        self._time = self._time if output.time is None else output.time
        return later

    def settle(self) -> list[Statement]:
        """All statements, in the order of their lines."""
        self.offsets.settle()
        self.members.settle()
        self.states.settle()
        return sorted(self.say.out, key=lambda said: said.line)


@define
class Watching:
    """The groups of one log."""

    only: str | None = None
    left_out: int = 0
    groups: dict[tuple[str, str], GroupTables] = Factory(dict)
    # What lists tell of groups (state and type) -> of how many.
    listed: Counter[str] = Factory(Counter)

    def read(self, outputs: Outputs, lines: Iterable[tuple[int, str]]) -> list[Statement]:
        """Everything that the lines, as (number, text), show about groups."""
        for output in outputs.read(lines):
            self.add(output)
        return [said for watched in self.groups.values() for said in watched.settle()]

    def add(self, output: Output) -> None:
        """Reads one more output."""
        if self.only is not None and output.group not in ("", self.only):
            return
        key = (output.server, output.group)
        if output.kind == "list":
            self._listed(output)
            if output.state not in IN_ROUND and key not in self.groups:
                return  # perhaps one of hundreds that nobody asks for
        if key not in self.groups:
            if len(self.groups) >= MOST_GROUPS:
                self.left_out += 1
                return
            self.groups[key] = GroupTables.of(output.group)
        self.groups[key].add(output)

    def _listed(self, output: Output) -> None:
        told = " ".join(filter(None, (output.rows[0].name("type"), output.state))) or "unknown"
        if told in self.listed or len(self.listed) < MOST_KINDS:
            self.listed[told] += 1

    def lists(self) -> str:
        """The content of lists of groups, in words; empty if there are none."""
        counts = ", ".join(f"{n:,} {told}" for told, n in self.listed.most_common())
        more = "--describe --group NAME, twice some minutes apart, tells more of a group"
        return f"listed groups: {counts}; {more}" if counts else ""


def watch(source: Source, evidence: Evidence, group: str | None) -> FileReport | None:
    """Adds what the tables of a log show to `evidence`, and reports about them; None if it has
    none. `group`: only about this one.
    """
    if not source.holds(NEEDLES):
        return None
    notes, outputs, watching = Notes(), Outputs(), Watching(group)
    said = watching.read(outputs, source.lines(notes))
    if not outputs.understood:
        return None
    evidence.add_all(_of_log(s, source.name) for s in said)
    lists = watching.lists()
    left_out = f"{watching.left_out} outputs about more groups than can be followed were left out"
    return FileReport(
        path=source.name,
        format=GROUP_TABLES,
        verdict=UNKNOWN,
        reason=NOT_JUDGED if watching.groups or not lists else lists,
        lines=notes.lines,
        understood=outputs.understood,
        foreign=notes.lines - outputs.understood,
        strange=0,
        notes=source.notes
        + tuple(
            text
            for text, so in ((lists, watching.groups), (left_out, watching.left_out))
            if text and so
        ),
        files=tuple(notes.parts),
    )


def _of_log(said: Statement, name: str) -> Statement:
    rests_on = tuple(evolve(one, log=name) for one in said.rests_on)
    return evolve(said, log=name, rests_on=rests_on)
