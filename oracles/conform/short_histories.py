"""The promises of the coordinator over time, checked in every short history of a small group.

After the rows of `tour`, promises are checked that concern a memory, whatever led to it. Other
promises are about what was told before: that a generation is told to one set of members, that a
coordinator loads only what somebody was given. For these, all schedules of a small group are
executed, shorter ones first, on the real coordinator alone: who joins, syncs and leaves, which
timer fires, when an append is replicated, when another broker takes over. Of histories that left
the same memory and log, and have told the same, only one is continued. The first schedule that
breaks a promise is a shortest one, because shorter ones were executed before.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform.promises import Finding, broken, name
from groupcheck.oracles.kafka.answers import JoinAnswer
from groupcheck.oracles.kafka.commands import (
    AutoCommit,
    Command,
    FailOver,
    Fire,
    JoinGroup,
    LeaveGroup,
    Look,
    ReadLog,
    SyncGroup,
)
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.memory import ClassicMemory, Memory
from groupcheck.oracles.kafka.records import GroupRecord, Record
from groupcheck.oracles.kafka.schedule import Looks, LostSchedule, Schedule, Step, Transcript

MEMBERS, LENGTH = 2, 7  # ids that are ever made, and the most commands of a history
BOTH, ONE = ("range", "roundrobin"), ("roundrobin",)  # what a newcomer lists
Generations = frozenset[tuple[int, frozenset[str]]]


@frozen
class History:
    """A schedule, and what it left."""

    commands: tuple[Command, ...]
    steps: tuple[Step, ...]
    memory: Memory | None
    log: tuple[Record, ...]
    transcript: Transcript

    @property
    def announced(self) -> Generations:
        """Each generation whose members a leader was told, with those."""
        return frozenset(
            (answer.generation, frozenset(m.member for m in answer.members))
            for step in self.steps
            for _, answer in step.answered
            if isinstance(answer, JoinAnswer) and answer.members
        )

    @property
    def synced(self) -> tuple[tuple[int, int], ...]:
        """The generation and the code of every SyncGroup that was answered."""
        return tuple(
            (asked.generation, answer.error)
            for step in self.steps
            for number, answer in step.answered
            if isinstance(asked := self.commands[number - 1], SyncGroup)
        )

    @property
    def held(self) -> bool:
        """Are appends held back?"""
        switches = [c.on for c in self.commands if isinstance(c, AutoCommit)]
        return bool(switches) and not switches[-1]

    @property
    def key(self) -> tuple[object, ...]:
        """Histories with the same key have the same future, as far as promises go."""
        memory = self.memory
        groups = [r for r in self.log if isinstance(r, GroupRecord)]
        return (
            memory and (attrs.evolve(memory, timers=()), memory.armed),
            tuple((r.generation, *(m.member for m in r.members)) for r in groups[-1:]),
            (len(groups), self.steps[-1].high_watermark, self.held),
            sum(isinstance(c, FailOver) for c in self.commands),
            (self.announced, self.synced, len(self.transcript.parked)),
        )


@frozen
class SearchFindings:
    """The findings of a search: by promise and kind, each with a shortest schedule; and in how many
    histories the promises were checked.
    """

    findings: dict[tuple[str, str], Finding]
    asked: int


def search(driver: Driver, length: int = LENGTH) -> SearchFindings:
    """The promises that are broken within so many commands."""
    findings: dict[tuple[str, str], Finding] = {}
    asked = 0
    frontier = [History((), (), None, (), Transcript(Schedule([]), ()))]
    known: set[tuple[object, ...]] = set()
    for _ in range(length):
        reached: list[History] = []
        for before, now in _longer(driver, frontier):
            asked += 1
            for promise, kind in _broken(before, now):
                findings.setdefault((promise, kind), Finding(promise, kind, now.transcript))
            if now.key not in known:
                known.add(now.key)
                reached.append(now)
        frontier = reached
    return SearchFindings(findings, asked)


def _longer(driver: Driver, histories: list[History]) -> Iterator[tuple[History, History]]:
    """Every history with one command more."""
    asked = [(h, (*h.commands, c)) for h in histories for c in _next(h)]
    schedules = (Schedule([*cs, Look(), ReadLog()], looks=Looks.NEVER) for _, cs in asked)
    for (before, commands), result in zip(asked, driver.run_all(schedules)):
        if isinstance(result, LostSchedule) or result.refused:
            why = str(result) if isinstance(result, LostSchedule) else result.refused
            raise UserError(f"a history cannot be carried out: {why[:300]}")
        *steps, look, log = result.steps
        yield before, History(commands, tuple(steps), look.memory, log.records or (), result)


def _next(history: History) -> Iterator[Command]:
    """Everything that can be tried next."""
    made = sum(isinstance(c, JoinGroup) and not c.member for c in history.commands)
    if made < MEMBERS:
        yield JoinGroup(version=3, protocols=BOTH)
    if 0 < made < MEMBERS:
        yield JoinGroup(version=3, protocols=ONE)
    memory = history.memory
    if not isinstance(memory, ClassicMemory):
        return
    for m in memory.members:
        yield JoinGroup(member=m.member, protocols=_listed(history, m.member))
        plan = {m.member: {"t": [0]}} if m.member == memory.leader else {}
        yield SyncGroup(member=m.member, generation=memory.generation, assignments=plan)
        yield LeaveGroup(member=m.member)
    for key in sorted(memory.armed):
        yield Fire(timer=key)
    if history.held or memory.state in ("CompletingRebalance", "Stable"):
        yield AutoCommit(on=history.held)
    if not any(isinstance(c, FailOver) for c in history.commands):
        yield FailOver()
        if history.held:
            yield FailOver(keep="all")


def _listed(history: History, member: str) -> tuple[str, ...]:
    """The protocols of the member's last JoinGroup."""
    made = [c for c in history.commands if isinstance(c, JoinGroup) and not c.member]
    again = [c for c in history.commands if isinstance(c, JoinGroup) and c.member == member]
    return (again or [made[int(member[1:]) - 1]])[-1].protocols


