"""The drawn scene of a state."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from groupcheck.model.variants.registry import names
from groupcheck.oracles.explain.subject import subject
from groupcheck.oracles.explore.page import page
from groupcheck.oracles.explore.picture import picture
from groupcheck.oracles.explore.questions import Desk
from groupcheck.oracles.explore.scene import NARROW, WIDE, Part, Scene, Sizes, scene
from groupcheck.oracles.explore.seek import seek
from groupcheck.oracles.explore.walk import Walk
from groupcheck.oracles.show.swimlane import LETTER

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_phase_commit.py"
KEY = "gc1-0.0.2.2.0.3.0.0.2.1.2.0.1.0"


def drawn(walk: Walk, sizes: Sizes = WIDE) -> Scene:
    node = walk.at
    before = None if node.parent is None else node.parent.state
    spec = walk.about.spec
    return scene(picture(spec, node.state, before, walk.lanes, walk.waiting, node.depth), sizes)


def labels(found: Scene, kind: str) -> list[str]:
    return [p.label for p in found.parts if p.kind == kind]


def texts(part: Part) -> list[str]:
    return [s.text for s in part.shapes if s.kind == "text"]


@pytest.fixture(scope="module")
def before_the_bug() -> Walk:
    walk = Walk(subject("classic", mutation="keeps_partitions_when_lost"), KEY)
    walk.back()
    return walk


@pytest.mark.parametrize("sizes", [WIDE, NARROW])
def test_a_scene_says_what_a_state_is_in_words_and_shapes(
    before_the_bug: Walk, sizes: Sizes
) -> None:
    found = drawn(before_the_bug, sizes)
    assert labels(found, "coordinator") == [
        "coordinator: CompletingRebalance; generation 2; 2 members; sync timer runs;"
        " append in flight"
    ]
    assert labels(found, "member") == [
        "member A: COMPLETING_REBALANCE; generation 2; owns {p0}",
        "member B: COMPLETING_REBALANCE; generation 2",
    ]
    assert labels(found, "seat") == [
        "seat of A: owes SyncGroup; claims {p0}; session timer runs",
        "seat of B, leads: SyncGroup parked; no longer: owes SyncGroup",
    ]
    (message,) = labels(found, "message")
    assert message.startswith("SyncGroup from member B to coordinator, parked, new in this step:"
                              " id 0, generation 2.")  # fmt: skip
    assert [p.is_changed for p in found.parts if p.kind == "member"] == [False, True]
    owner = next(p for p in found.parts if p.label.startswith("member A"))
    assert "p0" in texts(owner) and owner.card == "client[0]"
    assert any(s.style == "owns hue0" for s in owner.shapes)
    assert labels(found, "place") == ["offsets: committed 0; processed 0"]


def test_a_message_points_to_who_gets_it_and_touches_both_boxes(before_the_bug: Walk) -> None:
    for sizes in (WIDE, NARROW):
        found = drawn(before_the_bug, sizes)
        box = {p.label[:8]: p.shapes[0] for p in found.parts if p.kind in ("member", "coordinator")}
        (arrow,) = (s for p in found.parts for s in p.shapes if s.kind == "arrow")
        middle, b = box["coordina"], box["member B"]
        assert arrow.x == b.x and arrow.x2 == middle.x + middle.x2  # B stands on the right
        assert b.y < arrow.y == arrow.y2 < b.y + b.y2


def test_the_faults_that_are_left_and_ids_that_were_handed_out_are_shown() -> None:
    walk = Walk(subject("classic", members=2, faults={"lose_response": 1}))
    found = drawn(walk)
    assert labels(found, "place")[-1] == "faults left: lose response: 1"
    assert labels(found, "seat") == ["no seat of member A", "no seat of member B"]
    walk.take(0)
    assert labels(drawn(walk), "seat")[0] == "seat of A: id 0 handed out, has not joined;" \
        " session timer runs"  # fmt: skip


def test_messages_of_a_protocol_of_one_s_own_are_arrows() -> None:
    walk = Walk(subject(f"{EXAMPLE}:two_phase_commit", settings={"managers": "2"}))
    walk.take(0)
    found = drawn(walk)
    (message,) = (p for p in found.parts if p.kind == "message")
    assert message.is_changed
    assert message.label.startswith("prepared from manager 0 to coordinator, network")
    for number in seek(walk, "coordinator.phase == 'committed'").numbers or ():
        walk.take(number)
    old = [p for p in drawn(walk).parts if p.kind == "message"]
    assert len(old) == 2 and not any(p.is_changed for p in old)
    assert "read by coordinator" in old[0].label


@pytest.mark.parametrize("sizes", [WIDE, NARROW])
def test_every_variant_has_a_scene_whose_boxes_and_texts_stay_apart(sizes: Sizes) -> None:
    for name in [*names()][:: 1 if sizes is WIDE else 4]:
        walk = Walk(subject(name))
        walk.random(6, seed=2)
        found = drawn(walk, sizes)
        alone = [p for p in found.parts if p.kind in ("member", "place", "seat")]
        boxes = [p.shapes[0] for p in alone]
        for a, b in itertools.combinations(boxes, 2):
            apart = a.x + a.x2 <= b.x or b.x + b.x2 <= a.x or a.y + a.y2 <= b.y or b.y + b.y2 <= a.y
            assert apart, (name, a.full, b.full)
        for part in alone:
            box = part.shapes[0]
            assert box.x >= 0 and box.x + box.x2 <= found.width, name
            assert box.y + box.y2 <= found.height, name
            for s in part.shapes[1:]:
                assert box.y < s.y <= box.y + box.y2, (name, part.label, s.text)
                assert len(s.text) * LETTER * 0.9 <= box.x2, (name, s.text)


def test_the_page_gets_both_scenes() -> None:
    walk = Walk(subject("classic"))
    told = Desk(walk).answer({"ask": "state", "key": walk.key})["scene"]
    wide, narrow = told["wide"], told["narrow"]
    assert narrow["width"] <= 374 and wide["width"] <= 720  # of 390 and of 1280 px
    assert [p[0] for p in wide["parts"]] == [p[0] for p in narrow["parts"]]


def test_words_stand_in_the_place_of_fields_that_only_the_model_knows() -> None:
    walk = Walk(subject("consumer", members=2))
    while not any("has taken {" in x for x in labels(drawn(walk), "member")):
        walk.random(1, walk.at.depth)
        assert walk.at.depth < 60
    told = "; ".join([*labels(drawn(walk), "member"), *labels(drawn(walk), "coordinator")])
    assert "existing {p0, p1}" in told
    assert not re.search(r"\b(took|said|told|topics|current)\b", told)


def test_a_page_says_what_its_words_mean() -> None:
    desk = Desk(Walk(subject("classic", members=2, partitions=2, any_faults=1)))
    begun, other = (desk.answer({"ask": "state", "key": f"gc1-{k}"}) for k in (0, 1))
    seat, offset, ghost = begun["legend"]
    assert seat.startswith("A seat is") and "p0" in offset and "processed" in ghost
    assert "p1" in other["legend"][1]
    assert other["words"] == "initial state 1: offsets are followed for p1"
    first = desk.first()
    assert first["starts"] == [begun["words"], other["words"]]
    assert "The state is being drawn." in page(first)  # until the first answer comes
    one = Walk(subject("consumer", members=2))
    assert one.words_of(one.at) == "nothing has happened yet"


def test_two_steps_that_a_fail_over_alone_tells_apart_have_words_of_their_own() -> None:
    walk = Walk(subject("static_membership", members=2, any_faults=3))
    for seed in range(3):
        walk.begin(0)
        for k in range(14):
            words = [(c.words, c.changes) for c in walk.choices]
            assert len({w for w, _ in words}) == len(words)
            walk.random(1, seed * 100 + k)
