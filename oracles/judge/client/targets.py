"""What is to be seen of a client: each request answered with each code that its licence allows, in
each setting, and what networks do to it.

The ways that may lead there are tried on copies of the model's group when the request is there
(`adversary`), so a target says only what brings the request about, and in which order steps are
tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from attrs import frozen

from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    name_of,
)
from groupcheck.oracles.judge.client.moves import (
    BEAT,
    COMMIT,
    COOPERATIVE,
    DOCUMENTED,
    FIND,
    FOLLOWS,
    FULL,
    JOIN,
    LEADS,
    LEAVE,
    MISFIT,
    OF_MEMBERS,
    OFFSETS,
    OLD,
    STATIC,
    SYNC,
    Licence,
    Move,
    Setting,
    Step,
)

Way = tuple[Step, ...]
EXPIRE, ROUND, MOVE, FENCE = Step.EXPIRE, Step.ROUND, Step.MOVE, Step.FENCE
# The steps of the model, short ways first.
WAYS: tuple[Way, ...] = (
    (),
    (EXPIRE,),
    (ROUND,),
    (FENCE,),
    (MOVE,),
    (ROUND, EXPIRE),
    (EXPIRE, ROUND),
)
# What brings a request about; heartbeats and commits come by themselves.
FIRST = {JOIN: (ROUND,), SYNC: (ROUND,), BEAT: (), COMMIT: (), LEAVE: (Step.CLOSE,), FIND: ()}
# What a request is answered after a step.
CODES = {EXPIRE: UNKNOWN_MEMBER_ID, ROUND: REBALANCE_IN_PROGRESS}
STATES = ("member", "told to join", "joining")


@frozen
class Target:
    """Something to be seen, and how it may come about."""

    setting: Setting
    move: Move
    ways: tuple[Way, ...] = WAYS
    # In this state of the client's membership; empty: in any.
    state: str = ""

    @property
    def last(self) -> bool:
        """Does nothing follow in the same run?"""
        fenced = self.move.code == FENCED_INSTANCE_ID or FENCE in self.move.first
        fatal = self.move.put or fenced
        return fatal or Step.CLOSE in self.move.first or self.setting in (FULL, MISFIT)

    def __str__(self) -> str:
        code = self.move.code
        told = f"{self.move.at} answered {name_of(code)}" if code else str(self.move)
        return told + (f" ({self.state})" if self.state else "")


def targets(full: bool, licence: Licence) -> list[Target]:
    """All of a run, the most telling first."""
    found = [*_first(), *_pairs(FOLLOWS), *_network(FOLLOWS), *_others()]
    if licence >= Licence.DOCUMENTED:
        found += _documented()
    if full:
        found += _states()
    if licence >= Licence.HOSTILE:
        found += _hostile()
    return list(dict.fromkeys(found))


def _first() -> Iterator[Target]:
    """The rounds of an ordinary day, and an eviction."""
    yield Target(FOLLOWS, Move(JOIN, first=(ROUND,)), ((),))
    yield Target(FOLLOWS, Move(BEAT, code=UNKNOWN_MEMBER_ID))
    yield Target(FOLLOWS, Move(JOIN, first=(Step.SLOW, ROUND)), ((),))
    yield Target(COOPERATIVE, Move(JOIN, first=(ROUND,)), ((),))
    yield Target(LEADS, Move(SYNC, first=(ROUND,)), ((),))
    for at in (BEAT, COMMIT):
        yield Target(STATIC, Move(at, code=FENCED_INSTANCE_ID))


def _pairs(setting: Setting) -> Iterator[Target]:
    """Requests and codes that the model's coordinator gives to a dynamic member."""
    for at in (COMMIT, SYNC, JOIN, BEAT):
        codes = [UNKNOWN_MEMBER_ID, NOT_COORDINATOR]
        codes += [REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION] if at != JOIN else []
        for code in codes:
            told = code == REBALANCE_IN_PROGRESS and at in (BEAT, COMMIT)
            # Nothing but the commit tells it then, as long as heartbeats are not answered.
            alone = (at, code) == (COMMIT, UNKNOWN_MEMBER_ID)
            ways = ((EXPIRE, Step.LATE), *WAYS) if alone else WAYS
            yield Target(setting, Move(at, first=(ROUND,) if told else FIRST[at], code=code), ways)
    for at in (JOIN, COMMIT):
        first = (ROUND, MOVE) if at == JOIN else (MOVE,)
        move = Move(at, first=first, code=COORDINATOR_LOAD_IN_PROGRESS)
        yield Target(setting, move, ((),))
    away = Move(FIND, first=(Step.AWAY,), code=COORDINATOR_NOT_AVAILABLE)
    yield Target(setting, away, ((),))


