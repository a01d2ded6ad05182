"""The coordinator's memory of a consumer group, and the walk over its members.

Epochs are relative. Rules only ask whether two of them are equal, or which is older, so it is
enough to know whether the group is ahead of its target (`Core.pending`), whether a member is at the
target's epoch (`Seat.current`), and what its previous epoch is to its epoch (`Seat.previous`).
Nothing grows, so the group may go on for ever.
"""

from __future__ import annotations

from enum import IntEnum

from attrs import frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.consumer.votes import NONE, Votes, moved


class State(IntEnum):
    """Kafka's MemberState of a member's record."""

    STABLE = 0
    UNREVOKED = 1
    UNRELEASED = 2


class Previous(IntEnum):
    """What a member's previous epoch is."""

    # The member is new, and so is its epoch: both are 0. That ends within the step, except where a
    # static member comes back with the classic protocol, and has to give something up first.
    NEW = 0
    ZERO = 1
    # That of the record itself.
    SAME = 2
    OLDER = 3
    # -2: it came back with the classic protocol, and with the member id that was away.
    AWAY = 4


class Phase(IntEnum):
    """Where a classic group is (ClassicGroupState)."""

    PREPARING = 0
    STABLE = 1
    # Preparing its first round, before which it has chosen no protocol.
    FIRST = 2
    # Only where anybody asks: its JoinGroups are answered, and it waits for the leader's plan; it
    # has no members, but remembers ids that it has handed out.
    COMPLETING = 3
    EMPTY = 4


class Timer(IntEnum):
    """The rebalance timer of a member."""

    OFF = 0
    # Armed for the epoch that the member has.
    ON = 1
    # Armed for another epoch, so that it finds nothing to do.
    STALE = 2


@frozen
class Errand:
    """What a walk over all members does."""


@frozen
class Collect(Errand):
    """Reads what the assignor has to know."""

    # The append of the target will fail.
    fails: bool = False
    # The assignor that most members name.
    named: str = ""
    # It takes the subscriptions of all members for that of the first one that it sees (K35).
    alike: bool = False
    # A member as the assignor sees it: its subscription, its last target, its number.
    seen: tuple[tuple[int, int, int], ...] = ()


@frozen
class Deal(Errand):
    """Gives each member its share of a plan. If the append fails, only the member that asked sees
    its share, and only until its answer.
    """

    fails: bool
    shares: tuple[tuple[tuple[int, int, int], int], ...]


@frozen
class Convert(Errand):
    """The group becomes a classic one in this phase, or (None) a consumer group."""

    phase: Phase | None = None
    # What the members that were visited have.
    held: int = 0
    # A round of a classic group is over, so its members' generation is the new one.
    round: bool = False
    # The classic group had no members, so the consumer group is a new one.
    anew: bool = False


@frozen
class Reload(Errand):
    """A new coordinator starts the timers of all members."""


@frozen
class Walk:
    """Where a walk is: at the seat of a process, at all ghosts, or at its end."""

    at: int = -1
    errand: Errand | None = None

    def passed(self, errand: Errand | None, members: int) -> Walk:
        """At the next place: first the seats of all processes, then the ghosts at once."""
        at = self.at + 1
        return Walk(at if at < members else GHOSTS, errand)


REST = Walk()
GHOSTS, END = -3, -2


@frozen
class Round:
    """What a classic group knows of its round, where anybody asks."""

    # How many ids it has handed out (error 79) whose JoinGroups have not come, and how many ids
    # have to send a SyncGroup yet (also of static members that were replaced since).
    pending_joins: int = 0
    pending_syncs: int = 0
    # Is it known who leads, and is the leader's JoinGroup parked?
    named: bool = False
    led: bool = False
    # A member was added in the first round, which makes it longer.
    longer: bool = False
    # Its last record says what it is.
    recorded: bool = False
    # Its join timer is armed.
    join_timer: bool = False
    # Of the ids that it has handed out: how many no process has any more.
    orphans: int = 0


