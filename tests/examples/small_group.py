"""A small consumer group: members join, synchronise, heartbeat, leave and crash; a coordinator runs
rounds. The engine's yardstick.

Much simpler than Kafka: one request or answer in flight per member, a crash takes its connection
along. Its counts are pinned in tests and compared with other model checkers in `make bench`, so it
changes only together with them.
"""

from enum import IntEnum

from attrs import frozen

from groupcheck.model.engine import Spec, array, end, evolve, goal, invariant, rule, single


class Phase(IntEnum):
    EMPTY = 0
    PREPARING = 1
    COMPLETING = 2
    STABLE = 3


class Stage(IntEnum):
    UNJOINED = 0
    JOINING = 1
    SYNCING = 2
    STABLE = 3


@frozen
class Scope:
    """`timeouts` and `crashes`: how often each may happen (timeouts in all, crashes per member)."""

    members: int
    partitions: int
    generations: int
    timeouts: int
    crashes: int

    def assignment(self, roster: tuple[int, ...]) -> tuple[int, ...]:
        """The range assignor: a bit mask of partitions for every member, 0 for those not in the
        roster.
        """
        per, extra = divmod(self.partitions, len(roster))
        shares, first = [0] * self.members, 0
        for rank, m in enumerate(sorted(roster)):
            size = per + (rank < extra)
            shares[m] = (1 << size) - 1 << first
            first += size
        return tuple(shares)


@frozen
class Seat:  # what the coordinator knows of one member
    known: bool = False
    waiting_join: bool = False
    waiting_sync: bool = False
    share: int = 0


@frozen
class Group:  # the coordinator
    seats: tuple[Seat, ...]
    phase: Phase = Phase.EMPTY
    generation: int = 0
    leader: int = -1
    timeouts: int = 0


@frozen
class Member:
    stage: Stage = Stage.UNJOINED
    generation: int = -1
    owned: int = 0
    crashes: int = 0


@frozen
class Link:  # the request or the answer in flight: its kind and what it carries
    request: str = ""
    response: str = ""
    generation: int = -1
    roster: tuple[int, ...] = ()
    shares: tuple[int, ...] = ()
    share: int = 0


IDLE = Link()


def answer(kind, **content):
    return evolve(IDLE, response=kind, **content)


def seated(group, i, **changes):
    """The group with one seat changed."""
    seats = group.seats
    return evolve(group, seats=(*seats[:i], evolve(seats[i], **changes), *seats[i + 1 :]))


def prepared(group):
    """The group in a round of joins; who waited for an assignment waits no more."""
    if group.phase == Phase.PREPARING:
        return group
    return evolve(
        group,
        phase=Phase.PREPARING,
        seats=tuple([evolve(s, waiting_sync=False, share=0) for s in group.seats]),
    )


def empty_if_deserted(group):
    return (
        group if any(s.known for s in group.seats) else evolve(group, phase=Phase.EMPTY, leader=-1)
    )


def requested(kind):
    """The guard of a rule that handles one kind of request."""
    return lambda link: link.request == kind


# -- members


@rule("send_join", "send_heartbeat", "send_leave", when=lambda link: link == IDLE)
def poll(member, link):
    if member.stage == Stage.UNJOINED:
        yield "send_join", evolve(member, stage=Stage.JOINING, owned=0), Link("join")
    elif member.stage == Stage.STABLE:
        yield "send_heartbeat", member, Link("heartbeat", generation=member.generation)
        yield "send_leave", Member(crashes=member.crashes), Link("leave")


@rule
def crash(member, link, scope):
    if member.crashes < scope.crashes and member.stage != Stage.UNJOINED:
        yield Member(crashes=member.crashes + 1), IDLE


@rule(
    "lead_sync",
    "follow_sync",
    "assigned",
    "heartbeat_ok",
    "rejoin",
    "reset",
    when=lambda link: link.response != "",
)
def receive(member, link, scope):
    if link.response == "join" and member.stage == Stage.JOINING:
        syncing = evolve(member, stage=Stage.SYNCING, generation=link.generation)
        if link.roster:
            yield (
                "lead_sync",
                syncing,
                Link("sync", generation=link.generation, shares=scope.assignment(link.roster)),
            )
        else:
            yield "follow_sync", syncing, Link("sync", generation=link.generation)
    elif link.response == "sync" and member.stage == Stage.SYNCING:
        yield "assigned", evolve(member, stage=Stage.STABLE, owned=link.share), IDLE
    elif link.response == "ok":
        yield "heartbeat_ok", member, IDLE
    elif link.response == "rebalance":
        yield "rejoin", evolve(member, stage=Stage.UNJOINED), IDLE
    else:
        yield "reset", evolve(member, stage=Stage.UNJOINED, generation=-1, owned=0), IDLE


# -- coordinator: requests


@rule(when=requested("join"))
def on_join(me, group, link, scope):
    if group.generation < scope.generations:
        yield seated(prepared(seated(group, me, known=True)), me, waiting_join=True), IDLE


