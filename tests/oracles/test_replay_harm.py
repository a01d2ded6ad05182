"""What a group's users felt, in one sentence for each kind of harm."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from groupcheck.oracles.replay.harm import finding_facts, harm
from groupcheck.oracles.replay.lanes import picture
from groupcheck.traces.exchanges.owners import TwoOwners
from groupcheck.traces.exchanges.request_facts import Rewind
from groupcheck.traces.findings.findings import (
    Absence,
    Empty,
    Findings,
    Jump,
    OpenRebalance,
    RefusedRequests,
    Restart,
    Setting,
    UnownedPartition,
    Window,
)
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parent.parent / "data"
WINDOW = Window(1000, 4000, 7)


def test_time_without_members_counts_unless_they_left_by_choice():
    left = Empty(WINDOW, ("a",), "left", by_choice=True)
    died = Empty(WINDOW, ("a",), "expired", by_choice=False)
    assert list(harm(Findings(empty=(left,)))) == []
    assert list(harm(Findings(empty=(died, died)))) == [
        "the group had no members for 6.0 s (2 times)"
    ]


def test_each_kind_of_harm_has_one_sentence():
    found = Findings(
        unowned=(
            UnownedPartition("t-1", WINDOW, None, "a", "b"),
            UnownedPartition("t-0", Window(1000, 1500, 7, open=True), None, "a", ""),
        ),
        two_owners=(TwoOwners("g", "t-0", "a", "b", 1000, 3500, "HEARTBEAT"),),
        went_back=(Rewind(5, 9, "g", "t-0", "b", 40, 100, "a"),),
        jumped=(Jump("t-1", "a", 900, 100, 6, 10),),
        refusals=(
            RefusedRequests(
                "expired", "OFFSET_COMMIT", 25, "UNKNOWN_MEMBER_ID", 3, Counter(a=3), WINDOW, ""
            ),
            RefusedRequests(
                "full", "JOIN_GROUP", 81, "GROUP_MAX_SIZE_REACHED", 1, Counter(), WINDOW, ""
            ),
        ),
        unsettled=OpenRebalance(WINDOW, "join", ("a",)),
    )
    assert list(harm(found)) == [
        "2 partitions had no owner, t-1 for 3.0 s",
        "1 partition had two owners at once: t-0 was owned by a and b for 2.5 s",
        "offsets of t-0 went back: 60 records read again",
        "offsets of t-1 jumped ahead",
        "3 commits refused (UNKNOWN_MEMBER_ID)",
        "the log ends in a rebalance that waits for a, after 3.0 s",
    ]


def test_the_other_findings_are_facts():
    absent = [Absence(f"a-{k}", "a", WINDOW, "dead") for k in range(3)]
    found = Findings(
        absences=(*absent, Absence("b-1", "b", WINDOW, "slow")),
        restarts=(Restart(WINDOW, "restart", "from_zero", 1),),
        settings=(
            Setting("session.timeout.ms", 700, False, ("a",)),
            Setting("session.timeout.ms", 45_000, True, ("b",)),
        ),
    )
    assert list(finding_facts(found)) == [
        ("absent", "a was not heard of any more under its id at 00:00:01.000, for 3.0 s (3 times)"),
        ("absent", "b was alive but did not join in time at 00:00:01.000, for 3.0 s"),
        ("coordinator", "was away at 00:00:01.000, for 3.0 s; the group's state was lost"),
        ("setting", "session.timeout.ms: 700 ms of a, about 45000 ms (measured) of b"),
    ]


def test_findings_are_marked_in_the_picture():
    (group,) = replay_file(str(DATA / "requests" / "live-zombie.log.gz")).groups
    told = picture([group], [], []).document()
    marked = {text for *_, kind, text, _ in told["marks"] if kind == "harm"}
    assert {"orders-0 was owned by a and b", "orders-0 had no owner"} <= marked
    assert [item[4] for item in told["items"] if item[3] == "away"] == [
        "it was silent and came back with its old id"
    ]
