"""The steps that the model allows next over the wire: the worlds that fit what was seen, and the
answers to expect in each.

A world is a memory of the model's coordinator with the broker's names of its ids. Timers and
appends behave as on a real broker whose initial delay is 0 and whose log has one replica: what can
happen by itself happens before the next request.

A member's id is known once the broker has told it, while the model's coordinator knows it from the
start. Until then the id stands in a `World` under the number of its JoinGroup, and no request is
made with it. Generations are the broker's own numbers, too: a new one only has to be larger than
those before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.features.takeover import takeover_committed
from groupcheck.model.protocol.classic.group import leader_of
from groupcheck.model.protocol.classic.plans import interval
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.timers import append_committed, initial_delay
from groupcheck.model.protocol.codes import MEMBER_ID_REQUIRED, NONE
from groupcheck.model.protocol.messages import NO_ID
from groupcheck.oracles.conform.real_position import leads_with
from groupcheck.oracles.conform.row import Asks, Fires, Memory, ModelAnswer, Outcome
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.conform.takeovers import Key, key
from groupcheck.oracles.judge.following.said import (
    TOPIC,
    instance,
    share_bytes,
    subscription,
)
from groupcheck.oracles.wire.connections import Answered, Closed, Unreadable
from groupcheck.traces.messages.apis import api

Name = tuple[Key, str]  # (process, id), the broker's name of it
# What happens by itself before the next request. A round that began with members waits for longer
# than a schedule takes, even if members have gone.
BY_ITSELF = (append_committed.name, initial_delay.name, takeover_committed.name)
NEW = "?"  # before the number of the request whose answer will bring an id
# A member that the leader is told of: its id, its instance, its subscription.
Listed = tuple[str, str | None, bytes]
# The fields of an answer that are compared, and the members that a leader is told of.
COMPARED = ("memberId", "generationId", "leader", "protocolName", "skipAssignment", "assignment")
SKIPS_ASSIGNMENT = 9  # of JoinGroup: a leader that comes back makes no plan (KIP-814)
KEPT = 2  # generations that a world tells apart (see `relative`)
CLOSED, UNREADABLE = -1, -2  # in place of error codes
# What a problem is about, besides a field of an answer.
UNANSWERED, UNASKED, GENERATIONS = "no answer", "an answer", "generations"


def is_new(name: str) -> bool:
    """Does it stand for an id that the broker has made and not told?"""
    return name.startswith(NEW)


@frozen
class RequestNumber:
    """A request: its number, and its version."""

    number: int
    version: int = 0


@frozen
class Generation:
    """A generation in an answer: the model's number, the broker's if it is known, and the largest
    that the broker has told.
    """

    number: int
    known: int | None
    above: int

    def __str__(self) -> str:
        return f"more than {self.above}" if self.known is None else str(self.known)


@frozen
class World:
    """A memory of the model, and how it belongs to the broker's group."""

    memory: Memory
    # An id that the coordinator has forgotten.
    gone: str
    # The broker's names of the ids in memory.
    names: tuple[Name, ...] = ()
    # (process, its request that waits).
    parked: tuple[tuple[int, RequestNumber], ...] = ()
    # (the model's number, the broker's) of generations.
    generations: tuple[tuple[int, int], ...] = ()
    # What members subscribe to.
    topic: str = TOPIC
    # The offset that was committed last; None: none was.
    committed: int | None = None

    def name(self, member: int, id: int) -> str:
        """The broker's name of that id. An id that is not in memory (a mutated model may use one)
        counts as forgotten.
        """
        return "" if id == NO_ID else dict(self.names).get(key(member, id), self.gone)

    def generation(self, number: int) -> int:
        """The broker's number of that generation. One that it has not told is as far from the
        nearest one that it has told as in the model; negative if there is no such number.
        """
        known = dict(self.generations)
        nearest = min(known, key=lambda told: (abs(told - number), told), default=None)
        return number if nearest is None else known[nearest] + number - nearest

    def knows(self, given: Asks) -> bool:
        """Can that request be made? The broker has told the id in it, in its answer to JoinGroup,
        and its generation has a number. (-1 is none: it means "from outside the group".)
        """
        request = given.request
        assert not isinstance(request, messages.Store)
        number = getattr(request, "generation", 0)
        return not is_new(self.name(given.member, request.id)) and self.generation(number) >= 0


