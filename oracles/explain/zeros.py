"""The events that did not happen in a check: outcomes that never fired and goals that were not met,
where they do happen, and what that means for the verdict.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import attrs
from attrs import frozen

from groupcheck.model.engine import Predicate, Rule, Spec
from groupcheck.model.engine.promises import ALL, SOME
from groupcheck.model.engine.signature import EVERY
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import EXPLORED, HOLDS, UNKNOWN, Verdict
from groupcheck.model.protocol.covers import Cover
from groupcheck.model.protocol.variant import Variant
from groupcheck.traces.phrases import plural

if TYPE_CHECKING:
    from groupcheck.oracles.explain.subject import Subject

OPTIONS = ("members", "partitions", "generations", "any_faults", "assignor")


@frozen
class Zero:
    """An outcome that never fired or a goal that was not met."""

    name: str
    # The command that explores the smallest cover scope in which it happens; None: none is known.
    cover: str | None


def zeros(variant: Variant | None, names: Iterable[str]) -> tuple[Zero, ...]:
    """These outcomes or goals, each with its cover scope; a spec of the user's own has none."""
    covers = [(name, variant.cover_of(name) if variant else None) for name in names]
    return tuple(
        Zero(name, command(variant, cover) if variant and cover else None) for name, cover in covers
    )


def command(variant: Variant, cover: Cover) -> str:
    """The command that explores a cover scope."""
    words = ["groupcheck", "check", variant.name]
    for name, value in cover.fields.items():
        if name == "faults":
            words += [word for fault, n in value.items() for word in ("--fault", f"{fault}={n}")]
        elif name in OPTIONS:
            words += [f"--{name.replace('_', '-')}", str(value)]
        else:
            text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
            words += ["--set", f"{name}={text}"]
    return shlex.join(words)


def judged(about: Subject, verdict: Verdict) -> Verdict:
    """The verdict, as it stands in the light of what the user asked for: one that holds becomes
    `unknown` if a fault or goal that was named did not happen. Notes name what says nothing in a
    small scope of the user's own spec.
    """
    if about.variant is None:
        notes = (*verdict.notes, *of_small_scope(about.spec))
        verdict = attrs.evolve(verdict, notes=notes)
    if verdict.verdict != HOLDS:
        return verdict
    spent_by = about.variant.spent_by if about.variant else {}
    absent = [
        f"fault {fault}"
        for fault in about.faults
        if not any(verdict.rules.get(outcome) for outcome in spent_by.get(fault, ()))
    ]
    absent += [f"goal {goal}" for goal in about.goals if verdict.goals[goal] is None]
    if not absent:
        return verdict
    reason = f"{EXPLORED}, but what was asked for never happened: {', '.join(absent)}"
    return attrs.evolve(verdict, verdict=UNKNOWN, reason=reason)


def of_small_scope(spec: Spec) -> Iterator[str]:
    """The notes on what says nothing because arrays are too small for its indexes, such as a rule
    about two neighbours in a ring of one: a note on each kind.
    """
    see = Semantics(spec)
    possible = {i.rule.name for i in (*see.ordinary, *see.urgent)}
    for rule in spec.rules:
        if rule.name not in possible:
            yield f"can never fire: {rule.name}, because {_too_few(spec, rule)}"
    looked_at = {p.name for i in (*see.ordinary, *see.urgent) for p, _ in see.checks(i)}

    def is_true_anyhow(p: Predicate) -> bool:
        return all(see.decided(p, ALL, case, lambda _: False) for case in see.cases(p, ALL))

    def is_false_anyhow(p: Predicate) -> bool:
        return not any(see.decided(p, SOME, case, lambda _: True) for case in see.cases(p, SOME))

    promises = [
        *(
            p.name
            for p in spec.invariants
            if (is_true_anyhow(p) if isinstance(p, Predicate) else p.name not in looked_at)
        ),
        *(p.name for p in spec.progress if is_true_anyhow(p.bound)),
    ]
    for so, names in (
        ("nothing to check", promises),
        ("nothing to meet", [g.name for g in spec.goals if is_false_anyhow(g)]),
        ("every state is an end", [e.name for e in spec.ends if is_true_anyhow(e)]),
    ):
        if names:
            yield f"no case in this scope, so {so}: {', '.join(names)}"


def _too_few(spec: Spec, rule: Rule) -> str:
    """Which arrays have too few elements for a rule."""
    indexed: dict[str, list[str]] = {}
    for slot, index in rule.places:
        if spec.slots[slot].size is not None and index != EVERY:
            indexed.setdefault(slot, []).append(f"{slot}[{index or rule.own}]")
    return " and ".join(
        f"{slot} has {plural(spec.slots[slot].size or 0, 'element')}, too few for"
        f" {' and '.join(names)}"
        for slot, names in indexed.items()
        if len(names) > 1
    )
