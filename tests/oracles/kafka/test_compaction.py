"""Any legal compaction of the log loads the same groups and offsets, and two groups on one
coordinator do not disturb each other: random schedules on Kafka's own coordinator.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from compacting import dropped, endings

from groupcheck.oracles.kafka.commands import (
    Command,
    Compact,
    DeleteGroups,
    EndTxn,
    FailOver,
    Fire,
    JoinGroup,
    LeaveGroup,
    Load,
    Look,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    ReadLog,
    Reset,
    SyncGroup,
    TxnOffsetCommit,
    Unload,
)
from groupcheck.oracles.kafka.driver import Driver, shared
from groupcheck.oracles.kafka.memory import SWEEP, ClassicMemory, NoGroup
from groupcheck.oracles.kafka.records import GroupRecord, MarkerRecord, OffsetRecord, Record
from groupcheck.oracles.kafka.schedule import Looks, LostSchedule, Schedule, Step

GROUPS = ("g", "h")
PARTITIONS = frozenset({("t", 0), ("t", 1)})
RETENTION_MS = 8 * 24 * 3_600_000
SEEDS = range(40)


@pytest.fixture(scope="module")
def coordinator() -> Driver:
    return shared()


class Draw:
    """A schedule of commits, transactions, joins and deletions, drawn step by step."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.made = 0
        self.member: dict[str, tuple[str, int] | None] = dict.fromkeys(GROUPS)
        self.generation = dict.fromkeys(GROUPS, 0)

    def schedule(self, length: int) -> list[Command]:
        return [command for _ in range(length) for command in self.step()]

    def step(self) -> Iterator[Command]:
        group = self.random.choice(GROUPS)
        offsets = {"t": {self.random.randrange(2): self.random.randrange(100)}}
        joined = self.member[group]
        of_member: dict[str, Any] = (
            {"member": joined[0], "generation": joined[1]} if joined is not None else {}
        )
        producer = 1 + self.random.randrange(2)
        match self.random.choices(range(8), (5, 4, 4, 2, 2, 1, 1, 1))[0]:
            case 0:
                yield OffsetCommit(group=group, offsets=offsets, **of_member)
            case 1:
                yield TxnOffsetCommit(group=group, offsets=offsets, producer=producer, **of_member)
            case 2:
                yield EndTxn(producer=producer, commit=self.random.random() < 0.7)
            case 3 if joined is None:
                yield from self.join(group)
            case 3 | 4 if joined is not None:
                self.member[group] = None
                self.generation[group] += 1
                yield LeaveGroup(group=group, member=joined[0])
            case 5:
                yield OffsetDelete(group=group, topics={("t", self.random.randrange(2))})
            case 6:
                for one in GROUPS:
                    if self.member[one] is None:
                        self.generation[one] = 0
                yield DeleteGroups(group="g", groups=GROUPS)
            case 7:
                yield from self.random.choice(
                    (
                        [Fire(timer=SWEEP, later_ms=RETENTION_MS)],
                        [FailOver()],
                        [Unload(), Load()],
                    )
                )

    def join(self, group: str) -> Iterator[Command]:
        self.made += 1
        self.generation[group] += 1
        member, generation = f"m{self.made}", self.generation[group]
        self.member[group] = member, generation
        yield JoinGroup(group=group, version=3)
        yield Fire(timer=f"join-{group}")
        yield SyncGroup(
            group=group, member=member, generation=generation, assignments={member: {"t": [0, 1]}}
        )


LOOKS: tuple[Command, ...] = tuple(
    command
    for group in GROUPS
    for command in (
        Look(group=group),
        OffsetFetch(group=group, topics=PARTITIONS),
        OffsetFetch(group=group, topics=PARTITIONS, stable=False),
    )
)


def run(driver: Driver, commands: list[Command]) -> tuple[Step, ...]:
    result = driver.run(Schedule(commands, Reset(topics={"t": 2}), Looks.NEVER))
    assert not isinstance(result, LostSchedule) and not result.refused, result
    return result.steps


def found(steps: tuple[Step, ...]) -> list[Any]:
    """What the last steps have found: memories, and answers without their numbers."""
    return [
        step.memory if step.memory is not None else [answer for _, answer in step.answered]
        for step in steps[-len(LOOKS) :]
    ]


def there(memories: list[Any]) -> list[Any]:
    """The same, where a group that has nothing (no member, no generation, no offset) counts as one
    that is not there.
    """
    return [
        NoGroup(m.coordinator, m.timers)
        if isinstance(m, ClassicMemory) and m.generation == 0 and not m.members
        else m
        for m in memories
    ]


def logs(driver: Driver) -> Iterator[tuple[int, list[Command], tuple[Record, ...]]]:
    for seed in SEEDS:
        commands = Draw(seed).schedule(30)
        yield seed, commands, run(driver, [*commands, ReadLog()])[-1].records or ()


