"""Kafka Connect's assignors, round by round."""

from __future__ import annotations

from attrs import evolve

from groupcheck.model.assignors.connect import (
    NOTHING,
    Config,
    Memory,
    Round,
    Work,
    Worker,
    perform_assignment,
    work,
)

A, B = "a", "b"
FOUR = work("a", [(A, n) for n in range(4)])
START = Round(leader="w0", workers=(Worker("w0", 1),), config=Config(1, FOUR))


def test_the_first_worker_gets_all_at_once():
    first = perform_assignment(Memory(), START)
    assert first.answer("w0").assigned == FOUR
    assert first.answer("w0").delay == 0
    assert first.memory.previous_assignment == FOUR


def test_a_second_worker_gets_half_in_two_rounds():
    first = perform_assignment(Memory(), START)
    joined = evolve(
        START,
        workers=(Worker("w0", 1, FOUR), Worker("w1", 1)),
        last_completed_generation_id=1,
        generation_id=2,
    )
    second = perform_assignment(first.memory, joined)
    assert second.answer("w0").revoked == work((), [(A, 0), (A, 1)])
    assert second.answer("w1").assigned == NOTHING
    kept = Work(("a",), ((A, 2), (A, 3)))
    third = perform_assignment(
        second.memory,
        evolve(
            joined,
            workers=(Worker("w0", 1, kept), Worker("w1", 1)),
            last_completed_generation_id=2,
            generation_id=3,
        ),
    )
    assert third.answer("w1").assigned == work((), [(A, 0), (A, 1)])
    assert not third.answer("w0").revoked
