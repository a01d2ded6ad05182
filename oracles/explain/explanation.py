"""A counterexample explained: one sentence that says what broke for whom, and the story of the
path with that fact marked.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import attrs

from groupcheck.invariants.registry import sentences
from groupcheck.invariants.sentences import Broken, as_sentence, filled_in
from groupcheck.model.engine import Spec, StepInvariant
from groupcheck.model.engine.lasso import named
from groupcheck.model.engine.plain.reach import broken_by
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import DEADLOCK, Path, Reached, Violation
from groupcheck.model.protocol.story import Era, Line, Mark, Story
from groupcheck.oracles.explain.subject import Subject
from groupcheck.oracles.explain.witness import Witness, witness, witness_of_goal

__all__ = [
    "Explanation",
    "StepRow",
    "broken_along",
    "explain",
    "explain_goal",
    "met_along",
    "paragraph",
    "retell",
    "rows",
]

WHY = " Why: "  # what follows it in a statement is the reason
STUCK = "Nothing can happen any more."
KNOWN = "Kafka does not promise this; it was checked because --invariant asks for it"
FOR_EVER = "from here on, for ever"


@attrs.frozen
class Explanation:
    """A path told: its story, and the promise that it breaks or the goal that it meets, if it does
    either.
    """

    story: Story
    # The path in sentences; the last one is `sentence`.
    prose: str
    path: Path
    # What replays the path.
    key: str
    # What broke, for whom.
    sentence: str = ""
    # The name of the promise that breaks; empty: none.
    invariant: str = ""
    statement: str = ""
    # Where the promise stands: a KIP, a ticket, a class of Kafka.
    source: str = ""
    # The step at which it breaks, or meets its goal.
    depth: int = 0
    # The values that break it or meet the goal, as the model has them.
    evidence: tuple[str, ...] = ()
    # What the variant or the promise could not say, and the error.
    trouble: str = ""
    # The promise is the user's own: whoever reads this knows the slots that it names.
    own: bool = False
    # The protocol is known to break it: it was checked because it was asked for.
    known: bool = False
    # The name of the goal that is met in the last state; empty: none. Then `statement` is its.
    goal: str = ""

    @property
    def promise(self) -> str:
        """The statement that should have been true."""
        return self.statement.partition(WHY)[0]

    @property
    def why(self) -> str:
        """The reason that the statement gives for the promise, if it gives one."""
        return self.statement.partition(WHY)[2]

    @property
    def headline(self) -> str:
        count = len(self.path.steps)
        steps = "1 step" if count == 1 else f"{count} steps"
        if self.goal:
            return f"{self.goal} is met after {steps}"
        return (
            f"{self.invariant} breaks after {steps}"
            if self.invariant
            else f"{steps}, nothing breaks"
        )


@attrs.frozen
class StepRow:
    """A row of the table of steps: one step, several in a row that are alike, or the start."""

    # `3`, `4 to 15`, or `start`.
    steps: str
    # Who acts, and what happens, without the subject.
    who: str
    words: str
    changes: tuple[str, ...]
    # What breaks here; empty in most rows.
    broken: tuple[str, ...]
    # Which goal is met here; empty in most rows.
    met: tuple[str, ...] = ()


def explain(about: Subject, violation: Violation) -> Explanation:
    """The story of a violation. Its last line is the step that breaks the invariant."""
    path = violation.path
    story, trouble = about.story(path)
    every = (*about.spec.invariants, *about.spec.progress)
    promise = next((p for p in every if p.name == violation.invariant), None)
    seen = witness(about.spec, violation)
    lanes, who = _lanes(story, seen)
    statement = " ".join(violation.statement.split())
    sentence, failed = _sentence(about, violation, seen)
    fact = sentence or f"{violation.invariant} is broken" + (f" by {who}" if who else "")
    told = sentence or (f"{fact}: {statement.partition(WHY)[0]}" if statement else f"{fact}.")
    if ending := _for_ever(about, violation):
        told = f"{ending} {told}"
    eras = [] if path.loop_from is None else [Era(path.loop_from, FOR_EVER)]
    marks = (*story.marks, Mark(len(path.steps), lanes, fact))
    return Explanation(
        attrs.evolve(story, marks=marks, eras=(*story.eras, *eras)),
        f"{paragraph(story)} {told}".strip(),
        path,
        violation.key,
        told,
        violation.invariant,
        statement,
        promise.source if promise else "",
        violation.depth,
        seen.evidence,
        "\n".join(filter(None, [trouble, failed])),
        not sentence,
        any(p.name == violation.invariant for p in about.not_promised),
    )


def explain_goal(about: Subject, reached: Reached) -> Explanation:
    """The story of the path to a goal. Its last line is the step that meets it."""
    path = reached.path
    story, trouble = about.story(path)
    seen = witness_of_goal(about.spec, reached)
    lanes, who = _lanes(story, seen)
    statement = " ".join(reached.statement.split())
    fact = f"{reached.goal} is met" + (f" by {who}" if who else "")
    told = f"{fact}: {statement}" if statement else f"{fact}."
    marks = (*story.marks, Mark(len(path.steps), lanes, fact, is_met=True))
    return Explanation(
        attrs.evolve(story, marks=marks),
        f"{paragraph(story)} {told}".strip(),
        path,
        reached.key,
        statement=statement,
        source=next(g.source for g in about.spec.goals if g.name == reached.goal),
        depth=reached.depth,
        evidence=seen.evidence,
        trouble=trouble,
        own=about.variant is None,
        goal=reached.goal,
    )


def _lanes(story: Story, seen: Witness) -> tuple[tuple[str, ...], str]:
    """The lanes of those who break a promise or meet a goal, and their titles as one text."""
    lanes = [lane for lane in story.lanes if lane.me is not None and lane.me in seen.indexes]
    return tuple(lane.name for lane in lanes), " and ".join(lane.title for lane in lanes)


def _for_ever(about: Subject, violation: Violation) -> str:
    """How a run that breaks a promise about progress goes on; empty for an invariant."""
    path, last = violation.path, len(violation.path.steps)
    if path.loop_from is None:
        promise = named(about.spec.progress, violation.invariant)
        return "From here no way leads to what is promised." if promise else ""
    if path.loop_from == last:
        return f"After step {last} the run may stay as it is for ever: no fair step changes it."
    if path.loop_from == last - 1:
        return f"Step {last} repeats for ever."
    return f"Steps {path.loop_from + 1} to {last} repeat for ever."


def _sentence(about: Subject, violation: Violation, seen: Witness) -> tuple[str, str]:
    """The sentence of the invariant, empty if it has none; and the error, if the sentence failed.
    That must not cost the verdict.
    """
    if violation.invariant == DEADLOCK:
        return STUCK, ""
    name = violation.invariant
    promise = next((p for p in about.spec.invariants if p.name == name), None)
    make = sentences().get(name)
    if about.variant is None or promise is None or not (make or promise.broken):
        return "", ""
    named, steps = Semantics(about.spec).named, violation.path.steps
    actor = steps[-1].firing.me if steps else None
    broken = Broken(named(seen.before), named(seen.after), seen.indexes, actor, about.spec.scope)
    try:
        return as_sentence(make(broken) if make else filled_in(promise.broken, broken)), ""
    except Exception as error:
        return "", f"{name} has no sentence for this; please report it: {error!r}"


def retell(about: Subject, path: Path, key: str) -> tuple[Explanation, ...]:
    """A path told once for each promise that it breaks and each goal that was asked for and that it
    meets, each time up to the first step that does; once as it is if there is neither.
    """
    spec = about.spec
    promised = (*spec.invariants, *spec.refinements, *spec.progress)
    statements = {p.name: p.statement for p in promised}
    see = Semantics(about.spec)
    told = []
    for name, step in sorted(
        broken_along(about.spec, path).items(), key=lambda item: (item[1], item[0])
    ):
        part = path if step == len(path.steps) else beginning(path, step)
        broken = Violation(name, statements.get(name, ""), step, part, see.key(part))
        told.append(explain(about, broken))
    goals = {g.name: g.statement for g in spec.goals}
    for name, step in met_along(spec, path).items():
        if name in about.goals:
            part = beginning(path, step)
            reached = Reached(name, goals[name], step, part, see.key(part))
            told.append(explain_goal(about, reached))
    if told:
        return tuple(told)
    story, trouble = about.story(path)
    return (Explanation(story, paragraph(story), path, key, trouble=trouble),)


def broken_along(spec: Spec, path: Path) -> dict[str, int]:
    """Every promise (and `deadlock`) that breaks along a path -> the first step that breaks it
    (0: the initial state).
    """
    see = Semantics(spec)
    broken: dict[str, int] = {}
    states = path.states
    for name, rest in see.broken_at_starts().items():
        if rest == states[0]:
            broken[name] = 0
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
    last = states[-1]
    is_stuck = all(step.state == last for step, _ in see.steps(last)) and not see.rests(last)
    if is_stuck and spec.deadlock and see.within(last):
        broken.setdefault(DEADLOCK, len(path.steps))
    return broken | dict.fromkeys(broken_by(see, path), len(path.steps))


def met_along(spec: Spec, path: Path) -> dict[str, int]:
    """Every goal that is met along a path -> the first step after which it is (0: the initial
    state).
    """
    see = Semantics(spec)
    met: dict[str, int] = {}
    for number, state in enumerate(path.states):
        met |= {g.name: number for g in spec.goals if g.name not in met and see.met(g, state)}
    return met


def beginning(path: Path, steps: int) -> Path:
    """The first steps of a path, without a loop."""
    return attrs.evolve(path, steps=path.steps[:steps], loop_from=None)


def paragraph(story: Story) -> str:
    """The lines as sentences, without those of routine."""
    lines = [line for line in story.lines if line.telling or line is story.lines[-1]]
    leads = ["Then "] * len(lines)
    if len(lines) > 1:
        leads[0], leads[-1] = "First ", "Finally "
    elif lines:
        leads[0] = ""
    told = (lead + line.words.rstrip(".") for lead, line in zip(leads, lines))
    return " ".join(f"{text[:1].upper()}{text[1:]}." for text in told)


def rows(story: Story) -> Iterator[StepRow]:
    """The table of steps. Steps in a row that say the same and change nothing share a row. An
    initial state that is told has the first row.
    """

    def alike(line: Line) -> object:
        return line.step if line.changes else (line.lane, line.who, line.words)

    if story.start:
        yield StepRow("start", "", "", story.start, *_marked(story, 0, 0))
    for _, group in groupby(story.lines, alike):
        first, *more = group
        last = more[-1] if more else first
        who = first.who or story.lane(first.lane).title
        words = _without_subject(first.words, who)
        yield StepRow(
            f"{first.step} to {last.step}" if more else f"{first.step}",
            who,
            f"{words} ({len(more) + 1} times)" if more else words,
            first.changes,
            *_marked(story, first.step, last.step),
        )


def _marked(story: Story, first: int, last: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The promises that break, and the goals that are met, in these steps."""
    marks = [m for m in story.marks if first <= m.step <= last]
    broken = tuple(m.text for m in marks if not m.is_met)
    return broken, tuple(m.text for m in marks if m.is_met)


def _without_subject(words: str, subject: str) -> str:
    """The words of a line without who does it, where they begin with that."""
    for start in (f"{subject}: ", f"{subject} ", f"the {subject} "):
        if words.startswith(start):
            return words[len(start) :]
    return words
