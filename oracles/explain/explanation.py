"""A counterexample explained: its story with the broken fact marked, and one paragraph that says
who did what and which promise broke.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from groupcheck.model.engine import Spec, StepInvariant
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import DEADLOCK, Path, Violation
from groupcheck.model.protocol.story import Line, Mark, Story
from groupcheck.oracles.explain.subject import Subject
from groupcheck.oracles.explain.witness import witness

__all__ = ["Explanation", "broken_along", "explain", "paragraph", "retell", "without_subject"]

WHY = " Why: "  # what follows it in a statement is the reason


@attrs.frozen
class Explanation:
    """A path told: its story (with the broken fact marked), its paragraph, and the promise that it
    breaks (`invariant` empty: none).

    `source` says where the promise stands, `depth` at which step it breaks, `key` replays the path,
    `evidence` are the values that break it.
    `trouble`: why the variant could not tell the path itself.
    """

    story: Story
    prose: str
    path: Path
    key: str
    invariant: str = ""
    statement: str = ""
    source: str = ""
    depth: int = 0
    evidence: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def why(self) -> str:
        """The reason that the statement gives for the promise, if it gives one."""
        return self.statement.partition(WHY)[2]

    @property
    def headline(self) -> str:
        steps = _steps(len(self.path.steps))
        return (
            f"{self.invariant} breaks after {steps}"
            if self.invariant
            else f"{steps}, nothing breaks"
        )


def explain(about: Subject, violation: Violation) -> Explanation:
    """The story of a violation. Its last line is the step that breaks the invariant."""
    path = violation.path
    story, trouble = about.story(path)
    promise = next((p for p in about.spec.invariants if p.name == violation.invariant), None)
    seen = witness(about.spec, violation)
    lanes = tuple(
        lane.name for lane in story.lanes if lane.me is not None and lane.me in seen.indexes
    )
    who = _and([story.lane(name).title for name in lanes])
    fact = f"{violation.invariant} is broken" + (f" by {who}" if who else "")
    if violation.invariant == DEADLOCK:
        fact = "nothing can happen any more"
    if not any(m.step == len(path.steps) for m in story.marks):
        story = attrs.evolve(story, marks=(*story.marks, Mark(len(path.steps), lanes, fact)))
    statement = " ".join(violation.statement.split())
    closing = f"Now {fact}" + (f": {statement.partition(WHY)[0]}" if statement else ".")
    prose = " ".join(filter(None, (_opening(path), story.prose or paragraph(story), closing)))
    source = promise.source if promise else ""
    return Explanation(
        story,
        prose,
        path,
        violation.key,
        violation.invariant,
        statement,
        source,
        violation.depth,
        seen.evidence,
        trouble,
    )


def retell(about: Subject, path: Path, key: str) -> tuple[Explanation, ...]:
    """A path told once for each promise that it breaks, each time up to the step that breaks it;
    once as it is if it breaks none.
    """
    statements = {p.name: p.statement for p in about.spec.invariants}
    told = []
    for name, step in sorted(
        broken_along(about.spec, path).items(), key=lambda item: (item[1], item[0])
    ):
        part = attrs.evolve(path, steps=path.steps[:step])
        told.append(
            explain(
                about,
                Violation(
                    name, statements.get(name, ""), step, part, Semantics(about.spec).key(part)
                ),
            )
        )
    if told:
        return tuple(told)
    story, trouble = about.story(path)
    return (Explanation(story, story.prose or paragraph(story), path, key, trouble=trouble),)


def _opening(path: Path) -> str:
    steps = len(path.steps)
    return (
        f"{_steps(steps)} {'is' if steps == 1 else 'are'} enough."
        if steps
        else "The initial state itself breaks it."
    )


def _steps(count: int) -> str:
    return f"{count} step{'s' * (count != 1)}"


def broken_along(spec: Spec, path: Path) -> dict[str, int]:
    """Every invariant (and `deadlock`) that breaks along a path -> the first step that breaks it
    (0: the initial state).
    """
    see = Semantics(spec)
    broken: dict[str, int] = {}
    states = path.states
    for number, state in enumerate(states):
        if number:
            fallen = next(
                b for s, b in see.steps(states[number - 1]) if s == path.steps[number - 1]
            )
            for step_invariant in fallen:
                broken.setdefault(step_invariant.name, number)
        for p in spec.invariants:
            if (
                not isinstance(p, StepInvariant)
                and p.name not in broken
                and not see.holds(p, state)
            ):
                broken[p.name] = number
    if all(step.state == states[-1] for step, _ in see.steps(states[-1])) and not see.rests(
        states[-1]
    ):
        broken.setdefault(DEADLOCK, len(path.steps))
    return broken


def paragraph(story: Story) -> str:
    """The telling lines as sentences: up to three things that one does in a row are joined, and the
    last one is named as such.
    """
    groups: list[list[Line]] = []
    for line in story.lines:
        if not line.telling and line is not story.lines[-1]:
            continue
        if groups and groups[-1][0].lane == line.lane and len(groups[-1]) < 3:
            groups[-1].append(line)
        else:
            groups.append([line])
    sentences = []
    for k, group in enumerate(groups):
        lead = (
            "First "
            if k == 0 and len(groups) > 1
            else "Finally "
            if k == len(groups) - 1 and k
            else "Then "
            if k
            else ""
        )
        text = lead + _joined(group, story.lane(group[0].lane).title)
        sentences.append(text[:1].upper() + text[1:] + ".")
    return " ".join(sentences)


def _joined(group: Sequence[Line], subject: str) -> str:
    """Lines of one lane as one sentence, its subject said once."""
    first, *rest = (line.words.rstrip(".") for line in group)
    return first + "".join(", then " + without_subject(words, subject) for words in rest)


def without_subject(words: str, subject: str) -> str:
    """The words of a line without who does it, where they begin with that."""
    for start in (f"{subject}: ", f"{subject} ", f"the {subject} "):
        if words.startswith(start):
            return words[len(start) :]
    return words


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
