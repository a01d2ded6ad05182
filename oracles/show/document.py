"""The verdict as one JSON document, schema groupcheck.verdict/2: what scripts depend on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import attrs

from groupcheck.model.engine.verdict import Firing, Path
from groupcheck.oracles.explain.zeros import zeros
from groupcheck.oracles.printable import as_json, place, plain

if TYPE_CHECKING:
    from groupcheck.oracles.explain.answer import Answer, Walked
    from groupcheck.oracles.explain.explanation import Explanation

SCHEMA = "groupcheck.verdict/2"
PATH_SCHEMA = "groupcheck.path/1"


def as_text(document: Any) -> str:
    """A JSON document as text: one value, keys in their own order, a line end."""
    return as_json(document, indent=2) + "\n"


def verdict_document(result: Answer) -> dict[str, Any]:
    """All that `groupcheck check --json` prints. Times (`seconds`) apart, the same question gives
    the same document.
    """
    v, about = result.verdict, result.subject
    return {
        "schema": SCHEMA,
        "variant": about.spec.name,
        "scope": about.scope(),
        "mutation": about.mutation.id if about.mutation else None,
        "engine": result.engine,
        "verdict": v.verdict,
        "reason": v.reason,
        "states": v.states,
        "border_states": v.border,
        "transitions": v.transitions,
        "depth": v.depth,
        "seconds": round(v.seconds, 3),
        "rule_calls": v.rule_calls,
        "bytes_per_state": round(v.bytes_per_state, 2),
        "rules": dict(v.rules),
        "goals": dict(v.goals),
        "never_fired": [attrs.asdict(zero) for zero in zeros(about.variant, v.never_fired)],
        "goals_not_met": [attrs.asdict(zero) for zero in zeros(about.variant, v.goals_not_met)],
        "invariants": [p.name for p in about.spec.invariants],
        "constraints": [c.name for c in about.spec.constraints],
        "refinements": [r.name for r in about.spec.refinements],
        "deadlock": about.spec.deadlock,
        **({"progress": dict(v.progress)} if about.progress else {}),
        "progress_not_judged": list(about.not_judged),
        "violations": [violation_document(e) for e in result.explanations],
        **({"goal_paths": _goal_paths(result.goal_explanations)} if about.goals else {}),
        "symmetry": attrs.asdict(v.symmetry),
        "notes": list(v.notes),
        **({"random_walks": attrs.asdict(result.walks)} if result.walks is not None else {}),
        **({"conformed": result.conformed.document()} if result.conformed is not None else {}),
        **({"distribution": dict(v.distribution)} if v.distribution is not None else {}),
    }


def path_document(followed: Walked) -> dict[str, Any]:
    """All that `groupcheck explain --json` prints, schema groupcheck.path/1."""
    about = followed.subject
    return {
        "schema": PATH_SCHEMA,
        "variant": about.spec.name,
        "scope": about.scope(),
        "mutation": about.mutation.id if about.mutation else None,
        "key": followed.key,
        "broken": dict(followed.broken),
        "goals": dict(followed.met),
        "path": list(steps_document(followed.path)),
        "violations": [violation_document(e) for e in followed.explanations if e.invariant],
        **({"goal_paths": _goal_paths(followed.explanations)} if about.goals else {}),
    }


def violation_document(told: Explanation) -> dict[str, Any]:
    """One violation with its path: each step with the rule, the index it stood for, and the slots
    that it changed.
    """
    return {
        "invariant": told.invariant,
        "statement": told.statement,
        "source": told.source,
        "promised": not told.known,
        "depth": told.depth,
        "loop_from": told.path.loop_from,
        "key": told.key,
        "sentence": told.sentence,
        **_told(told),
    }


def _goal_paths(explanations: Iterable[Explanation]) -> list[dict[str, Any]]:
    """The goals among explained paths, each with its path as a violation has it."""
    return [
        {
            "goal": told.goal,
            "statement": told.statement,
            "source": told.source,
            "depth": told.depth,
            "key": told.key,
            **_told(told),
        }
        for told in explanations
        if told.goal
    ]


def _told(told: Explanation) -> dict[str, Any]:
    """A path in words and as values."""
    words = {line.step: line.words for line in told.story.lines}
    return {
        "prose": told.prose,
        "evidence": list(told.evidence),
        "initial": {
            place(*where): plain(value) for where, value in zip(told.path.places, told.path.initial)
        },
        "path": [
            {**step, "words": words.get(step["step"], "")} for step in steps_document(told.path)
        ],
    }


def steps_document(path: Path) -> Iterator[dict[str, Any]]:
    """The steps of a path: `rule` (with its label), `me`, the `urgent` firings inside the step, and
    `changes` of whole slots.
    """
    before = path.initial
    for number, step in enumerate(path.steps, 1):
        yield {
            "step": number,
            **_firing(step.firing),
            "urgent": [_firing(f) for f in step.urgent],
            "changes": [
                {"slot": place(*where), "before": plain(old), "after": plain(new)}
                for where, old, new in zip(path.places, before, step.state)
                if old != new
            ],
        }
        before = step.state


def _firing(firing: Firing) -> dict[str, Any]:
    others = {"others": list(firing.others)} if firing.others else {}
    return {"rule": firing.name, "me": firing.me, **others}
