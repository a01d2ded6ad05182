"""Small random protocols that use everything the language can say. Every function is a
pseudo-random but repeatable function of its arguments, so that engines can be compared.
"""

from random import Random
from zlib import crc32

from attrs import frozen

from groupcheck.model.engine import Predicate, Rule, Slot, Spec, StepInvariant
from groupcheck.model.engine.rule import Guard


@frozen
class Cell:
    """A value of a slot, in the wrapping that attrs users choose."""

    n: int
    tag: str = "x"


def number(value):
    """The number behind a value: a bare int, a tuple of one, or a `Cell`."""
    return value.n if isinstance(value, Cell) else value[0] if isinstance(value, tuple) else value


def like(value, n):
    return (
        Cell(n, f"t{n % 3}") if isinstance(value, Cell) else (n,) if isinstance(value, tuple) else n
    )


def plain(value):
    """What a die is thrown with: numbers in place of values, also inside of a whole state."""
    if hasattr(value, "__dict__"):
        return sorted((name, plain(v)) for name, v in vars(value).items())
    if isinstance(value, tuple) and len(value) != 1:
        return [number(v) for v in value]
    return number(value)


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
        self.slots = {
            name: Slot(rng.choice([Cell(1, "t1"), (1,), 1]), self.arrays.get(name))
            for name in names
        }
        self.size = dict(self.arrays)  # of arrays and of views

    def of_one_size(self, names):
        """Some of these names: single ones, and those of one size."""
        size = self.rng.choice(sorted({self.size.get(n, 0) for n in names}))
        return [n for n in names if self.size.get(n, size) == size]

    def some(self, names, most):
        return tuple(self.rng.sample(names, self.rng.randint(1, min(most, len(names)))))

    # -- rules

    def rule(self, k):
        """An ordinary rule gives any values in range; an urgent one halves values at least, so that
        it comes to rest soon.
        """
        rng, seed = self.rng, self.seed
        slots = self.some(self.of_one_size(list(self.slots)), 3)
        has_index = {*slots} & {*self.arrays}
        may_take_me = has_index or (len({*self.arrays.values()}) == 1 and not self.ballast)
        may_take_me = may_take_me and not self.is_blind
        takes_me, takes_scope = bool(may_take_me and rng.random() < 0.8), rng.random() < 0.2
        labels = tuple(f"l{n}" for n in range(rng.randint(0, 2)))
        chance, urgent = rng.randint(30, 90), rng.random() < 0.25
        alone = rng.randrange(2) if takes_me and rng.random() < 0.6 else None  # as a leader acts

        def call(*given):
            me = given[0] if takes_me else None
            values = given[takes_me : takes_me + len(slots)]
            now = [number(v) for v in values]
            roll = dice(seed, k, me, now, given[-1] if takes_scope else None)
            is_idle = alone not in (None, me) or (urgent and not any(now))
            if roll % 100 >= chance or is_idle:
                return
            for choice in range(1 + roll // 100 % 2):
                new = [dice(seed, k, me, now, choice, s) % self.ranges[s] for s in slots]
                if urgent:
                    new = [min(a, b // 2) for a, b in zip(new, now)]
                elif dice(seed, k, choice, now) % 3 == 0:
                    new[0] = now[0]
                outcome = tuple(like(v, n) for v, n in zip(values, new))
                if labels:
                    yield (labels[dice(choice, now) % len(labels)], *outcome)
                else:
                    yield outcome if len(outcome) > 1 else outcome[0]

        may_ask = (has_index or takes_me) and not self.is_blind
        guard = self.guard(k, slots, may_ask) if rng.random() < 0.4 else None
        return Rule(f"r{k}", call, slots, takes_me, takes_scope, labels, guard, urgent)

    def guard(self, k, slots, may_take_me):
        seed = self.seed
        if may_take_me and self.rng.random() < 0.4:
            return Guard(
                self.rng.choice(slots), lambda me, v: dice(seed, k, me, number(v)) % 3 > 0, True
            )
        return Guard(self.rng.choice(slots), lambda v: dice(seed, k, number(v)) % 3 > 0, False)

    # -- predicates and views

    def function(self, name, places, per_mille, answer):
        """A predicate or view: `answer` of a thousand-sided die, at most `per_mille` or above."""
        seed, takes_scope = self.seed, self.rng.random() < 0.2

        def call(*values):
            return answer(dice(seed, name, [plain(v) for v in values]) % 1000, per_mille)

        return Predicate(name, call, places, takes_scope, name)

    def places(self, names, variables, most):
        """Different (name, variable); each variable ranges over arrays of one size."""
        sizes = sorted({*self.size.values()})
        size_of = {v: self.rng.choice(sizes) for v in variables if sizes}
        found = {}
        for name in self.rng.sample(names * 2, min(2 * len(names), most + 2)):
            fit = [v for v in variables if size_of.get(v) == self.size.get(name, 0)]
            if name not in self.size or fit:
                found[name, self.rng.choice(fit) if name in self.size else None] = True
        unnamed = self.rng.random() < 0.3  # a plain parameter ranges over `i`, too
        return tuple((n, None if v == "i" and unnamed else v) for n, v in [*found][:most])

    def view(self, k, views):
        names = self.of_one_size([*self.slots, *(v.name for v in views)])
        if views and self.rng.random() < 0.5:
            names = [n for n in names if n[0] == "v"] or names
        letter = self.rng.choice("ijk")
        chosen = self.some(names, 2)
        size = next((self.size[n] for n in chosen if n in self.size), None)
        if size is not None:
            self.size[f"v{k}"] = size
        places = tuple((n, letter if n in self.size else None) for n in chosen)
        sides = self.rng.choice([2, 2, 3])
        return self.function(f"v{k}", places, sides, lambda die, sides: die % sides)

    def predicate(self, name, views, per_mille, answer):
        names = [*self.slots, *(v.name for v in views)]
        if self.fond_of_views:
            names = [v.name for v in views]
        elif self.rng.random() < 0.1:
            names.append("state")
        variables = self.rng.choice([["i"], ["i", "j"], ["j", "i"], ["k", "i", "j"]])
        most = self.rng.choice([2, 3] if self.fond_of_views else [1, 2, 3])
        places = self.places(names, variables, most)
        return self.function(name, places or (("s0", None),), per_mille, answer)

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
                    (number(v) == number(self.slots[slot].initial)) == seen
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
        slots, takes_label = self.some(list(rule.slots), 2), rng.random() < 0.4
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
        slot = self.slots[name]
        if self.is_blind and slot.size is not None:
            return (like(slot.initial, self.rng.randrange(self.ranges[name])),) * slot.size
        values = [
            like(slot.initial, self.rng.randrange(self.ranges[name])) for _ in range(slot.size or 1)
        ]
        return values[0] if slot.size is None else tuple(values)

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
    rules.append(Rule("mark", mark, ("fuse", "ballast"), True, False, (), None, False))
    rules.append(Rule("clear", clear, ("ballast",), False, False, (), None, True))
