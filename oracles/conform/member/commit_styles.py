"""The styles of commits on Kafka's own member: commitSync that is answered once or twice,
commitAsync with two commits in flight, commits in poll, and close, from every memory of the member
in which nothing is in flight.

The group's rules (`model.protocol.classic.features.commit_styles`) say what the member does, in
rows of their own: a member that is taken out of its group may poll at any time, so the other rows
of `conform --side member` know no style. What a poll does that joins is what those rows say: it
commits before JoinGroup at most, whether the interval is over or not.

There is no second answer where the first one breaks the connection: both commits of commitAsync are
lost with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults as faults
from groupcheck.model.protocol.classic.client import NOTHING, Calls, Member
from groupcheck.model.protocol.classic.features.commit_styles import commit_throws, in_poll, leave
from groupcheck.model.protocol.classic.scope import ASYNC, AUTO, SYNC
from groupcheck.model.protocol.codes import COORDINATOR_LOAD_IN_PROGRESS, NONE
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_ID, Answer, OffsetCommit
from groupcheck.oracles.conform.member.exceptions import PASSES, commit_error, refused_at_once
from groupcheck.oracles.conform.member.firing import Firing, clean, dirty
from groupcheck.oracles.conform.member.member_memory import (
    CODES,
    LOST,
    Failure,
    Input,
    Memory,
)
from groupcheck.oracles.conform.member.member_memory import Does as Happens
from groupcheck.oracles.conform.member.moves import (
    BACKOFF_MS,
    FOUND,
    NETWORK,
    NEVER_MS,
    POLL,
    Observations,
    Probe,
    Standing,
    move,
    name_of,
    setup_of,
)
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.kafka.client import committed
from groupcheck.oracles.kafka.client_commands import (
    Advance,
    Close,
    Command,
    CommitAsync,
    CommitSync,
    Disconnect,
    Position,
)
from groupcheck.oracles.kafka.schedule import LostSchedule

BROKEN = -100  # in place of an error code: the connection breaks under the commit
ANSWERS = (NONE, *CODES, BROKEN)
CUT = (*LOST, BROKEN)  # the member gives up its connection, with what is in flight there
PASSING = (COORDINATOR_LOAD_IN_PROGRESS, *CUT)
# The next poll behind a commit in poll joins or throws.
ENDS = (22, 25, 27, 82)
# What follows a commit that is sent again, or one that is in flight behind another one.
SECOND = (NONE, COORDINATOR_LOAD_IN_PROGRESS, 22, 25, 27)
CALLS = {SYNC: "commitSync", ASYNC: "commitAsync", AUTO: "the interval of commits is over"}
_OVER = (Advance(ms=NEVER_MS), POLL)


@frozen
class Does:
    """The actions of a member, as far as a style tells."""

    # The offsets that the coordinator accepts.
    accepted: tuple[int, ...]
    # What commitSync throws, or what the callbacks of commitAsync are given: classes, "" if it is
    # nothing.
    told: tuple[str, ...]
    # The offsets of commits that are in flight at the end.
    in_flight: tuple[int, ...]
    # Does it join while commitSync waits?
    joins: bool
    # The member at the end: state, generation, id, partitions, position. None if it has closed.
    member: tuple[str, int, str, int, int] | None


@frozen
class StyleRow:
    """A memory in which nothing is in flight, a style, and the answers to its commits."""

    style: str
    before: Memory
    standing: Standing
    # Error codes, or `BROKEN`.
    answers: tuple[int, ...] = ()
    # The member closes instead.
    closes: bool = False
    again: bool = False

    @property
    def allowed(self) -> int:
        """How many outcomes the model allows."""
        return 1

    @property
    def probe(self) -> Probe:
        """The schedule that executes the row."""
        return Probe(self.standing, (Close(),) if self.closes else _COMMANDS[self.style](self))

    @property
    def kind(self) -> str:
        """The event of the row, without the answers."""
        return f"close, commit_style {self.style}" if self.closes else CALLS[self.style]

    @property
    def given(self) -> str:
        """The event of the row, in a line."""
        codes = ["the connection breaks" if c == BROKEN else f"answer {c}" for c in self.answers]
        return ": ".join([self.kind, *([", then ".join(codes)] if codes else [])])


class StyledRows(Firing):
    """The rows of one style, for a kind of member. `model`: its rows at the same scope; they say
    how it comes to its memories, and what a poll does that joins. `spec`: the group's, with the
    style, perhaps with a mutation.
    """

    def __init__(self, model: Rows, spec: Spec) -> None:
        super().__init__(spec.scope, spec, model.kind)
        self.model = model
        self.style: str = spec.scope.commit_style

    @property
    def outcomes_named(self) -> set[str]:
        """The outcomes that these rows must execute: none, because the member's other rows do."""
        return set()

    def rows(self) -> Iterator[StyleRow]:
        """All of them."""
        for memory, standing in memories(self.model).items():
            if _is_quiet(memory):
                for answers in self._answers(memory):
                    yield StyleRow(self.style, memory, standing, answers)
            if self.style == AUTO and memory.known and not memory.flight:
                yield StyleRow(self.style, memory, standing, closes=True)

    def _answers(self, m: Memory) -> Iterator[tuple[int, ...]]:
        if not _sends(m) or (self.style == AUTO and not self.polls(m)):
            yield ()
            return
        for answer in ANSWERS:
            yield (answer,)
            for second in SECOND if _goes_on(self.style, answer) else ():
                yield answer, second

    def polls(self, m: Memory) -> bool:
        """Does the next poll commit because the interval is over?"""
        client = dirty(m.client)
        return members.can_commit(client) and in_poll(client, self.scope)

    def differences(self, row: StyleRow, seen: Observations | LostSchedule) -> list[str]:
        """The differences in a row, one line each."""
        if isinstance(seen, LostSchedule):
            return [f"it cannot be carried out: {seen.reason}"]
        real, model = attrs.asdict(did(row, seen), recurse=False), self.does(row)
        return [
            f"{name.replace('_', ' ')}: {found!r}, the model {said!r}"
            for name, found in real.items()
            if (said := getattr(model, name)) != found
        ]

    def does(self, row: StyleRow) -> Does:
        """The actions of the model's member."""
        return _Run(self, row).does()


