"""Small random protocols that use everything the language can say. Every function is a
pseudo-random but repeatable function of its arguments, so that engines can be compared.
"""

import re
from random import Random
from zlib import crc32

from attrs import frozen

from groupcheck.model.engine import AnyOf, Predicate, Rule, Slot, Spec, StepInvariant, any_of
from groupcheck.model.engine.rule import Guard
from groupcheck.model.engine.slot import choices


@frozen
class Cell:
    """A value of a slot, in the wrapping that attrs users choose."""

    n: int
    tag: str = "x"


def number(value):
    """The number behind a value: a bare int, a tuple of one, a `Cell`, or None for 0."""
    if isinstance(value, Cell):
        return value.n
    return value[0] if isinstance(value, tuple) else 0 if value is None else value


def like(slot, n):
    """A value of a slot."""
    if n == 0 and type(None) in slot.kinds:
        return None
    first = next(value for value in choices(slot.initial) if value is not None)
    if isinstance(first, Cell):
        return Cell(n, f"t{n % 3}")
    return (n,) if isinstance(first, tuple) else n


def plain(value):
    """What a die is thrown with: numbers in place of values, also inside of a whole state."""
    if hasattr(value, "__dict__"):
        return sorted((name, plain(v)) for name, v in vars(value).items())
    if isinstance(value, tuple) and len(value) != 1:
        return [number(v) for v in value]
    return number(value)


def many(value, index):
    """The numbers behind an argument: of a whole array, or of one value."""
    return [number(v) for v in value] if index == ":" else [number(value)]


def used(places, own):
    """The index variables of places, in their order."""
    indexes = [i or own for _, i in places if i != ":"]
    return [*dict.fromkeys(re.sub(r"[+-]\d+", "", i) for i in indexes)]


def dice(*what):
    return crc32(repr(what).encode())


