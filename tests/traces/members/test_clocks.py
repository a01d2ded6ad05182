"""The clocks of processes, from lines that have to be in order: the difference is found, said and
taken out, and nothing is said where lines do not belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from attrs import evolve

from groupcheck.oracles.replay.report import replay
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.members.clocks import Skew

ID = "c-1-11111111-2222-3333-4444-555555555555"
COORDINATOR = "(kafka.coordinator.group.GroupCoordinator)"


def at(ms: int) -> str:
    time = datetime(2024, 5, 1, 10) + timedelta(milliseconds=ms)
    return f"{time:%Y-%m-%d %H:%M:%S},{ms % 1000:03}"


def broker(member: str = ID) -> list[str]:
    told = [
        (1_010, f"Dynamic Member with unknown member id joins group shop in Empty state. Created a"
                f" new member id {member} for this member and add to the group."),
        (4_020, "Stabilized group shop generation 1 (__consumer_offsets-1) with 1 members"),
        (4_050, f"Assignment received from leader {member} for group shop for generation 1. The"
                " group has 1 members, 0 of which are static."),
    ]  # fmt: skip
    return [f"[{at(ms)}] INFO [GroupCoordinator 1]: {text} {COORDINATOR}" for ms, text in told]


def client(ahead: int, exact: bool = True) -> list[str]:
    named = f"Generation{{generationId=1, memberId='{ID}', protocol='range'}}"
    told = [
        (1_001, "(Re-)joining group"),
        (1_021, f"Request joining group due to: need to re-join with the given member-id: {ID}"),
        (1_025, "(Re-)joining group"),
        (4_031, f"Successfully joined group with generation {named}"),
        (4_041, f"Finished assignment for group at generation 1: {{{ID}=[]}}"),
        (4_061, f"Successfully synced group in generation {named}"),
        (9_061, "Group coordinator b:9092 (id: 2147483646 rack: null) is unavailable or invalid due"
                " to cause: session timed out without receiving a heartbeat response."),
    ]  # fmt: skip
    cut = None if exact else -4
    return [
        f"{at(ms + ahead)[:cut]} INFO [Consumer clientId=c-1, groupId=shop] {text}"
        for ms, text in told
    ]


def evidence(logs: dict[str, Sequence[str]]) -> Evidence:
    out = Evidence()
    for name, lines in logs.items():
        for said in ClientLog().statements(enumerate(lines, 1)):
            out.add(evolve(said, log=name))
    return out


def skews(logs: dict[str, Sequence[str]]) -> tuple[Skew, ...]:
    (group,) = evidence(logs).by_group()
    return group.skews


@pytest.mark.parametrize("ahead", [0, 2_300, -45_000, 7_200_000])
def test_the_difference_lies_between_its_bounds(ahead: int) -> None:
    (skew,) = skews({"b.log": broker(), "c.log": client(ahead)})
    assert skew.at_least <= ahead <= skew.at_most
    assert skew.at_most - skew.at_least < 30
    assert skew.differs == (ahead != 0)
    assert (skew.process, skew.broker, skew.pairs) == (("c.log", ""), ("b.log", ""), 6)


def test_whole_seconds_bound_it_less() -> None:
    (skew,) = skews({"b.log": broker(), "c.log": client(60_000, exact=False)})
    assert skew.at_least <= 60_000 <= skew.at_most
    assert 500 < skew.at_most - skew.at_least < 2_100


def test_statements_get_the_times_of_the_broker_s_clock() -> None:
    (group,) = evidence({"b.log": broker(), "c.log": client(60_000)}).by_group()
    times: list[Statement] = group.all("session_timed_out")
    (right,) = evidence({"c.log": client(0)}).by_group()[0].all("session_timed_out")
    assert abs((times[0].time or 0) - (right.time or 0)) < 30


@pytest.mark.parametrize(
    "logs",
    [
        {"b.log": broker("c-1-of-another-cluster"), "c.log": client(5_000)},
        {"b.log": [*broker(), *broker()], "c.log": client(5_000)},
        {"b.log": broker()[:1], "c.log": client(5_000)[3:]},
        {"one.log": [*broker(), *client(5_000)]},
        {"b.log": broker(), "c.log": [*client(5_000)[:3], *client(9_000)[3:]]},
    ],
    ids=["other ids", "told twice", "nothing in common", "one process", "a clock that was set"],
)
def test_nothing_is_said_about_clocks_that_cannot_be_compared(logs: dict[str, list[str]]) -> None:
    assert skews(logs) == ()


def test_the_answer_says_it_in_every_form(tmp_path) -> None:
    (tmp_path / "b.log").write_text("\n".join(broker()))
    (tmp_path / "c.log").write_text("\n".join(client(2_300)))
    found = replay([tmp_path / "b.log", tmp_path / "c.log"])
    (group,) = found.document()["groups"]
    (clock,) = group["clocks"]
    assert clock["ahead_ms"]["at_least"] <= 2_300 <= clock["ahead_ms"]["at_most"]
    for shown in (str(found), found.markdown(), found.html()):
        assert "ahead of that of" in " ".join(shown.split())
