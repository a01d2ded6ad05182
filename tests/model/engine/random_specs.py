"""Small random protocols: every rule is a pseudo-random but repeatable function of its arguments, so that two engines can be compared."""

from zlib import crc32

from attrs import frozen
from hypothesis import strategies as st

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
    return Cell(n, f"t{n % 3}") if isinstance(value, Cell) else (n,) if isinstance(value, tuple) else n


def dice(*what):
    return crc32(repr(what).encode())


@frozen
class Shape:
    """How a random rule behaves: which slots, how often it fires, whether it is urgent, guarded, labelled."""

    slots: tuple[str, ...]
    takes_me: bool
    labels: int
    chance: int
    urgent: bool
    guard: str | None


def make_rule(seed, k, shape, ranges):
    """Ordinary rules give any values in range; urgent ones only lower values, so that they come to rest."""
    labels = tuple(f"l{n}" for n in range(shape.labels))

    def call(*given):
        me, values = (given[0], given[1:]) if shape.takes_me else (None, given)
        now = [number(v) for v in values]
        roll = dice(seed, k, me, now)
        if shape.urgent and (roll % 100 >= shape.chance or not any(now)):
            return
        if not shape.urgent and roll % 100 >= shape.chance:
            return
        for choice in range(1 + roll // 100 % 3):
            new = [dice(seed, k, me, now, choice, p) % ranges[s] for p, s in enumerate(shape.slots)]
            if shape.urgent:
                new = [min(a, b) for a, b in zip(new, now)]
                if new == now:
                    at = next(p for p, n in enumerate(now) if n)
                    new[at] -= 1
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
        return dice(seed, name, [number(v) if not isinstance(v, bool) else v for v in values]) % 1000 >= chance

    return Predicate(name, call, places, False, name)


@st.composite
def specs(draw):
    """A spec of a few slots, with all that the engines know: arrays, labels, guards, urgent rules, views, several starts, wide states."""
    seed = draw(st.integers(0, 1 << 30))
    size = draw(st.integers(1, 3))
    singles = [f"s{k}" for k in range(draw(st.integers(1, 2)))]
    arrays = [f"a{k}" for k in range(draw(st.integers(0, 2)))]
    ranges = {name: draw(st.sampled_from([2, 3, 5, 9])) for name in (*singles, *arrays)}
    wrap = st.sampled_from([Cell(1, "t1"), (1,), 1])
    slots = {name: Slot(draw(wrap), size if name in arrays else None) for name in (*singles, *arrays)}
    shapes = []
    for _ in range(draw(st.integers(2, 6))):
        chosen = tuple(draw(st.lists(st.sampled_from([*singles, *arrays]), min_size=1, max_size=3, unique=True)))
        urgent = draw(st.integers(0, 3)) == 0
        shapes.append(
            Shape(
                chosen, draw(st.booleans()) and bool({*chosen} & {*arrays}), draw(st.integers(0, 2)), draw(st.integers(5, 60)), urgent,
                draw(st.sampled_from([None, chosen[0]])),
            )
        )  # fmt: skip
    rules = [make_rule(seed, k, shape, ranges) for k, shape in enumerate(shapes)]
    if draw(st.integers(0, 3)) == 0:
        add_ballast(draw(st.sampled_from([10, 40, 64, 130])), slots, rules)
    return Spec("random", slots, rules, seed, *predicates(draw, seed, singles, arrays), initial=starts(draw, slots, ranges))


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


def starts(draw, slots, ranges):
    """One or several initial states."""
    several = [{}]
    for k in range(draw(st.integers(0, 2))):
        name = draw(st.sampled_from([n for n in slots if n in ranges]))
        slot = slots[name]
        value = like(slot.initial, k % ranges[name])
        several.append({name: value if slot.size is None else (value,) * slot.size})
    return several


def predicates(draw, seed, singles, arrays):
    """Invariants (over slots, pairs, views, steps), goals, ends and views."""
    chance = draw(st.sampled_from([0, 0, 5, 50, 300]))
    invariants = [make_predicate(seed, "one", ((singles[0], None),), chance)]
    goals = [make_predicate(seed, "far", ((singles[-1], None),), 700)]
    views = []
    if arrays:
        views = [make_predicate(seed, "seen", ((singles[0], None), (arrays[0], "i")), 400)]
        invariants.append(make_predicate(seed, "pair", ((arrays[0], "i"), (arrays[-1], "j")), chance))
        invariants.append(make_predicate(seed, "viewed", (("seen", "i"), ("seen", "j"), (singles[-1], None)), chance))
        goals.append(make_predicate(seed, "each", ((arrays[-1], "i"), ("seen", "i")), 900))
    ends = [make_predicate(seed, "rest", ((singles[0], None),), draw(st.sampled_from([0, 300, 1000])))]
    if arrays and draw(st.booleans()):
        ends.append(make_predicate(seed, "all_rest", ((arrays[0], "i"),), 500))
    if draw(st.booleans()):
        step_chance = draw(st.sampled_from([0, 30]))

        def grows(before, after):
            pair = [number(getattr(v, singles[0])) for v in (before, after)]
            return dice(seed, "grows", pair) % 1000 >= step_chance

        invariants.append(StepInvariant("grows", grows, (singles[0],), (), False, False, "grows"))
    if draw(st.integers(0, 4)) == 0:
        whole = Predicate(
            "whole", lambda state: dice(seed, number(getattr(state, singles[0]))) % 1000 >= chance, (("state", None),), False, ""
        )
        invariants.append(whole)
    return invariants, goals, ends, views
