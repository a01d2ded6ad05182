"""Values made fit to be shown."""

from __future__ import annotations

import enum
import unicodedata

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.model.engine import Element
from groupcheck.oracles.printable import brief, changes, plain, printable, sentence


class Phase(enum.IntEnum):
    EMPTY = 0
    STABLE = 1


class Kafkaesque(enum.IntEnum):
    PREPARING = 0

    def __str__(self) -> str:
        return "PreparingRebalance"


class Seen(enum.Flag):
    A = enum.auto()
    B = enum.auto()


@frozen
class Seat:
    phase: Phase = Phase.EMPTY
    ids: frozenset[int] = frozenset()
    queue: tuple[int, ...] = ()


class Untold:
    def __repr__(self):
        raise ValueError


UNTOLD = "<Untold that cannot be shown: ValueError>"


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_a_shown_text_is_one_line_that_a_terminal_does_not_obey(text):
    shown = printable(text)
    assert all(c.isprintable() or unicodedata.category(c) == "Zs" for c in shown)
    assert not set("\x1b\n\r\x00\x9b\u202e\u2028\u2066") & set(shown)
    shown.encode()


def test_letters_of_every_language_stay():
    assert printable("Gruppe für Ångström, 組") == "Gruppe für Ångström, 組"


@pytest.mark.parametrize(
    ("value", "json", "text"),
    [
        (frozenset({Element(10), Element(9)}), [9, 10], "{9, 10}"),
        (Seat(Phase.STABLE), {"phase": "STABLE", "ids": [], "queue": []}, "Seat(phase=STABLE)"),
        (
            Seat(ids=frozenset({10, 9, 1})),
            {"phase": "EMPTY", "ids": [1, 9, 10], "queue": []},
            "Seat(ids={1, 9, 10})",
        ),
        (Kafkaesque.PREPARING, "PreparingRebalance", "PreparingRebalance"),
        (Seen.A | Seen.B, ["A", "B"], "{A, B}"),
        ((1, None, True), [1, None, True], "(1, none, yes)"),
        ("", "", "''"),
        ({"a": (1,)}, {"a": [1]}, "{a: (1)}"),
        ((1e400, 10**4000), ["inf", 10**4000], "(inf, 1" + "0" * 52 + "…"),
        ((Untold(), 10**5000), [UNTOLD, "<int of 16,610 bits>"], f"({UNTOLD}, <int of 16,610 …"),
    ],
)
def test_values_have_one_plain_and_one_short_form(value, json, text):
    assert plain(value) == json
    assert brief(value) == text


def test_a_long_value_is_cut():
    assert len(brief(tuple(range(1000)))) == 60


def test_sets_of_mixed_values_have_an_order():
    assert plain(frozenset({"b", "a", 2, 1})) == [1, 2, "a", "b"]


def test_changes_go_down_to_the_field():
    before, after = Seat(queue=(1, 2)), Seat(Phase.STABLE, queue=(1, 3))
    assert list(changes("seat", before, after)) == [
        ("seat.phase", Phase.EMPTY, Phase.STABLE),
        ("seat.queue[1]", 2, 3),
    ]
    assert list(changes("seat", before, before)) == []
    assert list(changes("n", 1, 2)) == [("n", 1, 2)]
    assert list(changes("n", Element(0), Element(1))) == [("n", Element(0), Element(1))]


def test_the_first_sentence_ends_at_its_full_stop():
    assert (
        sentence("The member waits, e.g. for a\nminute. Then more.\n\nAnd more.")
        == "The member waits, e.g. for a minute"
    )
    assert sentence("group.max.size is reached (KIP-389)") == "group.max.size is reached (KIP-389)"
    assert sentence("") == ""
