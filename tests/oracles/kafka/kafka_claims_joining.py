"""Claims about JoinGroup: who is let in, at which size, with which protocol, and what a known or a
static member meets.
"""

from __future__ import annotations

from kafka_claim import Claim, claims_into
from kafka_talk import Talk, errors

from groupcheck.oracles.kafka.commands import (
    DescribeGroups,
    FailAppends,
    FinishLoad,
    ListGroups,
    Unload,
)

JOINING: list[Claim] = []
claim = claims_into(JOINING)
RANGE_AND_COOPERATIVE = ("range", "cooperative-sticky")


@claim(
    "C1",
    "JoinGroup is refused for an empty group id (24), a session timeout out of bounds (26), an"
    " absent group's member (25), no protocol (23)",
)
def _(k: Talk):
    k.reset(config={"group.min.session.timeout.ms": 6000})
    yield "empty group id", 24, k.join(group="").error
    yield "session of 5999 ms", 26, k.join(session_timeout_ms=5999).error
    yield "id x in an absent group", 25, k.join("x").error
    yield "no protocol", 23, k.join(protocols=()).error
    yield "empty type", 23, k.join(type="").error
    yield "24 comes before 26", 24, k.join(group="", session_timeout_ms=1).error


@claim(
    "C2",
    "a JoinGroup that creates a group appends an empty group's record when it produces none of"
    " its own",
)
def _(k: Talk):
    k.join()
    (record,) = k.log()
    yield "record", ("g", 0, ()), (record.group, record.generation, record.members)


@claim(
    "C5",
    "while loading: JoinGroup, LeaveGroup, OffsetCommit, OffsetFetch and SyncGroup 14, Heartbeat 0",
)
def _(k: Talk):
    ms = k.stable(2)
    k.fail_over(hold=True)
    asked = (
        k.join(ms[0]),
        k.sync(ms[0], 1),
        k.beat(ms[0], 1),
        k.leave(ms[0]),
        k.commit(ms[0], 1),
        k.fetch(),
    )
    yield "loading", [14, 14, 0, 14, 14, 14], errors(*asked)
    k.do(FinishLoad())
    yield "loaded", [0, 0], errors(k.beat(ms[0], 1), k.commit(ms[0], 1))


@claim("C6", "after its resignation a coordinator answers everything with 16")
def _(k: Talk):
    ms = k.stable(2)
    k.do(Unload())
    asked = (
        k.join(ms[0]),
        k.sync(ms[0], 1),
        k.beat(ms[0], 1),
        k.leave(ms[0]),
        k.commit(ms[0], 1),
        k.fetch(),
    )
    yield "resigned", [16] * 6, errors(*asked)


@claim("C7", "OffsetCommit and OffsetFetch accept the empty group id")
def _(k: Talk):
    yield "commit, fetch", [0, 0], errors(k.commit("", -1, group=""), k.fetch(group=""))


@claim("C8", "DescribeGroups and ListGroups tell the state and who is in it")
def _(k: Talk):
    ms = k.stable(2)
    seen = k.do(DescribeGroups())
    yield "described", (0, "Stable", "consumer", "range", sorted(ms)), (
        seen.error, seen.state, seen.type, seen.protocol, sorted(m.member for m in seen.members)
    )  # fmt: skip
    yield "listed", (("g", "Stable", "classic"),), k.do(ListGroups()).groups


@claim(
    "S1", "at group.max.size a newcomer to a Stable group gets 81 and no id; a known member passes"
)
def _(k: Talk):
    k.reset(config={"group.max.size": 2})
    ms = k.stable(2)
    newcomer = k.join()
    yield "newcomer", (81, ""), (newcomer.error, newcomer.member)
    yield "known", 0, k.join(ms[1]).error


@claim(
    "S2", "ids that were handed out do not count for the size; the check comes again when they join"
)
def _(k: Talk):
    k.reset(config={"group.max.size": 2})
    ids = [k.join() for _ in range(3)]
    yield "ids", [79] * 3, errors(*ids)
    yield "joins", [None, None, 81], errors(*[k.join(i.member) for i in ids])


