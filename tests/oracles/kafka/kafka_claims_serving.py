"""Claims about heartbeats, leaving, offsets and transactions, fail-over and the end of groups."""

from __future__ import annotations

from kafka_claim import Claim, claims_into
from kafka_talk import Talk, errors

from groupcheck.oracles.kafka.commands import (
    AutoCommit,
    CommitAppends,
    DeleteGroups,
    EndTxn,
    FailAppends,
    Leaving,
    OffsetDelete,
    Unload,
)

SERVING: list[Claim] = []
claim = claims_into(SERVING)


@claim(
    "H1",
    "Heartbeat: absent group or handed-out id 25, generation 22, preparing 27, else 0; every one"
    " but 22 renews the session",
)
def _(k: Talk):
    yield "absent", 25, k.beat("x", 1).error
    yield "handed out", 25, k.beat(k.join().member, 0).error
    k.reset()
    ms = k.stable(2, static=True)
    i, timer = k.instance(ms[0]), f"heartbeat-g-{ms[0]}"
    k.sleep(1000)
    yield "generation", (22, 9000), (k.beat(ms[0], 5, instance=i).error, k.left_ms(timer))
    yield "Stable", (0, 10_000), (k.beat(ms[0], 1, instance=i).error, k.left_ms(timer))
    yield (
        "instances",
        [82, 25],
        errors(k.beat("x", 1, instance=i), k.beat(ms[0], 1, instance="none")),
    )
    k.sleep(1000)
    pending = k.join().member
    k.join(ms[1], topics=("t", "u"))
    yield "preparing", (27, 10_000), (k.beat(ms[0], 1, instance=i).error, k.left_ms(timer))
    k.leave(pending)
    k.join(ms[0], instance=i)
    k.sleep(1000)
    yield (
        "completing",
        ("CompletingRebalance", 22, 0, 10_000),
        (
            k.state(),
            k.beat(ms[0], 1, instance=i).error,
            k.beat(ms[0], 2, instance=i).error,
            k.left_ms(timer),
        ),
    )


@claim(
    "L1",
    "LeaveGroup: each member of a batch has its own code (25 unknown, 82 another's instance, 0),"
    " and one round follows for all",
)
def _(k: Talk):
    absent = k.leave("x")
    yield "absent group", (0, (25,)), (absent.error, absent.members)
    k.reset()
    ms = k.stable(3, static=True)
    i = [k.instance(m) for m in ms]
    batch = (
        Leaving(instance="none"),
        Leaving(),
        Leaving("x", i[0]),
        Leaving(instance=i[1]),
        Leaving(ms[2], i[2]),
    )
    left = k.leave("", *batch)
    yield "batch", (0, (25, 25, 82, 0, 0)), (left.error, left.members)
    yield "group", ("PreparingRebalance", [ms[0]]), (k.state(), k.members())


@claim("L2", "the leave of a handed-out id starts a round in a Stable or completing group")
def _(k: Talk):
    k.stable(2)
    left = k.leave(k.join().member)
    yield "Stable", ((0,), "PreparingRebalance"), (left.members, k.state())
    k.reset()
    k.joined(2)
    k.leave(k.join().member)
    yield "completing", "PreparingRebalance", k.state()


@claim(
    "L3",
    "who leaves while its JoinGroup is parked gets 25 and no id; a parked SyncGroup of a leaver is"
    " never answered",
)
def _(k: Talk):
    ms = k.stable(3)
    parked = k.join(ms[0])
    k.leave(ms[0])
    yield "join", (25, ""), (parked.error, parked.member)
    k.reset()
    (_, one, two), _ = k.joined(3)
    leaver, other = k.sync(one, 1), k.sync(two, 1)
    k.leave(one)
    yield "syncs", (None, 27), (leaver.error, other.error)
    k.sleep(600_000)
    yield "ever", None, leaver.error


@claim(
    "L4",
    "when the leader leaves another member leads; when the last one leaves the Empty group of the"
    " next generation is logged",
)
def _(k: Talk):
    ms = k.stable(2)
    k.leave(ms[0])
    yield "leader", ms[1], k.look().leader
    k.leave(ms[1])
    yield "Empty", ("Empty", 2, ()), ((x := k.look()).state, x.generation, k.log()[-1].members)


@claim(
    "X2",
    "when the Empty group cannot be logged, LeaveGroup answers 15 though the member is gone; a"
    " fail-over brings it back",
)
def _(k: Talk):
    ms = k.stable(1)
    k.do(FailAppends())
    left, x = k.leave(ms[0]), k.look()
    yield "gone", (15, "Empty", ()), (left.error, x.state, x.members)
    k.fail_over()
    yield (
        "back",
        ("Stable", 1, ms),
        ((x := k.look()).state, x.generation, [m.member for m in x.members]),
    )


