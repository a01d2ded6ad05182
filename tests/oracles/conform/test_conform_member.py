"""The model's member on Kafka's Java client: every row agrees, and a wrong member is noticed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import attrs
import pytest

from groupcheck.model.engine import UserError, evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.mutations import all_mutations
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults as faults
from groupcheck.model.protocol.classic import offsets
from groupcheck.model.protocol.classic.client import Prepare
from groupcheck.model.protocol.classic.features.commit_styles import FAMILY as STYLES
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID
from groupcheck.model.protocol.transform import Change, outcomes_changed, rebuilt, rewritten
from groupcheck.model.protocol.variant import UNWRITTEN
from groupcheck.model.variants import load, names
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.conform.member.conformance import conform_member
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.member_memory import Does, Input, Memory, Outcome
from groupcheck.oracles.conform.member.moves import Observations, Standing, setup
from groupcheck.oracles.conform.member.promises import broken
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.conform.member.tour import NO_ROW, MemberRow, Tour, different
from groupcheck.oracles.kafka.client import Look
from groupcheck.oracles.kafka.client_commands import Poll
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.reading import read

CLASSIC = load("classic")
SMALL = {"partitions": "1", "autocommit": "yes"}
# Bugs of a style of commits show in its own rows (test_conform_commit_styles.py).
OF_THE_MEMBER = [
    m.id
    for m in all_mutations()
    if m.concerns(CLASSIC) and m.family != STYLES and not {*m.rules} & CLASSIC.coordinator
]


def test_every_row_of_a_small_scope_agrees(
    coordinator: Driver, misfits: Callable[[Any], list[str]]
) -> None:
    result = conform_member(
        "classic",
        kafka="4.3.0",
        generations=1,
        settings={"partitions": "1", "autocommit": "no"},
        findings=True,
        driver=coordinator,
    )
    document = result.document()
    assert misfits(document) == []
    every = ROWS + OF_STYLES
    assert document["rows"] == document["executed"] == document["agreeing"] == every
    assert document["never_executed"] == ["lose_request:commit", "send_join:committed_first"]
    assert document["executed_from"] == {"real_memories": 1_017, "executions": 17_314}
    assert document["group_steps"] == {"states": 275, "compared": 7374, "differing": 0}
    assert {*document["not_executed"]} == {"closed", "crash", "late_commit"}
    assert document["excuses"] == EXCUSED
    assert document["asked"] == ROWS
    assert [(f["promise"], f["kind"]) for f in document["findings"]] == [
        ("goes_on", "FencedInstanceIdException in PREPARING_REBALANCE"),
        ("goes_on", "FencedInstanceIdException in STABLE"),
        ("goes_on", "FencedInstanceIdException in UNJOINED"),
        ("keeps_its_share", "a callback throws"),
        ("leaves", "STABLE, and a callback throws"),
        ("leaves", "UNJOINED"),
        ("leaves", "UNJOINED, and a callback throws"),
        ("told_once", "it has thrown"),
    ]
    assert result.exit_code == 3  # without commits in poll


@pytest.mark.night  # rows of a member that commits by itself: `test_conform_commit_styles.py`, too
def test_every_row_of_the_groups_model_agrees_and_every_outcome_is_executed(
    coordinator: Driver,
) -> None:
    scope = rows_of("classic", 1, None, SMALL)[0].scope
    tour = Tour(Rows(scope, CLASSIC.spec(scope)), coordinator)
    tour.run()
    assert tour.counts.rows == tour.counts.agreeing == MODEL_ROWS
    assert tour.excused["paused partitions"] == 6362
    assert tour.rows.outcomes_named - tour.fired == {"closed", "crash", "late_commit"}


# -- a wrong member


def healthy() -> Rows:
    """The rows of the group's model at a scope in which every mistake below shows."""
    wide = {"partitions": "1", "records": "2", "autocommit": "yes"}
    scope = rows_of("classic", 1, None, wide)[0].scope
    return Rows(scope, CLASSIC.spec(scope))


@cache
def rows_in_order() -> list[tuple[MemberRow, tuple[Outcome, ...]]]:
    """Every row of the healthy model, breadth first, with its outcomes; none is executed."""
    rows = healthy()
    standings = {rows.start(): Standing(setup(rows.scope.partition_count, rows.scope.autocommit))}
    frontier, found = [rows.start()], []
    for memory in frontier:
        for given in rows.inputs(memory):
            told = rows.outcomes(memory, given)
            for outcome in told:
                row = MemberRow(memory, given, outcome, standings[memory])
                found.append((row, told))
                if outcome.after is not None and outcome.after not in standings:
                    standings[outcome.after] = row.standing.then(row.probe.row)
                    frontier.append(outcome.after)
    return found


