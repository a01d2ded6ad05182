"""An answer as data for every way of showing it: headline, numbers as (name, text), explained
paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from attrs import frozen

from groupcheck.model.engine.symmetry import FEW as FEW_PERMUTATIONS
from groupcheck.model.engine.symmetry import NO_ARRAYS
from groupcheck.model.engine.verdict import HOLDS, NOT_ASKED, UNKNOWN, VIOLATED, Reduction
from groupcheck.oracles.explain.answer import NOT_JUDGED
from groupcheck.oracles.explain.zeros import Zero, zeros
from groupcheck.oracles.printable import brief
from groupcheck.traces.phrases import plural

if TYPE_CHECKING:
    from groupcheck.oracles.explain.answer import Answer, ConformedPart
    from groupcheck.oracles.explain.explanation import Explanation
    from groupcheck.oracles.explain.subject import Subject

# Why symmetry is not used where nothing in the spec speaks against it.
SAID_NOWHERE = (NOT_ASKED, NO_ARRAYS, FEW_PERMUTATIONS)
MOST_GOALS = 12  # more are folded into one line
NAMES_SHOWN = 4
MEANINGFUL = 100_000  # states; below that bytes a state measure the tables


@frozen
class Report:
    """The content of a report."""

    # holds, violated or unknown; empty for a path that was only followed.
    verdict: str
    # Of the subject.
    title: str
    # Why the verdict is what it is; if it is `violated`, the names of the broken invariants.
    reason: str
    # The numbers as (name, text).
    facts: tuple[tuple[str, str], ...]
    explanations: tuple[Explanation, ...]
    # What did not happen although every state was explored.
    zeros: tuple[Zero, ...] = ()
    # For each explained path what to type to walk it; empty where no command can name the spec.
    walks: tuple[str, ...] = ()


def report(result: Answer) -> Report:
    """The report of a check."""
    v = result.verdict
    reason = (
        v.reason
        if v.verdict != VIOLATED
        else ", ".join(violation.invariant for violation in v.violations)
    )
    variant, absent = result.subject.variant, (*v.never_fired, *v.goals_not_met)
    told = (*result.explanations, *result.goal_explanations)
    return Report(
        v.verdict,
        result.subject.title,
        reason,
        tuple(facts(result)),
        told,
        zeros(variant, absent) if v.complete else (),
        tuple(walk_command(result.subject, one.key) for one in told),
    )


def walk_command(about: Subject, key: str) -> str:
    """What to type to walk a path; empty where no command leads there: a spec without a name, and
    one with the steps of a check with --progress.
    """
    from groupcheck.oracles.show.walk_links import command_line

    if about.progress or (about.variant is None and not about.origin):
        return ""
    return command_line(about, "explore", key)


def scope_words(about: Subject) -> str:
    """`members 3, partitions 3, faults crash=1 session_timeout=1`; fields that are off are left
    out.
    """
    if not attrs.has(type(about.spec.scope)) and not about.arguments:
        return brief(about.spec.scope) if about.spec.scope is not None else ""
    told = []
    for name, value in about.scope().items():
        if value in (None, "", {}, []):
            continue
        shown = (
            " ".join(f"{k}={n}" for k, n in value.items())
            if isinstance(value, dict)
            else _shown(value)
        )
        told.append(f"{name.replace('_', ' ')} {shown}")
    return ", ".join(told)


def _shown(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def facts(result: Answer) -> Iterator[tuple[str, str]]:
    """The numbers of a check as (name, text)."""
    v, spec = result.verdict, result.subject.spec
    if scope := scope_words(result.subject):
        yield "scope", scope
    yield "states", f"{v.states:,} ({v.transitions:,} transitions, {v.depth} levels)"
    if v.symmetry.used:
        yield "symmetry", _symmetry(v.symmetry)
    elif v.symmetry.reason not in SAID_NOWHERE:
        yield "symmetry", f"not used: {v.symmetry.reason}"
    if spec.constraints:
        names = ", ".join(c.name for c in spec.constraints)
        yield "border", f"{v.border:,} states beyond {names}: checked, not expanded"
    rate = f", {v.states / v.seconds:,.0f} states/s" if v.seconds >= 0.1 else ""
    calls = f", {v.rule_calls:,} rule calls" if v.rule_calls else ""
    memory = (
        f", {v.bytes_per_state:.1f} bytes a state"
        if v.bytes_per_state and v.states >= MEANINGFUL
        else ""
    )
    yield "run", f"{v.seconds:.2f} s{rate}{calls}{memory}"
    promises = (*spec.invariants, *spec.refinements)
    if promises:
        fallen = {violation.invariant for violation in v.violations}
        kept = sum(p.name not in fallen for p in promises)
        state = (
            "unbroken" if v.verdict == VIOLATED else "unbroken so far" if not v.complete else "hold"
        )
        yield "invariants", f"{kept} of {len(promises)} {state}"
    if result.subject.progress:
        yield "progress", _kept(v.progress)
    elif result.subject.not_judged:
        yield "progress", NOT_JUDGED
    if not result.subject.progress and not spec.deadlock:
        yield "deadlocks", "not looked for"
    fired = sum(1 for count in v.rules.values() if count)
    yield "rules", f"{fired} of {len(v.rules)} fired"
    yield from _goals(v.goals)
    if v.complete:
        about = result.subject
        if never := zeros(about.variant, v.never_fired):
            yield "never fired", _absent("outcomes", never)
        if unmet := zeros(about.variant, v.goals_not_met):
            yield "goals not met", _absent("goals", unmet)
    if result.conformed is not None:
        yield "conformed", _conformed(result.conformed)
    for note in v.notes:
        yield "note", note


def _kept(progress: Mapping[str, str]) -> str:
    """`6 of 8 promises hold, 2 are violated`."""
    counts = Counter(progress.values())
    others = [
        f"{counts[kind]} {'is' if counts[kind] == 1 else 'are'} {kind}"
        for kind in (VIOLATED, UNKNOWN)
        if counts[kind]
    ]
    return ", ".join([f"{counts[HOLDS]} of {len(progress)} promises hold", *others])


def _symmetry(found: Reduction) -> str:
    """How many states were stored, and what may be exchanged in them and what not."""
    groups = [" with ".join(arrays) for arrays in found.arrays]
    left_out = f". Not of {found.reason}" if found.reason else ""
    return (
        f"{found.representatives:,} states stored, each for all that differ from it only in the"
        f" order of the elements of {'; '.join(groups)}{left_out}"
    )


def _conformed(found: ConformedPart) -> str:
    scopes = "; ".join(
        f"{plural(given['members'], 'member')}, {plural(given['generations'], 'generation')}"
        for given in found.scopes
    )
    outside = f"; outside, for example: {found.example}" if found.example else ""
    return (
        f"{found.inside:,} of {found.memories:,} memories of the coordinator lie in scopes that"
        f" `conform` has executed ({scopes}){outside}"
    )


def _goals(goals: Mapping[str, int | None]) -> Iterator[tuple[str, str]]:
    met = {name: at for name, at in goals.items() if at is not None}
    if 0 < len(met) <= MOST_GOALS:
        yield "goals met", ", ".join(f"{name} at {at}" for name, at in met.items())
    elif met:
        yield "goals met", f"{len(met)} of {len(goals)}, the deepest at {max(met.values())}"


def _absent(what: str, absent: Sequence[Zero]) -> str:
    """The names, each with its cover scope, where they are few; otherwise how many there are."""
    if len(absent) <= NAMES_SHOWN:
        return "; ".join(f"{z.name} ({z.cover})" if z.cover else z.name for z in absent)
    covered = sum(zero.cover is not None for zero in absent)
    scopes = {
        0: "list them",
        len(absent): "list them, each with a small scope in which it happens",
    }.get(covered, f"list them, {covered} with a small scope in which they happen")
    return f"{len(absent)} {what} (--json and --html {scopes})"
