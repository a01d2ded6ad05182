"""Small random protocols that store indexes as elements: in sets, queues, fields, and in the
elements of arrays. Some functions look at what no element should show.
"""

import random

from attrs import frozen
from random_values import dice

from groupcheck.model.engine import (
    Element,
    Spec,
    any_of,
    array,
    end,
    evolve,
    goal,
    invariant,
    rule,
    single,
    step_invariant,
    urgent,
    view,
)


@frozen
class Item:
    phase: int = 0
    friend: Element | None = None


@frozen
class Core:
    members: frozenset[Element] = frozenset()
    queue: tuple[Element, ...] = ()
    leader: Element | None = None


def facts(me, core, *items):
    """What may be known of an element, the core and items without telling elements apart."""
    friends = [(i.phase, i.friend is None, i.friend == me, i.friend == core.leader) for i in items]
    of_me = (me in core.members, core.leader == me, core.queue[:1] == (me,), me in core.queue)
    return len(core.members), len(core.queue), core.leader is None, *of_me, *friends


class Writer:
    def __init__(self, seed):
        self.seed, self.rng = seed, random.Random(seed)
        # One function in some specs is naughty.
        self.naughty = self.rng.choice([None, None, None, "r0", "r1", "r2", "i0", "g1"])

    def die(self, name, me, core, *items):
        peeks = (repr(me), repr(sorted(map(repr, core.members)))) if name == self.naughty else ()
        return dice(self.seed, name, facts(me, core, *items), peeks)

    def cores(self, die, me, core):
        """What becomes of the core."""
        queue = (*core.queue, me) if len(core.queue) < 2 and me not in core.queue else ()
        members = core.members - {me} if me in core.members else core.members | {me}
        made = [
            core,
            evolve(core, members=members),
            evolve(core, leader=None if core.leader else me),
            evolve(core, queue=queue),
            evolve(core, queue=core.queue[1:], leader=core.queue[0] if core.queue else None),
        ]
        return made[die % 5] if me or die % 5 in (0, 4) else core

    def items(self, die, me, core, item):
        """What becomes of an item."""
        friends = [item.friend, me or item.friend, core.leader, None]
        return Item((item.phase + die % 2) % 2, friends[die // 2 % 4])

    def rules(self):
        def own(name):
            def call(me: Element, item, core):
                die = self.die(name, me, core, item)
                for k in range(die % 3):
                    more = die // 3 + 17 * k
                    after = self.items(more // 5, me, core, item)
                    yield after, self.cores(more, me, core)

            return rule(name=name)(call)

        def alone(name):
            def call(me: Element, core):
                die = self.die(name, me, core)
                if die % 3:
                    yield self.cores(die // 3, me, core)

            guard = (lambda me, core: me not in core.queue) if self.rng.random() < 0.5 else None
            return rule(name=name, when=guard)(call)

        def pair(name):
            def call(me: Element, other: Element, mine: "item[me]", its: "item[other]", core):
                die = self.die(name, me, core, mine, its)
                if die % 4 == 0:
                    yield evolve(mine, friend=other), self.items(die // 4, me, core, its), core

            return rule(name=name)(call)

        def blind(name):
            def call(item, core):
                die = self.die(name, None, core, item)
                if die % 3 == 0:
                    yield self.items(die // 3, None, core, item), self.cores(die // 24, None, core)

            return rule(name=name)(call)

        def hurried(core):
            if core.leader and core.leader in core.queue:
                yield evolve(core, queue=())

        makers = [own, own, alone, pair, blind]
        made = [self.rng.choice(makers)(f"r{k}") for k in range(self.rng.randint(2, 4))]
        return [*made, urgent(hurried)] if self.rng.random() < 0.4 else made

    def predicates(self):
        rare = self.rng.choice([0, 0, 1])

        def of_one(me: Element, item, core):
            return self.die("i0", me, core, item) % 40 >= rare

        def of_two(me: Element, a: "item[me]", b: "item[j]", core):
            return self.die("g1", me, core, a, b) % 30 == 0

        def seen(me: Element, item, core):
            return me in core.members, item.friend, core.queue[:1]

        def shown(one: "seen[i]", core):
            return one[0] and one[1] is not None and (one[1],) == one[2]

        def whole(state):
            return state.item[0].friend == Element(1)

        def grows(before, after):
            return len(after.core.members) - len(before.core.members) < 2 - rare

        invariants = [invariant(name="i0")(of_one), step_invariant("core")(grows)]
        goals = [goal(name="g1")(of_two), goal(shown)]
        if self.rng.random() < 0.3:
            goals.append(goal(whole))
        return invariants, goals, [view(seen)]

    def spec(self):
        n = 3
        slots = {"item": array(n, Item()), "core": single(Core())}
        if self.rng.random() < 0.2:
            slots["core"] = single(any_of(*(Core(leader=Element(k)) for k in range(n))))
        invariants, goals, views = self.predicates()

        @end("all i")
        def idle(item):
            return item.phase == self.seed % 2

        ends = [idle]
        return Spec(
            "elements", slots, self.rules(), n, invariants, goals, ends, views,
            deadlock=self.rng.random() < 0.5,
        )  # fmt: skip


def random_elements(seed):
    """The spec of a seed."""
    return Writer(seed).spec()
