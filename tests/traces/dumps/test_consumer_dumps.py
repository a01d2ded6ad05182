"""The verdict on dumps of consumer groups (KIP-848): the records of members follow from each other
by the rule of the model, in every version and with static members, and no others do.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import Factory, define

from groupcheck.model.protocol.consumer.memory import State
from groupcheck.model.protocol.masks import numbers
from groupcheck.oracles.generate.consumer.broker import Words
from groupcheck.oracles.generate.consumer.happenings import (
    Bumped,
    Happening,
    Joined,
    Planned,
    Reconciled,
    Replaced,
    Went,
)
from groupcheck.oracles.generate.consumer.runs import Printed, scope_of
from groupcheck.traces.dumps.modern import WRONG_KEPT
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file

DUMP = Path(__file__).parents[2] / "data/dumps/dump-4.3.0.log.gz"
LINES = gzip.decompress(DUMP.read_bytes()).decode().splitlines()
STATES = {State.STABLE: 0, State.UNREVOKED: 1, State.UNRELEASED: 2}
MEMBER, EPOCH, TARGET, TARGET_EPOCH, ASSIGNMENT = "5", "3", "7", "6", "8"


def partitions(some: Any) -> list[dict[str, Any]]:
    return [{"topicId": "tT3cYFRQSSuZ5cpYfQ3zqg", "partitions": sorted(some)}] if some else []


@define
class Dump:
    """What happens to a group, as kafka-dump-log.sh prints the records of it."""

    lines: list[str] = Factory(list)
    # Member -> its target and its assignment.
    targets: dict[int, int] = Factory(dict)
    assigned: dict[int, set[int]] = Factory(dict)

    def write(self, kind: str, member: int | None, value: dict[str, Any] | None) -> None:
        key = {"groupId": "g"} | ({} if member is None else {"memberId": f"m{member}"})
        body = "<DELETE>" if value is None else json.dumps({"version": "0", "data": value})
        told = json.dumps({"type": kind, "data": key})
        at = len(self.lines)
        place = f"| offset: {at} CreateTime: {1_700_000_000_000 + at} keySize: 1 valueSize: 1"
        self.lines.append(f"{place} sequence: 0 headerKeys: [] key: {told} payload: {body}")

    def given(
        self, member: int, epoch: int, state: int, has: Any, gives_up: Mapping[int, int]
    ) -> None:
        value = {"memberEpoch": epoch, "previousMemberEpoch": 0, "state": state}
        value |= {"assignedPartitions": partitions(has)}
        value |= {"partitionsPendingRevocation": partitions(gives_up)}
        self.write(ASSIGNMENT, member, value)
        self.assigned[member] = {*has}

    def ends(self, member: int) -> None:
        for kind in (ASSIGNMENT, TARGET, MEMBER):
            self.write(kind, member, None)

    def hears(self, h: Happening) -> None:
        """Takes what happens."""
        match h:
            case Joined():
                self.write(MEMBER, h.member, {"subscribedTopicNames": ["t"]})
            case Replaced():
                self.ends(h.former)
                self.write(MEMBER, h.member, {"subscribedTopicNames": ["t"]})
                share = self.targets.pop(h.former, 0)
                self.target(h.member, share)
                self.given(h.member, 0, 0, self.assigned.pop(h.former, set()), {})
            case Went() if h.how == "away":
                self.given(h.member, -2, 0, self.assigned.get(h.member, set()), {})
            case Went():
                self.ends(h.member)
                self.targets.pop(h.member, None)
            case Bumped():
                self.write(EPOCH, None, {"epoch": h.epoch})
            case Planned():
                for member, share in h.shares.items():
                    if self.targets.get(member) != share:
                        self.target(member, share)
                self.write(TARGET_EPOCH, None, {"assignmentEpoch": h.epoch})
            case Reconciled():
                self.given(h.member, h.epoch, STATES[h.state], h.assigned, h.revoking)

    def target(self, member: int, share: int) -> None:
        self.targets[member] = share
        self.write(TARGET, member, {"topicPartitions": partitions(numbers(share))})


def replayed(path: Path, lines: list[str]) -> GroupReport:
    path.write_text("\n".join(lines) + "\n")
    report = replay_file(str(path))
    assert report.strange == 0, report.samples
    return next(g for g in report.groups if g.group in ("g", "modern"))


@pytest.mark.parametrize(
    ("kafka", "static", "seed"),
    [
        pytest.param(kafka, static, seed, marks=() if seed == 1 and static else pytest.mark.night)
        for kafka in ("4.4.0", "4.3.1", "4.2.0", "4.1.1", "4.0.0")
        for static in (0, 2)
        for seed in range(1, 7)
    ],
)
def test_every_record_of_a_run_follows_from_those_before(
    kafka: str, static: int, seed: int, tmp_path: Path
) -> None:
    dump = Dump()
    run = Printed(scope_of(kafka, static=static), Words(debug=True), Random(seed))
    run.broker = dump  # type: ignore[assignment]
    run.play()
    g = replayed(tmp_path / "dump.log", dump.lines)
    assert g.verdict == "holds", g.reason
    written = sum('"type": "8"' in line and "<DELETE>" not in line for line in dump.lines)
    assert g.requests is not None and written / 3 < g.requests.judged <= written


def test_a_recorded_coordinator_s_records_follow_from_those_before(tmp_path: Path) -> None:
    g = replayed(tmp_path / "dump.log", LINES)
    assert g.verdict == "holds" and "6 steps of members" in g.reason


def changed(what: str, to: str) -> list[str]:
    """The dump, with other text in the one record of an assignment that has it."""
    (at,) = [k for k, line in enumerate(LINES) if '"type":"8"' in line and what in line]
    return [*LINES[:at], LINES[at].replace(what, to), *LINES[at + 1 :]]


def test_a_partition_that_another_member_still_has_is_not_given(tmp_path: Path) -> None:
    first = '"memberEpoch":2,"previousMemberEpoch":0,"state":2,"assignedPartitions":[]'
    topic = '{"topicId":"jajZJHASRtuDJ0P-HJ8YKQ","partitions":[3]}'
    early = first.replace(
        '"state":2,"assignedPartitions":[]', f'"state":0,"assignedPartitions":[{topic}]'
    )
    g = replayed(tmp_path / "dump.log", changed(first, early))
    assert g.verdict == "violated"
    assert "is given jajZJHASRtuDJ0P-HJ8YKQ-3, which 8uwqCyYrTNqogibEiCckng still has" in g.reason


def test_a_member_gives_up_what_its_target_does_not_have(tmp_path: Path) -> None:
    told = (
        '"state":1,"assignedPartitions":[{"topicId":"jajZJHASRtuDJ0P-HJ8YKQ","partitions":[0,1]}]'
    )
    g = replayed(tmp_path / "dump.log", changed(told, told.replace("[0,1]", "[0]")))
    assert g.verdict == "violated" and "which no release of Kafka does" in g.reason


def test_all_wrong_steps_are_counted_and_the_first_are_shown(tmp_path: Path) -> None:
    """The member is given partition 1 again and again, which is not in its target."""
    dump = Dump()
    dump.write(EPOCH, None, {"epoch": 1})
    dump.write(MEMBER, 1, {"subscribedTopicNames": ["t"]})
    dump.target(1, 0b1)
    dump.write(TARGET_EPOCH, None, {"assignmentEpoch": 1})
    dump.given(1, 1, 0, {0}, {})
    for _ in range(WRONG_KEPT + 10):
        dump.given(1, 1, 0, {1}, {})
        dump.given(1, 1, 0, {0}, {})
    g = replayed(tmp_path / "dump.log", dump.lines)
    assert len(g.unexplained) == WRONG_KEPT
    assert g.unexplained_count == 2 * (WRONG_KEPT + 10)


def test_nothing_is_judged_behind_records_that_are_missing(tmp_path: Path) -> None:
    """The second member's first record may follow from what was compacted away."""
    joined = next(k for k, x in enumerate(LINES) if "offset: 16 " in x and '"modern"' in x)
    g = replayed(tmp_path / "dump.log", [*LINES[:joined], *LINES[joined + 1 :]])
    assert g.requests is not None and g.requests.judged == 1