@rule("removed", "unknown", when=requested("leave"))
def on_leave(me, group, link, scope):
    if group.seats[me].known and group.generation < scope.generations:
        gone = seated(group, me, known=False, waiting_join=False, waiting_sync=False, share=0)
        yield "removed", empty_if_deserted(prepared(gone)), answer("ok")
    else:
        yield "unknown", group, IDLE


@rule("ok", "unknown", "illegal", "rebalance", when=requested("heartbeat"))
def on_heartbeat(me, group, link):
    if not group.seats[me].known:
        yield "unknown", group, answer("unknown")
    elif link.generation != group.generation:
        yield "illegal", group, answer("illegal")
    elif group.phase == Phase.PREPARING:
        yield "rebalance", group, answer("rebalance")
    else:
        yield "ok", group, answer("ok")


@rule("parked", "stable", "unknown", "illegal", "rebalance", when=requested("sync"))
def on_sync(me, group, link):
    if not group.seats[me].known:
        yield "unknown", group, answer("unknown")
    elif link.generation != group.generation:
        yield "illegal", group, answer("illegal")
    elif group.phase == Phase.PREPARING:
        yield "rebalance", group, answer("rebalance")
    elif group.phase == Phase.STABLE:
        yield "stable", group, answer("sync", share=group.seats[me].share)
    else:
        waiting = seated(group, me, waiting_sync=True)
        if me == group.leader and link.shares:
            seats = tuple([evolve(s, share=share) for s, share in zip(waiting.seats, link.shares)])
            waiting = evolve(waiting, phase=Phase.STABLE, seats=seats)
        yield "parked", waiting, IDLE


# -- coordinator: answers to parked requests, and timers


@rule(when=lambda link: link == IDLE)
def reply_join(me, group, link):
    if group.phase in (Phase.COMPLETING, Phase.STABLE) and group.seats[me].waiting_join:
        roster = (
            tuple([i for i, s in enumerate(group.seats) if s.known]) if me == group.leader else ()
        )
        yield (
            seated(group, me, waiting_join=False),
            answer("join", generation=group.generation, roster=roster),
        )


@rule(when=lambda link: link == IDLE)
def reply_sync(me, group, link):
    if group.phase == Phase.STABLE and group.seats[me].waiting_sync:
        yield seated(group, me, waiting_sync=False), answer("sync", share=group.seats[me].share)


@rule
def complete_join(group):
    known = [i for i, s in enumerate(group.seats) if s.known]
    if group.phase == Phase.PREPARING and known and all(group.seats[i].waiting_join for i in known):
        leader = group.leader if group.leader in known else known[0]
        yield evolve(group, phase=Phase.COMPLETING, generation=group.generation + 1, leader=leader)


@rule
def join_timeout(group, scope):
    late = any(s.known and not s.waiting_join for s in group.seats)
    if group.phase == Phase.PREPARING and late and group.timeouts < scope.timeouts:
        seats = tuple([s if s.waiting_join else Seat() for s in group.seats])
        yield empty_if_deserted(evolve(group, timeouts=group.timeouts + 1, seats=seats))


@rule
def session_timeout(me, group, scope):
    seat = group.seats[me]
    idle = seat.known and not seat.waiting_join and not seat.waiting_sync
    if idle and group.timeouts < scope.timeouts and group.generation < scope.generations:
        gone = seated(evolve(group, timeouts=group.timeouts + 1), me, known=False, share=0)
        yield empty_if_deserted(prepared(gone))


# -- what must be true, and what must happen


@invariant
def one_owner(a: "member[i]", b: "member[j]"):
    """No two members of one generation own the same partition."""
    return not (
        a.stage == b.stage == Stage.STABLE and a.generation == b.generation and a.owned & b.owned
    )


@invariant
def stable_only_after_a_round(group):
    """A stable group has been through at least one round of joins."""
    return group.phase != Phase.STABLE or group.generation > 0


@goal
def all_assigned(group):
    return group.phase == Phase.STABLE and all(s.known and not s.waiting_sync for s in group.seats)


@end
def scope_spent(group, scope):
    """At the edge of the scope nobody can join any more, or a member that went away is waited for
    without a timer.
    """
    return group.generation == scope.generations or group.timeouts == scope.timeouts


RULES = (
    poll, crash, receive, on_join, on_leave, on_heartbeat, on_sync,
    reply_join, reply_sync, complete_join, join_timeout, session_timeout,
)  # fmt: skip


def small_group(
    members: int, partitions: int, generations: int, timeouts: int, crashes: int
) -> Spec:
    scope = Scope(members, partitions, generations, timeouts, crashes)
    slots = {
        "group": single(Group((Seat(),) * members)),
        "member": array(members, Member()),
        "link": array(members, IDLE),
    }
    invariants = [one_owner, stable_only_after_a_round]
    return Spec("small group", slots, RULES, scope, invariants, [all_assigned], [scope_spent])
