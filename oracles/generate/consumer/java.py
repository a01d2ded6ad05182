"""The lines that Java's consumer 4.3 writes with group.protocol=consumer, at INFO and above
(AbstractMembershipManager, ConsumerMembershipManager, AbstractHeartbeatRequestManager,
ConsumerRebalanceListenerInvoker), as `groupcheck record --client java --group-protocol consumer`
shows them.

What an application has is what it was told: from its onPartitionsAssigned to its
onPartitionsRevoked or onPartitionsLost.
"""

from __future__ import annotations

from attrs import Factory, define

from groupcheck.model.engine.step import State
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    NONE,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
    name_of,
)
from groupcheck.model.protocol.consumer import client_faults, java_rules
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.java_member import Calls, Event, JavaMember
from groupcheck.model.protocol.consumer.messages import Kind
from groupcheck.model.protocol.masks import numbers
from groupcheck.oracles.generate.consumer import java_offsets
from groupcheck.oracles.generate.consumer.broker import REGEX, number
from groupcheck.oracles.generate.consumer.course import LOSSES
from groupcheck.oracles.generate.consumer.happenings import Fetched
from groupcheck.oracles.generate.consumer.java_offsets import CONSUMER, MEMBERSHIP
from groupcheck.oracles.generate.consumer.member_words import MemberWords
from groupcheck.oracles.generate.consumer.records import LEAVING_EPOCHS
from groupcheck.oracles.generate.run import Committed, Process

INVOKER, BEATS = "ConsumerRebalanceListenerInvoker", "ConsumerHeartbeatRequestManager"
COORDINATOR = "CoordinatorRequestManager"
NODE = "Coordinator(key='<:g:>', nodeId=1, host='b1', port=9092, errorCode=0, errorMessage='')"
ADDRESS = "b1:9092 (id: 2147483646 rack: null isFenced: false)"
POLL = (
    "Consumer poll timeout has expired. This means the time between subsequent calls to poll() was"
    " longer than the configured max.poll.interval.ms, which typically implies that the poll loop"
    " is spending too much time processing messages. You can address this either by increasing"
    " max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with"
    " max.poll.records."
)
TOPICS = "Subscribed to topic(s): t"
REQUEST = "ConsumerGroupHeartbeatRequest"
_SAID = {
    Calls.REVOKED: "Revoke previously assigned partitions",
    Calls.LEAVING: "Revoke previously assigned partitions",
    Calls.CLOSING: "Revoke previously assigned partitions",
    Calls.ASSIGNED: "Adding newly assigned partitions:",
    Calls.LOST: "Lost previously assigned partitions",
}


