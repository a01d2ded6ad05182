"""A claim: a sentence, and the schedule that puts it to the coordinator, which yields (what,
expected, observed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import frozen
from kafka_talk import Talk

Ask = Callable[[Talk], Iterator[tuple[str, Any, Any]]]


@frozen
class Claim:
    id: str
    sentence: str
    ask: Ask


def claims_into(table: list[Claim]) -> Callable[[str, str], Callable[[Ask], Ask]]:
    """A decorator that notes a claim in a table."""

    def claim(id: str, sentence: str) -> Callable[[Ask], Ask]:
        def note(ask: Ask) -> Ask:
            table.append(Claim(id, sentence, ask))
            return ask

        return note

    return claim
