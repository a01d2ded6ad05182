"""A state as a picture, and what its fields mean."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from outputs import shown_files

from groupcheck import UserError
from groupcheck.model.protocol.consumer.messages import Answer, Kind, Link, Request
from groupcheck.model.variants.registry import names
from groupcheck.oracles.explain import own
from groupcheck.oracles.explain.subject import subject
from groupcheck.oracles.explore.picture import RECEIVED, SENT, Card, Picture, Row, arrows, picture
from groupcheck.oracles.explore.questions import Desk
from groupcheck.oracles.explore.seek import seek
from groupcheck.oracles.explore.walk import Walk

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_phase_commit.py"
BUG = "keeps_partitions_when_lost"
KEY = "gc1-0.0.2.2.0.3.0.0.2.1.2.0.1.0"


def shown(walk: Walk) -> Picture:
    node = walk.at
    before = None if node.parent is None else node.parent.state
    return picture(walk.about.spec, node.state, before, walk.lanes)


def row(card: Card | Row, name: str) -> Row:
    rows = card.rows if isinstance(card, Card) else card.inner
    return next(r for r in rows if r.name == name)


def test_a_picture_shows_members_their_seats_messages_and_what_changed() -> None:
    walk = Walk(subject("classic", mutation=BUG), KEY)
    walk.back()
    found = shown(walk)
    assert [c.title for c in found.columns] == ["member A", "member B"]
    assert found.title == "coordinator" and found.faults == {}
    core = found.cards[0]
    assert (row(core, "appending").value, row(core, "appending").was) == ("yes", "no")
    assert row(core, "phase").value == "CompletingRebalance" and row(core, "phase").was is None
    assert row(found.columns[0].cards[0], "owned").value == "{p0}"
    (arrow,) = found.columns[1].arrows
    assert (arrow.way, arrow.text, arrow.place, arrow.is_new) == (
        "sent",
        "SyncGroup",
        "parked",
        True,
    )
    assert arrow.fields == (("id", "0"), ("generation", "2"))
    assert row(found.columns[1].cards[1], "parked").is_quiet  # the arrow shows it
    assert found.summary == ("CompletingRebalance", "generation 2")
    assert found.columns[0].summary == ("COMPLETING_REBALANCE", "generation 2", "owns {p0}")
    seat = row(row(found.columns[1].seats[0], "ids"), "id 0")
    assert (row(seat, "sync").value, row(seat, "sync").was) == ("yes", "no")
    assert row(seat, "armed").is_quiet and not row(seat, "sync").is_quiet


def test_a_field_is_explained_by_the_comment_of_the_model_with_its_source() -> None:
    core = shown(Walk(subject("classic"))).cards[0]
    parked = row(core, "parked")
    assert parked.note == "Members whose JoinGroup is parked; at most `members`."
    assert parked.source == "class Core of model.protocol.classic.group; Kafka: ClassicGroup"
    assert row(core, "phase").note == "ClassicGroupState."


def test_a_message_has_a_way_and_is_new_once() -> None:
    sent = Link(out=Request(Kind.BEAT))
    answered = Link(out=Request(Kind.BEAT), back=Answer(code=25))
    assert [(a.way, a.is_new) for a in arrows(sent, Link())] == [(SENT, True)]
    told = arrows(answered, sent)
    assert [(a.way, a.place, a.is_new) for a in told] == [
        (SENT, "out", False),
        (RECEIVED, "back", True),
    ]
    assert told[1].fields == (("code", "25 UNKNOWN_MEMBER_ID"),)


def test_a_count_is_no_set_and_a_set_is_no_number() -> None:
    walk = Walk(subject("classic"))
    walk.take(0)
    assert row(shown(walk).cards[0], "pending").value == "1"
    consumer = Walk(subject("consumer", members=1, partitions=2))
    found = seek(consumer, "client[0].holds == 3")
    for number in found.numbers or ():
        consumer.take(number)
    assert row(shown(consumer).columns[0].cards[0], "holds").value == "{p0, p1}"


def test_faults_that_are_left_are_counted() -> None:
    walk = Walk(subject("classic", members=2, faults={"crash": 1, "close": 2}))
    assert shown(walk).faults == {"crash": 1, "close": 2}
    walk.take(walk.choices[0].number)
    walk.take(next(c for c in walk.choices if c.fault == "crash").number)
    assert shown(walk).faults == {"close": 2}
    assert shown(Walk(subject("classic", any_faults=2))).faults == {"any": 2}


def test_a_protocol_of_one_s_own_has_cards_and_its_own_notes() -> None:
    walk = Walk(subject(f"{EXAMPLE}:two_phase_commit", settings={"managers": "2"}))
    walk.take(0)
    found = shown(walk)
    assert found.faults is None
    assert [c.name for c in found.cards] == ["coordinator", "network"]
    assert [c.cards[0].name for c in found.columns] == ["manager[0]", "manager[1]"]
    phase = row(found.columns[0].cards[0], "phase")
    assert (phase.value, phase.was) == ("prepared", "working")


@pytest.mark.night  # a limit in seconds, which a slow or busy machine may not keep
@pytest.mark.parametrize("name", ["classic", "consumer", "share", "streams", "connect", "offsets"])
def test_a_step_is_answered_in_a_tenth_of_a_second(name: str) -> None:
    desk = Desk(Walk(subject(name, members=3)))
    desk.walk.random(12, seed=1)
    desk.answer({"ask": "state", "key": desk.walk.key})  # what is read once
    spent = []
    for _ in range(6):
        if not desk.walk.choices:
            break
        key = f"{desk.walk.key}.{desk.walk.choices[0].number}"
        began = time.process_time()
        desk.answer({"ask": "state", "key": key})
        spent.append(time.process_time() - began)
    assert spent and sorted(spent)[len(spent) // 2] < 0.1


def test_every_variant_can_be_walked_and_drawn() -> None:
    for name in names():
        desk = Desk(Walk(subject(name)))
        desk.walk.random(6, seed=2)
        told = desk.answer({"ask": "state", "key": desk.walk.key})
        assert told["depth"] >= 5 and told["words"], name
        assert len(desk.answer({"ask": "path", "key": desk.walk.key})["rows"]) >= 2, name


def test_a_function_of_one_s_own_draws_the_state(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "explore.md").read_text("utf-8")
    file = tmp_path / "drawn_for_explore.py"
    file.write_text(shown_files(text)["drawn.py"])
    walk = Walk(subject(f"{EXAMPLE}:two_phase_commit", settings={"managers": "2"}))
    view = own.named(f"{file}:view", (Callable,), "a function")
    walk.take(0)
    drawn = Desk(walk, view, "drawn.py:view").answer({"ask": "state", "key": walk.key})
    assert drawn["svg"].count("<circle") == 2 and drawn["svg"].count("khaki") == 1
    for wrong, what in ((lambda state: None, "returned NoneType"), (lambda state: 1 / 0, "raised")):
        with pytest.raises(UserError, match=what):
            Desk(walk, wrong, "view").answer({"ask": "state", "key": walk.key})