def _network(setting: Setting) -> Iterator[Target]:
    """Lost requests and answers, silence, a late close."""
    for at in (JOIN, SYNC, COMMIT, BEAT):
        for step in (Step.LOSE_ANSWER, Step.LOSE_REQUEST):
            yield Target(setting, Move(at, first=FIRST[at]), ((step,),))
    for at in (JOIN, SYNC):
        yield Target(setting, Move(at, first=FIRST[at]), ((Step.DELAY,),))
    # A member that was away is told late where to begin.
    unread = Move(OFFSETS, first=(EXPIRE,), code=NOT_COORDINATOR)
    yield Target(setting, unread, ((MOVE,),))
    yield Target(setting, Move(BEAT, first=(Step.SILENCE,)), ((),))
    closes = Move(LEAVE, first=(Step.SLOW, ROUND, Step.CLOSE))
    yield Target(setting, closes, ((),))


def _others() -> Iterator[Target]:
    """Static members, leaders, cooperative members, and groups that do not take the client."""
    # Old versions of heartbeats have no instance id, so the answer is another one.
    yield Target(STATIC, Move(BEAT, first=(FENCE,), code=None), ((),))
    for at in (JOIN, SYNC):
        yield Target(STATIC, Move(at, first=FIRST[at], code=FENCED_INSTANCE_ID))
    yield Target(STATIC, Move(BEAT, code=UNKNOWN_MEMBER_ID))
    held = Move(COMMIT, first=(ROUND,))
    yield Target(FOLLOWS, held, ((Step.HOLD,),), "told to join")
    yield Target(COOPERATIVE, Move(BEAT, code=UNKNOWN_MEMBER_ID))
    yield Target(COOPERATIVE, Move(JOIN, first=FIRST[JOIN], code=UNKNOWN_MEMBER_ID))
    yield Target(COOPERATIVE, Move(JOIN, first=(Step.SLOW, ROUND)), ((),))
    yield Target(COOPERATIVE, Move(SYNC, first=FIRST[SYNC], code=REBALANCE_IN_PROGRESS))
    yield Target(LEADS, Move(JOIN, first=(Step.GROW,)), ((),))
    yield Target(LEADS, Move(SYNC, first=(Step.SLOW, ROUND, Step.GROW)), ((),))
    for at in (JOIN, SYNC):
        yield Target(LEADS, Move(at, first=(Step.GROW,)), ((Step.DELAY,),))
    yield Target(LEADS, Move(BEAT, code=UNKNOWN_MEMBER_ID))
    yield Target(LEADS, Move(SYNC, first=FIRST[SYNC], code=REBALANCE_IN_PROGRESS))
    yield Target(LEADS, Move(SYNC, first=FIRST[SYNC]), ((Step.LOSE_ANSWER,),))
    yield Target(OLD, Move(JOIN, first=(ROUND,)), ((),))
    yield Target(OLD, Move(BEAT, code=UNKNOWN_MEMBER_ID))
    yield Target(OLD, Move(SYNC, first=FIRST[SYNC], code=REBALANCE_IN_PROGRESS))
    yield Target(FULL, Move(JOIN, code=GROUP_MAX_SIZE_REACHED), ((),))
    yield Target(MISFIT, Move(JOIN, code=INCONSISTENT_GROUP_PROTOCOL), ((),))


def _documented() -> Iterator[Target]:
    for at, codes in DOCUMENTED.items():
        for code in codes:
            first = (MOVE,) if at == FIND else FIRST[at]
            yield Target(FOLLOWS, Move(at, first=first, code=code, put=True))


def _states() -> Iterator[Target]:
    """The same codes in each state of the membership, and in each setting."""
    for setting in (FOLLOWS, OLD, COOPERATIVE, STATIC, LEADS):
        for at in (BEAT, COMMIT):
            for state in STATES:
                first = () if state == "member" else (ROUND,)
                slow = (Step.SLOW, ROUND) if state == "joining" else first
                for code in (UNKNOWN_MEMBER_ID, NOT_COORDINATOR, REBALANCE_IN_PROGRESS):
                    yield Target(setting, Move(at, first=slow, code=code), state=state)
        for at, step in product((BEAT, COMMIT, SYNC), CODES):
            code = CODES[step]
            if (at, step) != (COMMIT, ROUND):  # that is accepted
                yield Target(setting, Move(at, first=FIRST[at], code=code), ((Step.HOLD, step),))
        if setting != FOLLOWS:
            yield Target(setting, Move(JOIN, first=(ROUND,)), ((),))
            yield from _pairs(setting)
            yield from _network(setting)


def _hostile() -> Iterator[Target]:
    """Any code to any request, whatever the group is."""
    for at in OF_MEMBERS[:4]:
        for code in (14, 15, 16, 22, 25, 27, 35, 79, 82, 84, -1):
            yield Target(FOLLOWS, Move(at, first=FIRST[at], code=code, put=True, times=3))
