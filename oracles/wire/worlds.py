"""What the model allows next over the wire: the worlds that fit what was seen, and the answers to
expect in each.

A world is a memory of the model's coordinator with the broker's names of its ids. Timers and
appends behave as on a real broker whose initial delay is 0 and whose log has one replica: what can
happen by itself happens before the next request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.group import leader_of
from groupcheck.model.protocol.classic.plans import interval
from groupcheck.model.protocol.classic.timers import append_committed, initial_delay
from groupcheck.model.protocol.codes import MEMBER_ID_REQUIRED, NONE
from groupcheck.model.protocol.messages import NO_ID
from groupcheck.oracles.conform.row import Asks, Fires, Memory, Outcome, Told
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.conform.standing import leads_with
from groupcheck.oracles.wire.sockets import Answered, Closed

Name = tuple[tuple[int, int], str]  # (process, id), the broker's name of it
# What happens by itself before the next request. A round that began with members waits for longer
# than a schedule takes, even if members have gone.
BY_ITSELF = (append_committed.name, initial_delay.name)
NEW = "?"  # before the number of the request whose answer will bring an id


@frozen
class World:
    """A memory of the model, and how it belongs to the broker's group."""

    memory: Memory
    # An id that the coordinator has forgotten.
    gone: str
    # The broker's names of the ids in memory.
    names: tuple[Name, ...] = ()
    # (process, number of its request that waits).
    parked: tuple[tuple[int, int], ...] = ()

    def name(self, member: int, id: int) -> str:
        """The broker's name of that id. An id that is not in memory (a mutated model may use one)
        counts as forgotten.
        """
        return "" if id == NO_ID else dict(self.names).get((member, id), self.gone)


@frozen
class Expected:
    """An answer: to the request of that number, with that error, and these fields."""

    number: int
    error: int
    fields: tuple[tuple[str, Any], ...] = ()


@frozen
class End:
    """Where a step may lead, what is answered on the way, and the rules that fire."""

    world: World
    answers: tuple[Expected, ...]
    rules: tuple[str, ...]


def ends(rows: Rows, worlds: Sequence[World], given: Asks, number: int) -> list[End]:
    """Every end of a step that begins with a request, in every world, after all that happens by
    itself.
    """
    found: dict[End, None] = {}
    for world in worlds:
        for outcome in rows.outcomes(world.memory, given):
            found |= dict.fromkeys(_settled(rows, _after(world, given, outcome, number)))
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
            later = _after(end.world, given, outcome, 0)
            grown = End(later.world, (*end.answers, *later.answers), (*end.rules, *later.rules))
            if grown not in seen:
                seen.add(grown)
                stack.append(grown)


def _after(world: World, given: Asks | Fires, outcome: Outcome, number: int) -> End:
    waited, parked = dict(world.parked), dict(world.parked)
    names, gone = dict(world.names), world.gone
    for told in outcome.told:
        if told.parked:
            parked.pop(told.member, None)
    if isinstance(given, Asks) and all(told.parked for told in outcome.told):
        parked[given.member] = number
    for me, (was, now) in enumerate(zip(world.memory.seats, outcome.after.seats)):
        for id, _ in was:
            if now[id] is None:
                gone = names.pop((me, id))
        for id, _ in now:
            names.setdefault((me, id), f"{NEW}{number}")
        if not any(seat.join or seat.sync for _, seat in now):
            parked.pop(me, None)
    after = World(outcome.after, gone, tuple(sorted(names.items())), tuple(sorted(parked.items())))
    answers = tuple(
        _expected(told, waited[told.member] if told.parked else number, world, after)
        for told in outcome.told
    )
    return End(after, answers, outcome.rules)


