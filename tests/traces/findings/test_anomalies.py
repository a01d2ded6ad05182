"""What stands out: ghosts and members that died together, who held a round up, storms and consumers
that come and go.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file


class Scala:
    """A log of the old coordinator, line by line; `at` is in ms."""

    def __init__(self, path: Path) -> None:
        self.path = path / "server.log"
        self.lines: list[str] = []
        self.ids: Iterator[int] = count(1)

    def say(self, at: int, sentence: str) -> None:
        time = (
            f"2024-10-25 {17 + at // 3_600_000:02}:{at // 60_000 % 60:02}"
            f":{at // 1000 % 60:02},{at % 1000:03}"
        )
        self.lines.append(
            f"[{time}] INFO [GroupCoordinator 1]: {sentence}"
            " (kafka.coordinator.group.GroupCoordinator)\n"
        )

    def join(self, at: int, phase: str, client: str = "app") -> str:
        """A member joins by the old, single step."""
        id = f"{client}-23a5cab4-de06-4358-8220-{next(self.ids):012x}"
        self.say(
            at,
            f"Dynamic Member with unknown member id joins group g in {phase} state. Created a new"
            f" member id {id} for this member and add to the group.",
        )
        if phase != "PreparingRebalance":
            self.prepare(
                at,
                f"Adding new member {id} with group instance id None; client reason: not provided",
            )
        return id

    def prepare(self, at: int, reason: str) -> None:
        self.say(
            at,
            "Preparing to rebalance group g in state PreparingRebalance with old generation"
            f" {self.generation} (__consumer_offsets-1) (reason: {reason})",
        )

    generation = 0

    def stable(self, at: int, members: int, leader: str) -> None:
        self.generation += 1
        self.say(
            at,
            f"Stabilized group g generation {self.generation} (__consumer_offsets-1) with"
            f" {members} members",
        )
        self.say(
            at + 5,
            f"Assignment received from leader {leader} for group g for generation"
            f" {self.generation}. The group has {members} members, 0 of which are static.",
        )

    def empty(self, at: int) -> None:
        self.generation += 1
        self.say(
            at, f"Group g with generation {self.generation} is now empty (__consumer_offsets-1)"
        )

    def failed(self, at: int, id: str, *, begins: bool = False) -> None:
        self.say(at, f"Member {id} in group g has failed, removing it from the group")
        if begins:
            self.prepare(at, f"removing member {id} on heartbeat expiration")

    def left(self, at: int, id: str) -> None:
        """Printed after what it caused."""
        self.prepare(at, f"Removing member {id} on LeaveGroup; client reason: not provided")

    def leave_line(self, at: int, id: str) -> None:
        self.say(
            at,
            f"Member MemberMetadata(memberId={id}, groupInstanceId=None, clientId=app,"
            " clientHost=/10.0.0.1, sessionTimeoutMs=45000, rebalanceTimeoutMs=300000,"
            " supportedProtocols=List(range)) has left group g through explicit `LeaveGroup`;"
            " client reason: not provided",
        )

    def group(self) -> GroupReport:
        self.path.write_text("".join(self.lines))
        report = replay_file(str(self.path))
        assert report.strange == 0, report.samples
        (group,) = report.groups
        return group


@pytest.fixture
def log(tmp_path: Path) -> Scala:
    return Scala(tmp_path)


def kinds(g: GroupReport) -> dict[str, str]:
    return {a.kind: a.text for a in g.anomalies}


def three(log: Scala) -> list[str]:
    first = log.join(0, "Empty")
    ids = [first, log.join(10, "PreparingRebalance"), log.join(20, "PreparingRebalance")]
    log.stable(3000, 3, first)
    return ids


def all_expire(log: Scala, ids: list[str], at: int) -> GroupReport:
    for k, id in enumerate(ids):
        log.failed(at + k, id, begins=not k)
    log.empty(at + 5)
    return log.group()


@pytest.mark.parametrize("session", [10_000, 30_000, 45_000])
def test_ids_that_expire_one_session_after_their_only_generation_are_ghosts(
    log: Scala, session: int
) -> None:
    ids = three(log)
    found = kinds(all_expire(log, ids, 3000 + session))
    # The leader has sent SyncGroup, so somebody used its id: it is no ghost, and two are too few.
    assert (
        "ghost_members" not in found and "3 members were removed together" in found["died_together"]
    )
    assert "killed or cut off" in found["died_together"]


def test_a_member_whose_failure_only_the_round_tells_died_with_the_others(log: Scala) -> None:
    """The log begins behind the line that says that it failed."""
    ids = [log.join(0, "Empty"), *(log.join(k, "PreparingRebalance") for k in (10, 20))]
    log.lines.clear()
    log.prepare(0, f"removing member {ids[0]} on heartbeat expiration")
    for k, id in enumerate(ids[1:], 1):
        log.failed(k, id)
    log.empty(5)
    assert kinds(log.group())["died_together"].startswith("3 members expired together; the")


@pytest.mark.parametrize(("after", "ghosts"), [(10_000, True), (25_000, False), (339_000, False)])
def test_members_that_outlived_a_session_were_alive(log: Scala, after: int, ghosts: bool) -> None:
    first = log.join(0, "Empty")
    ids = [log.join(10 + k, "PreparingRebalance") for k in range(4)]
    log.stable(3000, 5, first)
    found = kinds(all_expire(log, [*ids, first], 3000 + after))
    assert ("ghost_members" in found) == ghosts
    if not ghosts:
        text = f"5 members were removed together, {after / 1000:.1f} s after the last generation"
        assert found["died_together"].startswith(text)


def test_members_of_a_second_generation_are_no_ghosts(log: Scala) -> None:
    ids = three(log)
    ids.append(log.join(9000, "Stable"))
    log.stable(9500, 4, ids[0])
    assert "ghost_members" not in kinds(all_expire(log, ids, 19_500))


def test_a_member_that_left_did_not_hold_up_the_round_that_its_leaving_began(log: Scala) -> None:
    a, b, c = three(log)
    log.left(60_000, b)
    log.leave_line(60_001, b)
    log.stable(60_020, 2, a)
    (_, second) = log.group().timeline.rounds
    assert second.causers == (b,) and b not in second.held_up_by
    assert set(second.held_up_by) == {a, c} and second.waited_for == "one of them joined last"


def test_elimination_names_the_only_other_member(log: Scala) -> None:
    a = log.join(0, "Empty")
    b = log.join(10, "PreparingRebalance")
    log.stable(3000, 2, a)
    log.left(60_000, b)
    log.leave_line(60_001, b)
    log.stable(62_000, 1, a)
    (_, second) = log.group().timeline.rounds
    assert (second.held_up_by, second.waited_for) == ((a,), "joined last")


def test_waits_are_counted_as_the_table_shows_them(log: Scala) -> None:
    a = log.join(0, "Empty")
    log.stable(10, 1, a)
    at = 1000
    for wait in (3000, 4000, 12_000):
        old, a = a, log.join(at, "Stable")
        log.failed(at + wait, old)
        log.stable(at + wait + 1, 1, a)
        at += wait + 60_000
    g = log.group()
    assert sum(r.waited_for.startswith("gone") for r in g.timeline.rounds) == 3
    assert kinds(g)["blocked_by_departed_member"].startswith("3 rebalances waited 19.0 s in all")


@pytest.mark.parametrize(
    ("closed", "kind"), [(True, "one_consumer_a_message"), (False, "never_closed")]
)
def test_consumers_that_come_one_after_the_other_are_no_storm(
    log: Scala, closed: bool, kind: str
) -> None:
    for k in range(12):
        at = 40_000 * k
        id = log.join(at, "Empty")
        log.stable(at + 3000, 1, id)
        if closed:
            log.left(at + 3500, id)
        else:
            log.failed(at + 15_000 + 900 * k, id, begins=True)
        log.empty(at + 26_000)
    found = kinds(log.group())
    assert "rebalance_storm" not in found and "12 consumers came one after" in found[kind]


def test_one_client_that_loops_is_a_storm_in_any_log(log: Scala) -> None:
    a = log.join(0, "Empty")
    b = log.join(10, "PreparingRebalance", "looper")
    log.stable(3000, 2, a)
    for k in range(8):
        at = 4000 + 1100 * k
        log.prepare(
            at, f"Updating metadata for member {b} during Stable; client reason: not provided"
        )
        log.stable(at + 20, 2, a)
    found = kinds(log.group())
    said = "8 rebalances in 7.7 s, all caused by looper: one every 1.1 s (median)"
    assert found["rebalance_storm"] == said
    assert "short_lived_members" not in found


@pytest.mark.parametrize(("client", "storm"), [("new-{}", False), ("same", True)])
def test_a_group_that_is_replaced_member_by_member_is_no_storm(
    log: Scala, client: str, storm: bool
) -> None:
    """It is one if the same client comes again and again."""
    phases = ["Empty", *["PreparingRebalance"] * 4]
    ids = [log.join(k, phase, f"old-{k}") for k, phase in enumerate(phases)]
    log.stable(3000, 5, ids[0])
    for k in range(5):
        at = 10_000 * (k + 1)
        log.left(at, ids[k])
        log.leave_line(at + 1, ids[k])
        log.stable(at + 100, 4, ids[-1])
        ids.append(log.join(at + 2000, "Stable", client.format(k)))
        log.stable(at + 2100, 5, ids[-1])
    assert ("rebalance_storm" in kinds(log.group())) is storm


def test_a_group_that_starts_is_no_storm(log: Scala) -> None:
    a = log.join(0, "Empty")
    log.stable(10, 1, a)
    for k in range(6):
        log.join(1000 * (k + 1), "Stable")
        log.stable(1000 * (k + 1) + 50, 2 + k, a)
    assert "rebalance_storm" not in kinds(log.group())
