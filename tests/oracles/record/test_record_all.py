"""The nightly judge of recordings: where the machine was too busy, it tries again and says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from record_all import ATTEMPTS, NOT_STAGED, judged

BUSY, IDLE = 12.0, 1.3
IN_VAIN = f"was not recorded: {NOT_STAGED}: waited 60 s"


@pytest.mark.parametrize(
    ("attempts", "answer", "made"),
    [
        ([("", IDLE)], "", 1),
        ([("", BUSY)], "", 1),
        ([("shows poll_timeout", IDLE)], "shows poll_timeout", 1),
        ([("shows poll_timeout", BUSY), ("", BUSY)], "", 2),
        ([(IN_VAIN, IDLE), ("", IDLE)], "", 2),
        ([(IN_VAIN, IDLE)] * ATTEMPTS, IN_VAIN, 3),
        ([("shows poll_timeout", BUSY), ("shows zombie", IDLE)], "shows zombie", 2),
        (
            [("shows zombie", BUSY)] * ATTEMPTS,
            "not judged, the machine was 12 times slower than an idle one: shows zombie",
            3,
        ),
    ],
)
def test_only_what_a_busy_machine_or_the_library_may_have_caused_is_recorded_again(
    attempts: list[tuple[str, float]], answer: str, made: int
):
    asked = []

    def one_by_one() -> Iterator[tuple[str, float]]:
        for attempt in attempts:
            asked.append(attempt)
            yield attempt

    assert judged(one_by_one()) == answer
    assert len(asked) == made
