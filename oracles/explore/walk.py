"""A walk through the states of a spec: where it stands, what can happen next, what was tried.

It takes its steps with `Semantics`, the definition of a step: a step of any variant takes some
milliseconds, and nothing compiled is imported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from random import Random
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.engine import Predicate, StepInvariant, UserError
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import DEADLOCK, Path, Step
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.story import Lane
from groupcheck.oracles.explain.explanation import WHY, Explanation, retell, rows
from groupcheck.oracles.explain.own_messages import Waiting
from groupcheck.oracles.explain.plain_story import messages_at_the_end
from groupcheck.oracles.explain.subject import Subject
from groupcheck.oracles.printable import brief, changes, place
from groupcheck.traces.phrases import plural

FAULTS = "faults"  # the group of choices that spend a fault
LONGEST_WALK = 1_000  # steps; the story of a longer one takes seconds
MOST_OWN = 4  # values that tell two steps apart
WATCHED = "offsets.watched"
# What the classic coordinator has written to its log, which a fail-over reads.
IN_LOG = re.compile(r"\.(durable|durable_leader|recorded)\b")


@frozen
class Choice:
    """One step out of a state."""

    # Its number among the steps out of the state, from 0, as a key holds it.
    number: int
    # The title of the lane that acts, or FAULTS.
    group: str
    # What happens, as a sentence with its subject.
    words: str
    # What it would change, as short texts.
    changes: tuple[str, ...]
    # The fault that it spends; empty: none.
    fault: str
    # The promises that break in this step, or in the state after it.
    breaks: tuple[str, ...]
    step: Step


class Node:
    """A state that the walk has visited, in the tree of the branches that were tried."""

    def __init__(self, state: State, parent: Node | None = None, step: Step | None = None) -> None:
        self.state, self.parent, self.step = state, parent, step
        # The number of the choice that led here; of the first node, of the initial state.
        self.number = 0
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.children: dict[int, Node] = {}
        # The child that was visited last, to which `redo` leads.
        self.last: Node | None = None
        self.known: tuple[Choice, ...] | None = None
        # Lines of a log that tell the step that led here.
        self.said: tuple[str, ...] = ()

    @property
    def line(self) -> list[Node]:
        """The nodes from the first one to this one."""
        found, node = [self], self
        while node.parent is not None:
            node = node.parent
            found.append(node)
        return found[::-1]

    @property
    def key(self) -> str:
        """What `explain` and `--from` take to come here."""
        return "gc1-" + ".".join(str(node.number) for node in self.line)

    @property
    def branches(self) -> int:
        """How many nodes before this one have several children: in a tree that is shown, a branch
        is indented, and not each step.
        """
        return sum(len(node.children) > 1 for node in self.line[:-1])


class Walk:
    """A walk through the states of a subject."""

    def __init__(self, about: Subject, key: str | None = None) -> None:
        """Begins in the first initial state, or follows a key. Raises `UserError` if the key does
        not fit.
        """
        self.about = about
        self.see = Semantics(about.spec)
        self.roots: dict[int, Node] = {}
        # What is said about the walk as a whole, such as how it fits a log.
        self.note = ""
        self.at = self._root(0)
        if key is not None:
            self.follow(key)

    @cached_property
    def starts(self) -> list[tuple[Any, State, State]]:
        """The initial states, as `Semantics.starts` has them."""
        return self.see.starts()

    def _root(self, number: int) -> Node:
        """The node of an initial state. Raises `UserError` if there is no such state."""
        if number not in self.roots:
            if not 0 <= number < len(self.starts):
                raise UserError(
                    f"there is no initial state {number}",
                    where=self.about.title,
                    do=f"choose one from 0 to {len(self.starts) - 1}",
                )
            self.roots[number] = Node(self.starts[number][2])
            self.roots[number].number = number
        return self.roots[number]

    # -- moving

    def begin(self, number: int) -> None:
        """Goes to an initial state."""
        self.at = self._root(number)

    def take(self, number: int) -> Choice:
        """Takes the step with this number among those out of the state. Raises `UserError` if
        there is none.
        """
        choice = next((c for c in self.every_choice if c.number == number), None)
        if choice is None:
            raise UserError(f"no step has the number {number} here", where=self.about.title)
        self.go(number, choice.step)
        return choice

    def go(self, number: int, step: Step) -> None:
        """Takes a step out of the state; `number`: its own among them."""
        at = self.at
        if at.depth >= LONGEST_WALK:
            raise UserError(f"a walk has at most {LONGEST_WALK:,} steps", do="go back, or begin")
        if number not in at.children:
            child = at.children[number] = Node(step.state, at, step)
            child.number = number
        at.last = self.at = at.children[number]

    def back(self, steps: int = 1) -> int:
        """Undoes steps; returns how many there were to undo."""
        done = 0
        while done < steps and self.at.parent is not None:
            self.at.parent.last, self.at = self.at, self.at.parent
            done += 1
        return done

    def forward(self, steps: int = 1) -> int:
        """Takes again the steps that were undone last; returns how many there were."""
        done = 0
        while done < steps and self.at.last is not None:
            self.at, done = self.at.last, done + 1
        return done

    def follow(self, key: str) -> None:
        """Goes to the state at which a key ends. Raises `UserError` if it does not fit."""
        if self._is_known(key):
            return
        path = self.see.follow(key)
        start, *numbers = map(int, key[4:].partition("+")[0].split("."))
        if len(path.steps) > LONGEST_WALK:
            raise UserError(f"a walk has at most {LONGEST_WALK:,} steps", where=key[:60])
        self.at = self._root(start)
        for number, step in zip(numbers, path.steps, strict=True):
            self.go(number, step)

    def _is_known(self, key: str) -> bool:
        """Goes to the state at which a key ends, if the walk was there before. Was it?"""
        if not re.fullmatch(r"gc1-[0-9]{1,8}(\.[0-9]{1,8})*", key):
            return False
        start, *numbers = map(int, key[4:].split("."))
        node = self.roots.get(start)
        for number in numbers:
            node = None if node is None else node.children.get(number)
        if node is None:
            return False
        self.at = node
        while node.parent is not None:
            node.parent.last, node = node, node.parent
        return True

    def random(self, steps: int, seed: int) -> list[Choice]:
        """Takes up to so many random steps; fewer where nothing can happen any more. The same seed
        and state give the same steps.
        """
        chance, taken = Random(seed), list[Choice]()
        for _ in range(steps):
            if not self.choices:
                break
            # Each step alike: groups with many outcomes come more often, as in `--random-walks`.
            taken.append(chance.choice(self.choices))
            self.go(taken[-1].number, taken[-1].step)
        return taken

    # -- what is here

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What can happen next, grouped by who acts, faults last. Of steps that lead to the same
        state in the same words, the first one.
        """
        first: dict[object, Choice] = {}
        for c in self.every_choice:
            first.setdefault((c.step.state, c.words, c.breaks), c)
        return tuple(first.values())

    @property
    def every_choice(self) -> tuple[Choice, ...]:
        """All steps out of the state."""
        node = self.at
        if node.known is None:
            node.known = self._choices(node.state)
        return node.known

    def _choices(self, state: State) -> tuple[Choice, ...]:
        found: list[tuple[int, int, Choice]] = []
        promised = [p for p in self.about.spec.invariants if isinstance(p, Predicate)]
        broken = {p.name for p in promised if not self.see.holds(p, state)}
        for number, (step, fallen) in enumerate(self.see.steps(state)):
            order, choice = self._choice(number, state, step)
            breaks = [p.name for p in fallen]
            breaks += [
                p.name
                for p in promised
                if p.name not in broken and not self.see.holds(p, step.state)
            ]
            found.append((order, number, evolve(choice, breaks=tuple(dict.fromkeys(breaks)))))
        told = tuple(choice for _, _, choice in sorted(found, key=lambda f: f[:2]))
        return self._told_apart(state, told)

    def _told_apart(self, state: State, told: Sequence[Choice]) -> tuple[Choice, ...]:
        """The same choices; where words do not tell some apart, the values do in which they
        differ.
        """
        alike: dict[object, list[dict[str, str]]] = {}
        values = [self._changes(state, c.step) for c in told]
        for c, changed in zip(told, values, strict=True):
            alike.setdefault((c.words, c.changes), []).append(changed)
        found = []
        for c, changed in zip(told, values, strict=True):
            others = alike[c.words, c.changes]
            differ = {n for o in others for n in o.keys() | changed if o.get(n) != changed.get(n)}
            if differ and all(IN_LOG.search(n) for n in differ):
                would = "would" if differ & changed.keys() else "would not"
                found.append(evolve(c, words=f"{c.words}; a fail-over {would} load this"))
                continue
            own = [t for name, t in changed.items() if any(o.get(name) != t for o in others)]
            found.append(evolve(c, changes=(*c.changes, *own[:MOST_OWN])))
        return tuple(found)

    def _changes(self, state: State, step: Step) -> dict[str, str]:
        """Field -> how a step changes it."""
        return {
            name: f"{name}: {brief(a)} -> {brief(b)}"
            for (slot, index), old, new in zip(self.see.places, state, step.state, strict=True)
            for name, a, b in changes(place(slot, index), old, new)
        }

    def _choice(self, number: int, state: State, step: Step) -> tuple[int, Choice]:
        """A step in words, and the place of its group among the others."""
        story, _ = self.about.story(Path(self.see.places, state, (), (step,)))
        line = story.lines[0]
        row = next(row for row in rows(story) if row.steps != "start")
        titles = [lane.title for lane in story.lanes]
        group = story.lane(line.lane).title
        fault = spent(self.about, state, step)
        words = line.words if not line.who else f"{row.who}: {row.words}"
        choice = Choice(number, FAULTS if fault else group, words, row.changes, fault, (), step)
        return len(titles) if fault else titles.index(group), choice

    def words_of(self, node: Node) -> str:
        """The step that led to a node, in words."""
        if node.parent is None or node.step is None:
            return self.start_words(node.number)
        return self.words_after(node.parent.state, node.step)

    @cached_property
    def _own_of_starts(self) -> list[dict[str, Any]]:
        """For each initial state, the fields in which it may differ from others, with values."""
        states, base = [rest for _, _, rest in self.starts], dict[str, Any]()
        found = []
        for state in states:
            own = dict[str, Any]()
            for (slot, index), was, now in zip(self.see.places, states[0], state, strict=True):
                for name, a, b in changes(place(slot, index), was, now):
                    base[name], own[name] = a, b
            found.append(own)
        return [base | own for own in found]

    def start_words(self, number: int) -> str:
        """An initial state: how it may differ from others."""
        if len(self.starts) == 1:
            return "nothing has happened yet"
        said = (
            f"offsets are followed for p{value}" if name.endswith(WATCHED)
            else f"{name} is {brief(value)}"
            for name, value in self._own_of_starts[number].items()
        )  # fmt: skip
        return f"initial state {number}: {', '.join(said)}"

    def words_after(self, state: State, step: Step) -> str:
        """A step out of a state, in words."""
        return self._choice(0, state, step)[1].words

    @cached_property
    def lanes(self) -> tuple[Lane, ...]:
        """Who takes part, as the stories of the spec have them."""
        rest = self.starts[0][2]
        return self.about.story(Path(self.see.places, rest, (), ()))[0].lanes

    @property
    def path(self) -> Path:
        """The path so far."""
        line = self.at.line
        chain, _, rest = self.starts[line[0].number]
        return Path(self.see.places, rest, chain, tuple(n.step for n in line if n.step))

    @property
    def key(self) -> str:
        """What `explain` and `--from` take to come here again."""
        return self.at.key

    @property
    def waiting(self) -> list[Waiting]:
        """The messages of a protocol of one's own that are on their way here."""
        if self.about.variant is not None:
            return []
        return messages_at_the_end(self.see, self.path)

    def told(self) -> tuple[Explanation, ...]:
        """The path so far, once for each promise that it breaks; once as it is if there is none."""
        return retell(self.about, self.path, self.key)

    def is_deadlock(self) -> bool:
        """Is this state a deadlock, as a check judges it?"""
        stuck = all(c.step.state == self.at.state for c in self.choices)
        return stuck and self.about.spec.deadlock and not self.see.rests(self.at.state)

    def tree(self) -> Iterator[tuple[int, Node, bool]]:
        """All branches that were tried: (depth, node, whether the walk stands there)."""
        stack = list(reversed(self.roots.values()))
        while stack:
            node = stack.pop()
            yield node.depth, node, node is self.at
            stack += [node.children[n] for n in sorted(node.children, reverse=True)]


