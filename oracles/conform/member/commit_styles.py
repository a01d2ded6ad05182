"""The styles of commits on Kafka's own member: commitSync that is answered once or twice,
commitAsync with two commits in flight, and commits in poll, from every memory of the member at a
small scope in which nothing is in flight.

The group's rules (`groupcheck.model.protocol.classic.commit_styles`) say what the member does, in
rows of their own: a member that is taken out of its group may poll at any time, so the rows of
`conform --side member` know no style.

Left out is what the rows of the member have: a commit in close, and one before JoinGroup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, but
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults as faults
from groupcheck.model.protocol.classic.client import NOTHING, Calls, Member
from groupcheck.model.protocol.classic.commit_styles import commit_throws, in_poll
from groupcheck.model.protocol.classic.scope import ASYNC, AUTO, SYNC
from groupcheck.model.protocol.codes import COORDINATOR_LOAD_IN_PROGRESS, NONE
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_ID, Answer, OffsetCommit
from groupcheck.model.variants import load
from groupcheck.oracles.conform.member.conformance import rows_of
from groupcheck.oracles.conform.member.exceptions import PASSES, commit_error, refused_at_once
from groupcheck.oracles.conform.member.moves import (
    BACKOFF_MS,
    FOUND,
    NETWORK,
    NEVER_MS,
    POLL,
    Probe,
    Seen,
    Standing,
    move,
    name_of,
    setup_of,
)
from groupcheck.oracles.conform.member.parts import CODES, LOST, During, Failed, Memory
from groupcheck.oracles.kafka.client import committed
from groupcheck.oracles.kafka.client_commands import (
    Advance,
    Command,
    CommitAsync,
    CommitSync,
    Disconnect,
    Position,
)

BROKEN = -100  # in place of an error code: the connection breaks under the commit
ANSWERS = (NONE, *CODES, BROKEN)
CUT = (*LOST, BROKEN)  # the member gives up its connection, with what is in flight there
PASSING = (COORDINATOR_LOAD_IN_PROGRESS, *CUT)
# A commit in poll that fails otherwise is not followed by another one before the interval is over.
IN_POLL = (NONE, COORDINATOR_LOAD_IN_PROGRESS)
# What follows a commit that is sent again, or one that is in flight behind another one.
SECOND = (NONE, COORDINATOR_LOAD_IN_PROGRESS, 22, 25, 27)


@frozen
class Does:
    """What a member does, as far as a style tells."""

    # The offsets that the coordinator accepts.
    accepted: tuple[int, ...]
    # What commitSync throws, or what the callbacks of commitAsync are given: classes, "" if it is
    # nothing.
    told: tuple[str, ...]
    # The offsets of commits that are in flight at the end.
    in_flight: tuple[int, ...]
    # The member at the end: state, generation, id, partitions, position.
    member: tuple[str, int, str, int, int]


@frozen
class Row:
    """A memory in which nothing is in flight, a style, and the answers to its commits."""

    style: str
    before: Memory
    answers: tuple[int, ...]
    standing: Standing

    @property
    def probe(self) -> Probe:
        """The schedule that executes the row."""
        return Probe(self.standing, _COMMANDS[self.style](self))


def rows(style: str, variant: str = "classic") -> Iterator[Row]:
    """All rows of a style, for a member of a variant."""
    for memory, standing in memories(style == AUTO, variant).items():
        if not _is_quiet(memory):
            continue
        sends = memory.client.state == Member.STABLE and memory.client.position >= 0
        for answer in (IN_POLL if style == AUTO else ANSWERS) if sends else (NONE,):
            yield Row(style, memory, (answer,), standing)
            for second in SECOND if sends and _goes_on(style, answer) else ():
                yield Row(style, memory, (answer, second), standing)


def _goes_on(style: str, answer: int) -> bool:
    """Is a second commit answered behind this answer to the first?"""
    return {SYNC: answer in PASSING, ASYNC: answer not in CUT, AUTO: False}[style]


@cache
def memories(autocommit: bool, variant: str) -> Mapping[Memory, Standing]:
    """The memories of the member, each with the shortest schedule that leads there: one generation,
    one partition.
    """
    told = {"partitions": "1", "autocommit": "yes" if autocommit else "no"}
    (model,) = rows_of(variant, 1, None, told)
    start = model.start()
    begun = setup_of(model.scope)
    found = {start: Standing(begun)}
    frontier = [start]
    for memory in frontier:
        for given in model.inputs(memory):
            if given.during != During.NOTHING:
                continue
            for outcome in model.outcomes(memory, given):
                if outcome.after is not None and outcome.after not in found:
                    commands = move(memory, given, outcome, begun.assignors[0])
                    found[outcome.after] = found[memory].then(commands)
                    frontier.append(outcome.after)
    return found


def _is_quiet(m: Memory) -> bool:
    """Does the member know its coordinator, with nothing in flight?"""
    waits = m.flight or m.paused or m.overdue or m.failed != Failed.NOTHING
    installed = m.client.granted == NOTHING and m.late_id == NO_ID
    return m.known and not waits and installed and not m.client.failed


# -- the real member


def _sync(row: Row) -> tuple[Command, ...]:
    waits = tuple(c for code in row.answers for c in _answer(code)) if _sends(row) else ()
    return (CommitSync(ms=1000, waits=waits),)


def _async(row: Row) -> tuple[Command, ...]:
    if not _sends(row):
        return (CommitAsync(),)
    next = Position(partition=0, offset=row.before.client.position + 1)
    answers = [(_answer(code)[0], NETWORK) for code in row.answers]
    return (CommitAsync(), next, CommitAsync(), *chain(*answers), NETWORK)


def _auto(row: Row) -> tuple[Command, ...]:
    polls = (Advance(ms=NEVER_MS), POLL)
    if not _polls(row):
        return polls
    answers = [(*_answer(code), NETWORK, POLL) for code in row.answers]
    return (*polls, *chain(*answers), Advance(ms=BACKOFF_MS), POLL)


_COMMANDS = {SYNC: _sync, ASYNC: _async, AUTO: _auto}


def _answer(code: int) -> tuple[Command, ...]:
    """A commit is answered, and the coordinator is found again if it is lost."""
    first = Disconnect(node="coordinator") if code == BROKEN else committed(code)
    return (first, FOUND) if code in CUT else (first,)


def _sends(row: Row) -> bool:
    return row.before.client.state == Member.STABLE and row.before.client.position >= 0


def did(row: Row, seen: Seen) -> Does:
    """What Kafka's member did."""
    last = seen.steps[-1][1]
    calls = [call for _, look, _ in seen.steps for call in look.calls]
    accepted = (o for call in calls if call.call == "committed" for _, _, o in call.offsets)
    if row.style == SYNC:
        told = [thrown.type if thrown else "" for _, _, thrown in seen.steps]
    else:
        told = [c.thrown for c in calls if c.call == "commitCallback"]
        told += [e.thrown for e in last.ended]
    waiting = (s.data["topics"] for s in last.sent if s.api == "OffsetCommit")
    in_flight = (p["committedOffset"] for (topic,) in waiting for p in topic["partitions"])
    owned = sum(1 << p for _, p in last.owned)
    position = next((offset for _, _, offset in last.positions), -1)
    member = (last.state, last.generation, last.member, owned, position)
    told = [] if row.style == AUTO else told
    return Does(tuple(accepted), tuple(told), tuple(in_flight), member)


