"""The loop of a search over values, written as Python source for one spec: what a person would
write by hand for it. The source holds numbers of places and rules and names of fields, nothing else
that a spec says.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, Protocol

from attrs import define, field

from groupcheck.model.engine.binding import Instance
from groupcheck.model.engine.element import Element
from groupcheck.model.engine.functions import OddError, gives_outcomes, outcomes, truth
from groupcheck.model.engine.promises import ALL, SOME, Predicate
from groupcheck.model.engine.sameness import SURE, surely_same
from groupcheck.model.engine.step import LONGEST_CHAIN, MOST_OUTCOMES, State
from groupcheck.model.engine.tabled.findings import Findings
from groupcheck.model.engine.tabled.tables import Tables

Call = Callable[..., Any]


@define(eq=False)
class Found:
    """The data that the loop reads and writes."""

    # All states in order of discovery, and each by what is equal to it.
    states: list[State]
    known: dict[State, State]
    # Of each outcome's name how often it fired.
    fired: dict[str, int]
    # Of each state that the loop found the place of one before it.
    parents: array[int] = field(factory=lambda: array("I"))
    # Places of states without successors but themselves.
    quiet: list[int] = field(factory=list)
    # The place in hand, where the loop raises.
    at: int = 0
    # Is it looking at predicates there, not at steps?
    looks: bool = False
    transitions: int = 0
    calls: int = 0


class Listener(Protocol):
    """Who hears of what the loop finds."""

    def note(self, p: Predicate, answer: Any, place: int) -> None:
        """A predicate gave another answer than the one that is of no interest."""

    def check(
        self, i: Instance, place: int, name: str, before: Sequence[Any], after: Sequence[Any]
    ) -> None:
        """An outcome of a rule that step invariants concern."""

    def meet(self, i: Instance, before: State, known: State, after: State) -> None:
        """A rule led to a known state, made of other objects."""


class Writer:
    """Lines of source, and the objects that they name."""

    def __init__(
        self,
        tables: Tables,
        calls: Mapping[str, Call],
        found: Found,
        findings: Findings,
        levels: list[int],
        listener: Listener,
    ) -> None:
        """`calls`: what to call for each rule."""
        self.tables, self.see, self.calls = tables, tables.see, calls
        self.lines: list[str] = []
        self.given: dict[str, Any] = {
            "truth": truth,
            "outcomes": outcomes,
            "OddError": OddError,
            "Element": Element,
            "scope": tables.see.spec.scope,
            "found": found,
            "fired": found.fired,
            "findings": findings,
            "levels": levels,
            "note": listener.note,
            "check": listener.check,
            "meet": listener.meet,
            "is_": is_,
        }
        self._views: dict[tuple[str, int | None], str] = {}

    def add(self, indent: int, *lines: str) -> None:
        self.lines += [" " * indent + line for line in lines]

    @property
    def taken_apart(self) -> str:
        """The places of a state as names to assign to."""
        return "".join(f"s{k}, " for k in range(len(self.see.places)))

    def made(self, name: str) -> Call:
        """The function of this name."""
        there: dict[str, Any] = {}
        exec(compile("\n".join(self.lines), f"<groupcheck {name}>", "exec"), self.given, there)
        function: Call = there[name]
        return function

    # -- rules

    def outcomes(self, k: str, one: Instance, indent: int) -> int:
        """A loop over the outcomes `o` of a rule instance, which `x{k}` counts; `c` counts the
        calls. Returns the indent for its body.
        """
        rule = one.rule
        if rule.guard:
            self.given[f"g{k}"] = rule.guard.call
            asked = ", ".join([*map(repr, one.guard_given), f"s{one.guarded}"])
            self.add(indent, f"a = g{k}({asked})", "if a is True or a is not False and truth(a):")
            indent += 1
        call = self.given[f"r{k}"] = self.calls[rule.name]
        slots = one.grouped([f"s{p}" for p in one.where])
        values = [s if isinstance(s, str) else f"({', '.join(s)},)" for s in slots]
        args = [*map(repr, one.given), *values, *["scope"] * rule.takes_scope]
        called = f"r{k}({', '.join(args)})"
        if not gives_outcomes(call):
            called = f"outcomes({called})"
        self.add(indent, "c += 1", f"most = x{k} + {MOST_OUTCOMES}", f"for o in {called}:")
        self.add(indent + 1, f"x{k} += 1", f"if x{k} > most: raise OddError")
        return indent + 1

    def after(self, k: str, one: Instance, indent: int) -> str:
        """Takes the outcome `o` apart and asks for step invariants. Returns how the state after it
        reads; `name` is what the outcome counts under.
        """
        rule, where = one.rule, one.where
        new = one.grouped([f"v{p}" for p in where])
        names = [n if isinstance(n, str) else f"y{at}" for at, n in enumerate(new)]
        if rule.labels or len(new) > 1:
            label = ["label"] if rule.labels else []
            self._unpack(indent, "o", [*label, *names])
        else:
            self.add(indent, f"{names[0]} = o")
        for name, inner in zip(names, new):
            if not isinstance(inner, str):
                self._unpack(indent, name, inner)
        for p in where:
            kinds = self.see.spec.slots[self.see.places[p][0]].kinds
            self.given[f"k{p}"] = kinds
            odd = f"not in k{p}" if kinds else f"is not s{p}.__class__"
            self.add(indent, f"if v{p} is not s{p} and v{p}.__class__ {odd}: raise OddError")
        self.given[f"n{k}"] = dict(zip(rule.labels, rule.names)) or rule.names[0]
        checks = self.see.checks(one)
        if rule.labels or checks or self.see.urgent:
            self.add(indent, f"name = n{k}[label]" if rule.labels else f"name = n{k}")
        if checks:
            self.given[f"rule{k}"] = one
            before, after = ("".join(f"{x}{p}, " for p in where) for x in "sv")
            self.add(indent, f"check(rule{k}, place, name, ({before}), ({after}))")
        every = range(len(self.see.places))
        return "(" + "".join(f"v{p}, " if p in where else f"s{p}, " for p in every) + ")"

    def met_again(self, rule: str) -> list[str]:
        """Looks whether a state `t` is the same as `k`, which it equals. Values of plain types are,
        where a slot keeps to one type.
        """
        sample, slots, spots = next(iter(self.given["found"].states)), self.see.spec.slots, []
        for p, (name, _) in enumerate(self.see.places):
            if slots[name].kinds or type(sample[p]) not in SURE:
                spots.append(p)
        if not spots:
            return []
        same = [surely_same(sample[p], f"was{p}", f"now{p}", self.given) for p in spots]
        return [
            *(f"was{p}, now{p} = k[{p}], t[{p}]" for p in spots),
            f"if not ({' and '.join(same)}): meet({rule}, s, k, t)",
        ]

    def _unpack(self, indent: int, name: str, into: Sequence[str]) -> None:
        self.add(
            indent,
            f"if {name}.__class__ is not tuple and not isinstance({name}, tuple): raise OddError",
            f"{', '.join(into)}, = {name}",
        )

    # -- predicates

    def asked(self, wanted: Sequence[Predicate], is_goal: Call, indent: int) -> None:
        """Evaluates predicates on a state, for each of their bindings."""
        known: set[str] = set()
        for k, p in enumerate(wanted):
            self.given[f"q{k}"], self.given[f"p{k}"] = p, p.call
            usual = SOME if is_goal(p) else ALL
            for case in self.see.cases(p, usual):

                def call(binding: Mapping[str, int], k: int = k, p: Predicate = p) -> str:
                    return self._call(f"p{k}", p, binding, known, indent)

                answer = self._decided(p, usual, case, call)
                self.add(indent, f"a = {answer}")
                self.add(indent, f"if a is not {not is_goal(p)}: note(q{k}, a, place)")

    def _decided(
        self,
        p: Predicate,
        usual: str,
        case: Mapping[str, int],
        call: Callable[[Mapping[str, int]], str],
    ) -> str:
        """An expression for the answer of a predicate in a case, as `Semantics.decided` has it."""
        left = [q for q in self.see.quantified(p, usual) if q[1] not in case]
        if not left:
            return call(case)
        quantifier, variable = left[0]
        answers = [
            self._decided(p, usual, more, call)
            for more in self.see.indexing(p).extended(case, [variable])
        ]
        if not left[1:]:
            answers = [f"truth({answer})" for answer in answers]
        joined = (" and " if quantifier == ALL else " or ").join(answers)
        return f"({joined})" if answers else str(quantifier == ALL)

    def _value(self, name: str, index: int | None, known: set[str], indent: int) -> str:
        """The expression for the value of a slot or view; that of a view is found first."""
        size = self.see.size(name)
        if size is not None and index is None:
            every = [self._value(name, n, known, indent) for n in range(size)]
            return f"({', '.join(every)},)"
        if name not in self.see.views:
            return f"s{self.see.at[name, index]}"
        view = self.see.views[name]
        variable = self._views.setdefault((name, index), f"w{len(self._views)}")
        if variable not in known:
            sizes = self.see.indexing(view).sizes if index is not None else ()
            self.given[f"f{variable}"] = view.call
            binding = {v: index for v in sizes if index is not None}
            called = self._call(f"f{variable}", view, binding, known, indent)
            self.add(indent, f"{variable} = {called}")
            known.add(variable)
        return variable

    def _call(
        self,
        function: str,
        p: Predicate,
        binding: Mapping[str, int],
        known: set[str],
        indent: int,
    ) -> str:
        """The call of a predicate or view with these values of its index variables."""
        values = [
            self._value(place[0], self.see.element(p, place, binding), known, indent)
            for place in p.places
        ]
        args = [*map(repr, p.given(binding)), *values, *["scope"] * p.takes_scope]
        return f"{function}({', '.join(args)})"


def search_loop(w: Writer, wanted: Sequence[Predicate], is_goal: Call) -> Call:
    """`go(first, end, stop)`: expands the states from place `first` on, of a level that ends at
    `end`, and those of the levels after it, as far as place `stop`; returns how far it came. All
    new states are looked at, by the predicates that are wanted.
    """
    counters = [f"xo{n}" for n in range(len(w.see.ordinary))]
    if w.see.urgent:
        w.given["settled"] = settling(w)
        w.lines.clear()
    w.add(
        0,
        "def go(first, end, stop):",
        " states, quiet, first_of = found.states, found.quiet, found.known.setdefault",
        " append, parent = states.append, found.parents.append",
        f" {' = '.join(['c', 'moves', *counters])} = 0",
        " place = first - 1",
        " try:",
        "  while first < end and first < stop:",
        "   new = len(states)",
        "   for s in states[first:end if end < stop else stop]:",
        "    place += 1",
        f"    {w.taken_apart}= s",
        "    moved = False",
    )
    for n, one in enumerate(w.see.ordinary):
        inner = w.outcomes(f"o{n}", one, 4)
        after = w.after(f"o{n}", one, inner)
        if w.see.urgent:
            w.add(inner, f"for t in settled({after}, name, place):")
            inner += 1
            w.add(inner, "moves += 1")
        else:
            w.add(inner, f"t = {after}", *["fired[name] += 1"] * bool(one.rule.labels))
        w.add(
            inner,
            "k = first_of(t, t)",
            "if k is t: append(t); parent(place); moved = True",
            "else:",
            *(f" {line}" for line in w.met_again(f"ruleo{n}")),
            " if not moved: moved = t != s",
        )
        w.given[f"ruleo{n}"] = one
    w.add(4, "if not moved: quiet.append(place)")
    w.add(3, "first = place + 1", "found.looks, place = True, new - 1", "for s in states[new:]:")
    w.add(4, "place += 1", f"{w.taken_apart}= s")
    w.asked(wanted, is_goal, 4)
    w.add(3, "found.looks, place = False, first - 1")
    if not w.tables.constant:
        w.add(3, "if first == end and end != len(states) and not quiet and not findings.wrong:")
        w.add(4, "findings.depth += 1", "end = len(states)", "levels.append(end)")
    w.add(1, "finally:", " found.at = place", " found.calls += c")
    if w.see.urgent:
        w.add(2, "found.transitions += moves")
    else:
        w.add(2, f"found.transitions += {' + '.join(['0', *counters])}")
        for x, i in zip(counters, w.see.ordinary):
            if not i.rule.labels:
                w.add(2, f"fired[n{x[1:]}] += {x}")
    w.add(1, "return first")
    return w.made("go")


def settling(w: Writer) -> Call:
    """`settled(state, name, place)`: the states at rest to which urgent rules bring a state, as a
    list. `name` is what the outcome before it counts under; all that fires is counted once for each
    of them.
    """
    w.add(
        0,
        "def settled(state, name, place):",
        " rested, stack = [], [(state, (name,))]",
        f" {' = '.join(['c', *(f'xu{n}' for n in range(len(w.see.urgent)))])} = 0",
        " while stack:",
        "  s, chain = stack.pop()",
        f"  if len(chain) > {LONGEST_CHAIN + 1}: raise OddError",
        f"  {w.taken_apart}= s",
        "  after = []",
    )
    for n, one in enumerate(w.see.urgent):
        w.add(2, "if not after:")
        inner = w.outcomes(f"u{n}", one, 3)
        after = w.after(f"u{n}", one, inner)
        w.add(inner, f"after.append(({after}, (*chain, name)))")
    w.add(2, "if after: stack += reversed(after)", "else:")
    w.add(3, "rested.append(s)", "for n in chain: fired[n] += 1")
    w.add(1, "found.calls += c", "return rested")
    return w.made("settled")


def look_loop(w: Writer, wanted: Sequence[Predicate], is_goal: Call) -> Call:
    """`look(states, place)`: evaluates predicates on states, the first of which is at a place."""
    w.add(0, "def look(states, place):", " place -= 1", " try:", "  for s in states:")
    w.add(3, "place += 1", f"{w.taken_apart}= s")
    w.asked(wanted, is_goal, 3)
    w.add(1, "finally:", " found.at = place")
    return w.made("look")