@frozen
class Said:
    """What one promise or goal says at a state."""

    name: str
    statement: str
    source: str
    # Of an invariant: does it hold? Of a goal: is it met? None: not judged by a state alone.
    true: bool | None
    # Why that cannot be said; empty if it can.
    note: str = ""

    @property
    def promise(self) -> str:
        """The statement without its reason."""
        return self.statement.partition(WHY)[0]

    @property
    def why(self) -> str:
        """The reason that the statement gives, if it gives one."""
        return self.statement.partition(WHY)[2]


def promises_here(walk: Walk) -> tuple[Said, ...]:
    """What every invariant says at the state at which a walk stands. An invariant over steps is
    judged by the step that led here.
    """
    fallen: Sequence[str] = ()
    node = walk.at
    if node.parent is not None:
        of_step = next((b for s, b in walk.see.steps(node.parent.state) if s == node.step), ())
        fallen = [p.name for p in of_step]
    said = []
    for p in walk.about.spec.invariants:
        statement = " ".join(p.statement.split())
        if isinstance(p, StepInvariant):
            note = "" if node.parent is not None else "about steps, and none was taken"
            true = None if note else p.name not in fallen
        else:
            note, true = "", walk.see.holds(p, node.state)
        said.append(Said(p.name, statement, p.source, true, note))
    for r in walk.about.spec.refinements:
        said.append(Said(r.name, r.statement, "", r.name not in fallen))
    if walk.about.spec.deadlock:
        words = "Every state has a successor other than itself, or is a declared end."
        said.append(Said(DEADLOCK, words, "", not walk.is_deadlock()))
    return tuple(said)