def executed(rows: Rows, row: MemberRow, driver: Driver) -> list[str]:
    (seen,) = driver.run_all([row.probe])
    return different(rows, row, seen)


def noticed(wrong: Rows, driver: Driver, among: int | None = None) -> list[str]:
    """What is different about the first row that a wrong model tells otherwise, executed on the
    real member, or about a row that follows. All rows before it are those of the healthy model,
    which agree.
    """
    right = healthy()
    for row, told in rows_in_order()[:among]:
        new = wrong.outcomes(row.before, row.given)
        for outcome in [o for o in new if o not in told] or (() if new else (None,)):
            bad = attrs.evolve(row, outcome=outcome)
            return executed(wrong, bad, driver) or following(wrong, bad, driver)
        if wrong.may_process(row.before) != right.may_process(row.before):
            return executed(wrong, row, driver)
    return []


def following(wrong: Rows, row: MemberRow, driver: Driver, polls: int = 1) -> list[str]:
    """What is different about a row that follows this one, or this one and another poll."""
    assert row.outcome is not None and row.outcome.after is not None
    memory, standing = row.outcome.after, row.standing.then(row.probe.row)
    for given in wrong.inputs(memory):
        for outcome in wrong.outcomes(memory, given) or (None,):
            then = MemberRow(memory, given, outcome, standing)
            if what := executed(wrong, then, driver):
                return what
            again = given.does == Does.POLL and polls
            if again and (what := following(wrong, then, driver, polls - 1)):
                return what
    return []


def with_rules(*rules: Rule) -> Rows:
    scope = healthy().scope
    return Rows(scope, rebuilt(CLASSIC.spec(scope), rules))


def mutated(id: str) -> Rows:
    scope = healthy().scope
    (mutation,) = [m for m in all_mutations() if m.id == id]
    return Rows(scope, mutation.apply(CLASSIC.spec(scope)))


@pytest.mark.parametrize("id", OF_THE_MEMBER)
def test_every_known_bug_of_the_member_is_noticed(id: str, coordinator: Driver) -> None:
    assert noticed(mutated(id), coordinator)


def test_there_are_known_bugs_of_the_member() -> None:
    assert len(OF_THE_MEMBER) >= 9


def changed(rule: Rule, change: Change) -> Rows:
    return with_rules(outcomes_changed(rule, change))


def with_client(rule: Rule, label: str, **fields: Any) -> Rows:
    """Where this outcome of the rule fires, the member's fields become these."""

    def change(before: dict[str, Any], fired: str, after: dict[str, Any]) -> dict[str, Any]:
        return {**after, "client": evolve(after["client"], **fields)} if fired == label else after

    return changed(rule, change)


def with_request(rule: Rule, label: str, **fields: Any) -> Rows:
    """Where this outcome of the rule fires, the request that it sends has these fields."""

    def change(before: dict[str, Any], fired: str, after: dict[str, Any]) -> dict[str, Any]:
        if fired != label:
            return after
        link: Link = after["link"]
        assert link.request is not None
        return {**after, "link": evolve(link, request=evolve(link.request, **fields))}

    return changed(rule, change)


def dropped(rule: Rule, label: str = "") -> Rows:
    """The rule without this outcome."""
    return changed(rule, lambda before, fired, after: None if fired == label else after)


def relabelled(rule: Rule, label: str, other: str) -> Rows:
    """Where this outcome would fire, nothing changes, and the rule says another one."""

    def call(*args: Any) -> Iterator[Any]:
        client, link = args[0], args[1]
        for fired, after, left, *more in rule.call(*args):
            if fired == label:
                yield other, client, evolve(link, answer=None), *more
            else:
                yield fired, after, left, *more

    return with_rules(rewritten(rule, call))


def allowing(rule: Rule, label: str, **fields: Any) -> Rows:
    """The rule may do something else besides."""

    def call(*args: Any) -> Iterator[Any]:
        for outcome in rule.call(*args):
            yield outcome
            if outcome[0] == label:
                yield label, evolve(outcome[1], **fields), *outcome[2:]

    return with_rules(rewritten(rule, call))