@claim(
    "O1",
    "OffsetCommit by generation and state: absent 69 (22 below v9), Empty 25, unknown 25,"
    " generation 22, completing 27; else it renews the session",
)
def _(k: Talk):
    yield "absent", [69, 22], errors(k.commit("x", 1), k.commit("x", 1, version=8))
    yield (
        "from outside, then as a member",
        [0, 25, 0],
        errors(k.commit("", -1), k.commit("x", 1), k.commit("", -1)),
    )
    k.reset()
    ms = k.stable(2)
    k.sleep(1000)
    yield (
        "Stable",
        [25, 22, 25, 0],
        errors(k.commit("", -1), k.commit(ms[0], 2), k.commit("x", 1), k.commit(ms[0], 1)),
    )
    yield (
        "session",
        (10_000, 9000),
        (k.left_ms(f"heartbeat-g-{ms[0]}"), k.left_ms(f"heartbeat-g-{ms[1]}")),
    )
    k.join(ms[0])
    yield "preparing", 0, k.commit(ms[1], 1).error
    k.join(ms[1])
    yield "completing", [22, 27], errors(k.commit(ms[1], 1), k.commit(ms[1], 2))
    k.sync(ms[0], 2)
    yield "a partition that it does not own", 0, k.commit(ms[0], 2, at=9, partition=1).error


@claim(
    "O2",
    "OffsetCommit of an unknown instance 25, of another's 82; the last writer wins, also backwards",
)
def _(k: Talk):
    ms = k.stable(2, static=True)
    yield (
        "instances",
        [25, 82],
        errors(k.commit(ms[0], 1, instance="none"), k.commit("x", 1, instance="i1")),
    )
    k.commit(ms[0], 1, at=50)
    k.commit(ms[0], 1, at=3)
    yield "last", 3, k.offset()


@claim(
    "O3",
    "offsets of a transaction count from its commit on; a stable fetch meanwhile is 88; anybody may"
    " commit so, also in a completing round",
)
def _(k: Talk):
    yield "absent group", 22, k.commit_in_transaction("x", 1).error
    k.reset()
    ms = k.stable(2)
    yield "anonymous", 0, k.commit_in_transaction("", -1).error
    yield "stable fetch", 88, k.fetch().error
    yield "other fetch", -1, k.offset(stable=False)
    k.do(EndTxn(commit=False))
    yield "aborted", -1, k.offset()
    k.join(ms[0])
    k.join(ms[1])
    asked = (
        k.commit_in_transaction(ms[0], 2),
        k.commit_in_transaction(ms[0], 1),
        k.commit_in_transaction("x", 2),
    )
    yield "completing", [0, 22, 25], errors(*asked)
    k.do(EndTxn())
    yield "committed", 7, k.offset()


@claim(
    "O4",
    "a plain commit after that of an open transaction wins over the transaction's later commit",
)
def _(k: Talk):
    (m,) = k.stable(1)
    k.commit_in_transaction(m, 1)
    k.commit(m, 1, at=3)
    k.do(EndTxn())
    yield "offset", 3, k.offset()


@claim(
    "O5",
    "OffsetFetch knows no generation; a stable one waits for commits that are being replicated",
)
def _(k: Talk):
    yield "absent group", (0, -1), (k.fetch().error, k.offset())
    (m,) = k.stable(1)
    yield "any generation", 0, k.fetch(member=m, generation=77).error
    k.do(AutoCommit(on=False))
    written, stable = k.commit(m, 1, at=5), k.fetch()
    yield "meanwhile", (None, None, -1), (written.error, stable.error, k.offset(stable=False))
    k.do(CommitAppends())
    yield "replicated", (0, (("t", 0, 5),)), (written.error, stable.offsets)


@claim("O6", "OffsetDelete: 86 for a topic that a member subscribes to, else the offset is gone")
def _(k: Talk):
    (m,) = k.stable(1)
    k.commit(m, 1, at=5)
    yield "subscribed", (("t", 0, 86),), k.do(OffsetDelete()).errors
    k.leave(m)
    yield "Empty", (0, -1), (k.do(OffsetDelete()).error, k.offset())


