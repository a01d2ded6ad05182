"""Request logs of real groups: the verdict, and the facts that a witness beside the clients saw
(`witnessed.json`, by client id).
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from groupcheck.oracles.replay.request_facts_document import request_facts_document
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.traces.findings.report import FileReport
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parents[2] / "data" / "requests"
WITNESSED: dict[str, Any] = json.loads((DATA / "witnessed.json").read_text())
CLASSIC = ("zombie", "poll_timeout", "broker_restart")


def replay(name: str) -> FileReport:
    report = replay_file(str(DATA / f"live-{name}.log.gz"))
    assert (report.format, report.strange, report.understood) == (
        "request-log",
        0,
        report.lines,
    ), report.samples
    return report


def group(name: str, id: str = "g1") -> GroupReport:
    (found,) = [g for g in replay(name).groups if g.group == id]
    return found


def kinds(g: GroupReport) -> dict[str, str]:
    return {a.kind: a.text for a in g.anomalies}


@pytest.mark.parametrize("name", CLASSIC)
def test_every_answer_to_a_classic_eager_group_is_one_that_the_model_allows(name: str) -> None:
    g = group(name)
    judged = (
        sum(n for api, n in g.requests.facts.requests.items() if api != "OFFSET_FETCH")
        if g.requests
        else 0
    )
    assert (g.verdict, g.protocol, g.unexplained_count) == ("holds", "classic", 0)
    assert g.requests is not None and g.requests.judged == judged > 50


@pytest.mark.parametrize("name", WITNESSED)
def test_the_facts_are_those_that_the_witness_saw(name: str) -> None:
    seen, facts = WITNESSED[name], printed(request_facts_document(replay(name).groups))
    assert facts["requests"] == seen["requests"]
    assert facts["error_answers"] == seen["error_answers"]
    told = (
        "group",
        "generation",
        "protocol",
        "leader",
        "slowest",
        "joins",
        "joined_without_rebalance",
    )
    assert [{k: g[k] for k in told if k in g} for g in facts["generations"]] == seen["generations"]
    assert [{k: e[k] for k in ("group", "epoch", "slowest")} for e in facts["epochs"]] == seen[
        "epochs"
    ]
    assert facts["committed_offset_went_back"] == facts["commit_accepted_from_non_owner"] == []


@pytest.mark.parametrize("name", CLASSIC)
def test_rebalances_begin_when_the_broker_said_so(name: str) -> None:
    """The broker's own log names each with its time; ours are told from the requests alone, session
    ends included.
    """
    started = [
        (x.started.time, x.from_generation) for x in group(name).timeline.rounds if x.started
    ]
    seen = [
        (t, generation) for t, id, generation in WITNESSED[name]["rebalance_starts"] if id == "g1"
    ]
    for (ours, from_generation), (theirs, old) in zip(started, seen, strict=False):
        assert from_generation == old and ours is not None and abs(ours - theirs) <= 10
    assert (
        len(seen) <= len(started) <= len(seen) + 1
    )  # the recording may end before the last line of the broker's log


def test_the_frozen_member_is_the_zombie() -> None:
    g = group("zombie")
    assert kinds(g) == {
        "zombie": (
            "a tried to commit orders-0, orders-1, orders-2 in generation 2, 3.0 s after they had"
            " been given to b, and was refused"
        )
    }
    assert "zombie: a tried" in g.reason
    assert [(x.cause.value, x.causers[0][0]) for x in g.timeline.rounds] == [
        ("join", "a"),
        ("join", "b"),
        ("session_expired", "a"),
        ("join", "a"),
        ("leave", "a"),
        ("leave", "b"),
    ]


@pytest.mark.parametrize("name", ["zombie", "poll_timeout"])
def test_two_owners_at_once_are_those_that_the_programs_saw(name: str) -> None:
    facts = printed(request_facts_document([group(name)]))
    ours = [(o["partition"], o["earlier_owner"], o["later_owner"]) for o in facts["two_owners"]]
    assert ours == [(p, a, b) for p, a, b, _, _ in WITNESSED[name]["two_owners"]] != []
    for o, (_, _, _, t, until) in zip(
        facts["two_owners"], WITNESSED[name]["two_owners"], strict=True
    ):
        assert abs(o["t"] - t) <= 5 and abs(o["until"] - until) <= 5


def test_a_member_that_leaves_behind_its_programs_back_is_a_zombie_too() -> None:
    (zombie,) = [a for a in group("poll_timeout").anomalies if a.kind == "zombie"]
    assert (
        zombie.text
        == "b tried to commit orders-3, orders-4, orders-5 in generation 2, 2.1 s after they had"
        " been given to a, and was refused"
    )
    assert zombie.evidence[0].endswith("after it had left")


def test_a_broker_restart_is_an_interruption_and_no_rebalance() -> None:
    report = replay("broker_restart")
    g1, g2 = report.groups
    assert (g1.verdict, g2.verdict, report.verdict) == ("holds", "holds", "holds")
    assert [(x.from_generation, x.cause.value) for x in g1.timeline.rounds] == [
        (0, "join"),
        (1, "join"),
        (2, "leave"),
        (3, "leave"),
    ]
    assert kinds(g1).keys() == {"coordinator_away"}


def test_a_consumer_group_is_read_in_full() -> None:
    g = group("kip848")
    assert (g.verdict, g.protocol, g.lines) == ("holds", "consumer", replay("kip848").lines)


def test_a_static_member_that_comes_back_in_time_starts_no_round() -> None:
    """b is away for 1.1 s and comes back; c is away for longer than its session."""
    g = group("static_bounce")
    assert (g.verdict, g.protocol, g.unexplained_count) == ("holds", "static", 0)
    assert g.requests is not None and g.requests.judged > 50
    assert [(x.cause.value, x.causers[0][:3]) for x in g.timeline.rounds] == [
        ("join", "i-a"),
        ("join", "i-b"),
        ("session_expired", "i-c"),
        ("join", "i-c"),
    ]
    assert g.timeline.counts["static_returns"] == 1
    members = g.timeline.members.values()
    assert sorted(m.gone for m in members if m.instance == "i-b") == ["", "replaced"]


def test_static_and_dynamic_members_of_one_group_are_followed_together() -> None:
    """Two static processes are killed and come back, one of them while a dynamic member joins; two
    pairs of processes use one instance id at the same time; one stays away for too long.
    """
    g = group("static_mixed", "mix")
    assert (g.verdict, g.protocol, g.unexplained_count) == ("holds", "static", 0)
    assert g.requests is not None and g.requests.judged == 454
    assert [(x.cause.value, x.causers[0][:3]) for x in g.timeline.rounds] == [
        ("join", "i-1"),
        ("join", "d1-"),
        ("join", "i-2"),
        ("join", "d2-"),
        ("leave", "d1-"),
        ("session_expired", "i-1"),
        ("join", "i-1"),
        ("leave", "d2-"),
    ]
    assert g.timeline.counts["static_returns"] == 4
    fenced = [r for r in g.findings.refusals if r.what == "twin"]
    assert [(r.api, r.count) for r in fenced] == [("HEARTBEAT", 2)]


def test_a_cooperative_groups_answers_are_judged() -> None:
    g = group("coop_join_kill")
    assert (g.verdict, g.protocol, g.unexplained_count) == ("holds", "cooperative", 0)
    assert g.requests is not None and g.requests.judged > 50
    assert [x.cause.value for x in g.timeline.rounds][:6] == [
        "join",
        "join",
        "leader_rejoin",
        "join",
        "leader_rejoin",
        "session_expired",
    ]


def test_a_kip_848_group_has_its_epochs_and_members() -> None:
    rounds = group("kip848").timeline.rounds
    assert [(r.to_generation, r.cause.value, r.size, r.outcome) for r in rounds] == [
        (2, "join", 1, "assigned"),
        (3, "join", 2, "assigned"),
        (4, "join", 3, "assigned"),
        (5, "leave", 2, "assigned"),
        (6, "gone", 1, "assigned"),  # a silent member's partitions were given to another one
    ]
    assert rounds[-1].causers == ("Z7QpNdpeQ7e4G5GQkVGhHw",)
    # The broker's own log has the same members at the same epochs.
    theirs = replay_file(str(DATA.parent / "replay" / "live-kip848.log")).groups[0].timeline.rounds
    assert [r.causers for r in rounds[:4]] == [r.causers for r in theirs[:4]]


def test_a_group_that_changes_its_protocol_has_each_round_once(tmp_path: Path) -> None:
    parts = [
        gzip.decompress((DATA / f"live-{n}.log.gz").read_bytes()) for n in ("zombie", "kip848")
    ]
    (tmp_path / "mixed.log").write_bytes(b"".join(parts))
    (g,) = replay_file(str(tmp_path / "mixed.log")).groups
    starts = [(r.started.line, r.to_generation) for r in g.timeline.rounds if r.started]
    assert len(starts) == len(set(starts)) == 11
    assert [n for _, n in starts] == [1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6]
    assert [epoch for epoch, _, _ in g.timeline.epochs] == [2, 3, 4, 5, 6]
    assert "ids_never_used" not in kinds(g)