def kept(rule: Rule, label: str, name: str) -> Rows:
    """Where this outcome fires, a field of the member stays as it was."""

    def change(before: dict[str, Any], fired: str, after: dict[str, Any]) -> dict[str, Any]:
        value = getattr(before["client"], name)
        now = evolve(after["client"], **{name: value})
        return {**after, "client": now} if fired == label else after

    return changed(rule, change)


def _another_code(before: dict[str, Any], fired: str, after: dict[str, Any]) -> dict[str, Any]:
    client = after["client"]
    return {**after, "client": evolve(client, failed=81)} if client.failed == 30 else after


MISTAKES = {
    "JoinGroup claims no generation": with_request(
        members.send_join, "sent", claimed=NO_GENERATION
    ),
    "JoinGroup without the id": with_request(members.send_join, "sent", id=NO_ID),
    "SyncGroup of another generation": with_request(members.send_sync, "", generation=7),
    "an early commit of another generation": with_request(
        members.send_join, "committed_first", generation=NO_GENERATION
    ),
    "no commit before JoinGroup": dropped(members.send_join, "committed_first"),
    "no heartbeats": dropped(members.send_heartbeat),
    "no SyncGroup": dropped(members.send_sync),
    "onJoinComplete never runs": dropped(members.join_complete),
    "79 keeps the generation": kept(members.join_answer, "id_given", "generation"),
    "79 gives no id": kept(members.join_answer, "id_given", "id"),
    "25 to JoinGroup keeps the id": kept(members.join_answer, "refused", "id"),
    "22 and 25 to SyncGroup keep the generation": kept(
        members.sync_answer, "refused", "generation"
    ),
    "22 to a heartbeat forgets the id": with_client(members.heartbeat_answer, "refused", id=NO_ID),
    "22 and 25 to a heartbeat give up the partitions at once": with_client(
        members.heartbeat_answer, "refused", owned=0
    ),
    "27 to a heartbeat is ignored": relabelled(
        members.heartbeat_answer, "told_to_rejoin", "ignored"
    ),
    "82 to a heartbeat is ignored": relabelled(members.heartbeat_answer, "fatal", "ignored"),
    "22 and 25 to a commit are ignored": relabelled(members.commit_answer, "refused", "ignored"),
    "27 to a commit is ignored": kept(members.commit_answer, "rebalancing", "rejoin"),
    "a failed commit is not sent again": kept(members.commit_answer, "retry", "prepare"),
    "a commit that is hopeless is sent again": with_client(
        members.commit_answer, "dropped", prepare=Prepare.NEEDED
    ),
    "an error of JoinGroup resets the member": with_client(members.join_answer, "fatal", id=NO_ID),
    "code 30 is thrown as 81": changed(members.join_answer, _another_code),
    "a hopeless commit is told as one that may be tried again": relabelled(
        members.commit_answer, "dropped", "retry"
    ),
    "15 to SyncGroup prepares again": with_client(
        members.sync_answer, "retry", prepare=Prepare.NEEDED
    ),
    "a joined member may be STABLE at once": allowing(
        members.join_answer, "joined", state=members.Member.STABLE
    ),
    "a late poll keeps the id": kept(faults.poll_timeout, "heard", "id"),
    "a closing member may stay silent": dropped(faults.close, "heard"),
    "offsets are never fetched": dropped(offsets.fetch_offset),
    "a lost JoinGroup is forgotten": kept(faults.lose_response, "", "prepare"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_member_is_noticed(mistake: str, coordinator: Driver) -> None:
    assert noticed(MISTAKES[mistake], coordinator)


def test_a_healthy_member_has_no_row_that_is_told_otherwise(coordinator: Driver) -> None:
    assert noticed(healthy(), coordinator, among=3000) == []


def test_an_input_without_a_row_is_a_difference(coordinator: Driver) -> None:
    assert noticed(MISTAKES["no SyncGroup"], coordinator) == [NO_ROW]


# -- promises

RANGE = {"protocols": [{"name": "range", "metadata": {"owned": {}}}]}
JOINS = {"n": 9, "api": "JoinGroup", "v": 9, "to": "coordinator", "timeout": 1, "data": RANGE}
OWNS = {"t": [0]}
PREPARING: dict[str, Any] = {"state": "PREPARING_REBALANCE", "owned": {}, "positions": {}}


def looked(**changes: Any) -> Look:
    """A look at a STABLE member that owns t-0 up to record 3, with changes."""
    seen = {
        **dict.fromkeys(("rejoin", "joining", "committing", "leader", "beating"), False),
        "now": 0,
        "state": "STABLE",
        "generation": 1,
        "member": "c-0",
        "protocol": "range",
        "reason": "",
        "prepare": True,
        "coordinator": True,
        "owned": OWNS,
        "paused": {},
        "pendingRevocation": {},
        "positions": {"t": {"0": 3}},
        "heart": "on",
        "timers": {},
        "sent": [],
        "unsent": [],
        "calls": [],
    }
    return read({**seen, **changes}, Look)


def commits(offset: int) -> dict[str, Any]:
    topic = {"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": offset}]}
    return {**JOINS, "api": "OffsetCommit", "data": {"topics": [topic]}}


