"""Advice on what to turn on so that the next log tells the cause."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from groupcheck.traces.causes.group_evidence import GroupEvidence

ANY = "any"


@cache
def by_library() -> Mapping[str, str]:
    """Library -> what to turn on or to look for, without a full stop."""
    text = (files("groupcheck.traces.causes") / "turn_on.toml").read_text("utf-8")
    return tomllib.loads(text)


def to_turn_on(evidence: GroupEvidence) -> str:
    """The setting that would tell more about the group, for the library that wrote most of its
    lines, or for a broker.
    """
    wrote = [name for name, _ in evidence.libraries.most_common()]
    known = by_library()
    return known[next((name for name in wrote if name in known), ANY)]
