"""Licences of moves: the model, and nobody's opinion, says what a Kafka coordinator plays."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.oracles.conform.conformance import rows_at
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.member_memory import Does, During, Input
from groupcheck.oracles.judge.client.knowledge import FATAL
from groupcheck.oracles.judge.client.moves import (
    DOCUMENTED,
    FIND,
    OF_MEMBERS,
    OF_THE_STATE,
    Licence,
    Move,
    Step,
    read,
)


def codes_of_the_model(variant: str, faults: tuple[str, ...], **settings: str) -> set[int]:
    """Every code that the model's coordinator answers at a small scope."""
    _, rows = rows_at(variant, 1, 1, faults, None, settings)
    start = rows.start()
    known, todo, codes = {start}, [start], set()
    while todo:
        memory = todo.pop()
        for given in rows.inputs(memory):
            for outcome in rows.outcomes(memory, given):
                codes |= {told.answer.code for told in outcome.told}
                if outcome.after not in known:
                    known.add(outcome.after)
                    todo.append(outcome.after)
    return codes


def test_codes_of_the_state_are_those_that_the_model_gives() -> None:
    given = codes_of_the_model("classic", ("session_timeout",))
    given |= codes_of_the_model("static_membership", ("session_timeout",))
    assert given <= OF_THE_STATE
    located = {14, 15, 16}
    lists_and_sizes = {23, 81}  # of the features `triggers` and of max_size
    assert OF_THE_STATE - given == located | lists_and_sizes


@pytest.mark.parametrize(
    "move",
    [
        Move("Heartbeat", code=82, put=True),  # while everything else is accepted
        Move("Heartbeat", code=14, put=True, times=1),
        Move("SyncGroup", code=14, put=True, times=3),  # Kafka makes 27 of it
        Move("JoinGroup", code=22, put=True, times=3),
        Move("JoinGroup", code=79, put=True, times=1),  # to one that has an id
        Move("JoinGroup", code=79, put=True, times=2),  # to version 2
        Move("JoinGroup", code=79, put=True),  # for ever
        Move("OffsetCommit", code=82, put=True),  # while heartbeats are accepted
    ],
    ids=str,
)
def test_what_no_kafka_coordinator_plays_is_hostile(move: Move) -> None:
    assert move.licence == Licence.HOSTILE


def test_what_a_setting_gives_is_documented_if_it_is_given_for_good() -> None:
    for at, codes in DOCUMENTED.items():
        for code in codes:
            assert Move(at, code=code, put=True).licence == Licence.DOCUMENTED
            assert Move(at, code=code, put=True, times=1).licence == Licence.HOSTILE
            assert code not in OF_THE_STATE


def test_steps_of_the_environment_need_no_licence() -> None:
    for at in OF_MEMBERS:
        assert Move(at, tuple(Step)).licence == Licence.KAFKA


def test_a_move_is_the_same_after_it_was_written() -> None:
    move = Move("SyncGroup", (Step.EXPIRE,), (Step.SLOW, Step.ROUND), 25)
    assert move.text == "SLOW ROUND > SyncGroup > EXPIRE = 25"
    assert str(move) == (
        "SyncGroup is answered 25 UNKNOWN_MEMBER_ID (the others join late, another member joins, or"
        " joins again, the client's session ends)"
    )
    for one in (move, Move("JoinGroup", code=30, put=True), Move("Heartbeat", code=None)):
        assert read(one.text) == one


@pytest.mark.parametrize("text", ["", "> Fetch > = 0", "NEVER > Heartbeat > = 0", "> Heartbeat"])
def test_a_text_that_is_no_move_says_so(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no move|there is no step"):
        read(text)


@pytest.mark.night
def test_what_is_fatal_is_what_the_models_member_throws() -> None:
    settings = {"partitions": "1", "autocommit": "yes"}
    rows: Any = rows_of("static_membership", 1, None, settings)[0]
    start = rows.start()
    known, todo = {start}, [start]
    thrown: dict[str, set[int]] = {}
    while todo:
        memory = todo.pop()
        for given in rows.inputs(memory):
            for done in rows.outcomes(memory, given) if given.during == During.NOTHING else ():
                if done.after is None:
                    continue
                if given.does is None and given.code:
                    name = type(memory.flight[0].request).__name__
                    polled = rows.outcomes(done.after, Input(Does.POLL))
                    thrown.setdefault(name, set()).update(one.thrown for one in polled)
                if done.after not in known:
                    known.add(done.after)
                    todo.append(done.after)
    given = OF_THE_STATE.union(*DOCUMENTED.values())
    # A member throws what it does not expect; these are no answers to such a request.
    unexpected = {"JoinGroup": {22}, "SyncGroup": {14, 24, 26, 79, 81}}
    for name, codes in FATAL.items():
        if name != FIND:
            assert thrown[name] & given - {0} - unexpected.get(name, set()) == set(codes), name