@claim(
    "S3",
    "a static member that restarts without its id into a group at its size limit gets 81, although"
    " it replaces itself",
)
def _(k: Talk):
    k.reset(config={"group.max.size": 2})
    k.stable(2, static=True)
    yield "restart", 81, k.join(instance="i2").error
    yield "group", ("Stable", 1, 2), ((now := k.look()).state, now.generation, len(now.members))


@claim(
    "S4",
    "in a round that newcomers have filled, a known member that comes late gets 81 and is dropped;"
    " the round ends by its timer alone",
)
def _(k: Talk):
    k.reset(config={"group.max.size": 2})
    leader, follower = k.stable(2, session_timeout_ms=60_000)
    first = k.join(leader, session_timeout_ms=60_000)
    newcomer = k.join(k.join(session_timeout_ms=60_000).member, session_timeout_ms=60_000)
    late = k.join(follower, session_timeout_ms=60_000)
    yield "late", (81, ""), (late.error, late.member)
    now = k.look()
    yield (
        "round goes on without it",
        ("PreparingRebalance", False, None),
        (now.state, now.member(follower) is not None, first.error),
    )
    k.sleep(30_000)
    yield "ended", (0, 0, 2), (first.error, newcomer.error, first.generation)


@claim(
    "P1",
    "no common protocol, or another protocol type, is 23; an Empty group keeps its type and accepts"
    " another",
)
def _(k: Talk):
    (member,) = k.stable(1)
    yield "protocol, type", [23, 23], errors(k.join(protocols=("other",)), k.join(type="connect"))
    k.leave(member)
    yield "Empty", ("Empty", "consumer", None), ((now := k.look()).state, now.type, now.protocol)
    k.join(type="connect", version=3)
    yield "new type", "connect", k.look().type


@claim("P2", "every member votes for the first candidate in its own order; most votes win")
def _(k: Talk):
    orders = (("a", "b"), ("b", "a"), ("b", "a", "x"))
    asked = [k.join(version=3, protocols=order) for order in orders]
    k.sleep(6000)
    yield "chosen", ["b"] * 3, [a.protocol for a in asked]


@claim(
    "J1",
    "a newcomer gets 79 and an id with its session timeout and changes nothing; below v4, or"
    " static, it is parked with a timer of 5 min",
)
def _(k: Talk):
    asked = k.join(session_timeout_ms=7000)
    now = k.look()
    yield (
        "dynamic",
        (79, "Empty", ("m1",), 7000),
        (asked.error, now.state, now.pending_join, k.left_ms("heartbeat-g-m1")),
    )
    k.reset()
    asked = k.join(version=3)
    yield (
        "v3",
        (None, "PreparingRebalance", 300_000),
        (asked.error, k.state(), k.left_ms("heartbeat-g-m1")),
    )
    k.reset()
    asked = k.join(instance="i")
    yield (
        "static",
        (None, "PreparingRebalance", 300_000),
        (asked.error, k.state(), k.left_ms("heartbeat-g-m1")),
    )


@claim(
    "J2",
    "a v3 newcomer to a completing round answers the parked SyncGroups with 27 and starts a round;"
    " so it does in a Stable group",
)
def _(k: Talk):
    (_, follower), _ = k.joined(2)
    parked = k.sync(follower, 1)
    k.join(version=3)
    yield "completing", (27, "PreparingRebalance"), (parked.error, k.state())
    k.reset()
    k.stable(2)
    yield "stable", (None, "PreparingRebalance"), (k.join(version=3).error, k.state())


@claim(
    "J3",
    "a handed-out id with an instance -1; an unknown instance 25, another's 82; an unknown id 25,"
    " also in an Empty group",
)
def _(k: Talk):
    pending = k.join().member
    yield "pending with instance", -1, k.join(pending, instance="i").error
    yield "Empty", 25, k.join("unknown").error
    k.reset()
    ms = k.stable(2, static=True)
    asked = (k.join(ms[0], instance="none"), k.join("unknown", instance="i1"), k.join("unknown"))
    yield "instance, id of another, id", [25, 82, 25], errors(*asked)


