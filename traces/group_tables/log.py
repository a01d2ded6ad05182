"""Reads a log for output of kafka-consumer-groups.sh, and adds what it shows to the evidence."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import Factory, define, evolve

from groupcheck.model.engine.verdict import UNKNOWN
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.said import Said
from groupcheck.traces.formats import GROUP_TABLES
from groupcheck.traces.group_tables.members import Members, States
from groupcheck.traces.group_tables.outputs import NEEDLES, Output, Outputs
from groupcheck.traces.group_tables.watched import Offsets, Speaker
from groupcheck.traces.reading import Notes, Source
from groupcheck.traces.report import FileReport

MOST_GROUPS = 2_000
NOT_JUDGED = "output of kafka-consumer-groups.sh shows moments; see the causes"
COMPARED = {"offsets", "members", "state", "reset", "message"}
"""Kinds of output. A list of groups tells their states, too, but of hundreds that nobody asked for:
only those that rebalance are taken from it."""


@define
class Watched:
    """All that is known of one group on one cluster."""

    say: Speaker
    offsets: Offsets
    members: Members
    states: States

    @classmethod
    def of(cls, group: str) -> Watched:
        say = Speaker(group)
        return cls(say, Offsets(say), Members(say), States(say))

    def add(self, output: Output) -> None:
        if output.kind == "reset":
            self.offsets.reset = True
            return
        self.states.add(output)
        if output.kind == "offsets":
            self.offsets.add(output)
        if output.kind in ("offsets", "members"):
            self.members.add(output)

    def settle(self) -> list[Said]:
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
    groups: dict[tuple[str, str], Watched] = Factory(dict)

    def read(self, outputs: Outputs, lines: Iterable[tuple[int, str]]) -> list[Said]:
        """Everything that the lines, as (number, text), show about groups."""
        for output in outputs.read(lines):
            self.add(output)
        return [said for watched in self.groups.values() for said in watched.settle()]

    def add(self, output: Output) -> None:
        """Reads one more output."""
        if self.only is not None and output.group not in ("", self.only):
            return
        if output.kind not in COMPARED:
            return
        key = (output.server, output.group)
        if key not in self.groups:
            if len(self.groups) >= MOST_GROUPS:
                self.left_out += 1
                return
            self.groups[key] = Watched.of(output.group)
        self.groups[key].add(output)


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
    evidence.add_all(evolve(s, log=source.name) for s in said)
    left_out = f"{watching.left_out} outputs about more groups than can be followed were left out"
    return FileReport(
        path=source.name,
        format=GROUP_TABLES,
        verdict=UNKNOWN,
        reason=NOT_JUDGED,
        lines=notes.lines,
        understood=outputs.understood,
        foreign=notes.lines - outputs.understood,
        strange=0,
        notes=(left_out,) if watching.left_out else (),
        files=tuple(notes.parts),
    )
