"""The facts about a group, as the document has them."""

from __future__ import annotations

from groupcheck.oracles.replay import replay_types
from groupcheck.oracles.replay.lives_document import quoted
from groupcheck.traces.facts.facts import Fact


def fact_document(f: Fact) -> replay_types.Fact:
    return replay_types.Fact(
        kind=f.kind,
        sort=f.sort,
        subject=f.subject,
        text=f.text,
        values={
            k: v if isinstance(v, int | float | str) else str(v)
            for k, v in f.values.items()
            if v is not None
        },
        count=f.count,
        alarm=f.alarm,
        lines=[quoted(said) for said in f.lines],
    )