@claim(
    "J4",
    "a member that joins a round that is being prepared is parked and keeps its session's deadline",
)
def _(k: Talk):
    ms = k.stable(3)
    k.join(ms[0])
    before = k.left_ms(f"heartbeat-g-{ms[1]}")
    k.sleep(1000)
    asked = k.join(ms[1])
    yield "deadline", (None, before - 1000), (asked.error, k.left_ms(f"heartbeat-g-{ms[1]}"))


@claim(
    "J5",
    "in a completing round a repeated JoinGroup is answered at once, the leader's with the members;"
    " a changed one starts a round",
)
def _(k: Talk):
    (leader, follower), _ = k.joined(2)
    parked = k.sync(follower, 1)
    a, b = k.join(leader), k.join(follower)
    yield (
        "repeated",
        (0, 2, 0, 0, 1),
        (a.error, len(a.members), b.error, len(b.members), b.generation),
    )
    yield "goes on", "CompletingRebalance", k.state()
    changed = k.join(leader, topics=("t", "u"))
    yield "changed", (None, 27, "PreparingRebalance"), (changed.error, parked.error, k.state())


@claim(
    "J6",
    "in a Stable group the leader's JoinGroup always starts a round, a follower's only if it"
    " changed; else no timer moves",
)
def _(k: Talk):
    leader, follower = k.stable(2)
    k.sleep(1000)
    before = k.look().timers
    same = k.join(follower)
    yield (
        "same",
        (0, 1, (), False, leader),
        (same.error, same.generation, same.members, same.skip_assignment, same.leader),
    )
    yield "timers", before, k.look().timers
    yield (
        "changed",
        (None, "PreparingRebalance"),
        (k.join(follower, topics=("t", "u")).error, k.state()),
    )
    k.reset()
    leader, _ = k.stable(2)
    yield "leader", (None, "PreparingRebalance"), (k.join(leader).error, k.state())


@claim(
    "K11",
    "a second JoinGroup or SyncGroup of a parked member takes the place of the first, which is"
    " never answered",
)
def _(k: Talk):
    one, two = k.join().member, k.join().member
    first, second = k.join(one), k.join(one)
    k.join(two)
    k.sleep(9000)
    yield "joins", (None, 0), (first.error, second.error)
    follower = two if second.leader == one else one
    first_sync, second_sync = k.sync(follower, 1), k.sync(follower, 1)
    k.sync(second.leader, 1)
    yield "syncs", (None, 0), (first_sync.error, second_sync.error)
    k.sleep(600_000)
    yield "ever", (None, None), (first.error, first_sync.error)


@claim(
    "R1",
    "the request of a static member that is replaced while it is parked is answered with 82 at"
    " once",
)
def _(k: Talk):
    first, _, again = k.join(instance="i1"), k.join(instance="i2"), k.join(instance="i1")
    yield "join", (82, None), (first.error, again.error)
    k.sleep(9000)
    follower = next(m for m in k.members() if m != again.leader)
    instance = k.instance(follower)
    parked = k.sync(follower, 1, instance=instance)
    k.join(instance=instance)
    yield "sync", 82, parked.error


@claim(
    "R2",
    "a static member that restarts into a Stable group gets a new id, the same generation and its"
    " assignment back, with one record and no round",
)
def _(k: Talk):
    ms, before = k.stable(2, static=True), 0
    before = k.end
    leads, follows = k.instance(ms[0]), k.instance(ms[1])
    r = k.join(instance=leads)
    yield (
        "leader",
        (0, 1, True, 2, r.member),
        (r.error, r.generation, r.skip_assignment, len(r.members), r.leader),
    )
    q = k.join(instance=follows)
    yield (
        "follower",
        (0, 1, False, 0, r.member),
        (q.error, q.generation, q.skip_assignment, len(q.members), q.leader),
    )
    yield "records", 2, k.end - before
    yield (
        "assignment",
        (0, {("t", 0)}),
        ((s := k.sync(r.member, 1, instance=leads)).error, s.assigned),
    )
    yield (
        "old id with and without its instance",
        [82, 25],
        errors(k.beat(ms[0], 1, instance=leads), k.beat(ms[0], 1)),
    )
    yield "timer", 10_000, k.left_ms(f"heartbeat-g-{r.member}")


