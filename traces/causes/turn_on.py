"""Advice on what to turn on so that the next log tells the cause, or which line is missing where
such lines are there already.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from groupcheck.traces.causes.from_brokers import GROUPS
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.clients.who import BROKER

ANY = "any"
_IS_ON = "nothing more in this log, such lines are on. They do not show {}"


@cache
def _tables() -> Mapping[str, Any]:
    text = (files("groupcheck.traces.causes") / "turn_on.toml").read_text("utf-8")
    return tomllib.loads(text)


def by_library() -> Mapping[str, str]:
    """Library -> what to turn on or to look for, without a full stop."""
    return {name: text for name, text in _tables().items() if isinstance(text, str)}


def to_turn_on(evidence: GroupEvidence, of_requests: bool = False) -> str:
    """The setting that would tell more about the group, for the library that wrote most of its
    lines, or for a broker. Nothing where its lines are there: then the line that is missing.
    `of_requests`: what is known of the group stands in a log of requests.
    """
    wrote = [name for name, _ in evidence.libraries.most_common()]
    known = by_library()
    name = next((name for name in wrote if name in known), ANY)
    if evidence.tallies.keys() <= {"streams_state"}:
        name = ANY  # Streams of other languages print their states like Java's
    marks = _tables()["shown"].get(name, ())
    if name == BROKER and of_requests:
        return _IS_ON.format(_tables()["whole"]["requests"])
    if any(mark in said.text for said in evidence.all() for mark in marks):
        return _IS_ON.format(_missing(evidence, name))
    return known[name]


def _missing(evidence: GroupEvidence, name: str) -> str:
    """The step of the protocol of which no line tells; of a log that shows all of them, what it
    cannot tell.
    """
    broker = name == BROKER
    if broker and not evidence.tallies.keys().isdisjoint(GROUPS.values()):
        # Their rebalances have no such end.
        return str(_tables()["whole"][BROKER])
    steps = _tables()["broker_step" if broker else "step"]
    kinds = [said.kind for said in evidence.all()]
    # Step -> where a line shows it last.
    seen = {
        k: max(at for at, kind in enumerate(kinds) if kind in step["kinds"])
        for k, step in enumerate(steps)
        if not set(kinds).isdisjoint(step["kinds"])
    }
    last = max(seen, default=-1)
    if broker and len(seen) == len(steps):
        last = max(seen, key=seen.__getitem__)
    if not broker and last == len(steps) - 2:
        given = next(k for k, step in enumerate(steps) if "assigned" in step["kinds"])
        last += seen.get(given, -1) > seen[last]
    if last + 1 < len(steps):
        return str(steps[last + 1]["words"])
    return str(_tables()["whole"][BROKER if broker else "member"])
