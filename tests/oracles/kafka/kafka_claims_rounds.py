"""Claims about the round: how long it waits, when it ends, who syncs, what expires."""

from __future__ import annotations

from kafka_claim import Claim, claims_into
from kafka_talk import Talk

from groupcheck.oracles.kafka.commands import AutoCommit, CommitAppends, FailAppends

ROUNDS: list[Claim] = []
claim = claims_into(ROUNDS)
LONG = {"session_timeout_ms": 100_000}


@claim(
    "Y1",
    "SyncGroup: absent or Empty group 25, preparing 27, generation 22, protocol or type 23,"
    " instance 82 or 25; generation before protocol",
)
def _(k: Talk):
    yield "absent", 25, k.sync("x", 1).error
    yield "Empty", 25, k.sync(k.join().member, 0).error
    k.reset()
    ms = k.stable(2, static=True)
    i = k.instance(ms[0])
    yield "generation", 22, k.sync(ms[0], 7, instance=i).error
    yield (
        "protocol, type",
        (23, 23),
        (k.sync(ms[0], 1, protocol="other").error, k.sync(ms[0], 1, type="other").error),
    )
    yield (
        "instances",
        (82, 25),
        (k.sync("x", 1, instance=i).error, k.sync(ms[0], 1, instance="none").error),
    )
    yield "order", 22, k.sync(ms[0], 7, protocol="other").error
    k.join(ms[0], instance=i)
    yield "preparing", (27, 22), (k.sync(ms[1], 1).error, k.sync(ms[1], 2).error)


@claim(
    "Y2",
    "followers park until the leader's assignment is appended; only the leader's counts, who is not"
    " in it gets no bytes",
)
def _(k: Talk):
    (leader, one, two), _ = k.joined(3)
    parked = k.sync(one, 1, {one: {"t": [0, 1]}})
    k.sleep(2000)
    yield "parked", None, parked.error
    leads = k.sync(leader, 1, {one: {"t": [1]}, "nobody": {"t": [0]}})
    yield (
        "answers",
        (0, {("t", 1)}, 0, None),
        (parked.error, parked.assigned, leads.error, leads.assigned),
    )
    yield "state", ("Stable", (two,)), ((now := k.look()).state, now.pending_sync)
    yield (
        "session of the answered, of the other",
        (10_000, 8000),
        (k.left_ms(f"heartbeat-g-{one}"), k.left_ms(f"heartbeat-g-{two}")),
    )


@claim(
    "Y3",
    "when the leader's assignment cannot be appended every parked SyncGroup gets the mapped error,"
    " and a round starts",
)
def _(k: Talk):
    codes = {
        "NOT_ENOUGH_REPLICAS": 15,
        "REQUEST_TIMED_OUT": 15,
        "UNKNOWN_TOPIC_OR_PARTITION": 15,
        "NOT_LEADER_OR_FOLLOWER": 16,
    }
    for error, code in (
        codes | {"KAFKA_STORAGE_ERROR": 16, "MESSAGE_TOO_LARGE": -1, "RECORD_LIST_TOO_LARGE": -1}
    ).items():
        k.reset()
        (leader, follower), _ = k.joined(2)
        parked = k.sync(follower, 1)
        k.do(FailAppends(error=error))
        leads = k.sync(leader, 1, {leader: {"t": [0]}})
        yield error, (code, code, "PreparingRebalance"), (leads.error, parked.error, k.state())


@claim(
    "Y4",
    "a SyncGroup in a Stable group is answered at once with the stored assignment and moves no"
    " timer",
)
def _(k: Talk):
    ms = k.stable(2, followers_sync=False)
    k.sleep(1000)
    s = k.sync(ms[1], 1)
    yield "answer", (0, {("t", 1)}, 9000), (s.error, s.assigned, k.left_ms(f"heartbeat-g-{ms[1]}"))


@claim(
    "Y5",
    "an assignment that is overtaken by a JoinGroup before it is replicated answers 27; after a"
    " fail-over its generation is Stable all the same",
)
def _(k: Talk):
    ms = k.stable(2)
    k.join(ms[0])
    yield "round", (0, 2), ((a := k.join(ms[1])).error, a.generation)
    k.do(AutoCommit(on=False))
    s = k.sync(ms[0], 2, {ms[0]: {"t": [0, 1]}})
    yield "waits", None, s.error
    k.join(ms[1], topics=("t", "u"))
    yield "overtaken", (27, "PreparingRebalance"), (s.error, k.state())
    k.do(CommitAppends())
    yield "replicated", "PreparingRebalance", k.state()
    k.fail_over()
    yield (
        "loaded",
        ("Stable", 2, {("t", 0), ("t", 1)}),
        ((x := k.look()).state, x.generation, x.member(ms[0]).assigned),
    )
    yield "members go on", (0, 0), (k.beat(ms[0], 2).error, k.sync(ms[0], 2).error)