def _goes_on(style: str, answer: int) -> bool:
    """Is a second commit answered behind this answer to the first?"""
    return {SYNC: answer in PASSING, ASYNC: answer not in CUT, AUTO: answer in PASSING}[style]


@lru_cache(maxsize=2)
def memories(model: Rows) -> Mapping[Memory, Standing]:
    """The memories of the member, each with the shortest schedule that leads there."""
    start = model.start()
    begun = setup_of(model.scope)
    found = {start: Standing(begun)}
    frontier = [start]
    for memory in frontier:
        for given in Rows.inputs(model, memory):  # its callbacks do nothing
            for outcome in model.outcomes(memory, given):
                if outcome.after is not None and outcome.after not in found:
                    commands = move(memory, given, outcome, begun.assignors[0])
                    found[outcome.after] = found[memory].then(commands)
                    frontier.append(outcome.after)
    return found


def _is_quiet(m: Memory) -> bool:
    """Does the member know its coordinator, with nothing in flight?"""
    waits = m.flight or m.paused or m.overdue or m.failed != Failure.NOTHING
    installed = m.client.granted == NOTHING and m.late_id == NO_ID
    return m.known and not waits and installed and not m.client.failed


def _sends(m: Memory) -> bool:
    return m.client.state == Member.STABLE and m.client.position >= 0


# -- the real member


def _sync(row: StyleRow) -> tuple[Command, ...]:
    return (CommitSync(ms=1000, waits=tuple(c for code in row.answers for c in _answer(code))),)


def _async(row: StyleRow) -> tuple[Command, ...]:
    if not row.answers:
        return (CommitAsync(),)
    next = Position(partition=0, offset=row.before.client.position + 1)
    answers = [(_answer(code)[0], NETWORK) for code in row.answers]
    return (CommitAsync(), next, CommitAsync(), *chain(*answers), NETWORK)


def _auto(row: StyleRow) -> tuple[Command, ...]:
    commands: tuple[Command, ...] = _OVER
    for code in row.answers:
        answer, *others = _answer(code)
        found = (POLL, *others) if others else ()
        commands = (*commands, answer, NETWORK, *found, POLL)
        if code in (NONE, *PASSING):
            commands = (*commands, Advance(ms=BACKOFF_MS), POLL)
        elif code not in ENDS:
            commands = (*commands, *_OVER)
    return commands


_COMMANDS = {SYNC: _sync, ASYNC: _async, AUTO: _auto}


def _answer(code: int) -> tuple[Command, ...]:
    """A commit is answered, and the coordinator is found again if it is lost."""
    first = Disconnect(node="coordinator") if code == BROKEN else committed(code)
    return (first, FOUND) if code in CUT else (first,)