def held_here(walk: Walk, promises: Sequence[Said]) -> str:
    """How many promises hold where a walk stands, and what the others are."""
    count = Counter(s.note or s.true for s in promises)
    parts = [f"{count.pop(True, 0)} of {plural(len(promises), 'promise')} hold here"]
    if broken := count.pop(False, 0):
        parts.append(f"{broken} {_is(broken)} broken")
    parts += [f"{number} {_is(number)} {note}" for note, number in count.items()]
    if later := len(walk.about.not_judged):
        parts.append(f"{later} more {_is(later)} about what happens in the end: `check --progress`")
    return "; ".join(parts)


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def goals_here(walk: Walk) -> tuple[Said, ...]:
    """Which goals are met at the state at which a walk stands."""
    return tuple(
        Said(g.name, " ".join(g.statement.split()), g.source, walk.see.met(g, walk.at.state))
        for g in walk.about.spec.goals
    )


def spent(about: Subject, state: State, step: Step) -> str:
    """The fault of a variant that a step spends; empty if it spends none."""
    for old, new in zip(state, step.state, strict=True):
        if isinstance(old, Budget) and isinstance(new, Budget):
            left = dict(new.left)
            named = [name for name, n in old.left if left.get(name, 0) < n]
            if named:
                return named[0]
            if new.any < old.any:
                firings = {f.name for f in (step.firing, *step.urgent)}
                by = about.variant.spent_by if about.variant else {}
                rule = step.firing.name.partition(":")[0]
                return next((f for f, names in by.items() if firings & {*names}), rule)
    return ""
