"""Small random protocols: every rule is a pseudo-random but repeatable function of its arguments,
so that two engines can be compared.
"""

from random import Random
from zlib import crc32

from attrs import frozen

from groupcheck.model.engine import Predicate, Rule, Slot, Spec, StepInvariant
from groupcheck.model.engine.spec import Guard


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


def dice(*what):
    return crc32(repr(what).encode())


@frozen
class Shape:
    """How a random rule behaves: which slots, how often it fires, whether it is urgent, guarded,
    labelled.
    """

    slots: tuple[str, ...]
    takes_me: bool
    labels: int
    chance: int
    urgent: bool
    guard: str | None


def make_rule(seed, k, shape, ranges):
    """Ordinary rules give any values in range; urgent ones halve values at least, so that they come
    to rest soon.
    """
    labels = tuple(f"l{n}" for n in range(shape.labels))

    def call(*given):
        me, values = (given[0], given[1:]) if shape.takes_me else (None, given)
        now = [number(v) for v in values]
        roll = dice(seed, k, me, now)
        if roll % 100 >= shape.chance or (shape.urgent and not any(now)):
            return
        for choice in range(1 + roll // 100 % (2 if shape.urgent else 3)):
            new = [dice(seed, k, me, now, choice, p) % ranges[s] for p, s in enumerate(shape.slots)]
            if shape.urgent:
                new = [min(a, b // 2) for a, b in zip(new, now)]
            elif dice(seed, k, choice, now) % 3 == 0:
                new[0] = now[0]
            outcome = tuple(like(v, n) for v, n in zip(values, new))
            if labels:
                yield (labels[dice(choice, now) % len(labels)], *outcome)
            else:
                yield outcome if len(outcome) > 1 else outcome[0]

    guard = None
    if shape.guard:
        guard = Guard(shape.guard, lambda value: dice(seed, k, number(value)) % 3 > 0, False)
    return Rule(f"r{k}", call, shape.slots, shape.takes_me, False, labels, guard, shape.urgent)


def make_predicate(seed, name, places, chance):
    def call(*values):
        return (
            dice(seed, name, [number(v) if not isinstance(v, bool) else v for v in values]) % 1000
            >= chance
        )

    return Predicate(name, call, places, False, name)


def random_spec(seed):
    """A spec of a few slots, with all that the engines know: arrays, labels, guards, urgent rules,
    views, several starts, wide states.
    """
    rng = Random(seed)
    size = rng.randint(1, 3)
    singles = [f"s{k}" for k in range(rng.randint(1, 2))]
    arrays = [f"a{k}" for k in range(rng.randint(0, 2))]
    ranges = {name: rng.choice([2, 3, 5, 9, 17, 40]) for name in (*singles, *arrays)}
    slots = {
        name: Slot(rng.choice([Cell(1, "t1"), (1,), 1]), size if name in arrays else None)
        for name in (*singles, *arrays)
    }
    rules = []
    for k in range(rng.randint(2, 7)):
        chosen = tuple(rng.sample([*singles, *arrays], rng.randint(1, min(3, len(slots)))))
        takes_me = rng.random() < 0.5 and bool({*chosen} & {*arrays})
        shape = Shape(
            chosen,
            takes_me,
            rng.randint(0, 2),
            rng.randint(5, 60),
            rng.random() < 0.3,
            rng.choice([None, rng.choice(chosen)]),
        )
        rules.append(make_rule(seed, k, shape, ranges))
    if rng.random() < 0.2:
        add_ballast(rng.choice([5, 30, 70]), slots, rules)
    return Spec(
        "random",
        slots,
        rules,
        seed,
        *predicates(rng, seed, singles, arrays, rules),
        initial=starts(rng, slots, ranges),
    )


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


def starts(rng, slots, ranges):
    """One or several initial states."""
    several = [{}]
    for k in range(rng.choice([0, 0, 1, 2])):
        name = rng.choice([n for n in slots if n in ranges])
        slot = slots[name]
        value = like(slot.initial, k % ranges[name])
        several.append({name: value if slot.size is None else (value,) * slot.size})
    return several


def predicates(rng, seed, singles, arrays, rules):
    """Invariants (over slots, pairs, views, steps), goals, ends and views. `rare`: how many of a
    thousand combinations break an invariant.
    """
    rare = rng.choice([0, 0, 0, 1, 3, 10, 100])
    invariants = [make_predicate(seed, "one", ((singles[0], None),), rare)]
    goals = [make_predicate(seed, "far", ((singles[-1], None),), 700)]
    views = []
    if arrays:
        views = [make_predicate(seed, "seen", ((singles[0], None), (arrays[0], "i")), 400)]
        invariants.append(make_predicate(seed, "pair", ((arrays[0], "i"), (arrays[-1], "j")), rare))
        invariants.append(
            make_predicate(
                seed, "viewed", (("seen", "i"), ("seen", "j"), (singles[-1], None)), rare
            )
        )
        goals.append(make_predicate(seed, "each", ((arrays[-1], "i"), ("seen", "i")), 900))
    ends = [make_predicate(seed, "rest", ((singles[0], None),), rng.choice([0, 0, 0, 300, 1000]))]
    if arrays and rng.random() < 0.5:
        ends.append(make_predicate(seed, "all_rest", ((arrays[0], "i"),), 500))
    if rng.random() < 0.5:

        def grows(before, after):
            pair = [number(getattr(v, singles[0])) for v in (before, after)]
            return dice(seed, "grows", pair) % 1000 >= rare

        if any(singles[0] in r.slots for r in rules):
            invariants.append(
                StepInvariant("grows", grows, (singles[0],), (), False, False, "grows")
            )
    if rng.random() < 0.2:

        def whole(state):
            return dice(seed, number(getattr(state, singles[0]))) % 1000 >= rare

        invariants.append(Predicate("whole", whole, (("state", None),), False, "whole"))
    return invariants, goals, ends, views
