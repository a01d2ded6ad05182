"""Rounds of Connect's assignors as the driver reads them, and its answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from attrs import frozen

from groupcheck.model.assignors.connect import (
    Assigned,
    Config,
    ConnectProtocol,
    Memory,
    Round,
    Work,
    Worker,
    work,
)

NAMES: Mapping[ConnectProtocol, str] = {
    ConnectProtocol.EAGER: "default",
    ConnectProtocol.COMPATIBLE: "compatible",
    ConnectProtocol.SESSIONED: "sessioned",
}
"""A protocol's name in JoinGroup."""

MEMORY = (
    "previous_assignment",
    "previous_revocation",
    "previous_members",
    "previous_generation_id",
    "scheduled_rebalance",
    "delay",
    "candidate_workers",
    "revoked_in_previous",
    "num_successive_revoking_rebalances",
)


@frozen
class Step:
    """A round in one of the processes that can be leader."""

    round: Round
    process: int = 0
    # The process starts now, so that it remembers nothing.
    starts: bool = True
    # In place of what the process remembers.
    memory: Memory | None = None

    def text(self) -> str:
        """As the driver reads it."""
        memory = "" if self.memory is None else f',"memory":{_memory(self.memory)}'
        starts = "true" if self.starts else "false"
        return f'{{"process":{self.process},"starts":{starts}{memory},{_round(self.round)}}}'


def _work(has: Work) -> str:
    return f"{json.dumps(has.connectors)},{json.dumps(has.tasks)}"


@lru_cache(maxsize=1 << 12)
def _config(config: Config | None) -> str:
    return "null" if config is None else f"[{config.offset},{_work(config.work)}]"


@lru_cache(maxsize=1 << 14)
def _worker(worker: Worker) -> str:
    return f"[{json.dumps(worker.id)},{worker.offset},{_work(worker.work)}]"


@lru_cache(maxsize=1 << 12)
def _memory(m: Memory) -> str:
    rest = json.dumps(
        [
            sorted(m.previous_members),
            m.previous_generation_id,
            m.scheduled_rebalance,
            m.delay,
            m.candidate_workers,
            m.revoked_in_previous,
            m.num_successive_revoking_rebalances,
        ]
    )
    return f"[{_work(m.previous_assignment)},{_work(m.previous_revocation)},{rest[1:]}"


def _round(r: Round) -> str:
    workers = ",".join(map(_worker, r.workers))
    return (
        f'"maxDelay":{r.max_delay},"leader":{json.dumps(r.leader)},'
        f'"protocol":"{NAMES[r.protocol]}","now":{r.now},"config":{_config(r.config)},'
        f'"fresh":{_config(r.fresh)},"completed":{r.last_completed_generation_id},'
        f'"generation":{r.generation_id},"workers":[{workers}]'
    )


Facts = Mapping[str, Any]
"""What came out of a round: "throws", or "offset of the leader", "owners", "memory: NAME" for each
field, and "WORKER: FACT" with error, offset, leader, assigned, revoked and delay.
"""


def expected(assigned: Assigned) -> Facts:
    """The facts that groupcheck's function gives."""
    facts: dict[str, Any] = {}
    for name, answer in assigned.answers:
        facts |= {
            f"{name}: error": int(answer.error),
            f"{name}: offset": answer.offset,
            f"{name}: leader": answer.leader,
            f"{name}: assigned": answer.assigned,
            f"{name}: revoked": answer.revoked,
            f"{name}: delay": answer.delay,
        }
    facts |= {f"memory: {name}": getattr(assigned.memory, name) for name in MEMORY}
    facts["offset of the leader"] = assigned.config.offset
    facts["owners"] = assigned.owners
    return facts


def read(answer: Mapping[str, Any], protocol: ConnectProtocol) -> Facts:
    """The facts of Kafka's class. A field of the memory that a version does not have is left out.

    Raises `AssertionError` if a worker's answer contradicts itself: its leader's address, or the
    version of the bytes.
    """
    if "thrown" in answer:
        return {"throws": answer["thrown"]}
    facts: dict[str, Any] = {}
    for name, told in answer["answers"].items():
        error, offset, leader, url, version, connectors, tasks, *revoked, delay = told
        assert url == f"http://{leader}", f"{name} is told that {leader} is at {url}"
        # Before 3.3 the version was 1 unless all workers had already been told a 2.
        assert version <= protocol, f"{name} reads version {version} under {protocol.name}"
        facts |= {
            f"{name}: error": error,
            f"{name}: offset": offset,
            f"{name}: leader": leader,
            f"{name}: assigned": Work(tuple(connectors), _tasks(tasks)),
            f"{name}: revoked": work(revoked[0], _tasks(revoked[1])),
            f"{name}: delay": delay,
        }
    m = answer["memory"]
    values = (
        Work(tuple(m[0]), _tasks(m[1])),
        Work(tuple(m[2]), _tasks(m[3])),
        None if m[4] is None else frozenset(m[4]),
        *m[5:8],
        tuple(m[8]),
        *m[9:],
    )
    facts |= {f"memory: {name}": value for name, value in zip(MEMORY, values) if value is not None}
    facts["offset of the leader"] = answer["config"]
    owners = answer["owners"]
    facts["owners"] = (
        None
        if owners is None
        else tuple(
            sorted(
                (name, work(of.get("connectors", ()), _tasks(of.get("tasks", ()))))
                for name, of in owners.items()
            )
        )
    )
    return facts


def _tasks(listed: list[Any]) -> tuple[tuple[str, int], ...]:
    return tuple((connector, number) for connector, number in listed)


def differences(real: Facts, other: Facts) -> tuple[str, ...]:
    """The names of the facts that differ. A field of the memory that one side does not have is not
    looked at.
    """
    if "throws" in real or "throws" in other:
        return () if real.get("throws") == other.get("throws") else ("throws",)
    one_sided = {name for name in real.keys() ^ other.keys() if name.startswith("memory: ")}
    names = (real.keys() | other.keys()) - one_sided
    return tuple(sorted(name for name in names if real.get(name) != other.get(name)))