def _broken(before: History, now: History) -> Iterator[tuple[str, str]]:
    memory, last = now.memory, now.commands[-1]
    in_flight = any(key.startswith("append-") for key in memory.armed) if memory else False
    yield from broken(now.steps, last, memory, now.log, in_flight)
    told = dict(before.announced)
    for generation, members in now.announced - before.announced:
        if told.get(generation, members) != members:
            yield "one_generation", f"told again after {_moved(now)}"
    if not isinstance(memory, ClassicMemory):
        return
    if isinstance(last, FailOver) and memory.state == "Stable":
        codes = {error for g, error in now.synced if g == memory.generation}
        if codes and 0 not in codes:
            yield "refused_plan", f"answered {max(codes)}, and loaded"
    if isinstance(last, JoinGroup):
        yield from _joins(before, now, memory, last)


def _joins(
    before: History, now: History, memory: ClassicMemory, last: JoinGroup
) -> Iterator[tuple[str, str]]:
    was = before.memory
    if not isinstance(was, ClassicMemory):
        return
    follows = was.member(last.member) is not None and was.leader != last.member
    same = follows and _listed(before, last.member) == last.protocols
    if same and was.state == "Stable" and memory.state != "Stable":
        yield "unchanged", f"after {_moved(now)}"
    refused = any(n == len(now.commands) and a.error == 23 for n, a in now.steps[-1].answered)
    lists = [set(_listed(before, m.member)) for m in was.members]
    if refused and set(last.protocols).intersection(*lists):
        yield "common_protocol", f"after {_moved(now)}"


def _moved(history: History) -> str:
    """The event that may have made the difference: the fail-over, if there was one."""
    moved = [c for c in history.commands if isinstance(c, FailOver)]
    return name(moved[-1]) if moved else "no fail-over"