@claim(
    "Y6",
    "an assignment that is not replicated within 5 s answers 15 and starts a round; replicated"
    " later it is what a fail-over finds",
)
def _(k: Talk):
    ms = k.stable(2)
    k.join(ms[0])
    k.join(ms[1])
    k.do(AutoCommit(on=False))
    leads, follows = k.sync(ms[0], 2, {ms[0]: {"t": [0, 1]}}), k.sync(ms[1], 2)
    k.sleep(4999)
    yield "before", (None, None), (leads.error, follows.error)
    k.sleep(1)
    yield "after", (15, 15, "PreparingRebalance"), (leads.error, follows.error, k.state())
    k.do(CommitAppends())
    k.fail_over()
    yield "loaded", ("Stable", 2), ((x := k.look()).state, x.generation)


@claim(
    "D1", "the first round waits 3 s again and again as members come, up to the rebalance timeout"
)
def _(k: Talk):
    seen: list[int | None] = []
    k.join(version=3, rebalance_timeout_ms=10_000, session_timeout_ms=60_000)
    for passed in range(0, 9900, 900):
        seen.append(None if (left := k.left_ms("join-g")) is None else passed + left)
        k.sleep(900)
        k.join(version=3, rebalance_timeout_ms=10_000, session_timeout_ms=60_000)
    yield "deadlines", [3000, 6000, 9000, 10_000], sorted({at for at in seen if at})[:4]


@claim("D2", "a lone member waits exactly 3 s: the first does not count as a newcomer")
def _(k: Talk):
    asked = k.join(version=3)
    yield "flag", False, k.look().new_member_added
    k.sleep(2999)
    yield "at 2999", None, asked.error
    k.sleep(1)
    yield "at 3000", 0, asked.error


@claim(
    "D3",
    "a newcomer at the end of a round leaves a flag that makes a lone member of a later first round"
    " wait twice as long",
)
def _(k: Talk):
    short = {"version": 3, "rebalance_timeout_ms": 4000}
    a = k.join(**short)
    k.sleep(500)
    b = k.join(**short)
    k.sleep(2500)
    yield "consumed", (False, None), (k.look().new_member_added, a.error)
    k.sleep(100)
    c = k.join(**short)
    k.sleep(900)
    yield "ended with the flag", (0, True), (a.error, k.look().new_member_added)
    for asked in (a, b, c):
        k.leave(asked.member)
    yield "Empty with the flag", ("Empty", True), ((x := k.look()).state, x.new_member_added)
    lone = k.join(version=3, rebalance_timeout_ms=60_000)
    k.sleep(3000)
    yield "3 s", None, lone.error
    k.sleep(3000)
    yield "6 s", 0, lone.error


@claim("D4", "the wait is prolonged in a group that had members before, too")
def _(k: Talk):
    k.leave(k.stable(1)[0])
    a = k.join(version=3)
    k.sleep(1000)
    k.join(version=3)
    k.sleep(2000)
    yield "3 s", None, a.error
    k.sleep(3000)
    yield "6 s", (0, 3), (a.error, a.generation)


@claim("T1", "an id that was handed out holds a round up until it joins, leaves or expires")
def _(k: Talk):
    ms = k.stable(2, session_timeout_ms=60_000)
    k.join(session_timeout_ms=5000)
    a, b = k.join(ms[0], session_timeout_ms=60_000), k.join(ms[1], session_timeout_ms=60_000)
    yield "held up", (None, None), (a.error, b.error)
    k.sleep(5000)
    yield "expired", (0, 0, 2), (a.error, b.error, a.generation)


@claim(
    "T2",
    "when the join timer fires, dynamic members that are missing are removed, static ones are kept"
    " and listed",
)
def _(k: Talk):
    ms = k.stable(3, **LONG)
    r = k.join(ms[0], **LONG)
    k.join(ms[1], **LONG)
    k.sleep(30_000)
    yield "dynamic", (0, 2), (r.error, len(k.members()))
    k.reset()
    ms = k.stable(3, static=True, **LONG)
    r = k.join(ms[0], instance=k.instance(ms[0]), **LONG)
    k.sleep(30_000)
    yield "static", (0, 3, 3), (r.error, len(k.members()), len(r.members))


