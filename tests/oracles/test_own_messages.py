"""The picture of a protocol of one's own: arrows for messages, bars for phases."""

# ruff: noqa: UP037 - an index is written as a text

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from types import ModuleType

import pytest
from attrs import evolve, frozen
from outputs import shown_files
from test_swimlane import HOSTILE

import groupcheck
from groupcheck.model.engine import (
    Element,
    Rule,
    Spec,
    SpecError,
    array,
    invariant,
    rule,
    single,
    urgent,
)
from groupcheck.model.protocol.story import Message, Note, Span, Story
from groupcheck.oracles.explain.subject import subject
from groupcheck.oracles.explore.questions import Desk
from groupcheck.oracles.explore.walk import Walk
from groupcheck.oracles.show.html import image

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "your_own_protocol.md").read_text("utf-8")


@pytest.fixture
def hasty() -> ModuleType:
    """Two-phase commit with the bug of the page."""
    module = ModuleType("hasty_commit")
    exec(compile(shown_files(PAGE)["hasty_commit.py"], "hasty_commit.py", "exec"), vars(module))
    return module


def story(spec: Spec) -> Story:
    found = groupcheck.check(spec, engine="reference")
    assert found.verdict.verdict == "violated"
    return found.explanations[0].story


def arrows(tale: Story) -> list[tuple[int, str, str, str, int | None]]:
    return [
        (e.step, e.source, e.target, ("lost " if e.lost else "") + e.text, e.until)
        for e in tale.events
        if isinstance(e, Message)
    ]


def broken(slots: dict, rules: Sequence[Rule], last: object, **parts: object) -> Story:
    """The story of the shortest path to where `last` is true."""
    promise = invariant(lambda state: not last(state), name="never")  # type: ignore[operator]
    spec = Spec("own", slots, rules, invariants=[promise], deadlock=False, **parts)  # type: ignore[arg-type]
    return story(spec)


def test_an_arrow_leads_from_who_puts_a_message_into_a_channel_to_who_takes_it(hasty):
    tale = story(hasty.hasty_commit(2))
    assert [lane.title for lane in tale.lanes] == ["manager 0", "manager 1", "coordinator"]
    # Nothing is removed here: without the message the step would be impossible.
    assert arrows(tale) == [
        (1, "manager 0", "shared", "prepared", 3),
        (4, "shared", "manager 0", "decision: committed", 5),
    ]


def test_without_a_channel_what_is_shared_has_the_messages(hasty):
    tale = story(evolve(hasty.hasty_commit(2), channels=()))
    assert tale.lanes[-1].title == "coordinator, network"
    assert arrows(tale) == [
        (1, "manager 0", "shared", "prepared", 3),
        (5, "shared", "manager 0", "decision: committed", None),
    ]


def test_a_bar_shows_the_phase_of_each_lane(hasty):
    spans = story(hasty.hasty_commit(2)).spans
    assert Span("manager 0", 0, 1, "working", "phase") in spans
    assert Span("manager 0", 1, 5, "prepared", "phase") in spans
    assert Span("manager 0", 5, None, "committed", "phase") in spans
    assert Span("shared", 4, None, "committed", "phase") in spans


def test_phases_are_enumerations_texts_and_classes():
    class Light(Enum):
        RED = 1
        GREEN = 2

    @frozen
    class Off:
        pass

    @frozen
    class On:
        power: int = 1

    @rule
    def switch(lamp, light):
        yield On(), Light.GREEN

    slots = {"lamp": array(1, Off(), of=Off | On), "light": single(Light.RED)}
    spans = broken(slots, [switch], lambda state: state.light == Light.GREEN).spans
    assert [(s.lane, s.since, s.text) for s in spans] == [
        ("lamp 0", 0, "Off"),
        ("lamp 0", 1, "On"),
        ("shared", 0, "RED"),
        ("shared", 1, "GREEN"),
    ]


def test_what_stands_in_anothers_inbox_arrives_when_it_is_taken():
    @rule
    def send(me, node, next: "node[me+1]"):
        if me == 0 and not node and not next:
            yield node, ("ping", "ping")

    @rule
    def wait(clock):
        if not clock:
            yield True

    @rule
    def receive(node, clock):
        if node and clock:
            yield node[1:], clock

    slots = {"node": array(2, ()), "clock": single(False)}
    tale = broken(slots, [send, wait, receive], lambda s: s.clock and s.node == ((), ("ping",)))
    # Of two equal messages one is taken; the other stands there from the step that put it.
    taken = next(e.step for e in tale.events if isinstance(e, Note) and e.text == "receive")
    assert arrows(tale) == [
        (1, "node 0", "node 1", "node: ping", taken),
        (1, "node 0", "node 1", "node: ping", None),
    ]


def test_a_message_that_a_rule_of_the_channel_removes_is_lost_and_one_that_stays_is_on_its_way():
    @frozen
    class Wire:
        question: int = -1
        hints: frozenset[Element] = frozenset()

    @rule
    def ask(me: Element, client, wire):
        if wire.question < 0 and not client:
            yield True, Wire(7, wire.hints | {me})

    @rule
    def lose(wire):
        if wire.question > 0:
            yield evolve(wire, question=-1)

    slots = {"client": array(1, False), "server": single(0), "wire": single(Wire())}
    tale = broken(
        slots,
        [ask, lose],
        lambda state: state.client[0] and state.wire.question < 0,
        channels=["wire"],
    )
    assert arrows(tale) == [(1, "client 0", "shared", "lost question: 7", None)]
    assert Note(1, "client 0", "on its way: hints") in tale.events


