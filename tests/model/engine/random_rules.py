"""Slots, rules and step invariants of small random protocols. Every function is a pseudo-random but
repeatable function of its arguments, so that engines can be compared.
"""

from random import Random
from types import SimpleNamespace

from judge import choices as indexes_of
from judge import looked_at, wheres
from random_values import Cell, as_elements, dice, like, many, number, plain, used

from groupcheck.model.engine import Rule, Slot, StepInvariant, any_of
from groupcheck.model.engine.rule import Guard

ALIKE = [[], [2], [3], [2, 2], [3, 3]]
UNLIKE = [[2, 3], [3, 1], [2, 2, 3], [2, 4], [4, 2], [3, 3, 2], [1, 3, 1], [3, 2]]


class RuleWriter:
    """Writes the rules of one random spec. `is_blind`: one in which no rule knows an index."""

    def __init__(self, seed, is_blind=False):
        self.seed, self.rng = seed, Random(seed)
        rng = self.rng
        singles = [f"s{k}" for k in range(rng.randint(1, 2))]
        self.ballast = rng.choice([5, 30, 70, 70]) if rng.random() < 0.1 else 0
        sizes = rng.choice(rng.choice([ALIKE[is_blind:], UNLIKE]))
        self.arrays = {f"a{k}": size for k, size in enumerate(sizes)}
        # Nothing tells the elements of arrays of these sizes apart: they may be permuted.
        one = [rng.choice(sizes)] if sizes and rng.random() < 0.5 else []
        self.unseen = {*sizes} if is_blind else {*one}
        self.ranges = {name: rng.choice([2, 2, 3, 4]) for name in (*singles, *self.arrays)}
        self.ranges[singles[0]] = rng.choice([3, 9, 40])
        names = list(self.ranges)
        rng.shuffle(names)  # so that arrays may stand before singles
        self.slots = {name: self.slot(self.arrays.get(name)) for name in names}
        self.size = dict(self.arrays)  # of arrays and of views

    def slot(self, size):
        """With one value or any of two, perhaps one that may be None."""
        initial = self.rng.choice([Cell(1, "t1"), (1,), 1])
        kinds = (type(initial), type(None)) if self.rng.random() < 0.2 else ()
        if self.rng.random() < 0.1 and (size or 1) < 4:
            initial = any_of(initial, like(Slot(initial, size, kinds), 0))
        return Slot(initial, size, kinds)

    def of_one_size(self, names):
        """Some of these names: single ones, and those of one size."""
        size = self.rng.choice(sorted({self.size.get(n, 0) for n in names}))
        return [n for n in names if self.size.get(n, size) == size]

    def is_hidden(self, name):
        """Does nothing tell the elements of an array or view apart?"""
        return self.size.get(name) in self.unseen

    @property
    def has_free_index(self):
        """May a function take an index that leads into no array? It ranges over all of one size."""
        return len({*self.arrays.values()}) == 1 and not self.ballast and not self.unseen

    def some(self, names, most):
        return tuple(self.rng.sample(names, self.rng.randint(1, min(most, len(names)))))

    # -- what a rule touches, as (slot, index)

    def parameters(self):
        """One of the ways that the language has."""
        ways = [self.at_one_index, self.at_several, self.at_independent, self.beside, self.in_ring]
        return self.rng.choices(ways, [4, 4, 3, 3, 1])[0]() or self.at_one_index()

    def at_one_index(self):
        return [(name, None) for name in self.some(self.of_one_size(list(self.slots)), 3)]

    def at_several(self):
        """Any slots at any indexes; those into arrays of one size have the same letters."""
        rng, found, ways = self.rng, {}, {}
        for name in rng.choices(list(self.slots), k=rng.randint(1, 4)):
            size = self.arrays.get(name)
            if size is None:
                found[name, None] = True
                continue
            mine = [("me", "other"), ("b", "c"), ("d", "e")][len(ways) if size not in ways else 0]
            mine = ways.setdefault(size, mine)
            more = [] if self.is_hidden(name) else [f"{mine[0]}+1", f"{mine[1]}-1", ":"]
            index = rng.choice([*mine, mine[0], *more])
            if not any(name == n and ":" in (index, i) for n, i in found):
                found[name, None if index == "me" and rng.random() < 0.5 else index] = True
        # A plain one is the same as one at `me`.
        return [(n, i) for n, i in found if (n, "me") != (n, i) or (n, None) not in found]

    def at_independent(self):
        """Two arrays, each at an index of its own."""
        if len(self.arrays) < 2:
            return []
        a, b = self.rng.sample([*self.arrays], 2)
        return self.with_others([(a, "me"), (b, "other")])

    def beside(self):
        """An element of one array beside the whole of another one."""
        whole = [name for name in self.arrays if not self.is_hidden(name)]
        if len(self.arrays) < 2 or not whole:
            return []
        b = self.rng.choice(whole)
        a = self.rng.choice([name for name in self.arrays if name != b])
        return self.with_others([(a, "me"), (b, ":")])

    def in_ring(self):
        """An element and a neighbour, of one array or of two."""
        wide = [n for n, size in self.arrays.items() if size > 1 and not self.is_hidden(n)]
        if not wide:
            return []
        a = self.rng.choice(wide)
        b = self.rng.choice([n for n in wide if self.arrays[n] == self.arrays[a]])
        return self.with_others([(a, "me"), (b, self.rng.choice(["me+1", "me-1"]))])

    def with_others(self, found):
        """With a single slot or another array, perhaps."""
        rng, named = self.rng, {name for name, _ in found}
        sizes = {self.arrays[name] for name, index in found if index == "me"}
        more = [n for n in self.slots if n not in named and self.arrays.get(n) in (None, *sizes)]
        for name in rng.sample(more, min(len(more), rng.choice([0, 1, 1, 2]))):
            found.append((name, "me" if name in self.arrays else None))
        rng.shuffle(found)
        return found

    # -- rules

    def rules(self, count):
        """Rules that fit these slots: each fires at some choice of its indexes."""
        found = []
        while len(found) < count:
            made = self.rule(len(found))
            if self.bindings(made):
                found.append(made)
        return found

    def bindings(self, rule):
        return list(indexes_of(SimpleNamespace(slots=self.slots, views=()), rule))

    def visible(self, places, own):
        """The index variables that lead into an array or view that is not hidden."""
        return used([(n, i) for n, i in places if n in self.size and not self.is_hidden(n)], own)

    def rule(self, k):
        """An ordinary rule gives any values in range; an urgent one halves values at least, so that
        it comes to rest soon.
        """
        rng, seed = self.rng, self.seed
        places = self.parameters()
        slots, written = tuple(n for n, _ in places), tuple(i for _, i in places)
        variables = bound = self.visible(places, "me")
        is_free = self.has_free_index
        if is_free and not {*slots} & {*self.arrays}:
            variables = ["me"]
        if is_free and "me" in variables and rng.random() < 0.2:
            variables = ["me", "i"]
        knows = rng.random() < 0.7
        takes = tuple(rng.sample(variables, len(variables)) if knows else ())
        takes = takes[: rng.choice([1, 2, 2])]
        if takes == ("i",):  # it would be the index of plain parameters
            takes = ("me",)
        takes_scope = rng.random() < 0.2
        labels = tuple(f"l{n}" for n in range(rng.randint(0, 2)))
        chance, urgent = rng.randint(30, 90), rng.random() < 0.25
        alone = rng.randrange(2) if takes and rng.random() < 0.6 else None  # as a leader acts

        def call(*given):
            indexes = tuple(map(number, given[: len(takes)]))
            values = given[len(takes) : len(takes) + len(slots)]
            now = [many(v, i) for v, i in zip(values, written)]
            roll = dice(seed, k, indexes, now, given[-1] if takes_scope else None)
            is_idle = alone not in (None, *indexes[:1]) or (urgent and not any(map(any, now)))
            if roll % 100 >= chance or is_idle:
                return
            for choice in range(1 + roll // 100 % 2):
                new = [
                    [
                        dice(seed, k, indexes, now, choice, s, n) % self.ranges[s]
                        for n in range(len(v))
                    ]
                    for s, v in zip(slots, now)
                ]
                if urgent:
                    new = [[min(a, b // 2) for a, b in zip(*pair)] for pair in zip(new, now)]
                elif dice(seed, k, choice, now) % 3 == 0:
                    new[0] = now[0]
                values = [[like(self.slots[s], n) for n in v] for s, v in zip(slots, new)]
                outcome = tuple(tuple(v) if i == ":" else v[0] for v, i in zip(values, written))
                if labels:
                    yield (labels[dice(choice, now) % len(labels)], *outcome)
                else:
                    yield outcome if len(outcome) > 1 else outcome[0]

        def listed(*given):
            return list(call(*given))

        names = tuple(f"p{n}" for n in range(len(slots)))
        asked = [n for n, i in zip(names, written) if i != ":"]
        may = [v for v in variables if v in takes or v in bound][:1]
        guard = self.guard(k, asked, may) if asked and rng.random() < 0.4 else None
        function = listed if rng.random() < 0.15 else call
        return Rule(
            f"r{k}", function, slots, takes, takes_scope, labels, guard, urgent, written, names,
            as_elements(seed, k, takes),
        )  # fmt: skip

    def guard(self, k, parameters, may_take):
        seed, slot = self.seed, self.rng.choice(parameters)
        takes = tuple(may_take) if self.rng.random() < 0.4 else ()
        return Guard(slot, lambda *given: dice(seed, k, [*map(number, given)]) % 3 > 0, takes)

    # -- step invariants

    def is_seen(self, rule, slots):
        """Does a rule touch these slots, those of arrays at one index?"""
        spec = SimpleNamespace(slots=self.slots, views=())
        return {*slots} <= {*rule.slots} and any(
            looked_at(spec, slots, wheres(spec, rule, chosen)) for chosen in self.bindings(rule)
        )

    def step_invariant(self, k, rules):
        """Over slots of one rule, of several arrays where that has them."""
        rng, seed = self.rng, self.seed
        twos = [r for r in rules if len({*r.slots} & {*self.arrays}) > 1]
        rule = rng.choice(twos if twos and rng.random() < 0.5 else rules)
        names = sorted({*rule.slots})
        wide = [n for n in names if n in self.arrays]
        slots = tuple(rng.sample(names, rng.randint(1, min(3, len(names)))))
        if len(wide) > 1 and rng.random() < 0.6:
            slots = tuple(rng.sample(wide, 2))
        if not self.is_seen(rule, slots):
            slots = slots[:1]
        takes_label, takes_scope = rng.random() < 0.4, rng.random() < 0.2
        rare = rng.choice([0, 0, 5, 20, 100, 200])

        def call(*given):
            seen = [plain(side) for side in given[:2]]
            return dice(seed, k, seen, given[2:]) % 1000 >= rare

        seeing = [r.name for r in rules if self.is_seen(r, slots)]
        of = self.some(seeing, 2) if rng.random() < 0.3 else ()
        return StepInvariant(f"p{k}", call, slots, of, takes_label, takes_scope, f"p{k}")


def add_ballast(count, slots, rules):
    """An array that makes states wide, and rules that touch little of it."""

    def mark(me, fuse, ballast):
        if not fuse and not ballast and me % 7 == 0:
            yield 1, 1 + me % 3

    def clear(ballast):
        if ballast == 2:
            yield 0

    slots["fuse"], slots["ballast"] = Slot(0), Slot(0, count)
    rules.append(Rule("mark", mark, ("fuse", "ballast"), ("me",), False, (), None, False))
    rules.append(Rule("clear", clear, ("ballast",), (), False, (), None, True))


def add_walk(array, rng, slots, rules):
    """A slot that directs a walk over the elements of an array: it names the next index and what
    the walk has added up. The order of the visits may show in the sum, or in labels; a visit may
    have two outcomes; one rule may visit some elements, and another one the others.
    """
    slot = slots[array]
    weight = rng.choice([1, 1, 1, 1, 2])  # 1: the order does not show in the sum
    labels = ("even", "odd") if rng.random() < 0.3 else ()
    is_forked, is_shared = rng.random() < 0.3, rng.random() < 0.3

    def begin(turn):
        if turn < 4:
            yield 4 + turn

    def visit(element, turn):
        index, found = divmod(turn, 4)
        label = labels[found % 2 : found % 2 + 1]
        found = (weight * found + number(element)) % 4
        after = found if index == slot.size else 4 * (index + 1) + found
        yield *label, element, after
        if is_forked and number(element):
            yield *label, like(slot, 0), after

    def visitor(name, concerns):
        def call(element, turn):
            return visit(element, turn) if concerns(number(element)) else []

        guard = Guard("p1", lambda me, turn: turn // 4 == me + 1, ("me",))
        return Rule(name, call, (array, "turn"), (), False, labels, guard, True, (), ("p0", "p1"))

    slots["turn"] = Slot(0)
    rules.append(Rule("begin", begin, ("turn",), (), False, (), None, False))
    rules.append(visitor("visit", lambda n: not is_shared or n != 1))
    if is_shared:
        rules.append(visitor("visit_ones", lambda n: n == 1))
    return rules[-1]
