"""Each constraint as rows of a program. The program's restrictions state what a hard `stays`,
`never`, `nearby` or `drain` forbids.
"""

from __future__ import annotations

from fractions import Fraction

from groupcheck.oracles.assignment.constraints import Constraint
from groupcheck.oracles.assignment.loads import (
    NO_RACK,
    AtLeast,
    AtMost,
    Capacity,
    LevelWeights,
    MovesAtMost,
    RacksAtMost,
    Scale,
    counting,
    loaded,
    scale,
)
from groupcheck.oracles.assignment.placement import (
    Apart,
    Nearby,
    Never,
    Stays,
    Together,
    TopicsApart,
    replica_racks,
)
from groupcheck.oracles.assignment.solve.program import Program, Sum


def state_all(program: Program) -> None:
    """Adds the rows of the form, of all promises and of all constraints."""
    program.state()
    for constraint in program.constraints:
        program.words = "" if constraint.soft is not None else constraint.words()
        state(program, constraint)
    program.words, program.soft = "", None


def state(program: Program, given: Constraint) -> None:
    """Adds the rows of the constraint."""
    program.soft = None if given.soft is None else Fraction(given.soft)
    if isinstance(given, Stays | Never):
        _placed(program, given)
    elif isinstance(given, Together):
        _together(program, given)
    elif isinstance(given, Apart):
        for member in program.of:
            here = [program.columns(program.kind_of.get(p, -1), member) for p in given.partitions]
            program.wanted({column: 1 for one in here for column in one}, most=1)
    elif isinstance(given, TopicsApart):
        _topics_apart(program, given)
    elif isinstance(given, Nearby):
        _nearby(program, given)
    elif isinstance(given, AtLeast):
        counted = counting(program.group, given.topic)
        for member in given.members(program.open):
            program.wanted(_load(program, counted, member), least=given.least)
    elif isinstance(given, Capacity | AtMost):
        scaled = given.scale(program.group)
        _price_by(program, scaled)
        for member in loaded(given, program.group):
            program.wanted(_load(program, scaled, member), most=given.bound(scaled))
    elif isinstance(given, LevelWeights):
        _level_weights(program, given)
    elif isinstance(given, RacksAtMost):
        _racks(program, given)
    elif isinstance(given, MovesAtMost):
        there = sum(partition in program.kind_of for partition in program.claimed)
        stay = {**dict.fromkeys(program.kept.values(), 1), **program.waiting}
        program.wanted(stay, least=there - given.most)


def _price_by(program: Program, scaled: Scale) -> None:
    """The price of one whole number of the scale."""
    if program.soft is not None:
        program.soft /= scaled.by


def _load(program: Program, scaled: Scale, member: str) -> Sum:
    """The load of the member, by weight."""
    total: Sum = {}
    for number in program.kinds_of[member]:
        weight = scaled.weigh(program.kinds[number].partitions[0])
        if weight:
            total.update(dict.fromkeys(program.columns(number, member), weight))
    return total


def _placed(program: Program, given: Stays | Never) -> None:
    for partition in given.partitions:
        number = program.kind_of.get(partition, -1)
        here = program.columns(number, given.member)
        if isinstance(given, Stays):
            many = len(program.kinds[number].partitions) if number >= 0 else 1
            program.wanted(here, least=many)
        elif given.soft is not None:
            program.wanted(here, most=0)


def _together(program: Program, given: Together) -> None:
    """Hard: a member has all or none of them. Soft: the members that have any are counted, and
    nobody counts as one.
    """
    numbers = [program.kind_of.get(p, -1) for p in given.partitions]
    owners = [[program.columns(number, member) for number in numbers] for member in program.of]
    if given.soft is None:
        for here in owners:
            for one in here[1:]:
                program.row({**here[0], **dict.fromkeys(one, -1)}, 0, 0)
        return
    of_one = [[column for one in here for column in one] for here in owners]
    nobodys = -1 in numbers  # of a topic without a subscriber
    if not nobodys:
        waiting = program.waiting_of
        of_one.append([waiting[number] for number in numbers if number in waiting])
    used: Sum = {}
    for columns in filter(None, of_one):
        any_ = program.column(1)
        used[any_] = 1
        for column in columns:
            program.row({column: 1, any_: -1}, most=0)
    program.wanted(used, most=0 if nobodys else 1)


def _topics_apart(program: Program, given: TopicsApart) -> None:
    for member in program.of:
        has: Sum = {}
        for topic in given.topics:
            here = program.of_topic.get((member, topic))
            if here:
                any_ = program.column(1)
                has[any_] = 1
                program.row({**here, any_: -program.sizes[topic]}, most=0)
        if len(has) > 1:
            program.wanted(has, most=1)


def _nearby(program: Program, given: Nearby) -> None:
    """The price of what is far; nothing if the constraint is hard."""
    if given.soft is None:
        return
    racks = replica_racks(program.group)
    far: Sum = {}
    for member in program.group.members:
        for number in program.kinds_of[member.id]:
            if given.far(racks, member, program.kinds[number].partitions[0]):
                far.update(program.columns(number, member.id))
    if far:
        program.wanted(far, most=0)


def _level_weights(program: Program, given: LevelWeights) -> None:
    scaled = scale(given.weights, given.within)
    _price_by(program, scaled)
    members = given.members(program.open)
    every = sum(scaled.weigh(p) for kind in program.kinds for p in kind.partitions)
    low, high = program.column(every), program.column(every)
    for member in members:
        load = _load(program, scaled, member)
        program.row({**load, low: -1}, 0)
        program.row({**load, high: -1}, most=0)
    program.wanted({high: 1, low: -1}, most=int(given.within * scaled.by))


def _racks(program: Program, given: RacksAtMost) -> None:
    """A rack is used if one of its members has any."""
    used: dict[str, int] = {}
    for member in program.group.members:
        rack = member.rack or NO_RACK
        if rack not in used:
            used[rack] = program.column(1)
        of_topic = program.of_topic.get((member.id, given.topic or ""), {})
        for column in program.of[member.id] if given.topic is None else of_topic:
            program.row({column: 1, used[rack]: -program.most[column]}, most=0)
    program.wanted(dict.fromkeys(used.values(), 1), most=given.most)
