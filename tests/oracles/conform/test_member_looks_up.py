"""FindCoordinator (`features.find_coordinator`) on Kafka's Java client: when it looks for its
coordinator, what it sends until it knows it, and that the model's member does the same.
"""

from __future__ import annotations

from typing import Any

import pytest
from java_situations import (
    BEAT,
    JOINING,
    ME,
    NETWORK,
    OWNED,
    POLL,
    READ,
)

from groupcheck.model.engine import UserError, evolve
from groupcheck.model.protocol.classic.client import (
    Client,
    Member,
    Prepare,
    commit_answer,
    heartbeat_answer,
    join_answer,
    leave_answer,
    sync_answer,
)
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)
from groupcheck.model.variants import load
from groupcheck.oracles.conform.member.conformance import conform_member
from groupcheck.oracles.conform.member.moves import POLL_MS, setup
from groupcheck.oracles.kafka.client import (
    Look,
    Schedule,
    Transcript,
    committed,
    coordinator_found,
    failed,
    joined,
    synced,
)
from groupcheck.oracles.kafka.client_commands import (
    Advance,
    Close,
    Command,
    CommitAsync,
)
from groupcheck.oracles.kafka.client_commands import (
    Answer as Answers,
)
from groupcheck.oracles.kafka.driver import Driver

SYNCING = (*JOINING, joined(1, ME, "another", None, "range"), NETWORK, NETWORK)
STABLE = (*SYNCING, synced(OWNED, "range"), NETWORK, POLL, READ)
WAIT, POLL_TIMEOUT = Advance(ms=30), Advance(ms=POLL_MS)
BEATS, COMMITS = (WAIT, BEAT, NETWORK), (CommitAsync(), NETWORK)
SENT_AWAY = (*BEATS, failed("Heartbeat", 16), NETWORK)
LOOKS = (*SENT_AWAY, POLL, NETWORK)  # FindCoordinator is in flight
NOBODY = {"key": "g", "nodeId": -1, "host": "", "port": -1, "errorMessage": None, "errorCode": 15}
NONE_FOUND = (Answers(api="FindCoordinator", data={"coordinators": [NOBODY]}), NETWORK)
FOUND = (coordinator_found(), NETWORK)


def run(
    driver: Driver, *commands: Command, begins: tuple[Command, ...] = STABLE
) -> tuple[list[str], Look]:
    """The requests that the commands make it send, and how it looks behind them."""
    (made,) = driver.run_all([Schedule((*begins, *commands), setup(2, autocommit=False))])
    assert isinstance(made, Transcript) and not made.refused, made
    sent = [(k, s) for k, step in enumerate(made.steps) if step.look for s in step.look.sent]
    known = max(s.n for k, s in sent if k < len(begins))
    told = {s.n: s.api for _, s in sent if s.n > known}
    return [told[n] for n in sorted(told)], made.last


# -- when it looks: answer -> whether the Java client and the model's member take the coordinator
# for unknown

ASKED: dict[str, tuple[tuple[Command, ...], tuple[Command, ...], Any]] = {
    "JoinGroup": (JOINING, (), join_answer),
    "SyncGroup": (SYNCING, (), sync_answer),
    "Heartbeat": (STABLE, BEATS, heartbeat_answer),
    "OffsetCommit": (STABLE, COMMITS, commit_answer),
    "LeaveGroup": (STABLE, (POLL_TIMEOUT, BEAT, NETWORK), leave_answer),
}
REQUESTS: dict[str, Request] = {
    "JoinGroup": JoinGroup(0),
    "SyncGroup": SyncGroup(0, 1),
    "Heartbeat": Heartbeat(0, 1),
    "OffsetCommit": OffsetCommit(0, 1, 1),
    "LeaveGroup": LeaveGroup(0),
}


def rules() -> dict[str, Any]:
    variant = load("classic")
    return {r.name: r for r in variant.spec(variant.scope_type(members=1, phases=True)).rules}


def seeks(rule: str, request: Request, code: int) -> bool:
    """Does the model's member look for the coordinator behind such an answer?"""
    found = rules()[rule]
    client = Client(Member.STABLE, 1, 0)
    given = (client, Link(answer=Answer(request, code)))
    scope = (found_scope(),) if found.takes_scope else ()
    (outcome,) = found.call(*given, *scope)
    link: Link = outcome[-1]
    return link.seeks