def test_the_schedules_hold_what_compaction_is_about(coordinator: Driver) -> None:
    every = [log for _, _, log in logs(coordinator)]
    records = [record for log in every for record in log]
    assert sum(isinstance(r, MarkerRecord) and not r.commit for r in records) > 10
    assert sum(isinstance(r, OffsetRecord) and r.committed is None for r in records) > 50
    assert sum(isinstance(r, GroupRecord) and r.tombstone for r in records) > 30
    assert sum(isinstance(r, GroupRecord) and bool(r.members) for r in records) > 30
    assert sum(None in endings(log).values() for log in every) > 10


def test_any_legal_compaction_of_the_log_loads_the_same_groups_and_offsets(
    coordinator: Driver,
) -> None:
    removed = 0
    for seed, commands, log in logs(coordinator):
        whole = run(coordinator, [*commands, FailOver(), *LOOKS])
        for k, eager in enumerate((0.5, 1.0)):
            drop = dropped(log, random.Random(100 * seed + k), eager)
            removed += len(drop)
            compacted = run(
                coordinator, [*commands, Compact(drop=drop), ReadLog(), FailOver(), *LOOKS]
            )
            left = compacted[len(commands) + 1].records or ()
            assert {r.offset for r in log} - {r.offset for r in left} <= set(drop)
            assert there(found(compacted)) == there(found(whole)), (seed, drop)
    assert removed > 500


def test_a_cleaner_that_removes_the_last_offset_is_seen(coordinator: Driver) -> None:
    commands: list[Command] = [OffsetCommit(group="g", offsets={"t": {0: n}}) for n in (4, 5)]
    whole = found(run(coordinator, [*commands, FailOver(), *LOOKS]))
    for drop, same in (((0,), True), ((1,), False)):
        compacted = run(coordinator, [*commands, Compact(drop=drop), FailOver(), *LOOKS])
        assert (there(found(compacted)) == there(whole)) is same


def test_a_group_that_has_nothing_left_is_gone_after_a_compaction(coordinator: Driver) -> None:
    """The one difference that a compaction makes: without it, the records of a deleted offset make
    the Empty group again.
    """
    commands: list[Command] = [OffsetCommit(group="g"), OffsetDelete(group="g")]
    whole = run(coordinator, [*commands, FailOver(), Look(group="g")])[-1].memory
    compacted = run(coordinator, [*commands, Compact(drop=(0, 1)), FailOver(), Look(group="g")])[
        -1
    ].memory
    assert isinstance(whole, ClassicMemory) and whole.state == "Empty"
    assert isinstance(compacted, NoGroup)


# -- two groups on one coordinator


def alone(group: str, commands: list[Command]) -> tuple[list[Command], dict[str, str]]:
    """The commands that concern one group, whose members get other names; and those names."""
    names: dict[str, str] = {}
    made, mine = 0, list[Command]()
    for command in commands:
        if isinstance(command, JoinGroup):
            made += 1
            if command.group == group:
                names[f"m{made}"] = f"m{len(names) + 1}"
        if isinstance(command, DeleteGroups):
            mine.append(DeleteGroups(group=group))
        elif isinstance(command, EndTxn | Unload | Load | FailOver):
            mine.append(command)
        elif isinstance(command, Fire):
            if command.timer in (SWEEP, f"join-{group}"):
                mine.append(command)
        elif getattr(command, "group", group) == group:
            mine.append(renamed(command, names))
    return mine, names


def renamed(command: Command, names: dict[str, str]) -> Command:
    name = getattr(command, "member", None)
    if isinstance(command, SyncGroup):
        plan = {names[member]: share for member, share in command.assignments}
        return attrs.evolve(command, member=names[command.member], assignments=plan)
    return attrs.evolve(command, member=names[name]) if name in names else command  # type: ignore[call-arg]


def of_group(group: str, steps: tuple[Step, ...], names: dict[str, str]) -> list[str]:
    """What was found of a group, with its members' names as they are alone."""
    place = len(LOOKS) // len(GROUPS)
    first = GROUPS.index(group) * place
    shown = []
    for one in found(steps)[first : first + place]:
        if isinstance(one, ClassicMemory | NoGroup):
            mine = [t for t in one.timers if f"-{group}" in t.key]
            one = attrs.evolve(one, timers=tuple(mine))
        shown.append(re.sub(r"\bm\d+\b", lambda m: names.get(m[0], m[0]), repr(one)))
    return shown


@pytest.mark.parametrize("group", GROUPS)
def test_what_becomes_of_a_group_does_not_depend_on_the_other_one(
    group: str, coordinator: Driver
) -> None:
    """Through deletions in one request, transactions over both, sweeps, unloads, loads and
    fail-overs.
    """
    members = 0
    for seed in SEEDS:
        both = Draw(seed).schedule(30)
        mine, names = alone(group, both)
        together = of_group(group, run(coordinator, [*both, *LOOKS]), names)
        assert of_group(group, run(coordinator, [*mine, *LOOKS]), {}) == together, seed
        members += "member='m" in together[0]
    assert members > 5