class Writer:
    """Writes one random spec. `is_blind`: one in which no rule knows an index."""

    def __init__(self, seed, is_blind=False):
        self.seed, self.rng, self.is_blind = seed, Random(seed), is_blind
        rng = self.rng
        singles = [f"s{k}" for k in range(rng.randint(1, 2))]
        self.ballast = rng.choice([5, 30, 70]) if rng.random() < 0.15 else 0
        sizes = rng.choice(
            [[], [2], [3], [2, 2], [3, 3], [2, 3], [3, 1], [2, 2, 3], [2, 4], [4, 2]]
        )
        self.arrays = {f"a{k}": size for k, size in enumerate(sizes)}
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

    def some(self, names, most):
        return tuple(self.rng.sample(names, self.rng.randint(1, min(most, len(names)))))

    # -- rules

    def parameters(self):
        """Slots with indexes as they are written: plain ones, or several for one array."""
        rng = self.rng
        if rng.random() < 0.5 or self.ballast:
            return [(name, None) for name in self.some(self.of_one_size(list(self.slots)), 3)]
        found, ways = {}, {}
        for name in rng.choices(list(self.slots), k=rng.randint(1, 3)):
            size = self.arrays.get(name)
            if size is None:
                found[name, None] = True
                continue
            mine = [("me", "other"), ("b", "c"), ("d", "e")][len(ways) if size not in ways else 0]
            mine = ways.setdefault(size, mine)
            more = [] if self.is_blind else [f"{mine[0]}+1", f"{mine[1]}-1", ":"]
            index = rng.choice([*mine, mine[0], *more])
            if not any(name == n and ":" in (index, i) for n, i in found):
                found[name, None if index == "me" and rng.random() < 0.5 else index] = True
        # A plain one is the same as one at `me`.
        return [(n, i) for n, i in found if (n, "me") != (n, i) or (n, None) not in found]

    def rule(self, k):
        """An ordinary rule gives any values in range; an urgent one halves values at least, so that
        it comes to rest soon.
        """
        rng, seed = self.rng, self.seed
        places = self.parameters()
        slots, written = tuple(n for n, _ in places), tuple(i for _, i in places)
        variables = bound = used([(n, i) for n, i in places if n in self.arrays], "me")
        if not variables and not self.ballast and len({*self.arrays.values()}) == 1:
            variables = ["me"]
        knows = rng.random() < 0.7 and not self.is_blind
        takes = tuple(rng.sample(variables, len(variables)) if knows else ())
        takes = takes[: rng.randint(1, 2)]
        takes_scope = rng.random() < 0.2
        labels = tuple(f"l{n}" for n in range(rng.randint(0, 2)))
        chance, urgent = rng.randint(30, 90), rng.random() < 0.25
        alone = rng.randrange(2) if takes and rng.random() < 0.6 else None  # as a leader acts

        def call(*given):
            indexes, values = given[: len(takes)], given[len(takes) : len(takes) + len(slots)]
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

        names = tuple(f"p{n}" for n in range(len(slots)))
        asked = [n for n, i in zip(names, written) if i != ":"]
        may = [v for v in variables if v in takes or v in bound][:1]
        may = [] if self.is_blind else may
        guard = self.guard(k, asked, may) if asked and rng.random() < 0.4 else None
        return Rule(f"r{k}", call, slots, takes, takes_scope, labels, guard, urgent, written, names)

    def guard(self, k, parameters, may_take):
        seed, slot = self.seed, self.rng.choice(parameters)
        takes = tuple(may_take) if self.rng.random() < 0.4 else ()
        return Guard(slot, lambda *given: dice(seed, k, [*map(number, given)]) % 3 > 0, takes)

    # -- predicates and views

    def function(self, name, places, per_mille, answer, quantified=False):
        """A predicate or view: `answer` of a thousand-sided die, at most `per_mille` or above."""
        seed, rng, takes_scope = self.seed, self.rng, self.rng.random() < 0.2
        variables = used([(n, i) for n, i in places if n in self.size], "i")
        knows = rng.random() < 0.3 and not self.is_blind
        takes = tuple(rng.sample(variables, len(variables)) if knows else ())
        quantifiers = ()
        if quantified and rng.random() < 0.4:
            some = rng.sample(variables, rng.randint(0, len(variables)))
            quantifiers = tuple((rng.choice(["all", "some"]), v) for v in some)

        def call(*values):
            return answer(dice(seed, name, [plain(v) for v in values]) % 1000, per_mille)

        return Predicate(
            name, call, places, takes_scope, name, takes=takes, quantifiers=quantifiers
        )

    def places(self, names, variables, most):
        """Different (name, index); each variable ranges over arrays of one size."""
        rng, sizes = self.rng, sorted({*self.size.values()})
        size_of = {v: rng.choice(sizes) for v in variables if sizes}
        found = {}
        unnamed = rng.random() < 0.3  # a plain parameter ranges over `i`, too
        for name in rng.sample(names * 2, min(2 * len(names), most + 2)):
            fit = [v for v in variables if size_of.get(v) == self.size.get(name, 0)]
            if name not in self.size:
                found[name, None] = True
            elif rng.random() < 0.15 and not self.is_blind:
                found[name, ":"] = True
            elif fit:
                index = rng.choice(fit) + self.way()
                found[name, None if index == "i" and unnamed else index] = True
        return tuple([*found][:most])

    def way(self):
        """To a neighbour, or nowhere."""
        return "" if self.is_blind else self.rng.choice(["", "", "", "", "+1", "-1"])

    def view(self, k, views):
        rng, every = self.rng, [*self.slots, *(v.name for v in views)]
        names = self.of_one_size(every)
        if views and rng.random() < 0.5:
            names = [n for n in names if n[0] == "v"] or names
        letter = rng.choice("ijk")
        found = {}
        for name in self.some(names, 2):
            found[name, letter + self.way() if name in self.size else None] = True
        wide = [n for n in every if n in self.size]
        if wide and rng.random() < 0.2 and not self.is_blind:
            found[rng.choice(wide), ":"] = True
        made = self.function(
            f"v{k}", tuple(found), rng.choice([2, 2, 3]), lambda die, sides: die % sides
        )
        size = next((self.size[n] for n, i in found if n in self.size and i != ":"), None)
        if size is not None:
            self.size[f"v{k}"] = size
        return made

    def predicate(self, name, views, per_mille, answer, quantified=True):
        names = [*self.slots, *(v.name for v in views)]
        if self.fond_of_views:
            names = [v.name for v in views]
        elif self.rng.random() < 0.1:
            names.append("state")
        variables = self.rng.choice([["i"], ["i", "j"], ["j", "i"], ["k", "i", "j"]])
        most = self.rng.choice([2, 3] if self.fond_of_views else [1, 2, 3])
        places = self.places(names, variables, most)
        return self.function(name, places or (("s0", None),), per_mille, answer, quantified)

    def pairs(self, views):
        """Goals for each combination of what an element and a single slot show through two views
        of yes and no: the least that can be said of two views, and enough to mix them up.
        """
        wide = [n for n, size in self.arrays.items() if size > 1]
        if not wide:
            return []
        shown = [("yes", self.rng.choice(wide), "i"), ("no", "s0", None)]
        for name, slot, variable in shown:
            seen = self.rng.randrange(2)
            view = Predicate(
                name,
                lambda v, seen=seen, slot=slot: (
                    (number(v) == number(choices(self.slots[slot].initial)[0])) == seen
                ),
                ((slot, variable),),
                False,
                name,
            )
            views.append(view)
        self.size["yes"] = self.arrays[shown[0][1]]
        return [
            Predicate(
                f"{a}{b}",
                lambda x, y, a=a, b=b: (x, y) == (a, b),
                (("yes", "i"), ("no", None)),
                False,
                "",
            )
            for a in (False, True)
            for b in (False, True)
        ]

    def step_invariant(self, k, rules):
        rng, seed = self.rng, self.seed
        rule = rng.choice(rules)
        slots, takes_label = self.some(sorted({*rule.slots}), 2), rng.random() < 0.4
        arrays = [{i or "me" for s, i in rule.places if s == n} for n in slots if n in self.arrays]
        if arrays and not set.intersection(*arrays):  # no index at which it sees them all
            slots = slots[:1]
        takes_scope, rare = rng.random() < 0.2, rng.choice([0, 0, 5, 20])

        def call(*given):
            seen = [plain(side) for side in given[:2]]
            return dice(seed, k, seen, given[2:]) % 1000 >= rare

        of = (rule.name,) if rng.random() < 0.3 else ()
        return StepInvariant(f"p{k}", call, slots, of, takes_label, takes_scope, f"p{k}")

    # -- the whole

    def starts(self):
        """One or several initial states; arrays with a value for each index."""
        several = [{name: self.value(name) for name in self.arrays}]
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            several.append({name: self.value(name) for name in self.some(list(self.ranges), 2)})
        return several

    def value(self, name):
        """Values of a slot in an initial state, perhaps any of two."""
        rng, slot = self.rng, self.slots[name]
        if self.is_blind and slot.size is not None:
            return (like(slot, rng.randrange(self.ranges[name])),) * slot.size
        values = [like(slot, rng.randrange(self.ranges[name])) for _ in range(slot.size or 1)]
        if rng.random() < 0.1:
            values[0] = any_of(values[0], like(slot, rng.randrange(self.ranges[name])))
        given = values[0] if slot.size is None else tuple(values)
        is_plain = not any(isinstance(v, AnyOf) for v in values)
        return (
            any_of(given, given[::-1]) if is_plain and slot.size and rng.random() < 0.1 else given
        )

    def spec(self):
        rng = self.rng
        rules = [self.rule(k) for k in range(rng.randint(3, 8))]
        starts = self.starts()
        views = []
        for k in range(rng.choice([0, 2, 2, 3, 3, 4])):
            views.append(self.view(k, views))
        # Views are numbered at their first use: predicates over several of them must come first.
        self.fond_of_views = bool(views) and rng.random() < 0.8
        goals = self.pairs(views) + [
            self.predicate(f"g{k}", views, rng.choice([50, 200, 500]), lambda die, n: die < n)
            for k in range(rng.randint(4, 12))
        ]
        rare = rng.choice([0, 0, 0, 5, 100])
        invariants = [
            self.predicate(f"i{k}", views, rare, lambda die, n: die >= n)
            for k in range(rng.randint(0, 3))
        ]
        if rng.random() < 0.5:
            invariants += [self.step_invariant(k, rules) for k in range(rng.randint(1, 2))]
        ends = [
            self.predicate(
                f"e{k}", views, rng.choice([300, 1000, 1000, 1000]), lambda die, n: die < n
            )
            for k in range(rng.choice([1, 1, 1, 2, 2, 0]))
        ]
        constraints = []
        if rng.random() < 0.5:
            rare = rng.choice([150, 300, 500])
            constraints = [
                self.predicate(f"c{k}", views, rare, lambda die, n: die >= n)
                for k in range(rng.choice([1, 1, 2]))
            ]
        if self.ballast:
            add_ballast(self.ballast, self.slots, rules)
        return Spec(
            "random", self.slots, rules, self.seed, invariants, goals, ends, views, starts,
            constraints, deadlock=rng.random() < 0.9,
        )  # fmt: skip


def random_spec(seed, is_blind=False):
    """The spec of a seed."""
    return Writer(seed, is_blind).spec()


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
