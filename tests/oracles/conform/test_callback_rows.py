"""The rows by the rules of `callbacks` and `cooperative_callbacks`: on Kafka's Java client, and
beside the rows of `classic` and `cooperative`, of which every one is executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import attrs
import pytest

from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.client import Client, Prepare
from groupcheck.model.protocol.classic.features.callbacks import callback_runs
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_ID, Answer, OffsetCommit
from groupcheck.model.protocol.transform import own, rebuilt, rewritten
from groupcheck.model.variants import load
from groupcheck.oracles.conform.member.callback_rows import CallbackRows
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.member_memory import Does, During, Input, Memory, Outcome
from groupcheck.oracles.conform.member.moves import (
    BEAT,
    HEARTBEAT_MS,
    INSTANCE,
    NETWORK,
    POLL,
    Observations,
    Probe,
    Standing,
    setup_of,
)
from groupcheck.oracles.conform.member.promises import broken
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.conform.member.tour import MemberRow, different
from groupcheck.oracles.kafka.client import failed
from groupcheck.oracles.kafka.client_commands import Advance, Callback
from groupcheck.oracles.kafka.driver import Driver

NEAREST = 120  # memories
HEARD = (0, 14, 15, 16, 22, 25, 27, 30, 82)
OTHERS = {"callbacks": "classic", "cooperative_callbacks": "cooperative"}
# A member owns its share and a position, and is told to join again.
OWNS = (
    *(Input(Does.POLL), Input(id=0, generation=1), Input(Does.SEND), Input(share=1)),
    Input(Does.POLL),
)
AGAIN = (Input(Does.BEAT), Input(code=27))
READS = (*OWNS, Input(Does.FETCH, offset=0), *AGAIN)
# A cooperative one has got a share that lacks what it owns.
REVOKES = (
    *(*OWNS, *AGAIN, Input(Does.POLL), Input(id=0, generation=1)),
    *(Input(Does.SEND), Input(share=0)),
)
IN_CALLBACKS = (
    *(Input(Does.POLL, during=how) for how in During if how not in (During.COMMITS, During.BEATS)),
    *(Input(Does.POLL, during=During.COMMITS, code=code) for code in (0, 22, 25, 27, 82)),
)


def of(variant: str, autocommit: str = "no") -> Rows:
    (rows,) = rows_of(variant, 1, None, {"autocommit": autocommit, "partitions": "1"})
    return rows


def led(rows: Rows, inputs: tuple[Input, ...]) -> Memory:
    memory = rows.start()
    for given in inputs:
        (outcome,) = rows.outcomes(memory, given)
        assert outcome.after is not None
        memory = outcome.after
    return memory


def nearest(rows: Rows) -> Iterator[tuple[Memory, Input, tuple[Outcome, ...]]]:
    """The rows of the memories nearest to a member that is to revoke what it owns."""
    known = {led(rows, READS): None}
    if rows.scope.cooperative:
        known = {led(rows, REVOKES): None, **known}
    done = 0
    while done < min(len(known), NEAREST):
        memory = next(islice(known, done, None))
        done += 1
        for given in rows.inputs(memory):
            told = rows.outcomes(memory, given)
            yield memory, given, told
            known.update((o.after, None) for o in told if o.after is not None)


def without_rules(told: tuple[Outcome, ...]) -> list[Outcome]:
    return [attrs.evolve(o, rules=()) for o in told]


@pytest.mark.parametrize("autocommit", ["yes", "no"])
@pytest.mark.parametrize("variant", OTHERS)
def test_its_rows_are_those_of_the_group_in_which_callbacks_take_no_time(
    variant: str, autocommit: str
) -> None:
    mine, plain = of(variant, autocommit), of(OTHERS[variant], autocommit)
    fired = set[str]()
    for memory, given, told in nearest(plain):
        found = mine.outcomes(memory, given)
        assert without_rules(found) == without_rules(told), (memory, given)
        fired.update(name for o in found for name in o.rules)
    eager = {"call_back", *callback_runs.names} if variant == "callbacks" else set()
    assert fired >= eager | {f"{callback_runs.name}:returned"}


def row_of(rows: Rows, given: Input, before: tuple[Input, ...] = READS) -> MemberRow:
    memory, standing = rows.start(), Standing(setup_of(rows.scope))
    for led in before:
        (outcome,) = rows.outcomes(memory, led)
        assert outcome.after is not None
        row = MemberRow(memory, led, outcome, standing)
        memory, standing = outcome.after, standing.then(row.probe.row)
    (outcome,) = rows.outcomes(memory, given)
    return MemberRow(memory, given, outcome, standing)


def test_what_the_application_does_in_onpartitionsrevoked_agrees(coordinator: Driver) -> None:
    rows = of("callbacks")
    every = [row_of(rows, given) for given in IN_CALLBACKS]
    assert all({*row.outcome.rules} & {"call_back"} for row in every if row.outcome)
    for row, seen in zip(every, coordinator.run_all(row.probe for row in every), strict=True):
        assert different(rows, row, seen) == [], row.given


# The callbacks in which a heartbeat is answered: with 0, and with 22, after which none is sent.
BEFORE_CALLBACKS = {
    "joins again": ("callbacks", READS, ("revoked",), ("revoked",)),
    "has its share": ("callbacks", OWNS[:-1], ("assigned",), ("assigned",)),
    "has its share and is told to join again": (
        *("callbacks", (*OWNS[:-1], *AGAIN), ("assigned", "revoked"), ("assigned",)),
    ),
    "revokes": ("cooperative_callbacks", REVOKES, ("revoked", "assigned"), ("revoked",)),
}


@pytest.mark.parametrize("begins", BEFORE_CALLBACKS)
def test_heartbeats_that_are_answered_in_callbacks_agree(begins: str, coordinator: Driver) -> None:
    variant, before, all, until_refused = BEFORE_CALLBACKS[begins]
    rows = of(variant)
    offered = [g for g in rows.inputs(led(rows, before)) if g.during == During.BEATS]
    every = [row_of(rows, given, before) for given in offered]
    polls = {row.given.code: row.outcome for row in every if row.given.does == Does.POLL}
    assert [o.beats for code, o in polls.items() if o and code == 0] == [all]
    assert [o.beats for code, o in polls.items() if o and code == 22] == [until_refused]
    assert tuple(polls) == HEARD
    for row, seen in zip(every, coordinator.run_all(row.probe for row in every), strict=True):
        assert different(rows, row, seen) == [], row.given


def test_new_partitions_come_to_a_cooperative_member_that_has_heard_25(coordinator: Driver) -> None:
    """FINDINGS 33, by a heartbeat. With two partitions, so that the share has a new one."""
    (rows,) = rows_of("cooperative_callbacks", 1, None, {"autocommit": "no", "partitions": "2"})
    before = (*REVOKES[:-1], Input(share=2))
    heard = row_of(rows, Input(Does.POLL, during=During.BEATS, code=25), before)
    well = row_of(rows, Input(Does.POLL, during=During.BEATS, code=0), before)
    found = coordinator.run_all([heard.probe, well.probe])
    of_heard, of_well = (
        {f.promise for f in broken(row.before, row.given, seen) if isinstance(seen, Observations)}
        for row, seen in zip((heard, well), found, strict=True)
    )
    assert (of_heard, of_well) == ({"assigned_in_its_generation"}, set())


def test_a_static_member_that_is_fenced_in_its_callback_takes_its_place_back(
    coordinator: Driver,
) -> None:
    """FINDINGS 43: JoinGroup with its instance id and no id, before the error is thrown."""
    (rows,) = rows_of("static_membership", 1, None, {"autocommit": "no", "partitions": "1"})
    standing = row_of(rows, Input(Does.POLL)).standing
    heard = (Advance(ms=HEARTBEAT_MS), BEAT, NETWORK, failed("Heartbeat", 82), NETWORK)
    probe = Probe(standing, (Callback(on="revoked", during=heard), POLL, POLL))
    (seen,) = coordinator.run_all([probe])
    assert isinstance(seen, Observations)
    (_, polled, nothing), (_, _, thrown) = seen.steps[1:]
    (join,) = polled.sent
    told = (join.api, join.data["memberId"], join.data["groupInstanceId"])
    assert told == ("JoinGroup", "", INSTANCE)
    assert nothing is None and thrown is not None and thrown.error == 82


def keeps(base: Rule) -> Rule:
    """A callback that throws leaves the member its partitions."""

    def call(client: Client, link: Link, scope: Any) -> Iterator[Any]:
        for label, after, sent in base.call(client, link, scope):
            kept = attrs.evolve(after, owned=client.owned) if label == "threw" else after
            yield label, kept, sent

    return rewritten(base, call)


def stays(base: Rule) -> Rule:
    """A member whose commit is refused in its callback stays in the group."""

    def call(*given: Any) -> Iterator[Any]:
        for label, after, *rest in base.call(*given):
            runs = given[0].prepare == Prepare.REVOKING
            yield label, given[0] if runs and label == "refused" else after, *rest

    return rewritten(base, call)


def deaf(base: Rule) -> Rule:
    """A member that is not told anything by heartbeats while a callback runs."""

    def call(client: Client, link: Link) -> Iterator[Any]:
        for label, after, heard in base.call(client, link):
            yield label, client if client.prepare == Prepare.REVOKING else after, heard

    return rewritten(base, call)


def forgets(base: Rule) -> Rule:
    """A member that is in no generation any longer forgets its id with it."""

    def call(client: Client, link: Link) -> Iterator[Any]:
        for label, after, heard in base.call(client, link):
            lost = client.prepare == Prepare.REVOKING and label == "refused"
            yield label, attrs.evolve(after, id=NO_ID) if lost else after, heard

    return rewritten(base, call)


@pytest.mark.parametrize(
    ("rule", "wrong", "given"),
    [
        ("heartbeat_answer", deaf, Input(Does.POLL, during=During.BEATS, code=25)),
        ("heartbeat_answer", deaf, Input(Does.POLL, during=During.BEATS, code=22)),
        ("heartbeat_answer", forgets, Input(Does.POLL, during=During.BEATS, code=22)),
        ("callback_runs", keeps, Input(Does.POLL, during=During.THROWS)),
        ("commit_answer", stays, Input(Does.POLL, during=During.COMMITS, code=25)),
    ],
)
def test_a_wrong_rule_of_callbacks_differs(
    rule: str, wrong: Any, given: Input, coordinator: Driver
) -> None:
    right = of("callbacks")
    (mine,) = (r for r in right.spec.rules if r.name == rule)
    rows = CallbackRows(right.scope, rebuilt(right.spec, [wrong(own(right.spec, mine))]))
    row = row_of(rows, given)
    (seen,) = coordinator.run_all([row.probe])
    assert different(rows, row, seen)


def test_a_commit_of_a_cooperative_callback_that_is_accepted_ends_as_the_rows_say() -> None:
    """`callback_runs:committed` in onJoinComplete, which no row fires."""
    scope = load("cooperative_callbacks").scope_type(members=1, partitions=2)
    rules = {r.name: r for r in load("cooperative_callbacks").spec(scope).rules}
    begun = Client(
        *(), state=3, generation=1, id=0, prepare=Prepare.REVOKING, owned=3, granted=1, dirty=True
    )
    begun = attrs.evolve(begun, position=1)
    told = {label: after for label, after, _ in rules["callback_runs"].call(begun, Link(), scope)}
    commit = OffsetCommit(0, 1, 1)
    answered = attrs.evolve(Link(), answer=Answer(commit))
    ((_, after, _),) = rules["commit_answer"].call(told["committed"], answered, scope)
    ended = {label: end for label, end, _ in rules["callback_runs"].call(after, Link(), scope)}
    assert attrs.evolve(ended["returned"], dirty=True) == told["returned"]
