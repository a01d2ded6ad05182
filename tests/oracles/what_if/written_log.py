"""A broker's log, written event by event."""

from __future__ import annotations

from pathlib import Path

from groupcheck.oracles.replay.report import replay
from groupcheck.traces.findings.report import GroupReport

BROKER = "[GroupCoordinator id=1 topic=__consumer_offsets partition=3]"
LOGGER = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"


def uuid(n: int) -> str:
    return f"{n:08x}-0000-4000-8000-000000000000"


class Log:
    """A broker's log of the group `g`, written event by event."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.generation = 0
        self.ids = 0
        self.size = 0

    def line(self, at: float, text: str) -> None:
        minutes, seconds = divmod(at, 60)
        clock = f"10:{int(minutes):02d}:{int(seconds):02d},{int(seconds * 1000) % 1000:03d}"
        self.lines.append(f"[2026-11-20 {clock}] INFO {BROKER} {text} {LOGGER}")

    def rebalance(self, at: float, why: str, state: str = "PreparingRebalance") -> None:
        self.line(
            at,
            f"Preparing to rebalance group g in state {state} with old generation"
            f" {self.generation} (reason: {why}).",
        )

    def settles(self, at: float, leader: str) -> None:
        self.generation += 1
        self.line(at, f"Stabilized group g generation {self.generation} with {self.size} members.")
        self.line(
            at + 0.01,
            f"Assignment received from leader {leader} for group g for generation"
            f" {self.generation}. The group has {self.size} members, 0 of which are static.",
        )

    def joins(self, at: float, client: str, took: float, leader: str | None = None) -> str:
        self.ids += 1
        self.size += 1
        member = f"{client}-{uuid(self.ids)}"
        state = "Stable" if self.size > 1 else "Empty"
        self.line(
            at,
            f"Dynamic member with unknown member id joins group g in {state} state. Created a new"
            f" member id {member} and requesting the member to rejoin with this id.",
        )
        self.rebalance(
            at + 0.01,
            f"Adding new member {member} with group instance id null; client reason: need to"
            f" re-join with the given member-id: {member}",
        )
        self.settles(at + took, leader or member)
        return member

    def added(self, at: float, instance: str, member: str, state: str) -> None:
        self.line(
            at,
            f"Static member with groupInstanceId={instance} and unknown member id joins group g in"
            f" {state} state. Created a new member id {member} for this member and added to the"
            " group.",
        )
        self.rebalance(
            at,
            f"Adding new member {member} with group instance id {instance}; client reason: not"
            " provided",
        )

    def leaves(self, at: float, member: str, leader: str, took: float, reason: str) -> None:
        self.size -= 1
        self.line(
            at,
            f"[Group g] Member {member} has left group through explicit `LeaveGroup`"
            f" request; client reason: {reason}",
        )
        self.rebalance(at, f"explicit `LeaveGroup` request for ({member}) members.")
        self.settles(at + took, leader)

    def expires(self, at: float, member: str, leader: str, took: float) -> None:
        self.size -= 1
        self.line(
            at,
            f"Member {member} in group g has failed, removing it from the group.",
        )
        self.rebalance(at, f"removing member {member} on heartbeat expiration.")
        self.settles(at + took, leader)

    def report(self, folder: Path) -> GroupReport:
        path = folder / "server.log"
        path.write_text("\n".join(self.lines) + "\n")
        (file,) = replay([path])
        assert not file.strange, file.samples
        (group,) = file.groups
        return group


CLOSED = "the consumer is being closed"
SLOW = "consumer poll timeout has expired."