def did(row: StyleRow, seen: Observations) -> Does:
    """The actions of Kafka's member."""
    last = seen.steps[-1][1]
    calls = [call for _, look, _ in seen.steps for call in look.calls]
    accepted = (o for c in calls if c.call == "committed" for _, p, o in c.offsets if p == 0)
    told: list[str] = []
    if row.style == SYNC:
        told = [thrown.type if thrown else "" for _, _, thrown in seen.steps]
    elif row.style == ASYNC:
        told = [c.thrown for c in calls if c.call == "commitCallback"]
        told += [e.thrown for e in last.ended]
    waiting = (s.data["topics"] for s in last.sent if s.api == "OffsetCommit")
    in_flight = (
        p["committedOffset"]
        for (topic,) in waiting
        for p in topic["partitions"]
        if p["partitionIndex"] == 0
    )
    joins = row.style == SYNC and any(s.api == "JoinGroup" for s in last.sent)
    owned = sum(1 << p for _, p in last.owned)
    position = next((offset for _, p, offset in last.positions if p == 0), -1)
    member = (last.state, last.generation, last.member, owned, position)
    at_end = None if row.closes else member
    return Does(tuple(accepted), tuple(told), tuple(in_flight), joins, at_end)


# -- the model's member


class _Run:
    """The group's rules, one after the other, for the member of a row."""

    def __init__(self, rows: StyledRows, row: StyleRow) -> None:
        self._rows, self._row = rows, row
        self._client = dirty(row.before.client)
        self._accepted: list[int] = []
        self._told: list[str] = []
        self._joins = False
        self._link = Link()

    def does(self) -> Does:
        if self._row.closes:
            self._close()
            return Does((), (), tuple(self._in_flight), False, None)
        {SYNC: self._sync, ASYNC: self._async, AUTO: self._auto}[self._row.style]()
        c = self._client
        at = (str(c.state), c.generation, name_of(c.id), c.owned, c.position)
        in_flight = tuple(self._in_flight)
        return Does(tuple(self._accepted), tuple(self._told), in_flight, self._joins, at)

    @property
    def _commits(self) -> list[OffsetCommit]:
        sent = (self._link.request, *self._link.queue)
        return [request for request in sent if isinstance(request, OffsetCommit)]

    @property
    def _in_flight(self) -> list[int]:
        return [request.offset for request in self._commits]

    def _fire(self, rule: Rule, **given: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        slots = {"client": self._client, "link": self._link} | given
        yield from self._rows.fires(rule, slots)

    def _sync(self) -> None:
        for code in self._row.answers or (NONE,):
            if self._send():
                self._answered(code)
            if self._client.calls != Calls.COMMIT_SYNC:
                break
            self._joins |= any(self._fire(members.send_join))
        for _, now in self._fire(commit_throws):
            self._client = now["client"]
            self._told = [refused_at_once(self._row.before)]
        if self._client.calls == Calls.COMMIT_SYNC:
            self._send()
            self._told = []
        self._told = self._told[-1:] or [""]

    def _async(self) -> None:
        if not self._send():
            self._told.append(refused_at_once(self._row.before))
            return
        self._client = evolve(self._client, position=self._client.position + 1, dirty=True)
        self._send()
        for code in self._row.answers:
            if self._link.queue:
                self._answered(code)
        self._send()  # what nobody repeats is not sent

    def _auto(self) -> None:
        self._polled(over=True)
        for code in self._row.answers:
            if self._commits:
                self._answered(code)
            self._polled(over=False)
            if code not in ENDS:
                self._polled(over=True)
        self._told = []

    def _polled(self, over: bool) -> None:
        """A poll commits if the interval is over, or else does what the member's other rows say."""
        client = self._client
        if self._commits or (over and in_poll(client, self._rows.scope) and self._send()):
            return
        fenced = self._row.before.fenced or bool(client.failed)
        here = evolve(self._row.before, client=clean(client), fenced=fenced)
        (polled,) = self._rows.model.outcomes(here, Input(Happens.POLL))
        assert polled.after is not None
        if polled.after != here:
            self._client = polled.after.client
            self._link = Link(queue=tuple(s.request for s in polled.after.flight))

    def _close(self) -> None:
        """A member that closes commits what it has, and leaves."""
        for rule in (faults.close, leave):
            for _, now in self._fire(rule):
                self._client, self._link = now["client"], now["link"]
                if self._commits:
                    return

    def _send(self) -> bool:
        for _, now in self._fire(members.send_commit):
            self._client, self._link = now["client"], now["link"]
            return True
        return False

    def _answered(self, code: int) -> None:
        """The oldest commit is answered, or lost with the connection."""
        first, *others = self._commits
        if code == BROKEN:
            self._lost(first)
        else:
            link = Link(answer=Answer(first, code))
            ((name, now),) = self._fire(members.commit_answer, link=link)
            self._client, label = now["client"], name.partition(":")[2]
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
        if self._row.style == ASYNC:
            return
        before = evolve(self._client, dirty=True)
        for _, now in self._fire(faults.lose_response, client=before, link=Link()):
            if now["link"].request == request:
                self._client = now["client"]