@frozen
class ExpectedAnswer:
    """An answer: to the request of that number, with that error, and these fields."""

    number: int
    error: int
    fields: tuple[tuple[str, Any], ...] = ()


@frozen
class Problem:
    """How an answer differs from the expected one."""

    # The field that is wrong, `UNANSWERED`, `UNASKED` or `GENERATIONS`.
    about: str
    # In words.
    text: str

    def __str__(self) -> str:
        return self.text


@frozen
class End:
    """Where a step may lead, what is answered on the way, and the rules that fire."""

    world: World
    answers: tuple[ExpectedAnswer, ...]
    rules: tuple[str, ...]


def relative(world: World) -> World:
    """The same world with small numbers of generations, so that a group that goes on for ever has
    finitely many memories. Older generations than the last ones are all alike.
    """
    back = world.memory.core.generation - KEPT
    if back <= 0:
        return world
    core = world.memory.core
    logged, led, assignor = core.durable
    core = evolve(core, generation=KEPT, durable=(max(0, logged - back), led, assignor))
    numbers = tuple((n - back, told) for n, told in world.generations if n - back > 0)
    return evolve(world, memory=evolve(world.memory, core=core), generations=numbers)


def ends(
    rows: Rows,
    worlds: Sequence[World],
    given: Asks | Fires,
    asked: RequestNumber = RequestNumber(0),
) -> list[End]:
    """Every end of a step that begins with a request or a timer, in every world, after all that
    happens by itself.
    """
    found: dict[End, None] = {}
    for world in worlds:
        for outcome in rows.outcomes(world.memory, given):
            begun = _after(rows.scope, world, given, outcome, asked)
            found |= dict.fromkeys(_settled(rows, begun))
    return list(found)


def _settled(rows: Rows, begun: End) -> Iterator[End]:
    stack, seen = [begun], {begun}
    while stack:
        end = stack.pop()
        fires = [
            given
            for given in rows.inputs(end.world.memory)
            if isinstance(given, Fires) and given.rule in BY_ITSELF
        ]
        further = [
            (given, outcome)
            for given in fires
            for outcome in rows.outcomes(end.world.memory, given)
        ]
        if not further:
            yield end
        for given, outcome in further:
            later = _after(rows.scope, end.world, given, outcome, RequestNumber(0))
            grown = End(later.world, (*end.answers, *later.answers), (*end.rules, *later.rules))
            if grown not in seen:
                seen.add(grown)
                stack.append(grown)


def _after(
    scope: Scope, world: World, given: Asks | Fires, outcome: Outcome, asked: RequestNumber
) -> End:
    waited, parked = dict(world.parked), dict(world.parked)
    names, gone = dict(world.names), world.gone
    for told in outcome.told:
        if told.parked:
            parked.pop(told.member, None)
    if isinstance(given, Asks) and all(told.parked for told in outcome.told):
        parked[given.member] = asked
    was, now = _ids(world.memory), _ids(outcome.after)
    for one in sorted(was - now):
        name = names.pop(one)
        gone = gone if is_new(name) else name
    for one in sorted(now - was):
        names[one] = f"{NEW}{asked.number}"
    for me, seats in enumerate(outcome.after.seats):
        if not any(seat.join or seat.sync for _, seat in seats):
            parked.pop(me, None)
    after = World(
        outcome.after,
        gone,
        tuple(sorted(names.items())),
        tuple(sorted(parked.items())),
        world.generations,
        world.topic,
        world.committed if outcome.stored is None else outcome.stored,
    )
    answers = tuple(
        _expected(scope, told, waited[told.member] if told.parked else asked, given, world, after)
        for told in outcome.told
    )
    return End(after, answers, outcome.rules)


def _ids(memory: Memory) -> set[Key]:
    """The ids in memory, and those whose place is being taken by other ones."""
    every = [(me, id, seat) for me, seats in enumerate(memory.seats) for id, seat in seats]
    taken = {key(me, seat.takes[0]) for me, _, seat in every if seat.takes is not None}
    return taken | {key(me, id) for me, id, _ in every}


