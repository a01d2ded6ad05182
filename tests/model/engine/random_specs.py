"""Small random protocols that use everything the language can say, in every combination that
`language_features` tells apart.
"""

from random_rules import RuleWriter, add_ballast, add_walk
from random_values import as_elements, dice, like, many, number, plain, used

from groupcheck.model.engine import (
    AnyOf,
    Predicate,
    Rule,
    Slot,
    Spec,
    StepInvariant,
    any_of,
    refines,
)
from groupcheck.model.engine.slot import choices


class Writer(RuleWriter):
    """Writes one random spec: rules, views, and what is asked of states."""

    # -- predicates and views

    def function(self, name, places, per_mille, answer, quantified=False):
        """A predicate or view: `answer` of a thousand-sided die, at most `per_mille` or above."""
        seed, rng, takes_scope = self.seed, self.rng, self.rng.random() < 0.2
        variables = used([(n, i) for n, i in places if n in self.size], "i")
        seen = self.visible(places, "i")
        takes = tuple(rng.sample(seen, len(seen)) if rng.random() < 0.3 else ())
        if not places and self.has_free_index:
            takes = ("i",)
        quantifiers = ()
        if quantified and rng.random() < 0.4:
            some = rng.sample(variables, rng.randint(0, len(variables)))
            quantifiers = tuple((rng.choice(["all", "some"]), v) for v in some)

        def call(*values):
            return answer(dice(seed, name, [plain(v) for v in values]) % 1000, per_mille)

        return Predicate(
            name, call, places, takes_scope, name, takes=takes, quantifiers=quantifiers,
            elements=as_elements(seed, name, takes),
        )  # fmt: skip

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
            elif rng.random() < 0.15 and not self.is_hidden(name):
                found[name, ":"] = True
            elif fit:
                index = rng.choice(fit) + self.way(name)
                found[name, None if index == "i" and unnamed else index] = True
        return tuple([*found][:most])

    def way(self, name):
        """To a neighbour, or nowhere."""
        return "" if self.is_hidden(name) else self.rng.choice(["", "", "", "", "+1", "-1"])

    def view_of(self, name, every, views, answer, sides=1000):
        """A view of slots and of other views, at one index at most."""
        rng = self.rng
        names = self.of_one_size(every)
        if views and rng.random() < 0.5:
            names = [n for n in names if n[0] == "v"] or names
        letter = rng.choice("ijk")
        found = {}
        for one in self.some(names, 2):
            found[one, letter + self.way(one) if one in self.size else None] = True
        wide = [n for n in every if n in self.size and not self.is_hidden(n)]
        if wide and rng.random() < 0.2:
            found[rng.choice(wide), ":"] = True
        return self.function(name, tuple(found), sides, answer)

    def view(self, k, views):
        every = [*self.slots, *(v.name for v in views)]
        sides = self.rng.choice([2, 2, 3])
        made = self.view_of(f"v{k}", every, views, lambda die, sides: die % sides, sides)
        size = self.size_of(made)
        if size is not None:
            self.size[made.name] = size
        return made

    def size_of(self, view):
        """How many elements a view has; None if it is single."""
        indexed = [n for n, i in view.places if n in self.size and i != ":"]
        return self.size[indexed[0]] if indexed else None

    def predicate(self, name, views, per_mille, answer, quantified=True):
        rng, names = self.rng, [*self.slots, *(v.name for v in views)]
        if self.fond_of_views:
            names = [v.name for v in views]
        if rng.random() < 0.1:
            names.append("state")
        if self.unseen and rng.random() < 0.8:  # predicates over arrays of two sizes tie them
            names = self.of_one_size(names)
        variables = rng.choice([["i"], ["i", "j"], ["j", "i"], ["k", "i", "j"]])
        most = rng.choice([2, 3] if self.fond_of_views else [1, 2, 3])
        places = self.places(names, variables, most) if rng.random() < 0.96 else ()
        return self.function(name, places, per_mille, answer, quantified)

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

    # -- refinements

    def refinement(self, views):
        """The claim that what a view shows of this spec, 0 or 1, moves like a smaller spec: one
        that may do anything, or one that may do little.
        """
        rng, seed = self.rng, self.seed
        every = [*self.slots, *(v.name for v in views)]
        shown = self.view_of("shown", every, views, lambda die, _: die % 8 // 7)
        if self.size_of(shown) == 1 and len({index for _, index in shown.places}) > 1:
            return self.refinement(views)  # neighbours, where there are none: no instance
        size, is_free, takes = self.size_of(shown), rng.random() < 0.6, rng.random() < 0.3
        index = ":" if size is not None and rng.random() < 0.5 else None

        def move(*given):
            now = many(given[-1], index)
            for n in range(2 ** len(now)):
                new = tuple(n >> k & 1 for k in range(len(now)))
                if is_free or dice(seed, "move", given, new) % 4:
                    yield new if index == ":" else new[0]

        slot = Slot(any_of(0, 1) if is_free or rng.random() < 0.5 else 0, size)
        own = ("me",) if takes and size is not None and index is None else ()
        rule = Rule("move", move, ("m",), own, False, (), None, False, (index,) if index else ())
        return refines(Spec("smaller", {"m": slot}, [rule], deadlock=False), {"m": shown})

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
        if self.is_hidden(name) or (slot.size and rng.random() < 0.4):
            return (like(slot, rng.randrange(self.ranges[name])),) * slot.size
        values = [like(slot, rng.randrange(self.ranges[name])) for _ in range(slot.size or 1)]
        if rng.random() < 0.1:
            values[0] = any_of(values[0], like(slot, rng.randrange(self.ranges[name])))
        given = values[0] if slot.size is None else tuple(values)
        is_plain = not any(isinstance(v, AnyOf) for v in values)
        return (
            any_of(given, given[::-1]) if is_plain and slot.size and rng.random() < 0.1 else given
        )

    def walk(self, rules):
        """A walk over an array whose elements nothing tells apart, and what must hold of it."""
        rng = self.rng
        fit = [
            name for name, size in self.arrays.items() if self.is_hidden(name) and size in (2, 3)
        ]
        if not fit or rng.random() < 0.4:
            return []
        visit = add_walk(rng.choice(fit), rng, self.slots, rules)
        made = self.step_invariant("turn", [visit])
        return [made] if rng.random() < 0.7 else []

    def spec(self):
        rng = self.rng
        rules = self.rules(rng.randint(3, 8))
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
        is_calm = rng.random() < 0.25  # only steps break promises: so the search goes far
        rare = rng.choice([0, 0, 0, 5, 100])
        invariants = [
            self.predicate(f"i{k}", views, rare, lambda die, n: die >= n)
            for k in range(0 if is_calm else rng.randint(0, 3))
        ]
        if rng.random() < 0.7:
            invariants += [self.step_invariant(k, rules) for k in range(rng.randint(1, 2))]
        ends = [
            self.predicate(
                f"e{k}", views, rng.choice([300, 1000, 1000, 1000]), lambda die, n: die < n
            )
            for k in range(rng.choice([1, 1, 1, 2, 2, 0]))
        ]
        constraints = []
        if rng.random() < (0.15 if self.unseen else 0.45):  # no symmetry with a constraint
            rare = rng.choice([150, 300, 500])
            constraints = [
                self.predicate(f"c{k}", views, rare, lambda die, n: die >= n)
                for k in range(rng.choice([1, 1, 2]))
            ]
        refinements = (
            [self.refinement(views)] if rng.random() < (0.1 if self.unseen else 0.25) else []
        )
        invariants += self.walk(rules)
        if self.ballast:
            add_ballast(self.ballast, self.slots, rules)
        if rng.random() < 0.1:  # one function as a promise, and as a goal or an end
            of_states = [p for p in invariants if not isinstance(p, StepInvariant)]
            goals, ends = rng.choice([([*goals, *of_states], ends), (goals, [*ends, *of_states])])
        return Spec(
            "random", self.slots, rules, self.seed, invariants, goals, ends, views, starts,
            constraints, deadlock=rng.random() < 0.8 and not is_calm, refinements=refinements,
        )  # fmt: skip


def random_spec(seed, is_blind=False):
    """The spec of a seed. `is_blind`: no rule knows an index."""
    return Writer(seed, is_blind).spec()
