"""The moves of the coordinator against a client, and what each is allowed to be (its licence).

The coordinator is the model's own. So what it answers after steps of its environment (a session
that ends, a member that joins, a fail-over) is what Kafka's coordinator answers in that state; such
moves have the licence `kafka`, and so have what networks do: lost answers, cut connections,
silence. An answer that is put in place of the model's is `documented` if its code depends on
nothing that the group remembers and the request's handler knows it; then it is given for good, as a
setting or an access list would. Everything else is `hostile`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum, StrEnum

from attrs import frozen

from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    GROUP_AUTHORIZATION_FAILED,
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_GROUP_ID,
    INVALID_SESSION_TIMEOUT,
    MEMBER_ID_REQUIRED,
    NONE,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    name_of,
)

JOIN, SYNC, BEAT = "JoinGroup", "SyncGroup", "Heartbeat"
COMMIT, LEAVE, FIND = "OffsetCommit", "LeaveGroup", "FindCoordinator"
OFFSETS = "OffsetFetch"
OF_MEMBERS = (JOIN, SYNC, BEAT, COMMIT, LEAVE)


class Licence(IntEnum):
    """Who gives such an answer; a later one allows more."""

    KAFKA = 0
    DOCUMENTED = 1
    HOSTILE = 2

    def __str__(self) -> str:
        return self.name.lower()


class Step(StrEnum):
    """Something that happens to the group, or to what leads to it, before a request is handled."""

    # Steps of the model.
    EXPIRE = "the client's session ends"
    ROUND = "another member joins, or joins again"
    MOVE = "the group moves to another node, which loads it"
    FENCE = "another process takes the client's instance id"
    # What administrators do.
    GROW = "the topic gets another partition"
    # What networks do.
    LOSE_REQUEST = "the connection is cut before the request is handled"
    LOSE_ANSWER = "the connection is cut before the answer is sent"
    # Time.
    HOLD = "it waits for a while, and others behind it"
    DELAY = "its answer comes late"
    LATE = "heartbeats are answered late from then on"
    SLOW = "the others join late"
    SILENCE = "the group's nodes answer nothing for a while"
    AWAY = "no node coordinates the group for a while"
    CLOSE = "the client is closed"


# Codes that say what the group, or where it is, is at that moment: the model's coordinator gives
# them by its rules, and `groupcheck.oracles.coordinator` by where the group is. A test asks the
# model's rows.
OF_THE_STATE = frozenset(
    {
        NONE,
        COORDINATOR_LOAD_IN_PROGRESS,
        COORDINATOR_NOT_AVAILABLE,
        NOT_COORDINATOR,
        ILLEGAL_GENERATION,
        INCONSISTENT_GROUP_PROTOCOL,
        UNKNOWN_MEMBER_ID,
        REBALANCE_IN_PROGRESS,
        MEMBER_ID_REQUIRED,
        GROUP_MAX_SIZE_REACHED,
        FENCED_INSTANCE_ID,
    }
)
# API -> codes beside those, with the class that documents them.
DOCUMENTED: Mapping[str, Mapping[int, str]] = {
    JOIN: {
        INVALID_GROUP_ID: "AbstractCoordinator.JoinGroupResponseHandler",
        INVALID_SESSION_TIMEOUT: "AbstractCoordinator.JoinGroupResponseHandler",
        GROUP_AUTHORIZATION_FAILED: "AbstractCoordinator.JoinGroupResponseHandler",
    },
    SYNC: {GROUP_AUTHORIZATION_FAILED: "AbstractCoordinator.SyncGroupResponseHandler"},
    BEAT: {GROUP_AUTHORIZATION_FAILED: "HeartbeatResponse"},
    COMMIT: {GROUP_AUTHORIZATION_FAILED: "OffsetCommitResponse"},
    FIND: {GROUP_AUTHORIZATION_FAILED: "FindCoordinatorResponse"},
}


@frozen
class Move:
    """One move. It is made when the request `at` comes."""

    at: str
    # What happens before the request is handled, in order.
    steps: tuple[Step, ...] = ()
    # What was brought about first, so that the request comes.
    first: tuple[Step, ...] = ()
    # The code that the client is answered; None: any.
    code: int | None = NONE
    # The code is not the model's answer but put in its place: from now on for every such request,
    # or, if the move is hostile, for `times` of them.
    put: bool = False
    times: int = 0

    @property
    def licence(self) -> Licence:
        """Who plays such a move."""
        if not self.put:
            return Licence.KAFKA
        documented = self.code in DOCUMENTED.get(self.at, {}).keys() - OF_THE_STATE
        return Licence.DOCUMENTED if documented and not self.times else Licence.HOSTILE

    def __str__(self) -> str:
        told = f"{self.at} is answered {name_of(self.code)}" if self.code else self.at
        made = ", ".join(dict.fromkeys((*self.first, *self.steps)))
        put = " whatever the group is" * self.put
        return f"{told}{put}" + (f" ({made})" if made else "")

    @property
    def text(self) -> str:
        """The move in a few words that `read` understands."""
        first, steps = (" ".join(step.name for step in some) for some in (self.first, self.steps))
        put = f" put {self.times}" if self.put else ""
        code = "any" if self.code is None else self.code
        return f"{first} > {self.at} > {steps} = {code}{put}".strip()


_TEXT = re.compile(r"([A-Z_ ]*)> (\w+) > ([A-Z_ ]*)= (any|-?\d+)(?: put (\d+))?")


def read(text: str) -> Move:
    """A move from its `text`. Raises `ValueError` for another one."""
    found = _TEXT.fullmatch(text)
    if found is None or found[2] not in (*OF_MEMBERS, FIND, OFFSETS):
        raise ValueError(f"{text[:60]!r} is no move")
    try:
        first, steps = (tuple(Step[name] for name in found[k].split()) for k in (1, 3))
    except KeyError as error:
        raise ValueError(f"there is no step {error}") from None
    code = None if found[4] == "any" else int(found[4])
    return Move(found[2], steps, first, code, found[5] is not None, int(found[5] or 0))


@frozen
class Setting:
    """How client and group are set up."""

    name: str
    # Cooperative, or whatever eager one the client has.
    assignor: str = "eager"
    static: bool = False
    # Is the client there first, so that it leads?
    leads: bool = False
    # group.max.size; None: nobody sees it.
    max_size: int | None = None
    # The assignors that the others list; empty: what libraries call theirs.
    protocols: tuple[str, ...] = ()
    # The newest versions are those of Kafka 1.0: an id and a place in one step, no instances.
    old: bool = False


FOLLOWS = Setting("follows")
LEADS = Setting("leads", leads=True)
STATIC = Setting("static", static=True)
COOPERATIVE = Setting("cooperative", assignor="cooperative")
FULL = Setting("full", max_size=1)
MISFIT = Setting("misfit", protocols=("groupcheck",))
OLD = Setting("old versions", old=True)
SETTINGS = {s.name: s for s in (FOLLOWS, LEADS, STATIC, COOPERATIVE, OLD, FULL, MISFIT)}
# The versions of Kafka 1.0 (KIP-394, KIP-345 and KIP-482 came later).
OLD_VERSIONS = {
    "JoinGroup": 2,
    "SyncGroup": 1,
    "Heartbeat": 1,
    "LeaveGroup": 1,
    "OffsetCommit": 3,
    "OffsetFetch": 3,
    "FindCoordinator": 1,
    "Fetch": 6,
    "Metadata": 5,
    "ListOffsets": 2,
}
