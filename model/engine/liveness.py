"""Progress judged the obvious way: the graph of all states in plain Python, its strongly connected
components, and a lasso through one that is fair.

A component is fair if each fair action is disabled in one of its states or taken on one of its
steps: a loop through all of them is a fair run. A single state counts as a component, because a run
may stay in it.

In a search that was cut off, only states with all their steps are looked at: what is found there is
a counterexample, and what is not found says nothing. Within constraints, the runs that stay there
for ever are judged; a promise that something is always possible can then be broken, or unknown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve

from groupcheck.model.engine.lasso import Action, Answers, Binding, actions_of
from groupcheck.model.engine.progress import Liveness
from groupcheck.model.engine.promises import ALL, Predicate
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED, Firing, Kind, Path, Step

State = Any  # a tuple of values, or what stands for it in `plain/plain_graph.py`
Came = dict[State, tuple[State, Step] | None]  # how each state was reached


class Graph:
    """The states of a spec, found breadth first, and all steps of each state that is no border
    state; until there are more than `most` states, and no deeper than so many `levels`.
    """

    def __init__(self, see: Semantics, most: int, levels: int) -> None:
        self.see, self.most, self.levels = see, most, levels
        # In order of discovery, each with the step that found it.
        self.came: Came = dict.fromkeys(self._starts())
        self.depth = dict.fromkeys(self.came, 0)
        self.steps: dict[State, list[Step]] = {}
        # Are there states that are not expanded; and such as are border states?
        self.is_cut, self.has_border = False, False
        todo = deque(self.came)
        while todo:
            self._expand(todo.popleft(), todo)
        self.actions = actions_of(see)
        self._begun: dict[Firing, set[Action]] = {}
        self.enabled: dict[State, set[Action]] = {}
        for state, steps in self.steps.items():
            moves = {x.firing for x in steps if x.state != state}
            self.enabled[state] = set().union(*map(self._actions_of, moves))

    def _actions_of(self, firing: Firing) -> set[Action]:
        """The fair actions that steps with this outcome first are of."""
        if firing not in self._begun:
            self._begun[firing] = {a for a in self.actions if a.has(firing)}
        return self._begun[firing]

    # -- what a state is

    def _starts(self) -> Iterable[State]:
        return [rest for _, _, rest in self.see.starts()]

    def _is_border(self, state: State) -> bool:
        return not self.see.within(state)

    def _is_expanded(self, state: State) -> bool:
        return len(self.came) <= self.most and self.depth[state] < self.levels

    def _steps_from(self, state: State) -> list[Step]:
        return [step for step, _ in self.see.steps(state)]

    def _holds(self, p: Predicate, binding: Binding, state: State) -> bool:
        return self.see.answer(p, ALL, binding, state)

    def _told(self, path: Path) -> Path:
        """The path as the user reads it."""
        chain = next(c for c, _, rest in self.see.starts() if rest == path.initial)
        return evolve(path, settled=chain)

    # -- the graph

    def _expand(self, state: State, todo: deque[State]) -> None:
        if self._is_border(state):
            self.has_border = True
        elif not self._is_expanded(state):
            self.is_cut = True
        else:
            self.steps[state] = self._steps_from(state)
            for step in self.steps[state]:
                if step.state not in self.came:
                    self.came[step.state] = (state, step)
                    self.depth[step.state] = self.depth[state] + 1
                    todo.append(step.state)

    def answers(self) -> Answers:
        """Whether each progress promise holds, and a shortest counterexample."""
        found: dict[str, tuple[Kind, Path | None]] = {}
        for promise in self.see.spec.progress:
            paths = [self._counterexample(promise, b) for b in self.see.instances(promise.bound)]
            path = min(filter(None, paths), key=lambda p: len(p.steps), default=None)
            is_open = self.is_cut or (self.has_border and promise.kind == "always_possible")
            kept: Kind = UNKNOWN if is_open else HOLDS
            found[promise.name] = (VIOLATED if path else kept, path and self._told(path))
        return Answers(found)

    def _counterexample(self, promise: Liveness, binding: Binding) -> Path | None:
        there = list(self.steps)
        good = {s for s in there if self._holds(promise.goal, binding, s)}
        if promise.kind == "always_possible":
            lost = self._out_of_reach(good)
            return self._path_to(lost[0]) if lost else None
        region = there if promise.kind == "settles" else [s for s in there if s not in good]
        seeds = region
        if promise.kind == "eventually":
            starts = {*self._starts()}
            seeds = [s for s in region if s in starts]
        elif promise.when is not None:
            seeds = [s for s in region if self._holds(promise.when, binding, s)]
        avoided = good if promise.kind == "settles" else set()
        came = self._spread(seeds, set(region))
        fair = {s: c for c in self._components(came) if self._is_fair(c) for s in c}
        for state in came:  # the nearest first
            if state not in avoided and not self.enabled[state]:
                return self._lasso(came, state, [])
            if state in fair and not fair[state] <= avoided:
                return self._lasso(came, state, self._loop(state, fair[state], avoided))
        return None

    def _out_of_reach(self, good: Collection[State]) -> list[State]:
        """The states from which no path leads to one of these, nor to a state that was not
        expanded.
        """
        before: dict[State, list[State]] = {}
        for state, steps in self.steps.items():
            for step in steps:
                before.setdefault(step.state, []).append(state)
        todo = [*good, *(s for s in before if s not in self.steps)]
        saved = set(todo)
        while todo:
            new = {s for s in before.get(todo.pop(), ()) if s not in saved}
            saved |= new
            todo += new
        return [s for s in self.steps if s not in saved]

    def _spread(self, seeds: Iterable[State], region: Collection[State]) -> Came:
        """The states of a region that are reached from seeds inside it, the nearest to an initial
        state first.
        """
        waiting: dict[int, list[State]] = {}
        for state in seeds:
            waiting.setdefault(self.depth[state], []).append(state)
        came: Came = {}
        level: list[tuple[State, tuple[State, Step] | None]] = []
        distance = 0
        while level or waiting:
            level += [(s, None) for s in waiting.pop(distance, [])]
            new = []
            for state, link in level:
                if state not in came and state in region:
                    came[state] = link
                    new.append(state)
            level = [(x.state, (s, x)) for s in new for x in self.steps[s]]
            distance += 1
        return came

    def _components(self, region: Collection[State]) -> Iterator[set[State]]:
        """The strongly connected components of a part of the graph (Tarjan 1972)."""
        number: dict[State, int] = {}
        low: dict[State, int] = {}
        stack: list[State] = []
        on_stack: set[State] = set()
        for root in region:
            path = [(root, iter(self._within(root, region)))] if root not in number else []
            while path:
                state, rest = path[-1]
                if state not in number:
                    number[state] = low[state] = len(number)
                    stack.append(state)
                    on_stack.add(state)
                for after in rest:
                    if after not in number:
                        path.append((after, iter(self._within(after, region))))
                        break
                    if after in on_stack:
                        low[state] = min(low[state], number[after])
                else:
                    path.pop()
                    if path:
                        low[path[-1][0]] = min(low[path[-1][0]], low[state])
                    if low[state] == number[state]:
                        component = {stack.pop()}
                        while state not in component:
                            component.add(stack.pop())
                        on_stack -= component
                        yield component

    def _within(self, state: State, region: Collection[State]) -> list[State]:
        return [x.state for x in self.steps[state] if x.state in region]

    def _is_fair(self, component: Collection[State]) -> bool:
        left = set(self.actions)
        for state in component:
            left &= self.enabled[state]
            left -= {a for x in self._moves(state, component) for a in self._actions_of(x.firing)}
        return not left

    def _moves(self, state: State, component: Collection[State]) -> list[Step]:
        return [x for x in self.steps[state] if x.state in component and x.state != state]

    def _loop(self, start: State, inside: Collection[State], avoided: set[State]) -> list[Step]:
        """A loop inside a fair component that is a fair run, with a state that is not avoided. It
        goes to what is nearest of what is still missing, and then back.
        """
        loop: list[Step] = []
        now, left = start, set(self.enabled[start])
        misses_state = start in avoided

        def helps(step: Step) -> bool:
            return (
                any(a.has(step.firing) for a in left)
                or not left <= self.enabled[step.state]
                or (misses_state and step.state not in avoided)
            )

        while left or misses_state:
            for step in self._way(now, inside, helps):
                loop.append(step)
                now = step.state
                left -= {a for a in left if a.has(step.firing)}
                left &= self.enabled[now]
                misses_state = misses_state and now in avoided
        if now != start:
            loop += self._way(now, inside, lambda step: step.state == start)
        return loop

    def _way(
        self, start: State, inside: Collection[State], wanted: Callable[[Step], bool]
    ) -> list[Step]:
        """A shortest way inside a component that ends with a wanted step."""
        level: list[tuple[State, list[Step]]] = [(start, [])]
        seen = {start}
        while level:
            longer = []
            for state, way in level:
                for step in self._moves(state, inside):
                    if wanted(step):
                        return [*way, step]
                    if step.state not in seen:
                        seen.add(step.state)
                        longer.append((step.state, [*way, step]))
            level = longer
        raise AssertionError("a component is not strongly connected")

    def _path_to(self, state: State) -> Path:
        steps = []
        while (link := self.came[state]) is not None:
            state, step = link
            steps.append(step)
        return Path(self.see.places, state, (), tuple(reversed(steps)))

    def _lasso(self, came: Came, state: State, loop: Sequence[Step]) -> Path:
        steps: list[Step] = []
        now = state
        while (link := came[now]) is not None:
            now, step = link
            steps.append(step)
        before = self._path_to(now)
        path = (*before.steps, *reversed(steps))
        return Path(before.places, before.initial, before.settled, (*path, *loop), len(path))
