"""What did not happen in a check: outcomes that never fired and goals that were not met, where they
do happen, and what that means for the verdict.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

import attrs
from attrs import frozen

from groupcheck.model.engine import Predicate, Spec
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import EXPLORED, HOLDS, UNKNOWN, Verdict
from groupcheck.model.protocol.variant import Cover, Variant

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
    `unknown` if a fault or goal that was named did not happen. A note names promises of the user's
    own spec that have no case.
    """
    if about.variant is None and (caseless := without_cases(about.spec)):
        note = f"no case in this scope, so nothing to check: {', '.join(caseless)}"
        verdict = attrs.evolve(verdict, notes=(*verdict.notes, note))
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


def without_cases(spec: Spec) -> list[str]:
    """The promises whose index variables have no values, such as one about three members in a group
    of two.
    """
    see = Semantics(spec)
    bound = {p.name: p for p in spec.invariants if isinstance(p, Predicate)}
    bound |= {p.name: p.bound for p in spec.progress}
    return [name for name, p in bound.items() if not see.instances(p)]