def _expected(told: Told, number: int, before: World, after: World) -> Expected:
    answer, fields = told.answer, dict[str, Any]()
    if isinstance(answer.request, messages.JoinGroup) and answer.code == MEMBER_ID_REQUIRED:
        fields["member"] = f"{NEW}{number}"
    elif isinstance(answer.request, messages.JoinGroup) and answer.code == NONE:
        leader = leader_of(after.memory.seats)
        leads = leader == (told.member, answer.id)
        fields = {
            "member": after.name(told.member, answer.id),
            "generation": answer.generation,
            "leader": "" if leader is None else after.name(*leader),
            "members": members(after) if leads else frozenset(),
        }
    elif isinstance(answer.request, messages.SyncGroup) and answer.code == NONE:
        fields["assignment"] = share_bytes(answer.share)
    return Expected(number, answer.code, tuple(fields.items()))


def members(world: World) -> frozenset[str]:
    """The broker's names of all members."""
    return frozenset(
        world.name(me, id)
        for me, seats in enumerate(world.memory.seats)
        for id, seat in seats
        if seat.member
    )


def share_bytes(share: int) -> bytes:
    """A share (bit mask) as the bytes of an assignment, which the coordinator does not look into;
    an empty share has none.
    """
    return share.to_bytes(4, "big") if share else b""


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
        planned.append((world.name(me, id), share_bytes(share)))
    return tuple(planned)


def seen(answer: Answered) -> tuple[int, dict[str, Any]]:
    """An answer's error code and the fields that are compared. LeaveGroup from version 3 on and
    OffsetCommit have the code further inside.
    """
    if isinstance(answer, Closed):
        return -1, {}
    error = answer.get("error", 0)
    if "topics" in answer:
        return int(answer["topics"][0]["partitions"][0]["error"]), {}
    listed = answer.get("members", [])
    if not error and listed and "error" in listed[0]:
        error = listed[0]["error"]
    fields = {
        name: answer[name]
        for name in ("member", "generation", "leader", "assignment")
        if name in answer
    }
    return int(error), fields | {"members": frozenset(m["member"] for m in listed)}


def unlike(expected: Expected, answer: Answered) -> list[str]:
    """How an answer differs from the expected one, in words."""
    error, fields = seen(answer)
    wrong = [f"error is {error}, in the model {expected.error}"] if error != expected.error else []
    for name, value in expected.fields if not wrong else ():
        if isinstance(value, str) and value.startswith(NEW):
            wrong += [] if fields.get(name) else [f"{name} is empty, in the model a new id"]
        elif fields.get(name) != value:
            wrong.append(f"{name} is {shown(fields.get(name))}, in the model {shown(value)}")
    return wrong


def shown(value: Any) -> str:
    """A field's value in words."""
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(value)) + "}"
    return repr(value)


def fits(end: End, answers: Mapping[int, Answered]) -> World | None:
    """The end's world with the ids that the answers brought, if these are exactly the answers to
    expect.
    """
    if {e.number for e in end.answers} != set(answers) or not could(end, answers):
        return None
    brought = {
        f"{NEW}{number}": seen(answer)[1].get("member", "") for number, answer in answers.items()
    }
    names = tuple((key, brought.get(name, name)) for key, name in end.world.names)
    return evolve(end.world, names=names, gone=brought.get(end.world.gone, end.world.gone))


def could(end: End, answers: Mapping[int, Answered]) -> bool:
    """Is each of these answers an expected one? Others may still come."""
    expected = {e.number: e for e in end.answers}
    return all(
        number in expected and not unlike(expected[number], answer)
        for number, answer in answers.items()
    )


def problems(end: End, answers: Mapping[int, Answered]) -> list[str]:
    """How the answers differ from those of this end, in words."""
    expected = {e.number: e for e in end.answers}
    said = [
        f"request {n} gets no answer, in the model error {expected[n].error}"
        for n in sorted(set(expected) - set(answers))
    ]
    said += [
        f"request {n} is answered with error {seen(answers[n])[0]}, in the model not at all"
        for n in sorted(set(answers) - set(expected))
    ]
    return said + [
        f"request {n}: {what}"
        for n in sorted(set(expected) & set(answers))
        for what in unlike(expected[n], answers[n])
    ]