def test_what_urgent_rules_put_and_take_inside_a_step_is_theirs():
    @frozen
    class Link:
        request: str = ""
        answer: str = ""

    @rule
    def ask(client, link):
        if not client:
            yield 1, Link("join")

    @urgent
    def serve(server, link):
        if link.request:
            yield server + 1, Link("", "welcome")

    @urgent
    def hear(client, link):
        if link.answer:
            yield 2, Link()

    slots = {"client": array(1, 0), "server": single(0), "link": array(1, Link())}
    tale = broken(slots, [ask, serve, hear], lambda state: state.client == (2,), channels=["link"])
    assert arrows(tale) == [
        (1, "client 0", "shared", "request: join", None),
        (1, "shared", "client 0", "answer: welcome", None),
    ]


def test_counters_and_flags_are_no_messages_and_what_is_overwritten_is_not_taken():
    @rule
    def go(me, seat, board):
        if board[0] == me:
            yield True, (me + 1, f"by {me}")

    slots = {"seat": array(2, False), "board": single((0, ""))}
    tale = broken(slots, [go], lambda state: state.board[0] == 2)
    assert arrows(tale) == []

    @rule
    def put(me, seat, note):
        if not seat:
            yield True, f"by {me}"

    slots = {"seat": array(2, False), "note": single("")}
    tale = broken(slots, [put], lambda state: state.note == "by 1" and all(state.seat))
    assert [a[1:4] for a in arrows(tale)] == [
        ("seat 0", "shared", "note: by 0"),
        ("seat 1", "shared", "note: by 1"),
    ]


def test_what_is_overwritten_has_been_taken_only_by_who_has_read_it():
    @rule
    def write(me, seat, note):
        if not seat and (me == 1) == bool(note):
            yield True, f"by {me}"

    slots = {"seat": array(2, False), "note": single("")}
    tale = broken(slots, [write], lambda state: all(state.seat))
    assert [a[1:4] for a in arrows(tale)] == [
        ("seat 0", "shared", "note: by 0"),
        ("shared", "seat 1", "note: by 0"),
        ("seat 1", "shared", "note: by 1"),
    ]


def test_a_rule_that_fails_without_the_message_has_taken_it():
    @rule
    def put(sender, box, ready):
        if not sender:
            yield True, 3, True

    @rule
    def take(board, box, ready):
        if ready and not board:
            yield 6 // box, box, ready

    slots = {"sender": array(1, False), "box": single(None, of=int | None)}
    slots |= {"ready": single(False), "board": single(0)}
    tale = broken(slots, [put, take], lambda state: state.board == 2)
    assert arrows(tale) == [(1, "sender 0", "shared", "box: 3", 2)]


def test_a_private_field_can_hold_a_message():
    @frozen
    class Box:
        _letter: str = ""
        count: int = 0

    @rule
    def put(me, seat, box):
        if me == 0 and not seat:
            yield 1, Box("hi")

    @rule
    def note(board, box):
        if box._letter or board:
            yield box.count + 1, box

    @rule
    def mark(me, seat, board, box):
        if me == 1 and board:
            yield 1 + box.count, board, box

    slots = {"seat": array(2, 0), "box": single(Box()), "board": single(0)}
    tale = broken(slots, [put, note, mark], lambda state: state.seat == (1, 1))
    # The last step has the box among its slots and does the same without the letter.
    assert arrows(tale) == [(1, "seat 0", "shared", "letter: hi", 2)]


def test_the_page_says_what_bars_and_broken_arrows_are(hasty):
    shown = groupcheck.check(hasty.hasty_commit(2)).html()
    assert "A bar on a lane stands for the state" in shown
    assert "A broken arrow arrives later" in shown and "A cross ends" not in shown


def test_the_path_of_an_explorer_has_the_same_arrows(hasty):
    key = "gc1-0.0.1.0.1.0"
    told = Desk(Walk(subject(hasty.hasty_commit(2)), key)).answer({"ask": "path", "key": key})
    for width in ("wide", "narrow"):
        styles = [shape[1] for shape in told[width]["shapes"]]
        assert styles.count("message late") == 2


def test_hostile_texts_stay_texts():
    @rule
    def put(sender, box):
        if not sender:
            yield True, HOSTILE.replace("\ud800", "")

    slots = {"sender": array(1, False), "box": single("")}
    found = groupcheck.check(
        Spec("own", slots, [put], invariants=[invariant(lambda box: not box, name="n")]),
        engine="reference",
    )
    drawn = image(found.explanations[0])
    assert "&lt;script&gt;" in drawn
    assert "<script" not in drawn and "\x1b" not in drawn and "\u202e" not in drawn


def test_a_channel_that_is_no_slot_is_refused():
    @rule
    def stay(n):
        yield n

    with pytest.raises(SpecError, match="'wire' is not a slot; slots are n"):
        Spec("own", {"n": single(0)}, [stay], channels=["wire"])


def test_the_picture_of_the_page_is_what_the_command_draws(hasty):
    drawn = image(groupcheck.check(hasty.hasty_commit(2)).explanations[0])
    assert drawn == (DOCS / "two_phase_commit.svg").read_text("utf-8")