@claim(
    "R3", "below v9 a leader that restarts is told its own previous id as leader, and no members"
)
def _(k: Talk):
    ms = k.stable(2, static=True)
    r = k.join(instance=k.instance(ms[0]), version=8)
    yield "answer", (0, (), ms[0], False), (r.error, r.members, r.leader, r.skip_assignment)


@claim("R4", "when the record of a static member's new id cannot be appended, the old id stays")
def _(k: Talk):
    ms = k.stable(2, static=True)
    instance = k.instance(ms[0])
    k.do(FailAppends())
    r, now = k.join(instance=instance), k.look()
    yield "answer", (15, ""), (r.error, r.member)
    yield (
        "group",
        ("Stable", sorted(ms), ms[0]),
        (now.state, [m.member for m in now.members], now.leader),
    )
    yield "old id", 0, k.beat(ms[0], 1, instance=instance).error


@claim(
    "R5",
    "a static restart starts a round where it changes the chosen protocol, or in a completing"
    " round",
)
def _(k: Talk):
    a, b = k.join(instance="i1", protocols=("a", "b")), k.join(instance="i2", protocols=("b", "a"))
    k.sleep(6000)
    k.sync(a.leader, 1)
    k.sync(b.member if a.leader == a.member else a.member, 1)
    yield "before", "Stable", k.state()
    who, order = ("i1", ("b", "a")) if a.protocol == "a" else ("i2", ("a", "b"))
    k.join(instance=who, protocols=order)
    yield "protocol changed", "PreparingRebalance", k.state()
    k.reset()
    a, _ = k.join(instance="i1"), k.join(instance="i2")
    k.sleep(6000)
    again = k.join(instance="i2")
    yield "completing", (None, "PreparingRebalance"), (again.error, k.state())
    yield "all back", (0, 2), (k.join(a.member, instance="i1").error, again.generation)


@claim(
    "K5",
    "a static restart with another subscription but the same protocol starts no round; its record"
    " has the new subscription",
)
def _(k: Talk):
    k.reset(topics={"t": 2, "u": 1})
    ms = k.stable(2, static=True)
    instance = k.instance(ms[1])
    r = k.join(instance=instance, topics=("t", "u"))
    yield "answer", (0, 1, "Stable"), (r.error, r.generation, k.state())
    logged = {m.instance: m.subscription.topics for m in k.log()[-1].members}
    yield "logged", ("t", "u"), logged[instance]


@claim(
    "K7",
    "a follower that restarts before it synced leaves its old id pending: a round without a cause"
    " when the sync timer fires",
)
def _(k: Talk):
    ms = k.stable(2, static=True, followers_sync=False, session_timeout_ms=1_000_000)
    instance = k.instance(ms[1])
    r = k.join(instance=instance, session_timeout_ms=1_000_000)
    s, now = k.sync(r.member, 1, instance=instance), k.look()
    yield (
        "synced, old id pending",
        (0, 0, "Stable", (ms[1],)),
        (r.error, s.error, now.state, now.pending_sync),
    )
    k.sleep(30_000)
    yield "later", "PreparingRebalance", k.state()


@claim(
    "K10",
    "after a load a member is known with the chosen protocol alone, so the same JoinGroup counts as"
    " changed",
)
def _(k: Talk):
    ms = k.stable(2, protocols=RANGE_AND_COOPERATIVE)
    chosen = k.look().protocol
    yield "before", 0, k.join(ms[1], protocols=RANGE_AND_COOPERATIVE).error
    k.fail_over()
    yield "stored", [[chosen]] * 2, [[name for name, _ in m.protocols] for m in k.look().members]
    yield (
        "other protocol alone",
        23,
        k.join(protocols=[p for p in RANGE_AND_COOPERATIVE if p != chosen]).error,
    )
    yield (
        "same again",
        (None, "PreparingRebalance"),
        (k.join(ms[1], protocols=RANGE_AND_COOPERATIVE).error, k.state()),
    )