def found_scope() -> Any:
    return load("classic").scope_type(members=1, phases=True)


@pytest.mark.parametrize("code", [14, 15, 16, 25])
@pytest.mark.parametrize("api", ASKED)
def test_the_answer_after_which_it_looks_for_the_coordinator_is_the_models(
    api: str, code: int, coordinator: Driver
) -> None:
    begins, asks, rule = ASKED[api]
    told = committed(code) if api == "OffsetCommit" else failed(api, code)
    _, last = run(coordinator, *asks, told, NETWORK, begins=begins)
    assert (not last.coordinator) == seeks(rule.name, REQUESTS[api], code)
    assert last.coordinator or (code in (15, 16) and api != "LeaveGroup")


def test_the_rows_of_the_member_know_no_phases() -> None:
    with pytest.raises(UserError, match="know no phases"):
        conform_member("classic", kafka="4.3.0", settings={"phases": "yes"})


# -- until it knows it


def test_it_asks_again_after_15_and_heartbeats_once_it_knows(coordinator: Driver) -> None:
    asked, last = run(coordinator, *LOOKS)
    assert asked == ["Heartbeat", "FindCoordinator"] and not last.coordinator
    asked, last = run(coordinator, *LOOKS, *NONE_FOUND, WAIT, POLL, POLL, NETWORK)
    assert asked == ["Heartbeat", "FindCoordinator", "FindCoordinator"] and not last.coordinator
    asked, last = run(coordinator, *LOOKS, *FOUND, *BEATS)
    assert asked == ["Heartbeat", "FindCoordinator", "Heartbeat"]
    assert (last.state, last.generation, last.member) == ("STABLE", 1, ME)


def test_meanwhile_it_neither_heartbeats_nor_commits_and_owns_what_it_owns(
    coordinator: Driver,
) -> None:
    asked, last = run(coordinator, *LOOKS, *BEATS, *COMMITS, POLL, *BEATS)
    assert {*asked[1:]} == {"FindCoordinator"}
    assert last.owned and last.member == ME
    asked, _ = run(coordinator, *BEATS, failed("Heartbeat", NONE), NETWORK, *COMMITS, *BEATS)
    assert "OffsetCommit" in asked and asked.count("Heartbeat") == 2


def test_the_poll_timeout_is_noticed_only_once_it_knows_the_coordinator(
    coordinator: Driver,
) -> None:
    asked, last = run(coordinator, *LOOKS, POLL_TIMEOUT, BEAT, NETWORK, *BEATS)
    assert "LeaveGroup" not in asked and last.member == ME
    asked, last = run(coordinator, *LOOKS, POLL_TIMEOUT, BEAT, NETWORK, *FOUND, *BEATS)
    assert asked[-1] == "LeaveGroup" and not last.member
    poll_timeout, client = rules()["poll_timeout"], Client(Member.STABLE, 1, 0)
    assert not list(poll_timeout.call(client, Link(seeks=True), Budget(any=1)))
    assert list(poll_timeout.call(client, Link(), Budget(any=1)))


def test_it_sends_no_leave_group_if_it_closes_meanwhile(coordinator: Driver) -> None:
    assert run(coordinator, Close())[0] == ["LeaveGroup"]
    assert run(coordinator, *LOOKS, Close())[0] == ["Heartbeat", "FindCoordinator"]
    close, client = rules()["close"], Client(Member.STABLE, 1, 0)
    for link, label in ((Link(), "heard"), (Link(seeks=True), "unheard")):
        ((told, _, left, _),) = close.call(client, link, Budget(any=1))
        assert told == label and left.seeks
        assert (left.request is not None) == (label == "heard")


def test_a_sync_group_is_given_up_without_a_connection() -> None:
    """A commit behind JoinGroup may be answered 16 before SyncGroup is sent."""
    client = Client(Member.COMPLETING, 1, 0)
    syncs = evolve(client, prepare=Prepare.SYNC)
    ((after, link),) = rules()["send_sync"].call(syncs, Link(seeks=True))
    assert link == Link(seeks=True) and after.prepare == Prepare.DONE