@pytest.mark.parametrize(
    ("changes", "does", "broken_ones"),
    [
        ({}, Does.POLL, []),
        ({"sent": [JOINS]}, Does.POLL, ["gives_up_first"]),
        ({"sent": [JOINS], **PREPARING}, Does.POLL, []),
        (
            {"sent": [JOINS, {**JOINS, "n": 10}], **PREPARING},
            Does.POLL,
            ["joins_once"],
        ),
        ({"sent": [commits(3)]}, Does.POLL, []),
        ({"sent": [commits(4)]}, Does.POLL, ["commits_processed"]),
        ({"owned": {}, "rejoin": True}, Does.POLL, ["owns_what_it_reads"]),
        ({}, Does.CLOSE, ["leaves"]),
        ({}, Does.UNSUBSCRIBE, ["leaves"]),
        ({"owned": {}, "positions": {}}, Does.POLL, ["keeps_its_share"]),
        ({"owned": {}, "positions": {}, "rejoin": True}, Does.POLL, []),
        ({"sent": [{**JOINS, "api": "LeaveGroup"}]}, Does.CLOSE, []),
    ],
)
def test_a_broken_promise_of_a_member_is_found(
    changes: dict[str, Any], does: Does, broken_ones: list[str]
) -> None:
    seen = Observations(looked(), ((Poll(), looked(**changes), None),))
    assert [f.promise for f in broken(Memory(), Input(does), seen)] == broken_ones


# -- the command


def test_a_known_bug_makes_the_command_differ_with_a_schedule(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = cli.run(
        "conform classic --side member --generations 1 --mutation keeps_partitions_when_lost"
        " --set partitions=1 --json".split()
    )
    told = json.loads(capsys.readouterr().out)
    assert (code, told["verdict"], told["side"]) == (1, "differs", "member")
    first = next(d for d in told["differences"] if d["input"] == "the application polls")
    assert "owns: 0, the model 1" in first["differs"]
    assert first["transcript"][0].split() == ["1", "poll"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("--mutation stale_claims_assigned", 2, "changes the coordinator"),
        ("--members 2", 2, "concerns the coordinator's rows"),
        ("--set records=0", 2, "records is 0"),
        ("--max-rows 10", 3, "there are more than 10 rows"),
    ],
)
def test_what_does_not_fit_the_member_is_said(
    arguments: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["conform", "classic", "--side", "member", *arguments.split()]) == code
    said = capsys.readouterr()
    assert message in said.out + said.err


@pytest.mark.parametrize("name", names())
def test_what_is_not_executed_of_a_member_is_an_outcome_of_its_rules(name: str) -> None:
    """The contract of a variant: its member is executed, or it says that it is not."""
    variant = load(name)
    rules = [r for r in variant.spec(variant.scope_type()).rules if "client" in r.slots]
    assert {*variant.member_apart} <= {outcome for r in rules for outcome in r.names}
    assert bool(variant.real_member) or not variant.member_apart
    assert bool(variant.real_member) or variant.unreal_member != UNWRITTEN


def test_a_variant_whose_member_is_not_executed_says_why() -> None:
    with pytest.raises(UserError, match="no row executes the member of connect on a real one"):
        conform_member("connect", kafka="4.3.0")


MODEL_ROWS = 17_389
ROWS = 15_102
OF_STYLES = 336 + 776  # commit_style sync and async
EXCUSED = {
    "coordinator lookup": 226,
    "requests beside each other": 12168,
    "back-off": 30,
    "polls after an error": 317,
    "commits every position": 84,
    "heartbeats that change nothing": 42,
    "paused partitions": 0,
    "an id that is forgotten late": 176,
    "prepared ahead": 182,
    "other partitions": 0,
    "unsubscribes": 1794,
    "works in callbacks": 2434,
}
