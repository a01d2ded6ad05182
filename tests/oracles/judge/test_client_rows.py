"""A client's rows beside those of Kafka's Java member, which are the model's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from groupcheck.oracles.judge.client import events as said
from groupcheck.oracles.judge.client.differences import CUT, LEFT, FollowedRun, followed
from groupcheck.oracles.judge.client.moves import COOPERATIVE, FOLLOWS, Licence, Setting
from groupcheck.oracles.judge.client.record import (
    App,
    Asked,
    Closed,
    Ended,
    Event,
    Listed,
    Record,
    Stopping,
    Told,
)
from groupcheck.oracles.judge.client.ways import KINDS, coverage, every_kind, kinds_file, unmet

ALL = frozenset({("t", 0), ("t", 1)})
ONE = frozenset({("t", 0)})


class Wire:
    """Events of one run, 0.1 s apart."""

    def __init__(self) -> None:
        self.at, self.number = 0.0, 0
        self.events: list[Event] = []

    def _next(self, seconds: float) -> float:
        self.at += seconds
        return self.at

    def ask(self, api: str, after: float = 0.1, **about: Any) -> int:
        self.number += 1
        of: dict[str, Any] = {"member": "m", "generation": 1} | about
        if api == "JoinGroup":
            of["generation"] = -1
        self.events.append(Asked(self._next(after), self.number, 2, 2, api, **of))
        return self.number

    def tell(self, number: int, error: int = 0, **about: Any) -> None:
        self.events.append(Told(self._next(0.1), number, error, **about))

    def exchange(self, api: str, error: int = 0, **about: Any) -> None:
        self.tell(self.ask(api, **about), error)

    def joins(self, generation: int = 1, share: Iterable[tuple[str, int]] = ALL) -> None:
        if generation == 1:
            self.tell(self.ask("JoinGroup", member=""), 79, member="m")
        self.syncs(self.ask("JoinGroup"), generation, share)

    def syncs(self, join: int, generation: int, share: Iterable[tuple[str, int]] = ALL) -> None:
        self.tell(join, member="m", generation=generation)
        sync = self.ask("SyncGroup", generation=generation)
        self.tell(sync, share=frozenset(share))

    def followed(self, setting: Setting = FOLLOWS) -> FollowedRun:
        events = (*self.events, Ended(self._next(0.1), 0))
        return followed(Record(events, {"t": 2}, 3000, 5000), setting)

    def rows(self, setting: Setting = FOLLOWS) -> list[str]:
        return [f"{one.row}: {one.root}" for one in self.followed(setting).differences]


@pytest.fixture
def wire() -> Wire:
    one = Wire()
    one.joins()
    return one


def test_what_kafkas_member_does_is_no_difference(wire: Wire) -> None:
    wire.exchange("Heartbeat", 27)
    wire.exchange("OffsetCommit", offsets={("t", 0): 3})
    wire.joins(2)
    wire.exchange("Heartbeat", 25, generation=2)
    wire.tell(wire.ask("JoinGroup", member=""), 79, member="m2")
    found = wire.followed()
    assert found.differences == [] and found.reason == ""
    assert ("STABLE", True, "Heartbeat", 27) in found.kinds


def test_requests_that_were_under_way_before_the_answer_are_no_difference(wire: Wire) -> None:
    beat = wire.ask("Heartbeat")
    commit = wire.ask("OffsetCommit", offsets={("t", 1): 3})
    wire.tell(beat, 25)
    wire.tell(commit, 25)
    wire.ask("JoinGroup", member="")
    assert wire.rows() == []


def test_a_commit_from_outside_is_a_row_that_differs_and_the_rest_is_followed(wire: Wire) -> None:
    wire.exchange("Heartbeat", 25)
    wire.exchange("OffsetCommit", 25, member="", generation=-1, offsets={("t", 0): 3})
    wire.tell(wire.ask("JoinGroup", member=""), 79, member="m2")
    (row,) = wire.rows()
    assert row.startswith(
        "no member, owns partitions (Heartbeat was answered 25 UNKNOWN_MEMBER_ID)"
    )
    assert "OffsetCommit with another member id" in row


def test_a_commit_of_what_it_does_not_own_differs(wire: Wire) -> None:
    wire.exchange("Heartbeat", 27)
    wire.joins(2, ONE)
    wire.exchange("OffsetCommit", generation=2, offsets={("t", 1): 3})
    (row,) = wire.rows()
    assert "OffsetCommit with another partitions" in row


def test_a_member_that_does_not_join_when_it_is_told_to_differs_once(wire: Wire) -> None:
    wire.exchange("Heartbeat", 27)
    for _ in range(5):
        wire.tell(wire.ask("Heartbeat", after=1.0), 27)
    rows = wire.rows()
    assert len(rows) == 1 and "it sends nothing" in rows[0] and "JoinGroup" in rows[0]


def test_a_member_whose_sync_group_was_cut_off_has_not_joined(wire: Wire) -> None:
    wire.exchange("Heartbeat", 27)
    join = wire.ask("JoinGroup")
    wire.tell(join, member="m", generation=2)
    wire.ask("SyncGroup", generation=2)
    wire.events.append(Closed(wire._next(0.1), 2, 2, cut=True))
    wire.exchange("OffsetCommit", generation=2, offsets={("t", 0): 3})
    found = wire.followed()
    assert [one.got for one in found.differences] == ["OffsetCommit"]
    assert ("COMPLETING_REBALANCE", False, CUT, 0) in found.kinds


def test_a_cooperative_member_claims_what_it_owns() -> None:
    for claims, differ in ((ALL, 0), (ONE, 1)):
        wire = Wire()
        listed = (Listed("cooperative-sticky"),)
        wire.tell(wire.ask("JoinGroup", member="", protocols=listed), 79, member="m")
        wire.syncs(wire.ask("JoinGroup", protocols=listed), 1)
        wire.exchange("Heartbeat", 27)
        wire.exchange("OffsetCommit", offsets={("t", 0): 3})
        wire.ask("JoinGroup", protocols=(Listed("cooperative-sticky", owned=claims),))
        assert len(wire.rows(COOPERATIVE)) == differ


def test_records_of_what_was_given_up_differ_after_a_while(wire: Wire) -> None:
    wire.exchange("Heartbeat", 27)
    wire.ask("JoinGroup")
    for seconds, differ in ((0.3, 0), (1.5, 1), (0.1, 1)):
        wire.events.append(App(wire._next(seconds), said.Delivered(("t", 0), 5, 5)))
        assert len(wire.rows()) == differ


def test_a_member_that_is_closed_commits_and_leaves(wire: Wire) -> None:
    wire.exchange("OffsetCommit", offsets={("t", 0): 3})
    wire.events.append(Stopping(wire._next(0.1)))
    kept = list(wire.events)
    wire.exchange("OffsetCommit", offsets={("t", 0): 4})
    wire.exchange("LeaveGroup", members=("m",))
    assert wire.rows() == [] and ("STABLE", True, LEFT, 0) in wire.followed().kinds
    wire.events = kept
    wire.exchange("LeaveGroup", members=("m",))
    assert [one.root for one in wire.followed().differences] == [
        "LeaveGroup in place of Heartbeat or OffsetCommit"
    ]


def test_an_error_that_is_fatal_to_the_client_alone_is_one_row(
    wire: Wire,
) -> None:
    wire.exchange("Heartbeat", 30)
    wire.exchange("LeaveGroup", members=("m",))
    wire.events.append(App(wire._next(0.1), said.Failed("GROUP_AUTHORIZATION_FAILED", fatal=True)))
    (row,) = wire.rows()
    assert "it tells of a fatal error" in row


def test_the_kinds_of_rows_are_those_that_a_coordinator_can_bring_about() -> None:
    every = every_kind(Licence.DOCUMENTED)
    assert ("STABLE", True, "Heartbeat", 27) in every
    assert ("STABLE", True, "Heartbeat", 79) not in every
    met = {("STABLE", True, "Heartbeat", 27)}
    assert coverage(met, Licence.DOCUMENTED).startswith("1 of 33 (request, code), 1 of ")
    ways = dict(unmet(met, Licence.DOCUMENTED))
    assert ways["STABLE: Heartbeat is answered 25 UNKNOWN_MEMBER_ID"][-1].startswith("Heartbeat")
    assert "STABLE: Heartbeat is answered 27 REBALANCE_IN_PROGRESS" not in ways


@pytest.mark.night
def test_the_file_of_kinds_is_what_a_search_through_the_rows_finds(
    pytestconfig: pytest.Config,
) -> None:
    if pytestconfig.getoption("--rewrite"):
        KINDS.write_text(kinds_file(), "utf-8")
    changed = "the rows have changed: pytest --night --rewrite"
    assert KINDS.read_text("utf-8") == kinds_file(), changed


def test_a_hostile_environment_has_as_many_kinds_as_the_members_rows() -> None:
    answers = {k for k in every_kind(Licence.HOSTILE) if not k[2].startswith("the ")}
    assert len({(what, code) for _, _, what, code in answers}) == 85
    assert len({(state, what, code) for state, _, what, code in answers}) == 221