@claim(
    "T3",
    "a parked member leads where the leader is missing; with nobody parked but static members left"
    " the join timer is armed again",
)
def _(k: Talk):
    ms = k.stable(3, static=True, **LONG)
    r = k.join(ms[1], instance=k.instance(ms[1]), topics=("t", "u"), **LONG)
    k.sleep(30_000)
    yield "leads", ms[1], r.leader
    k.reset()
    k.stable(2, static=True, **LONG)
    k.leave(k.join(**LONG).member)
    k.sleep(30_000)
    yield (
        "again",
        ("PreparingRebalance", 30_000, 1),
        ((x := k.look()).state, k.left_ms("join-g"), x.generation),
    )


@claim("T4", "a round ends as soon as all members are parked, and persists nothing by that")
def _(k: Talk):
    ms = k.stable(2)
    before = k.end
    k.join(ms[0])
    r = k.join(ms[1])
    yield "ended", (0, 2, before), (r.error, r.generation, k.end)
    yield "syncs awaited", (tuple(sorted(ms)), 30_000), (k.look().pending_sync, k.left_ms("sync-g"))


@claim(
    "T5",
    "when the last member leaves, the group is Empty at once in the next generation, whatever ids"
    " were handed out",
)
def _(k: Talk):
    (member,) = k.stable(1)
    pending = k.join().member
    k.leave(member)
    yield "group", ("Empty", 2, (pending,)), ((x := k.look()).state, x.generation, x.pending_join)


@claim("T6", "the expiry of a handed-out id ends even a first round when all others are parked")
def _(k: Talk):
    k.reset(config={"group.initial.rebalance.delay.ms": 20_000})
    k.join(session_timeout_ms=2000)
    a = k.join(version=3, session_timeout_ms=60_000)
    k.sleep(2000)
    yield "after 2 s of 20", (0, 1), (a.error, a.generation)


@claim("T6b", "the leave of a handed-out id does not end a first round early")
def _(k: Talk):
    pending = k.join().member
    a = k.join(version=3, session_timeout_ms=60_000)
    k.leave(pending)
    yield "parked", None, a.error
    k.sleep(3000)
    yield "at 3 s", 0, a.error


@claim(
    "T7", "a newcomer that is parked for 5 min is removed, its JoinGroup answered with 25 and no id"
)
def _(k: Talk):
    k.stable(1, session_timeout_ms=1_800_000, rebalance_timeout_ms=1_000_000)
    a = k.join(version=3, rebalance_timeout_ms=1_000_000)
    k.sleep(299_999)
    yield "before", None, a.error
    k.sleep(1)
    yield "after", (25, ""), (a.error, a.member)


@claim(
    "T8",
    "the session of a parked member does not expire; its timer is armed again when it is answered",
)
def _(k: Talk):
    ms = k.stable(2)
    k.join(ms[0])
    k.beat(ms[1], 1)
    k.sleep(9000)
    k.beat(ms[1], 1)
    k.sleep(2000)
    yield (
        "kept without a timer",
        (True, None),
        (ms[0] in k.members(), k.left_ms(f"heartbeat-g-{ms[0]}")),
    )
    k.join(ms[1])
    yield "armed", 10_000, k.left_ms(f"heartbeat-g-{ms[0]}")


@claim(
    "T9",
    "who has not synced when the sync timer fires is removed, be it the leader or static, and a"
    " round starts",
)
def _(k: Talk):
    (_, follower), _ = k.joined(2, **LONG)
    s = k.sync(follower, 1)
    k.sleep(30_000)
    yield "leader", ("PreparingRebalance", [follower], 27), (k.state(), k.members(), s.error)
    k.reset()
    ms = k.stable(2, static=True, followers_sync=False, **LONG)
    k.sleep(30_000)
    yield "static follower", ("PreparingRebalance", [ms[0]]), (k.state(), k.members())


@claim(
    "T10",
    "a session that expires starts a round; that of the last member empties the group in the next"
    " generation",
)
def _(k: Talk):
    ms = k.stable(2)
    k.sleep(5000)
    k.beat(ms[0], 1)
    k.sleep(5000)
    yield "one", ("PreparingRebalance", [ms[0]]), (k.state(), k.members())
    k.sleep(10_000)
    yield "last", ("Empty", 2), ((x := k.look()).state, x.generation)