# -- the model's member


def does(row: Row, spec: Spec) -> Does:
    """What the model's member does. `spec`: one of `styled`, perhaps with a mutation."""
    return _Run(row, spec).does()


class _Run:
    """The group's rules, one after the other, for the member of a row."""

    def __init__(self, row: Row, spec: Spec) -> None:
        self._row = row
        self._scope, self._rules = spec.scope, {r.name: r for r in spec.rules}
        client = row.before.client
        self._client = but(client, dirty=client.position >= 0)
        self._accepted: list[int] = []
        self._told: list[str] = []
        self._link = Link()

    def does(self) -> Does:
        {SYNC: self._sync, ASYNC: self._async, AUTO: self._auto}[self._row.style]()
        c = self._client
        in_flight = [request.offset for request in self._in_flight]
        at = (str(c.state), c.generation, name_of(c.id), c.owned, c.position)
        return Does(tuple(self._accepted), tuple(self._told), tuple(in_flight), at)

    @property
    def _in_flight(self) -> list[OffsetCommit]:
        sent = (self._link.request, *self._link.queue)
        return [request for request in sent if isinstance(request, OffsetCommit)]

    def _sync(self) -> None:
        for code in self._row.answers:
            if self._send():
                self._answered(code)
            if self._client.calls != Calls.COMMIT_SYNC:
                break
        for after in self._rules[commit_throws.name].call(self._client, self._scope):
            self._client = after
            self._told = [refused_at_once(self._row.before)]
        if self._client.calls == Calls.COMMIT_SYNC:
            self._send()
            self._told = []
        self._told = self._told[-1:] or [""]

    def _async(self) -> None:
        if not self._send():
            self._told.append(refused_at_once(self._row.before))
            return
        self._client = but(self._client, position=self._client.position + 1, dirty=True)
        self._send()
        for code in self._row.answers:
            if self._link.queue:
                self._answered(code)
        self._send()  # what nobody repeats is not sent

    def _auto(self) -> None:
        first = members.wants_to_join(self._client)
        if first and members.must_commit_first(self._client, self._scope):
            self._link = Link(request=members.committing(self._client)[1])
        elif self._send():
            for code in self._row.answers:
                self._answered(code)
            self._send()
        self._told = []

    def _send(self) -> bool:
        usual = self._rules[members.send_commit.name]
        given = (self._scope,) if usual.takes_scope else ()
        if not self._client.dirty:  # the rule's guard
            return False
        for after, link in usual.call(self._client, self._link, *given):
            self._client, self._link = after, link
            return True
        return False

    def _answered(self, code: int) -> None:
        """The oldest commit is answered, or lost with the connection."""
        first, *others = self._in_flight
        if code == BROKEN:
            self._lost(first)
        else:
            link = Link(answer=Answer(first, code))
            answer = self._rules[members.commit_answer.name]
            ((label, self._client, _),) = answer.call(self._client, link, self._scope)
            self._told.append(commit_error(self._row.before, code, label))
            if code == NONE:
                self._accepted.append(first.offset)
        if code in CUT:
            self._told += [PASSES for _ in others]
            others = []
        self._link = Link(queue=tuple(others))

    def _lost(self, request: OffsetCommit) -> None:
        """The rule is that of a commit that is sent over a connection which then breaks."""
        self._told.append(PASSES)
        if self._row.style != SYNC:
            return
        before = but(self._client, dirty=True)
        broken = self._rules[faults.lose_response.name]
        for after, link, _ in broken.call(before, Link(), Budget(any=1), self._scope):
            if link.request == request:
                self._client = after


@cache
def styled(style: str, variant: str = "classic") -> Spec:
    """The group's model with this style."""
    group = load(variant)
    scope = group.scope_type(members=1, generations=1, any_faults=1, commit_style=style)
    return group.spec(scope)


def _polls(row: Row) -> bool:
    """Does the next poll commit because the interval is over?"""
    client = but(row.before.client, dirty=row.before.client.position >= 0)
    return members.can_commit(client) and in_poll(client, styled(AUTO).scope)


def differences(row: Row, seen: Seen, spec: Spec) -> list[str]:
    """What is different about a row, one line each. A poll that joins does more than commit."""
    real, model = did(row, seen), does(row, spec)
    if row.style == AUTO and not _polls(row):
        real, model = (attrs.evolve(d, accepted=(), member=_ANYBODY) for d in (real, model))
    return [
        f"{name}: {found!r}, the model {said!r}"
        for name, found in attrs.asdict(real, recurse=False).items()
        if (said := getattr(model, name)) != found
    ]


_ANYBODY = ("", 0, "", 0, 0)