def _expected(
    scope: Scope,
    told: ModelAnswer,
    asked: RequestNumber,
    given: Asks | Fires,
    before: World,
    after: World,
) -> ExpectedAnswer:
    answer, fields = told.answer, dict[str, Any]()
    if isinstance(answer.request, messages.JoinGroup) and answer.code == MEMBER_ID_REQUIRED:
        fields["memberId"] = f"{NEW}{asked.number}"
    elif isinstance(answer.request, messages.JoinGroup) and answer.code == NONE:
        takes = isinstance(given, Fires) and given.rule == takeover_committed.name
        leader = leader_of(after.memory.seats)
        leads = leader == (told.member, answer.id)
        skips = asked.version >= SKIPS_ASSIGNMENT
        # A leader that comes back to a Stable group makes no plan. Old versions cannot say so: the
        # answer calls the id that it had before the leader (KIP-814).
        led = "" if leader is None else after.name(*leader)
        fields = {
            "memberId": after.name(told.member, answer.id),
            "generationId": _generation(after, answer.generation),
            "leader": _replaced(before, told.member) if takes and leads and not skips else led,
            "protocolName": scope.voted_for(after.memory.core.assignor),
            "members": frozenset(),
        }
        if leads and (skips or not takes):
            fields["members"] = members(after, asked.version)
        if skips:
            fields["skipAssignment"] = takes and leads
    elif isinstance(answer.request, messages.SyncGroup) and answer.code == NONE:
        fields["assignment"] = share_bytes(answer.share, after.topic)
    return ExpectedAnswer(asked.number, answer.code, tuple(fields.items()))


def _generation(world: World, number: int) -> Generation:
    known = dict(world.generations)
    return Generation(number, known.get(number), max(known.values(), default=-1))


def _replaced(world: World, me: int) -> str:
    """The broker's name of the id whose place a process is taking."""
    ((_, seat),) = world.memory.seats[me].ids
    assert seat.takes is not None
    return world.name(me, seat.takes[0])


def members(world: World, version: int) -> frozenset[Listed]:
    """The list of all members that the leader is told, in this version of JoinGroup."""
    named = version >= api("JoinGroup").since("groupInstanceId")
    return frozenset(
        (
            world.name(me, id),
            instance(seats, me) if named else None,
            subscription(seat, world.topic),
        )
        for me, seats in enumerate(world.memory.seats)
        for id, seat in seats
        if seat.member
    )


def plan(rows: Rows, world: World, given: Asks) -> tuple[tuple[str, bytes], ...] | None:
    """The leader's assignment, if it is the leader that asks: the range assignor's shares, members
    in the order of their index.
    """
    if not leads_with(world.memory, given):
        return None
    every = [
        (me, id) for me, seats in enumerate(world.memory.seats) for id, seat in seats if seat.member
    ]
    planned = []
    for rank, (me, id) in enumerate(every):
        share = interval(rank, len(every), rows.scope.partition_count)
        planned.append((world.name(me, id), share_bytes(share, world.topic)))
    return tuple(planned)


def seen(answer: Answered) -> tuple[int, dict[str, Any]]:
    """An answer's error code and the fields that are compared. LeaveGroup from version 3 on and
    OffsetCommit have the code further inside.
    """
    if isinstance(answer, Closed):
        return UNREADABLE if isinstance(answer, Unreadable) else CLOSED, {}
    error = answer.get("errorCode", 0)
    if "topics" in answer:
        parts = [part for topic in answer["topics"] for part in topic["partitions"]]
        return int(parts[0]["errorCode"]) if parts else UNREADABLE, {}
    listed = answer.get("members") or []
    if not error and listed and "errorCode" in listed[0]:
        return int(listed[0]["errorCode"]), {}
    told = frozenset((m["memberId"], m.get("groupInstanceId"), m["metadata"]) for m in listed)
    return int(error), {name: answer[name] for name in COMPARED if name in answer} | {
        "members": told
    }


def code_of(answer: Mapping[str, Any]) -> int:
    """The error code of an answer to a question about one group or to a request of it."""
    whole = answer["results"][0] if answer.get("results") else answer
    return int(whole.get("errorCode", 0)) or seen(dict(whole))[0]


def _unlike(expected: ExpectedAnswer, answer: Answered) -> Iterator[Problem]:
    """How an answer differs from the expected one."""
    error, fields = seen(answer)
    begins = f"request {expected.number}: "
    if error != expected.error:
        yield Problem("errorCode", f"{begins}error is {error}, in the model {expected.error}")
        return
    for name, value in expected.fields:
        told = fields.get(name)
        if isinstance(value, str) and is_new(value):
            wrong = "" if told else f"{name} is empty, in the model a new id"
        elif isinstance(value, Generation):
            grows = isinstance(told, int) and told > value.above
            fit = grows if value.known is None else told == value.known
            wrong = "" if fit else f"{name} is {told}, in the model {value}"
        elif isinstance(value, frozenset) and isinstance(told, frozenset):
            wrong = "" if _same(value, told) else _differ(name, told, value)
        else:
            wrong = _differ(name, told, value) if told != value else ""
        if wrong:
            yield Problem(name, begins + wrong)


