"""The lines that librdkafka 2.12 writes with group.protocol=consumer and debug=cgrp, at the steps
of the model's member (rdkafka_cgrp.c), as recordings of confluent-kafka show them.

The steps are those of Kafka's own member of 4.2, whose background begins a reconciliation by
itself, as librdkafka's main thread does. librdkafka ends what it has begun before it gives up its
assignment as lost: a revocation is followed by its assignment even if the member is fenced.

What a member has is what librdkafka prints as the group's assignment to it: from the moment at
which it hands it to the application until the partitions are stopped; if all of it is lost or the
consumer closes, until it says so.
"""

from __future__ import annotations

from attrs import Factory, define

from groupcheck.model.engine.step import State
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_MEMBER_EPOCH,
    NONE,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
)
from groupcheck.model.protocol.consumer import client_faults, java_rules
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.java_member import Calls, JavaMember, Phase
from groupcheck.model.protocol.consumer.messages import Kind, Tag
from groupcheck.model.protocol.masks import numbers
from groupcheck.oracles.generate.consumer.broker import TOPIC_ID, member, number
from groupcheck.oracles.generate.consumer.course import LOSSES
from groupcheck.oracles.generate.consumer.happenings import Fetched
from groupcheck.oracles.generate.consumer.member_words import MemberWords
from groupcheck.oracles.generate.consumer.records import LEAVING_EPOCHS, POLL_MS
from groupcheck.oracles.generate.run import Committed
from groupcheck.oracles.generate.template import offset

COORDINATOR, HANDLE = "b1:9092/1", "GroupCoordinator/1"
GROUP = 'Group "<:g:>"'
TRANSPORT = "Local: Broker transport failure"
SAYS = {
    NONE: "Success",
    STALE_MEMBER_EPOCH: "Broker: The member epoch is stale",
    COORDINATOR_NOT_AVAILABLE: "Broker: Coordinator not available",
    UNKNOWN_MEMBER_ID: "Broker: Unknown member",
    UNRELEASED_INSTANCE_ID: (
        "Broker: The instance ID is still used by another member in the consumer group"
    ),
    FENCED_MEMBER_EPOCH: "Broker: The member epoch is fenced by the group coordinator",
}
_REASONS = {
    "interval": "cgrp auto commit timer",
    "revocation": "unassigned partitions",
    "application": "manual",
}
_OUTDATED = {STALE_MEMBER_EPOCH: "Stale member epoch", UNKNOWN_MEMBER_ID: "Unknown member"}
FENCED = "member fenced - rejoining"
_OF_CLOSING = (java_rules.java_callback_returns.name, client_faults.crash.name)
"""A consumer that closes has no subscription, so librdkafka sends no heartbeat any more: its
session goes on as long as its last callback lasts, and nothing else happens.
"""
UNASSIGNED, ASSIGNED = "wait-incr-unassign-to-complete", "wait-assign-call"
REVOKES = "wait-unassign-call"