@define
class JavaWords(MemberWords):
    """The lines of Java's members, and what their applications had."""

    # Process -> since when its application has not polled.
    _late: dict[int, float] = Factory(dict)
    # Those that have found their coordinator.
    _began: set[Process] = Factory(set)
    # Process -> the number of the assignment that it was given last.
    _local: dict[int, int] = Factory(dict)
    # Those whose commits have an epoch.
    _epochs: set[int] = Factory(set)

    def _steps(
        self, me: int, rule: str, label: str, before: State, was: JavaMember, now: JavaMember
    ) -> None:
        if rule == java_rules.application_subscribes.name:
            self._subscribes(me, regex=bool(now.pattern))
        elif rule == java_rules.java_hears.name:
            self._hears(me, label, before, was, now)
        elif rule == java_rules.java_poll_timeout.name:
            self._say(me, BEATS, POLL, "WARN")
            self._late[me] = self.records.now
        elif rule == java_rules.application_polls.name and was.state == Member.STALE:
            self._polls_again(me)
        elif rule == java_rules.application_unsubscribes.name and label == "called":
            self._releases(me, was.assigned)
        elif rule == client_faults.crash.name:
            self._gives_up(me, -1, "killed")
            return
        if rule in LOSSES:
            self._say(me, COORDINATOR, _gone("null"))  # as Java prints a connection that broke
        if not was.known and now.known:
            self._say(me, COORDINATOR, f"Discovered group coordinator {NODE}")
        if rule == java_rules.java_callback_returns.name and label == "left":
            self._say(
                me,
                MEMBERSHIP,
                f"Member {self._id(me)} completed callback to release assignment. It will proceed"
                " to clear its assignment and send a leave group heartbeat",
            )
        self._given(me, was, now)
        if now.running is not None and was.running is None:
            self._calls(me, now.running, was)
        self._moves(me, rule, label, was, now)
        self._takes(me, was, now)
        self._interrupted(me, was, now)
        if now.beats and self.records.known.get(me, 0) > 0:
            self._epochs.add(me)

    def hears(self, happening: Committed | Fetched) -> None:
        me = happening.process
        if isinstance(happening, Committed):
            said = java_offsets.committed(happening, self._id(me))
        else:
            said = java_offsets.fetched(happening)
        for level, logger, text, thrown in said:
            self._say(me, logger, text, level, thrown)

    def _say(self, me: int, logger: str, text: str, level: str = "INFO", thrown: str = "") -> None:
        """`thrown`: the line of an exception."""
        # ConsumerUtils is static, with no LogContext: its lines have no prefix.
        in_context = logger != java_offsets.UTILS
        prefix = f"[Consumer clientId=client-{me}, groupId=<:g:>] " if in_context else ""
        line = f"{level} {prefix}{text} (org.apache.kafka.clients.consumer.internals.{logger})"
        line = f"{line}\n{thrown}" if thrown else line
        self.lines.append((self.records.now_ms, self.process(me), line))

    def _moved(self, me: int, before: Member, after: Member | str, epoch: int) -> None:
        to = after if isinstance(after, str) else after.name
        self._moved_by_name(me, before.name, to, epoch)

    def _moved_by_name(self, me: int, before: str, after: str, epoch: int) -> None:
        self._say(
            me,
            MEMBERSHIP,
            f"Member {self._id(me)} with epoch {number(epoch)} transitioned from {before} to"
            f" {after}.",
        )

    def _subscribes(self, me: int, *, regex: bool) -> None:
        self._local[me] = -1
        self._epochs.discard(me)
        self._say(me, CONSUMER, f"Subscribing to regular expression {REGEX}" if regex else TOPICS)
        if self.process(me) not in self._began:
            self._began.add(self.process(me))
            self._say(me, COORDINATOR, f"Discovered group coordinator {NODE}")

    # -- its state

    def _moves(self, me: int, rule: str, label: str, was: JavaMember, now: JavaMember) -> None:
        """The changes of its state, which may be several in one step of the model."""
        closed = now == JavaMember() and label == "closed"
        fenced = rule == java_rules.java_hears.name and label == "fenced"
        if was.state == now.state and not closed and not fenced:
            return
        epoch = self.records.known.get(me, 0)
        if closed or now.state == Member.UNSUBSCRIBED:
            self._leaves(me, was.state, fenced)
            if closed:
                self._say(me, CONSUMER, "Completed leaving the group")
        elif now.state == Member.STALE:
            self._moved(me, was.state, Member.PREPARE_LEAVING, self._sent(me))
            self._forgets_epoch(me)
            self._moved(me, Member.PREPARE_LEAVING, "LEAVING", -1)
            self._moved_by_name(me, "LEAVING", Member.STALE.name, -1)
        elif now.state == Member.JOINING:
            if fenced:  # it had nothing, so nothing is called
                self._moved(me, was.state, Member.FENCED, self._sent(me))
                self._forgets_epoch(me)
                self._moved(me, Member.FENCED, Member.JOINING, 0)
            else:
                self._moved(me, was.state, Member.JOINING, 0)
        elif now.state in (Member.FENCED, Member.FATAL):
            self._moved(me, was.state, now.state, self._sent(me))
            if now.state == Member.FATAL:
                told = f"Member {self._id(me)} with epoch {number(self._sent(me))}"
                self._say(me, MEMBERSHIP, f"{told} transitioned to fatal state", "ERROR")
            self._forgets_epoch(me)
        else:
            self._moved(me, was.state, now.state, epoch)

    def _forgets_epoch(self, me: int) -> None:
        """Its commits have no epoch any more (CommitRequestManager.onMemberEpochUpdated)."""
        if me in self._epochs:
            self._epochs.discard(me)
            self._say(
                me,
                java_offsets.REQUESTS,
                f"Member {self._id(me)} won't include epoch in following offset commit/fetch"
                " requests because it has left the group.",
            )

    def _sent(self, me: int) -> int:
        """The epoch that it had before this step."""
        return self.records.knew.get(me, 0)

    def _leaves(self, me: int, state: Member, fenced: bool) -> None:
        last = LEAVING_EPOCHS[Kind.PARK if self.records.static(me) else Kind.LEAVE]
        if fenced:
            told = f"Member {self._id(me)} with epoch {number(self._sent(me))} got fenced but it is"
            self._say(
                me,
                MEMBERSHIP,
                f"{told} already preparing to leave the group, so it will stop sending heartbeat"
                " and won't attempt to send the leave request or rejoin.",
            )
        if state != Member.PREPARE_LEAVING:
            self._moved(me, state, Member.PREPARE_LEAVING, self._sent(me))
        self._forgets_epoch(me)
        self._moved(me, Member.PREPARE_LEAVING, "LEAVING", last)
        self._moved_by_name(me, "LEAVING", Member.UNSUBSCRIBED.name, last)

    def _releases(self, me: int, assigned: int) -> None:
        self._say(
            me,
            MEMBERSHIP,
            f"Member {self._id(me)} is triggering callbacks to release assignment"
            f" {names(assigned)} and leave group",
        )

    def _polls_again(self, me: int) -> None:
        late = max(0, round(self.records.now - self._late.get(me, self.records.now)))
        self._say(
            me,
            BEATS,
            "Time between subsequent calls to poll() was longer than the configured"
            f" max.poll.interval.ms, exceeded approximately by {late} ms. Member {self._id(me)}"
            " will rejoin the group now.",
            "WARN",
        )

    def _hears(self, me: int, label: str, before: State, was: JavaMember, now: JavaMember) -> None:
        answer = before[self.semantics.at["link", me]].answer
        code, id = answer.code, self._id(me)
        again = code == NONE and answer.assigned is not None and not now.done
        if again and was.state == now.state == Member.RECONCILING:
            self._moved(me, was.state, now.state, self.records.known[me])
        if code == UNKNOWN_MEMBER_ID:
            self._fails(me, f"failed because member {id} is unknown.", code)
        elif code == FENCED_MEMBER_EPOCH:
            epoch = number(self._sent(me))
            self._fails(me, f"failed for member {id} because epoch {epoch} is fenced.", code)
        elif code == COORDINATOR_NOT_AVAILABLE:
            self._fails(
                me,
                f"failed because the group coordinator Optional[{NODE}] is not available. Will"
                " attempt to find the coordinator again and retry",
                code,
            )
            self._say(me, COORDINATOR, _gone("The coordinator is not available."))
        elif code in (UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID):
            kind = "unreleased" if code == UNRELEASED_INSTANCE_ID else "fenced"
            self._say(
                me, BEATS, f"{REQUEST} failed due to {kind} instance id i{me}: refused.", "ERROR"
            )
        elif label == "fatal":
            self._say(
                me,
                BEATS,
                f"{REQUEST} failed due to unexpected error {name_of(code)}: refused",
                "ERROR",
            )

    def _fails(self, me: int, why: str, code: int) -> None:
        self._say(me, BEATS, f"{REQUEST} {why} in 0ms: {name_of(code)}")

    # -- its assignment

    def _given(self, me: int, was: JavaMember, now: JavaMember) -> None:
        if not now.given:
            self._local[me] = -1
        elif not was.given or now.target != was.target:
            self._local[me] = self._local.get(me, -1) + 1

    def _takes(self, me: int, was: JavaMember, now: JavaMember) -> None:
        """A reconciliation begins, or begins to revoke."""
        taking = now.taking
        if taking is None:
            return
        if was.taking is None:
            owned, share = was.assigned, taking.share
            told = (
                ("Member:", self._id(me)),
                ("Assigned partitions:", names(share)),
                ("Current owned partitions:", names(owned)),
                ("Added partitions (assigned - owned):", names(share & ~owned)),
                ("Revoked partitions (owned - assigned):", names(owned & ~share)),
            )
            rows = "".join(f"\n\t{name:<43}{value}" for name, value in told)
            text = f"Reconciling assignment with local epoch {self._local.get(me, 0)}{rows}\n"
            self._say(me, MEMBERSHIP, text)
        if len(now.waiting) > len(was.waiting) and now.waiting[-1].calls == Calls.REVOKED:
            gone = now.waiting[-1].partitions
            self._say(me, MEMBERSHIP, f"Revoking previously assigned partitions {names(gone)}")

    def _interrupted(self, me: int, was: JavaMember, now: JavaMember) -> None:
        """What it was taking comes to nothing (maybeAbortReconciliation)."""
        if was.taking is None or now.taking is not None or not was.aborted:
            return
        out = f"the member already transitioned out of the reconciling state into {was.state.name}"
        why = "the member has re-joined the group" if was.taking.rejoined else out
        told = f"Interrupting reconciliation that is not relevant anymore because {why}"
        self._say(me, MEMBERSHIP, told)

    def _calls(self, me: int, event: Event, was: JavaMember) -> None:
        """A callback of the application begins."""
        calls = event.calls
        some = was.assigned if calls == Calls.CLOSING else event.partitions
        lost = calls in (Calls.CLOSING, Calls.LEAVING) and self.records.known.get(me, 0) <= 0
        said = _SAID[Calls.LOST if lost else calls]
        self._say(me, INVOKER, f"{said} {names(some)}")
        if calls == Calls.ASSIGNED:
            self.spans.begin(self.process(me), some, self.records.now_ms)
        else:
            self._gives_up(me, some, "lost" if lost or calls == Calls.LOST else "revoked")

    def _gives_up(self, me: int, some: int, how: str) -> None:
        self.spans.end(self.process(me), some, self.records.now_ms, how)


def _gone(why: str) -> str:
    return (
        f"Group coordinator {ADDRESS} is unavailable or invalid due to cause: {why}. Rediscovery"
        " will be attempted."
    )


def names(partitions: int) -> str:
    """A set of partitions, as Java prints it."""
    return f"[{', '.join(f't-{p}' for p in numbers(partitions))}]"