def _differ(name: str, told: Any, expected: Any) -> str:
    return f"{name} is {shown(told)}, in the model {shown(expected)}"


def _same(expected: frozenset[Listed], told: frozenset[Listed]) -> bool:
    """Are these the members? One whose own answer has not come yet may have any name."""
    new = [one[1:] for one in expected if is_new(one[0])]
    others = [one[1:] for one in told - expected]
    return len(expected) == len(told) and Counter(new) == Counter(others)


def shown(value: Any) -> str:
    """A field's value in words."""
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(_listed_shown, value))) + "}"
    return value.hex() or "empty" if isinstance(value, bytes) else repr(value)


def _listed_shown(one: Listed) -> str:
    name, instance, said = one
    return f"{name}{f' ({instance})' if instance else ''} {said.hex()}"


def fits(end: End, answers: Mapping[int, Answered]) -> World | None:
    """The end's world with the ids and generations that the answers brought, if these are exactly
    the answers to expect.
    """
    if {e.number for e in end.answers} != set(answers) or not could(end, answers):
        return None
    brought, numbers = _brought(answers), dict(end.world.generations) | _told(end, answers)
    names = tuple((one, brought.get(name, name)) for one, name in end.world.names)
    gone = brought.get(end.world.gone, end.world.gone)
    return evolve(end.world, names=names, gone=gone, generations=tuple(sorted(numbers.items())))


def _brought(answers: Mapping[int, Answered]) -> dict[str, str]:
    """The placeholders of ids -> the ids that the answers have told."""
    told = {f"{NEW}{number}": seen(answer)[1].get("memberId") for number, answer in answers.items()}
    return {new: name for new, name in told.items() if name}


def _told(end: End, answers: Mapping[int, Answered]) -> dict[int, int]:
    """The model's number of each generation that is new -> the broker's. One that is told in two
    ways has no number.
    """
    found: dict[int, set[int]] = {}
    for expected in end.answers:
        value = dict(expected.fields).get("generationId")
        if isinstance(value, Generation) and expected.number in answers:
            number = seen(answers[expected.number])[1].get("generationId")
            found.setdefault(value.number, set()).add(number or 0)
    return {number: told.pop() for number, told in found.items() if len(told) == 1}


def _with_names(expected: ExpectedAnswer, brought: Mapping[str, str]) -> ExpectedAnswer:
    """The expected answer with the ids that are known meanwhile."""
    fields = []
    for name, value in expected.fields:
        if isinstance(value, frozenset):
            value = frozenset((brought.get(one[0], one[0]), *one[1:]) for one in value)
        elif isinstance(value, str):
            value = brought.get(value, value)
        fields.append((name, value))
    return evolve(expected, fields=tuple(fields))


def could(end: End, answers: Mapping[int, Answered]) -> bool:
    """Is each of these answers an expected one? Others may still come."""
    return not _wrong(end, answers)


def problems(end: End, answers: Mapping[int, Answered]) -> list[Problem]:
    """How the answers differ from those of this end."""
    expected = {e.number: e.error for e in end.answers}
    missing = [
        Problem(UNANSWERED, f"request {n} gets no answer, in the model error {expected[n]}")
        for n in sorted(set(expected) - set(answers))
    ]
    return missing + _wrong(end, answers)


def _wrong(end: End, answers: Mapping[int, Answered]) -> list[Problem]:
    """What is wrong with the answers that have come."""
    brought = _brought(answers)
    expected = {e.number: _with_names(e, brought) for e in end.answers}
    said = [
        Problem(
            UNASKED,
            f"request {n} is answered with error {seen(answers[n])[0]}, in the model not at all",
        )
        for n in sorted(set(answers) - set(expected))
    ]
    both = sorted(set(expected) & set(answers))
    said += [one for n in both for one in _unlike(expected[n], answers[n])]
    told = {
        seen(answers[n])[1].get("generationId")
        for n in both
        if any(isinstance(v, Generation) and v.known is None for _, v in expected[n].fields)
    }
    if len(told) > 1:
        numbers = sorted(map(str, told))
        said.append(Problem(GENERATIONS, f"one round has the generations {numbers}"))
    return said