@define
class NativeWords(MemberWords):
    """The lines of librdkafka's members, and what they had."""

    # Process -> its join state, and the partitions that it has by its group assignment.
    _join: dict[int, str] = Factory(dict)
    _group: dict[int, int] = Factory(dict)
    # Those whose next answer acknowledges what they have taken.
    _acknowledging: set[int] = Factory(set)
    # Process -> what it is still to assign of an assignment that it gives up behind that.
    _late: dict[int, int] = Factory(dict)
    # Those that have given up their assignment, and not said so yet.
    _losing: set[int] = Factory(set)
    # Process -> what it has just committed of partitions that are unassigned.
    _final: dict[int, Committed] = Factory(dict)

    def _steps(
        self, me: int, rule: str, label: str, before: State, was: JavaMember, now: JavaMember
    ) -> None:
        if was.closing and rule not in _OF_CLOSING:
            self.foreign = True
        elif rule == client_faults.crash.name:
            self.spans.end(self.process(me), -1, self.records.now_ms, "killed")
            self._forget(me)
        elif rule == java_rules.application_subscribes.name:
            self._starts(me)
        elif rule == java_rules.java_heartbeat.name or rule in LOSSES:
            self._beats(me, was, lost=rule in LOSSES)
        elif rule == java_rules.java_hears.name:
            self._hears(me, label, before, was, now)
        elif rule == java_rules.find_coordinator.name:
            self._say(me, "CGRPCOORD", f"{COORDINATOR}: {GROUP} coordinator is b1:9092 id 1")
        elif rule == java_rules.java_poll_timeout.name:
            self._polls_too_late(me, was)
        elif rule == java_rules.application_closes.name:
            self._closes(me, ended=label == "closed")
        elif rule == java_rules.java_callback_returns.name:
            self._returns(me, was, now)
        if not was.closing and rule != client_faults.crash.name:
            self._goes_on(me, was, now)

    def _forget(self, me: int) -> None:
        for known in (self._join, self._group, self._late):
            known.pop(me, None)
        self._final.pop(me, None)
        self._acknowledging.discard(me)
        self._losing.discard(me)

    def _say(self, me: int, what: str, text: str, level: int = 7, thread: str = "main") -> None:
        line = f"%{level}|<:t:>|{what}|client-{me}#consumer-1| [thrd:{thread}]: {text}"
        self.lines.append((self.records.now_ms, self.process(me), line))

    # -- offsets

    def hears(self, happening: Committed | Fetched) -> None:
        me = happening.process
        if isinstance(happening, Fetched):
            size = len(happening.offsets)
            pending = f"Fetching committed offsets for {size} pending partition(s) in assignment"
            self._say(me, "OFFSETFETCH", pending)
            told = f"Fetch committed offsets for {size}/{size} partition(s)"
            self._say(me, "OFFSET", f"{HANDLE}: {told}")
            for partition, found in happening.offsets.items():
                back = f"back to pending list with offset {offset(partition, found)}"
                self._say(me, "OFFSETFETCH", f"Adding t [{partition}] {back}")
        elif happening.why == "revocation":
            self._final[me] = happening
        else:
            self._committed(me, happening)

    def _committed(self, me: int, h: Committed) -> None:
        join, size = self._join.get(me, "init"), len(h.offsets)
        reason = _REASONS[h.why]
        if h.why == "application":
            told = f"{GROUP} received op OFFSET_COMMIT in state up (join-state {join})"
            self._say(me, "CGRPOP", told)
        epoch = f"generation-id {number(h.epoch)} in join-state {join}: {reason}"
        self._say(
            me, "COMMIT", f"{HANDLE}: Committing offsets for {size} partition(s) with {epoch}"
        )
        told = f"{size} partition(s) in join-state {join}: {reason}: returned: {SAYS[h.code]}"
        self._say(me, "COMMIT", f"{HANDLE}: OffsetCommit for {told}")
        if h.code in _OUTDATED:
            why = f"OffsetCommit error: {_OUTDATED[h.code]}"
            self._say(me, "HEARTBEAT", f"Expediting next heartbeat, with backoff 0: {why}")
        if h.code == STALE_MEMBER_EPOCH and h.why != "application":
            self.foreign = True  # it keeps the commit and sends it again later

    def _moves(self, me: int, to: str) -> None:
        before = self._join.get(me, "init")
        self._join[me] = to
        if before != to:
            told = f"{GROUP} changed join state {before} -> {to} (state up)"
            self._say(me, "CGRPJOINSTATE", told)

    # -- it starts and ends

    def _starts(self, me: int) -> None:
        self._forget(me)
        id = member(self.records.ids[me])
        self._say(me, "MEMBERID", f'{GROUP}: updating member id "(not-set)" -> "{id}"', 7, "app")
        handle = f"client-{me}#consumer-1"
        told = f"librdkafka v2.12.1 (0x20c01ff) {handle} initialized (debug 0x2000)"
        self._say(me, "INIT", told, 7, "app")
        told = "subscribe to new subscription of 1 topics (join-state init)"
        self._say(me, "SUBSCRIBE", f"{GROUP}: {told}")
        self._say(me, "CGRPCOORD", f"{COORDINATOR}: {GROUP} coordinator is b1:9092 id 1")
        self._say(me, "COORDSET", f"{GROUP} coordinator set to broker {COORDINATOR}")
        told = "changed state wait-broker-transport -> up (join-state init)"
        self._say(me, "CGRPSTATE", f"{GROUP} {told}")

    def _closes(self, me: int, *, ended: bool) -> None:
        """close() has begun; `ended`: there is nothing that the application has to give up."""
        group, join = self._group.get(me, 0), self._join.get(me, "init")
        self._say(me, "CLOSE", "Closing consumer", 7, "app")
        told = f"{len(numbers(group))} partition(s)"
        self._say(me, "CGRPTERM", f'Terminating group "<:g:>" in state up with {told}')
        told = f"(leave group=true, has joined=true, {self._id(me)}, join-state {join})"
        self._say(me, "UNSUBSCRIBE", f"{GROUP}: unsubscribe from current subscription of 1 {told}")
        if not ended:
            self._revokes_all(me, "unsubscribe", lost=False)
            return
        self._leaves(me)
        self._terminates(me)

    def _leaves(self, me: int) -> None:
        self._say(me, "LEAVE", f"{GROUP}: leave (in state up)")
        self._say(me, "LEAVE", f"{COORDINATOR}: Leaving group")
        epoch = LEAVING_EPOCHS[Kind.PARK if self.records.static(me) else Kind.LEAVE]
        self._request(me, f"{epoch}", self._instance(me), "NULL", "NULL")

    def _terminates(self, me: int) -> None:
        told = "ConsumerGroupHeartbeat response received in state up"
        self._say(me, "LEAVEGROUP", told)
        self._say(me, "CGRPSTATE", f"{GROUP} changed state up -> term (join-state init)")
        self._say(me, "ASSIGNMENT", f"{GROUP}: clearing group assignment")
        self._say(me, "CGRPTERM", "Consumer group sub-system terminated (will enqueue reply)")
        self._say(me, "CLOSE", "Consumer closed", 7, "app")

    # -- heartbeats

    def _request(self, me: int, epoch: str, instance: str, owned: str, topics: str) -> None:
        self._say(
            me,
            "HEARTBEAT",
            f'{HANDLE}: ConsumerGroupHeartbeat of member id "{self._id(me)}", group id "<:g:>",'
            f' generation id {epoch}, group instance id "{instance}", current assignment'
            f' "{owned}", subscribed topics "{topics}", subscribed topic regex "NULL",'
            ' remote assignor "NULL"',
        )

    def _instance(self, me: int) -> str:
        """The group.instance.id as C prints it; that of a dynamic member is a null pointer."""
        return f"i{me}" if self.records.static(me) else "(null)"

    def _beats(self, me: int, was: JavaMember, *, lost: bool) -> None:
        request = was.heartbeat(Tag.CURRENT, self.records.scope)
        joins = request.kind == Kind.JOIN
        everything = request.full or joins
        owned = "" if joins else "NULL" if request.owned is None else listed(request.owned)
        if was.state == Member.ACKNOWLEDGING:
            self._acknowledging.add(me)
            self._say(me, "HEARTBEAT", f'Acknowledging target assignment "{owned}"')
        elif joins:
            self._say(me, "HEARTBEAT", 'Sending new subscription "t((null))[-1]"')
        epoch = number(0 if joins else self.records.known.get(me, 0))
        topics = "t((null))[-1]" if everything else "NULL"
        self._request(me, epoch, self._instance(me) if everything else "NULL", owned, topics)
        if lost:
            self._unreachable(me, TRANSPORT)

    def _unreachable(self, me: int, why: str) -> None:
        self._acknowledging.discard(me)
        told = f"failed due to coordinator ({COORDINATOR}) no longer available: {why}"
        again = f"ConsumerGroupHeartbeat {told}: re-querying for coordinator"
        self._say(me, "HEARTBEAT", again)
        self._say(me, "CGRPQUERY", f"{COORDINATOR}: {GROUP}: querying for coordinator: {why}")

    def _hears(self, me: int, label: str, before: State, was: JavaMember, now: JavaMember) -> None:
        answer = before[self.semantics.at["link", me]].answer
        if label == "fenced":
            self._acknowledging.discard(me)
            why = f"failed due to: {SAYS[answer.code]}: will rejoin the group"
            self._say(me, "HEARTBEAT", f"ConsumerGroupHeartbeat {why}")
            self._gives_up(me, was)
        elif label == "fatal":
            self._fails(me, answer.code)
        elif label == "unavailable":
            self._unreachable(me, SAYS[answer.code])
        elif answer.code == NONE and label == "well":
            told = f'member id "{self._id(me)}" with epoch {number(self.records.known[me])}'
            self._say(me, "HEARTBEAT", f"ConsumerGroupHeartbeat response received for {told}")
            if answer.assigned is not None:
                share = listed(answer.assigned, named=False)
                told = f'received target assignment "{share}"'
                self._say(me, "HEARTBEAT", f"ConsumerGroupHeartbeat {told}")
            if me in self._acknowledging:
                self._acknowledging.discard(me)
                self._say(
                    me,
                    "HEARTBEAT",
                    f'Target assignment acked, new current assignment  "{listed(was.current)}"',
                )
            if answer.assigned is not None and now.taking is not None:
                told = "Reconciliation in progress, postponing next one"
                self._say(me, "HEARTBEAT", told)

    def _fails(self, me: int, code: int) -> None:
        """The coordinator refuses it for good."""
        if code != UNRELEASED_INSTANCE_ID:
            self.foreign = True  # librdkafka goes on
            return
        told = f"Fatal error: {SAYS[code]}: ConsumerGroupHeartbeat fatal error: {SAYS[code]}"
        self._say(me, "FATAL", told)
        self._revokes_all(me, "Fatal error in ConsumerGroupHeartbeat API response", lost=True)

    # -- its assignment

    def _modified(self, me: int, some: int, *, added: bool) -> None:
        """librdkafka hands an assignment, or its revocation, to the application."""
        group = self._group.get(me, 0)
        left = group | some if added else group & ~some
        how = "added to" if added else "removed from"
        count, size = len(numbers(some)), len(numbers(group))
        told = f"{count} partition(s) being {how} group assignment of {size} partition(s)"
        self._say(me, "ASSIGNMENT", f"{GROUP}: {told}")
        if added and not group:
            told = f"{GROUP}: setting group assignment to {len(numbers(left))} partition(s)"
            self._say(me, "ASSIGNMENT", told)
        self._say(me, "GRPASSIGNMENT", f"List with {len(numbers(left))} partition(s):")
        for partition in numbers(left):
            self._say(me, "GRPASSIGNMENT", f" t [{partition}] offset INVALID")
        self._group[me] = left
        if added:
            self.spans.begin(self.process(me), some, self.records.now_ms)

    def _delegates(self, me: int, what: str, some: int, why: str) -> None:
        self._moves(me, ASSIGNED if what == "assign" else REVOKES)
        told = f"{len(numbers(some))} partition(s) to application on queue rd_kafka_cgrp_new"
        self._say(me, "ASSIGN", f"{GROUP}: delegating incremental {what} of {told}: {why}")

    def _assigns(self, me: int, some: int, why: str) -> None:
        self._delegates(me, "assign", some, why)
        self._modified(me, some, added=True)

    def _assigned(self, me: int, some: int) -> None:
        """The application has called incremental_assign()."""
        state = self._join.get(me, "init")
        self._say(me, "CGRPOP", f"{GROUP} received op ASSIGN in state up (join-state {state})")
        self._moves(me, "steady")
        for partition in numbers(some):
            self._say(me, "PARTADD", f"{GROUP}: add t [{partition}]")

    def _unassigned(self, me: int, some: int) -> None:
        """The application has called incremental_unassign(), and the partitions are stopped."""
        state = self._join.get(me, "init")
        self._say(me, "CGRPOP", f"{GROUP} received op ASSIGN in state up (join-state {state})")
        self._moves(me, UNASSIGNED)
        for partition in numbers(some):
            self._say(me, "PARTDEL", f"{GROUP}: delete t [{partition}]")
        final = self._final.pop(me, None)
        count, kept = len(numbers(some)), 0 if final is None else len(final.offsets)
        told = f"Served {count} removed partition(s), with {kept} offset(s) to commit"
        self._say(me, "REMOVE", told)
        if final is not None:
            self._committed(me, final)

    def _revokes_all(self, me: int, why: str, *, lost: bool) -> None:
        group = self._group.get(me, 0)
        told = f"with {len(numbers(group))} assigned partition(s){' (lost)' if lost else ''}: {why}"
        join = self._join.get(me, "init")
        mode = f"(COOPERATIVE) in state up (join-state {join})"
        self._say(me, "REBALANCE", f"{GROUP} initiating rebalance {mode} {told}")
        if lost and group:
            told = f"{why}: revoking incremental assignment and rejoining"
            count = len(numbers(group))
            what = f"current assignment of {count} partition(s) lost"
            self._say(me, "LOST", f"{GROUP}: {what}: {told}")
        if group:
            self._delegates(me, "revoke", group, why)
            self._say(me, "ASSIGNMENT", f"{GROUP}: clearing group assignment")
        how = "lost" if lost else "revoked"
        self.spans.end(self.process(me), -1, self.records.now_ms, how)
        self._group[me] = 0
        if lost and not group:
            self._rejoins(me, why)

    def _rejoins(self, me: int, why: str) -> None:
        self._say(me, "REJOIN", f"{GROUP}: Rejoining group without an assignment: {why}")
        self._moves(me, "init")
        self._say(me, "HEARTBEAT", "Expediting next heartbeat, with backoff 0: rejoining")

    def _gives_up(self, me: int, was: JavaMember) -> None:
        """What it has is to be given up as lost, once it has ended what it has begun."""
        self._losing.add(me)
        taking = was.taking
        if taking is not None and taking.phase == Phase.REVOKE:
            self._late[me] = taking.share & ~was.assigned

    def _polls_too_late(self, me: int, was: JavaMember) -> None:
        told = f"Application maximum poll interval ({POLL_MS}ms) exceeded by 1ms"
        hint = "(adjust max.poll.interval.ms for long-running message processing): leaving group"
        self._say(me, "MAXPOLL", f"{told} {hint}", 4)
        self._leaves(me)
        self._gives_up(me, was)

    def _returns(self, me: int, was: JavaMember, now: JavaMember) -> None:
        """A callback has returned."""
        event = was.running
        assert event is not None
        if event.calls == Calls.REVOKED:
            self._unassigned(me, event.partitions)
            self.spans.end(self.process(me), event.partitions, self.records.now_ms, "revoked")
            taking = was.taking
            new = self._late.get(me, 0) if taking is None else taking.share & ~was.assigned
            self._assigns(me, new, "cooperative assign after revoke")
        elif event.calls == Calls.ASSIGNED:
            self._assigned(me, event.partitions)
        elif event.calls == Calls.LOST:
            self._unassigned(me, event.partitions)
            self._rejoins(me, "Incremental unassignment done")
        else:
            self._unassigned(me, event.partitions | was.assigned)
            self._leaves(me)
            self._terminates(me)

    def _goes_on(self, me: int, was: JavaMember, now: JavaMember) -> None:
        """What it does next: it takes an assignment, or gives up what it has."""
        taking = now.taking
        if was.taking is None and taking is not None:
            share, owned = listed(taking.share), was.assigned
            told = f'starts with new target assignment "{share}". Next assignment cleared'
            self._say(me, "HEARTBEAT", f"Reconciliation {told}")
            new, gone = taking.share & ~owned, owned & ~taking.share
            told = f"{len(numbers(new))} newly added, {len(numbers(gone))} revoked partitions"
            size = len(numbers(taking.share))
            based = f"based on assignment of {size} partitions"
            self._say(me, "COOPASSIGN", f"{GROUP}: incremental assignment: {told} {based}")
            if gone:
                self._delegates(me, "revoke", gone, "sync group revoke")
                self._modified(me, gone, added=False)
            else:
                self._assigns(me, new, "sync group assign")
        if me not in self._losing or self._waits(me, now):
            return
        self._losing.discard(me)
        if me in self._late:
            self._assigned(me, self._late.pop(me))
        join = self._join.get(me, "init")
        told = f"Revoking assignment as lost an rejoining in join state {join}"
        self._say(me, "HEARTBEAT", told)
        self._revokes_all(me, FENCED, lost=True)

    def _waits(self, me: int, now: JavaMember) -> bool:
        """Is there still something that the application has to do before it gives up all?"""
        if now.running is not None:
            return now.running.calls != Calls.LOST
        first = now.waiting[0].calls if now.waiting else Calls.LOST
        return first != Calls.LOST or me in self._late


def listed(partitions: int, *, named: bool = True) -> str:
    """A set of partitions, as librdkafka prints it in a line."""
    topic = "t" if named else "(null)"
    return ", ".join(f"{topic}({TOPIC_ID})[{p}]" for p in numbers(partitions))
