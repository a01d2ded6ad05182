"""Each promise that has a letter and a number is classified, and something states it."""

from __future__ import annotations

from named import NAMED, OUTSIDE, REPORTED, ids_in, rows

EXPECTED = [
    *(f"C{n}" for n in range(1, 18)),
    *(f"L{n}" for n in range(1, 9)),
    *(f"X{n}" for n in range(1, 7)),
    *(f"K{n}" for n in range(5, 13)),
]
BY_CONFORM = {"X2"}  # no promise states it; its note says what does


def test_every_id_has_an_entry() -> None:
    assert list(NAMED) == EXPECTED


def test_every_id_is_stated_or_its_note_says_why_not() -> None:
    for row in rows():
        stated = bool(row.stated or row.situations)
        assert stated or row.entry.kind == OUTSIDE or row.id in BY_CONFORM, row.id
        assert stated or row.entry.note, row.id


def test_what_does_not_hold_is_stated_by_a_promise_that_breaks() -> None:
    found = {row.id: set(row.stated) for row in rows() if row.entry.kind == REPORTED}
    assert found == {"C14": {"one_process_at_work"}, "C16": {"offsets_only_grow"}}


def test_every_counterexample_of_the_coordinator_is_executed() -> None:
    missing = [row.id for row in rows() if row.id[0] == "K" and not row.situations]
    assert missing == ["K12"]


def test_a_source_names_ids_behind_the_word_protocol_alone() -> None:
    assert ids_in("KIP-62; protocol: L1 Convergence, C15") == {"L1", "C15"}
    assert ids_in("protocol.md 7.2, C3; 7.8, K8") == {"C3", "K8"}
    assert ids_in("KAFKA-C1") == frozenset()
