"""Permutations of stored indexes in a search in plain Python: the state that stands for an orbit,
and whether rules and promises treat all elements alike.

A search that expands one state of each orbit never asks for the rows of the others, so it cannot
see that a rule would do something else there. Therefore each row is compared with those of all
permuted arguments, and each promise is asked about all permuted values. That makes as many calls as
a search of all states makes. It also gives every permuted value its number and its origin.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from attrs import field, frozen

from groupcheck.model.engine.binding import arrays_of, indexing
from groupcheck.model.engine.errors import AsymmetryError, RuleError
from groupcheck.model.engine.exchange import Exchange, Order
from groupcheck.model.engine.promises import ALL, SOME, Predicate
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.signature import EVERY, parted
from groupcheck.model.engine.symmetry import Orbits, Symmetry
from groupcheck.model.engine.tabled.rows import Member
from groupcheck.model.engine.tabled.tabled import Numbers, Tabled
from groupcheck.model.engine.tabled.tables import cases_of

Outcomes = list[tuple[int, ...]]  # of each outcome its label and the numbers of the new values
Case = tuple[int, ...]  # the values of index variables


@frozen
class PredicateCase:
    """A predicate in one case."""

    predicate: Predicate
    case: dict[str, int]
    # How indexes are quantified that it says nothing about.
    usual: str
    # The numbers of what it reads of a state.
    read: Callable[[Numbers], Any]
    # The case after each of the permutations that generate all.
    after: tuple[Case, ...]
    # The numbers of which it was asked.
    known: set[Any] = field(factory=set)


class Alike:
    """One symmetry of a spec whose values hold elements."""

    def __init__(self, tabled: Tabled, symmetry: Symmetry) -> None:
        self.tabled, self.see, self.rows = tabled, tabled.see, tabled.rows
        (group,) = symmetry.groups
        self.arrays = frozenset(group.arrays)
        self.orbits = Orbits(tabled.see, symmetry.groups)
        self.exchange = Exchange(self.orbits.blocks[0], tabled.pools)
        members = [m for table in self.rows.members for m in table]
        self._members = {(m.rule.name, *m.instance.index): m for m in members}
        moving = {r.name: self._moving(r) for r in tabled.spec.rules}
        # Of each member the one after each of the permutations that generate all.
        self._after = {
            m.number: [
                self._members[m.rule.name, *_moved(m.instance.index, moving[m.rule.name], order)]
                for order in self.exchange.generators
            ]
            for m in members
        }
        self._compared: set[tuple[int, Numbers]] = set()
        # Rows of the orbit in hand, by the number of the member and its arguments.
        self._rows: dict[tuple[int, Numbers], Outcomes] = {}
        # Of each member, for each of these permutations, what becomes of the values at its places.
        self._images = {
            m.number: [
                [self.exchange.known_images(place, order) for place in m.where]
                for order in self.exchange.generators
            ]
            for m in members
        }
        self._of_rule: dict[str, list[Member]] = {}
        for member in members:
            self._of_rule.setdefault(member.rule.name, []).append(member)
            member.shared = {} if member.shared is None else member.shared  # asked several times
        given = [(p, ALL) for p in tabled.spec.invariants if isinstance(p, Predicate)]
        given += [(g, SOME) for g in tabled.spec.goals]
        self._asked = [(p, self._cases(p, usual)) for p, usual in given]

    def _moving(self, part: Rule | Predicate) -> tuple[bool, ...]:
        """Of each index variable whether a permutation changes its value."""
        spec = self.tabled.spec
        moving = {*part.elements}
        for name, index in part.places:
            arrays = {} if index == EVERY else arrays_of(spec, name)
            if any(array in self.arrays or array in self.see.views for array in arrays):
                moving.add(parted(index or part.own)[0])
        return tuple(variable in moving for variable in indexing(spec, part).sizes)

    def _cases(self, p: Predicate, usual: str) -> dict[Case, PredicateCase]:
        found = {}
        variables = [*indexing(self.tabled.spec, p).sizes]
        moving = dict(zip(variables, self._moving(p)))
        for case, places in cases_of(self.see, p, usual):
            moves = tuple(moving[v] for v in case)
            after = tuple(
                _moved((*case.values(),), moves, order) for order in self.exchange.generators
            )
            read = itemgetter(*places) if places else lambda state: ()
            found[(*case.values(),)] = PredicateCase(p, case, usual, read, after)
        return found

    # -- rules

    def compare(self, table: int, ids: Numbers, place: int) -> None:
        """Compares the row of a table with those of all permuted arguments. `place`: of the state
        that asks. Raises `AsymmetryError` if one of them is not the permuted row.
        """
        for member in self.rows.members[table]:
            todo = [(member, tuple([ids[k] for k in member.order]))]
            if (member.number, todo[0][1]) in self._compared:
                continue
            for one in self._of_rule[member.rule.name]:
                self.rows.prepare_member(one)
            self._rows.clear()
            while todo:
                one, args = todo.pop()
                if (one.number, args) not in self._compared:
                    todo += self._compared_with_next(one, args, place)

    def _compared_with_next(
        self, member: Member, args: Numbers, place: int
    ) -> list[tuple[Member, Numbers]]:
        """The calls that follow by one of the permutations that generate all."""
        here, following = self._outcomes(member, args, place), []
        for k, other in enumerate(self._after[member.number]):
            moved = self._image(member, args, k)
            there = self._outcomes(other, moved, place)
            expected = [(o[0], *self._image(member, o[1:], k)) for o in here]
            if expected != there and sorted(expected) != sorted(there):
                name = member.rule.name
                raise AsymmetryError(
                    f"rule {name} tells elements apart (let it only store and compare them)"
                )
            following.append((other, moved))
        self._compared.add((member.number, args))
        return following

    def _image(self, member: Member, args: Numbers, k: int) -> Numbers:
        """The numbers of values at the places of a rule after one of these permutations."""
        images = self._images[member.number][k]
        try:
            return tuple([image[number] for image, number in zip(images, args)])
        except KeyError:
            image_at, order = self.exchange.image_at, self.exchange.generators[k]
            return tuple([image_at(at, number, order) for at, number in zip(member.where, args)])

    def _outcomes(self, member: Member, args: Numbers, place: int) -> Outcomes:
        which = member.number, args
        if which not in self._rows:
            if member.guard is not None:
                member.guard.extend()
            try:
                flat = self.rows.outcomes(member, args, place)
            except RuleError as error:
                raise AsymmetryError(f"rule {member.rule.name} fails for some elements") from error
            width = len(args) + 1
            self._rows[which] = [tuple(flat[k : k + width]) for k in range(0, len(flat), width)]
        return self._rows[which]

    # -- promises

    def look(self, state: Numbers, place: int) -> None:
        """Notes invariants that a state or a permutation of it breaks, and goals that it meets."""
        for p, cases in self._asked:
            if self.tabled.findings.is_known(p):
                continue
            for case, asked in cases.items():
                if asked.read(state) not in asked.known:
                    self._look(cases, case, state, place)

    def _look(
        self, cases: dict[Case, PredicateCase], case: Case, state: Numbers, place: int
    ) -> None:
        findings, todo = self.tabled.findings, [(case, state)]
        while todo:
            case, now = todo.pop()
            asked = cases[case]
            read = asked.read(now)
            if read in asked.known:
                continue
            asked.known.add(read)
            p, values = asked.predicate, self.tabled.values(now)
            try:
                answer = self.see.answer(p, asked.usual, asked.case, values)
            except RuleError as error:
                if now == state:
                    raise
                raise AsymmetryError(f"{p.kind} {p.name} fails for some elements") from error
            if answer == findings.is_goal(p):
                findings.note(p, place)
                return
            for order, after in zip(self.exchange.generators, asked.after):
                todo.append((after, self.exchange.image(now, order)))


def _moved(index: Case, moving: tuple[bool, ...], order: Order) -> Case:
    """Index values after a permutation."""
    return tuple(order.index(k) if moves else k for k, moves in zip(index, moving))