@claim(
    "F1",
    "after a load the Stable group is back with full sessions; handed-out ids, parked requests and"
    " the round in progress are lost",
)
def _(k: Talk):
    ms = k.stable(2)
    k.sleep(5000)
    pending = k.join().member
    k.join(ms[0])
    k.fail_over()
    x = k.look()
    yield (
        "group",
        ("Stable", 1, ms[0], (), {("t", 1)}),
        (x.state, x.generation, x.leader, x.pending_join, x.member(ms[1]).assigned),
    )
    yield "session", 10_000, k.left_ms(f"heartbeat-g-{ms[1]}")
    yield "handed out, member", [25, 0], errors(k.join(pending), k.beat(ms[1], 1))


@claim(
    "K8",
    "a generation that was told but not yet logged is issued again after a fail-over, to other"
    " members",
)
def _(k: Talk):
    ms = k.stable(2)
    k.join(ms[0])
    yield "told", 2, k.join(ms[1]).generation
    k.fail_over()
    yield "unknown now", 22, k.sync(ms[0], 2).error
    k.join(k.join().member)
    a = k.join(ms[0])
    k.join(ms[1])
    yield "again", (2, 3), (a.generation, len(a.members))


@claim("F2", "a loaded group that is larger than group.max.size starts a round at once")
def _(k: Talk):
    ms = k.stable(3)
    k.fail_over(config={"group.max.size": 2})
    yield "round", ("PreparingRebalance", 27), (k.state(), k.beat(ms[0], 1).error)


@claim(
    "F3",
    "an unload answers parked JoinGroups and SyncGroups, and writes that are being replicated,"
    " with 16",
)
def _(k: Talk):
    ms = k.stable(2)
    joins = k.join(ms[0])
    k.do(Unload())
    yield "join", 16, joins.error
    k.reset()
    (_, follower), _ = k.joined(2)
    syncs = k.sync(follower, 1)
    k.do(Unload())
    yield "sync", 16, syncs.error
    k.reset()
    (m,) = k.stable(1)
    k.do(AutoCommit(on=False))
    writes = k.commit(m, 1)
    k.do(Unload())
    yield "commit", 16, writes.error


@claim(
    "F4",
    "a zombie coordinator answers heartbeats and fetches and even ends a round, but can write"
    " nothing",
)
def _(k: Talk):
    ms = k.stable(2)
    k.fail_over(zombie=True)
    yield (
        "heartbeat, fetch",
        [0, 0],
        errors(k.beat(ms[0], 1, broker=0), k.fetch(stable=False, broker=0)),
    )
    yield "commit", 16, k.commit(ms[0], 1, broker=0).error
    k.join(ms[0], broker=0)
    yield "round", (0, 2), ((b := k.join(ms[1], broker=0)).error, b.generation)
    yield "assignment", 16, k.sync(ms[0], 2, broker=0).error


@claim(
    "F5",
    "an offset that was answered with 0 survives a fail-over; one that is being replicated may not",
)
def _(k: Talk):
    (m,) = k.stable(1)
    k.commit(m, 1, at=5)
    k.do(AutoCommit(on=False))
    yield "waits", None, k.commit(m, 1, at=6).error
    k.fail_over(keep="committed")
    yield "offset", 5, k.offset(stable=False)


@claim("E1", "DeleteGroups: absent 69, with members 68, Empty 0")
def _(k: Talk):
    yield "absent", 69, k.do(DeleteGroups()).error
    (m,) = k.stable(1)
    yield "members", 68, k.do(DeleteGroups()).error
    k.leave(m)
    yield "Empty", (0, "none"), (k.do(DeleteGroups()).error, k.look().kind)


@claim(
    "E2",
    "an Empty group without offsets goes with the next sweep, 10 min at most; its successor starts"
    " at generation 0",
)
def _(k: Talk):
    k.leave(k.stable(1)[0])
    k.sleep(600_000)
    yield "gone", "none", k.look().kind
    k.join()
    yield "new", 0, k.look().generation


@claim("E3", "an Empty group's offsets stay for their retention; those of a subscriber stay")
def _(k: Talk):
    k.reset(config={"offsets.retention.minutes": 60})
    (m,) = k.stable(1)
    k.commit(m, 1)
    k.leave(m)
    k.sleep(50 * 60_000)
    yield "50 min", "Empty", k.state()
    k.sleep(20 * 60_000)
    yield "70 min", "none", k.look().kind
    k.reset(config={"offsets.retention.minutes": 60})
    (m,) = k.stable(1, session_timeout_ms=1_800_000)
    k.commit(m, 1)
    for _ in range(8):
        k.sleep(600_000)
        k.beat(m, 1)
    yield "subscriber", 1, k.offset()