@frozen
class RoundMember:
    """What a member does in the round of a classic group, where anybody asks."""

    # It is the leader; its first JoinGroup is not answered yet.
    leads: bool = False
    new: bool = False
    # It has to send a SyncGroup; that is parked.
    owes_sync: bool = False
    syncs: bool = False
    # What its subscription says that it owns, of its last JoinGroup to a group of either kind.
    claimed: int = 0


NOT_IN_ROUND, NO_ROUND = RoundMember(), Round()


@frozen
class Core:
    """What is true of the group as a whole."""

    # Does the group exist? It stays when its last member has left.
    exists: bool = False
    # groupEpoch > assignmentEpoch: the next heartbeat computes a target.
    pending: bool = False
    # Partitions in the assignment, or still to be revoked, of any member; as a bit mask.
    held: int = 0
    members: int = 0
    # The partitions that exist, as a bit mask; and whether the group does not know of the last one
    # yet.
    topics: int = 0
    stale: bool = False
    # May a target be computed, or does the assignment interval run?
    due: bool = True
    # How many members name which assignor, and how many subscribe by the pattern.
    votes: Votes = NONE
    matching: int = 0
    # Only with migration: the phase of a classic group (None: it is none), how many members are
    # classic ones, and how many JoinGroups are parked in a classic group.
    phase: Phase | None = None
    classics: int = 0
    waiting: int = 0
    round: Round = NO_ROUND
    errand: Errand | None = None


@frozen
class Seat:
    """The coordinator's record of one member, and its timers."""

    # memberEpoch = assignmentEpoch.
    current: bool = False
    state: State = State.STABLE
    previous: Previous = Previous.NEW
    # The partitions that are assigned to it.
    assigned: int = 0
    # The partitions that it has to give up.
    revoking: int = 0
    # The partitions of its target.
    target: int = 0
    # The partitions that the topics of its subscription may have, and those that its regular
    # expression means.
    subscribed: int = 0
    pattern: int = 0
    # Only with regexes: the number of its regular expression (0: none), and whether its process may
    # not describe the last topic.
    regex: int = 0
    blind: bool = False
    # The assignor that it names.
    assignor: str = ""
    # Of what is assigned or to be revoked: what it was given at the epoch that it has (KIP-1251).
    fresh: int = 0
    # A static member that has left with epoch -2, and may come back; with the epoch that it had,
    # if it was that of the target and no other target is made until then.
    parked: bool = False
    resumes: bool = False
    # Its session timer is armed.
    session: bool = True
    rebalance: Timer = Timer.OFF
    # Only with migration: it uses the classic protocol; its join timer and its sync timer are
    # armed; its session timer has its own session timeout; its JoinGroup is parked; what its last
    # JoinGroup to a classic group said that it owns.
    classic: bool = False
    join: bool = False
    sync: bool = False
    short: bool = False
    waits: bool = False
    claims: int = 0
    part: RoundMember = NOT_IN_ROUND
    # Inside a step: its request asks for a target, and its append will fail.
    asks: bool = False
    # Inside a step: nobody has resolved its regular expression yet.
    unresolved: bool = False

    @property
    def owned(self) -> int:
        """What nobody else may get."""
        return self.assigned | self.revoking

    @property
    def topics(self) -> int:
        """What it subscribes to, by name or by pattern."""
        return self.subscribed | self.pattern

    @property
    def trait(self) -> int:
        """What the assignor goes by, beside its last target."""
        return self.topics


def order(ghosts: list[Seat]) -> tuple[Seat, ...]:
    """Records of processes that are gone. Which is which does not matter."""
    return tuple(sorted(ghosts, key=repr))


def without(core: Core, seat: Seat, *, settles: bool) -> Core:
    """The group after a member was removed. `settles`: an empty group is at its target, which was
    never computed, so the next one does not wait for the assignment interval.
    """
    left = core.members - 1
    empties = settles and not left
    return evolve(
        core,
        pending=not empties,
        held=core.held & ~seat.owned,
        members=left,
        due=core.due or empties,
        votes=moved(core.votes, seat.assignor, ""),
        matching=core.matching - bool(seat.pattern),
        classics=core.classics - seat.classic,
    )
