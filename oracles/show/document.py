"""The verdict as one JSON document, schema groupcheck.verdict/2: what scripts depend on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from groupcheck.model.engine.verdict import Firing, Path
from groupcheck.oracles.explain.zeros import zeros
from groupcheck.oracles.printable import place, plain
from groupcheck.oracles.show import verdict_types
from groupcheck.oracles.show.json_schemas import ABSENT, document

if TYPE_CHECKING:
    from groupcheck.oracles.explain.answer import Answer, ConformedPart, WalkedPath
    from groupcheck.oracles.explain.explanation import Explanation
    from groupcheck.oracles.explain.subject import Subject

SCHEMA = "groupcheck.verdict/2"
PATH_SCHEMA = "groupcheck.path/1"


def verdict_document(result: Answer) -> dict[str, Any]:
    """All that `groupcheck check --json` prints. Times (`seconds`) apart, the same question gives
    the same document.
    """
    v, about, walks = result.verdict, result.subject, result.walks
    shown = verdict_types.VerdictDocument(
        variant=about.spec.name,
        scope=about.scope(),
        mutation=about.mutation.id if about.mutation else None,
        engine=result.engine,
        verdict=v.verdict,
        reason=v.reason,
        states=v.states,
        border_states=v.border,
        transitions=v.transitions,
        depth=v.depth,
        seconds=round(v.seconds, 3),
        rule_calls=v.rule_calls,
        bytes_per_state=round(v.bytes_per_state, 2),
        rules=dict(v.rules),
        goals=dict(v.goals),
        never_fired=_zeros(about, v.never_fired),
        goals_not_met=_zeros(about, v.goals_not_met),
        invariants=[p.name for p in about.spec.invariants],
        constraints=[c.name for c in about.spec.constraints],
        refinements=[r.name for r in about.spec.refinements],
        deadlock=about.spec.deadlock,
        progress=dict(v.progress) if about.progress else ABSENT,
        progress_not_judged=list(about.not_judged),
        violations=[_violation(e) for e in result.explanations],
        goal_paths=_goal_paths(result.goal_explanations) if about.goals else ABSENT,
        symmetry=verdict_types.Symmetry(
            used=v.symmetry.used,
            reason=v.symmetry.reason,
            arrays=[list(group) for group in v.symmetry.arrays],
            representatives=v.symmetry.representatives,
        ),
        notes=list(v.notes),
        random_walks=ABSENT
        if walks is None
        else verdict_types.RandomWalks(number=walks.number, length=walks.length, seed=walks.seed),
        conformed=ABSENT if result.conformed is None else _conformed(result.conformed),
        distribution=ABSENT if v.distribution is None else _distribution(**v.distribution),
    )
    return document(SCHEMA, shown)


def path_document(followed: WalkedPath) -> dict[str, Any]:
    """All that `groupcheck explain --json` prints, schema groupcheck.path/1."""
    about = followed.subject
    shown = verdict_types.PathDocument(
        variant=about.spec.name,
        scope=about.scope(),
        mutation=about.mutation.id if about.mutation else None,
        key=followed.key,
        broken=dict(followed.broken),
        goals=dict(followed.met),
        path=list(_steps(followed.path)),
        violations=[_violation(e) for e in followed.explanations if e.invariant],
        goal_paths=_goal_paths(followed.explanations) if about.goals else ABSENT,
    )
    return document(PATH_SCHEMA, shown)


def _zeros(about: Subject, names: Iterable[str]) -> list[verdict_types.Zero]:
    return [
        verdict_types.Zero(name=one.name, cover=one.cover) for one in zeros(about.variant, names)
    ]


def _conformed(found: ConformedPart) -> verdict_types.ConformedShare:
    return verdict_types.ConformedShare(
        scopes=[
            verdict_types.ConformScope(
                members=given["members"],
                generations=given["generations"],
                faults=sorted(given["faults"]) if "faults" in given else "all",
                settings=dict(given.get("settings", {})),
            )
            for given in found.scopes
        ],
        memories=found.memories,
        inside=found.inside,
        outside=found.outside,
        example=found.example,
    )


def _distribution(levels: Iterable[dict[str, Any]], **given: Any) -> verdict_types.Distribution:
    """From the plain JSON that the engine makes."""
    return verdict_types.Distribution(
        levels=[verdict_types.Level(**level) for level in levels], **given
    )


def _violation(told: Explanation) -> verdict_types.Violation:
    """One violation with its path."""
    return verdict_types.Violation(
        invariant=told.invariant,
        statement=told.statement,
        source=told.source,
        promised=not told.known,
        depth=told.depth,
        loop_from=told.path.loop_from,
        key=told.key,
        sentence=told.sentence,
        story=_story(told),
    )


def _goal_paths(explanations: Iterable[Explanation]) -> list[verdict_types.GoalPath]:
    """The goals among explained paths, each with its path as a violation has it."""
    return [
        verdict_types.GoalPath(
            goal=told.goal,
            statement=told.statement,
            source=told.source,
            depth=told.depth,
            key=told.key,
            story=_story(told),
        )
        for told in explanations
        if told.goal
    ]


def _story(told: Explanation) -> verdict_types.Story:
    words = {line.step: line.words for line in told.story.lines}
    return verdict_types.Story(
        prose=told.prose,
        evidence=list(told.evidence),
        initial={
            place(*where): plain(value) for where, value in zip(told.path.places, told.path.initial)
        },
        path=[
            verdict_types.StoryStep(step=one, words=words.get(one.step, ""))
            for one in _steps(told.path)
        ],
    )


def _steps(path: Path) -> Iterator[verdict_types.Step]:
    """The steps of a path: `rule` (with its label), `me`, the `urgent` firings inside the step, and
    `changes` of whole slots.
    """
    before = path.initial
    for number, step in enumerate(path.steps, 1):
        yield verdict_types.Step(
            step=number,
            firing=_firing(step.firing),
            urgent=[_firing(f) for f in step.urgent],
            changes=[
                verdict_types.Change(slot=place(*where), before=plain(old), after=plain(new))
                for where, old, new in zip(path.places, before, step.state)
                if old != new
            ],
        )
        before = step.state


def _firing(firing: Firing) -> verdict_types.Firing:
    return verdict_types.Firing(
        rule=firing.name, me=firing.me, others=list(firing.others) or ABSENT
    )
