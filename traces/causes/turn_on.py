"""Advice on what to turn on so that the next log tells the cause, or which line is missing where
such lines are there already.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.clients.who import BROKER

ANY = "any"


@cache
def _tables() -> Mapping[str, Any]:
    text = (files("groupcheck.traces.causes") / "turn_on.toml").read_text("utf-8")
    return tomllib.loads(text)


def by_library() -> Mapping[str, str]:
    """Library -> what to turn on or to look for, without a full stop."""
    return {name: text for name, text in _tables().items() if isinstance(text, str)}


def to_turn_on(evidence: GroupEvidence) -> str:
    """The setting that would tell more about the group, for the library that wrote most of its
    lines, or for a broker. Nothing where its lines are there: then the line that is missing.
    """
    wrote = [name for name, _ in evidence.libraries.most_common()]
    known = by_library()
    name = next((name for name in wrote if name in known), ANY)
    if evidence.tallies.keys() <= {"streams_state"}:
        name = ANY  # Streams of other languages print their states like Java's
    marks = _tables()["shown"].get(name, ())
    if any(mark in said.text for said in evidence.all() for mark in marks):
        missing = _missing(evidence, name)
        return f"nothing more: such lines are here. groupcheck reads none of this kind: {missing}"
    return known[name]


def _missing(evidence: GroupEvidence, name: str) -> str:
    """The step of the protocol that comes next and of which no line tells."""
    steps = _tables()["broker_step" if name == BROKER else "step"]
    last = max(
        (
            k
            for k, step in enumerate(steps)
            if not evidence.tallies.keys().isdisjoint(step["kinds"])
        ),
        default=-1,
    )
    return str(steps[(last + 1) % len(steps)]["words"])
