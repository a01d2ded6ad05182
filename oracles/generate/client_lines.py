"""Runs of the model's classic group, printed as the logs of their members beside the request log:
what a Java client 4.3.0 writes (INFO and WARN, and DEBUG for heartbeats), and who owned what when;
and as the log of the coordinator 4.x, whose clock is the same.

The sentences are those of `AbstractCoordinator`, `ConsumerCoordinator` and
`ConsumerRebalanceListenerInvoker`, as `groupcheck record --client java` shows them.
"""

from __future__ import annotations

import math
import random

from attrs import Factory, define, evolve, field

from groupcheck.model.engine.step import State
from groupcheck.model.engine.verdict import Firing
from groupcheck.model.protocol.classic import client, client_faults
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    ILLEGAL_GENERATION,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID
from groupcheck.oracles.generate.broker_lines import STYLES, Printer
from groupcheck.oracles.generate.request_lines import RequestPrinter, as_run
from groupcheck.oracles.generate.run import Clients, Owned, Process, Run
from groupcheck.oracles.generate.template import compiled
from groupcheck.oracles.generate.walk import FAULTY, semantics_of, walk

COORDINATOR, INVOKER = "ConsumerCoordinator", "ConsumerRebalanceListenerInvoker"
NODE = "b1:9092 (id: 2147483646 rack: null isFenced: false)"
SAYS = {
    COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    NOT_COORDINATOR: "This is not the correct coordinator.",
    ILLEGAL_GENERATION: "Specified group generation id is not valid.",
    UNKNOWN_MEMBER_ID: "The coordinator is not aware of this member.",
    REBALANCE_IN_PROGRESS: "The group is rebalancing, so a rejoin is needed.",
}
CALLED = {ILLEGAL_GENERATION: "ILLEGAL_GENERATION", UNKNOWN_MEMBER_ID: "UNKNOWN_MEMBER_ID"}
LOST = (
    "Giving away all assigned partitions as lost since generation/memberID has been"
    " reset,indicating that consumer is in old state or no longer part of the group"
)
POLL = (
    "consumer poll timeout has expired. This means the time between subsequent calls to poll() was"
    " longer than the configured max.poll.interval.ms, which typically implies that the poll loop"
    " is spending too much time processing messages. You can address this either by increasing"
    " max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with"
    " max.poll.records."
)


Printed = tuple[int, tuple[Owned, ...], int, int]


@define
class ClientPrinter(RequestPrinter):
    """Prints members beside their requests. It makes no random choice of its own, so the request
    log is the same with and without it.
    """

    said: list[tuple[int, Process, str]] = Factory(list)
    owned: list[Owned] = Factory(list)
    troubles: list[tuple[int, Process, str]] = Factory(list)
    # The model's process -> how many consumers it has been.
    lives: dict[int, int] = Factory(dict)
    # The model's process -> the mark of its member id.
    marks: dict[int, str] = Factory(dict)
    coordinator: Printer = field(init=False)
    # What was printed and true when the group was last empty: how many lines, who had owned what,
    # how many troubles, how many lines of the coordinator.
    rest_of_clients: Printed = (0, (), 0, 0)

    def __attrs_post_init__(self) -> None:
        self.coordinator = Printer(
            STYLES[0], self.semantics, self.scope.members, random.Random(0), self.names, pauses=(0,)
        )

    @property
    def printed(self) -> Printed:
        """So far."""
        counts = len(self.troubles), len(self.coordinator.lines)
        return len(self.said), tuple(self.owned), *counts

    def rested(self, generation: int, quiet: bool) -> None:
        before = self.rest
        super().rested(generation, quiet)
        if self.rest is not before:
            self.rest_of_clients = self.printed

    def fired(self, firing: Firing, before: State, after: State) -> None:
        super().fired(firing, before, after)
        self.coordinator.clock = self._now()
        self.coordinator.named(firing, before, after)
        if firing.me is None:
            return
        at = self.semantics.at["client", firing.me]
        was, now = before[at], after[at]
        assert isinstance(was, Client)
        assert isinstance(now, Client)
        if now.id not in (NO_ID, was.id):
            self.marks[firing.me] = self.names.mark((firing.me, now.id))
        self._client(firing, firing.me, was, now, before)

    def _now(self) -> int:
        return math.ceil(self.now)

    def _process(self, me: int) -> Process:
        return Process(me, self.lives.get(me, 0))

    def _say(self, me: int, text: str, level: str = "INFO", logger: str = COORDINATOR) -> None:
        line = (
            f"{level} [Consumer clientId=client-{me}, groupId=<:g:>] {text}"
            f" (org.apache.kafka.clients.consumer.internals.{logger})"
        )
        self.said.append((self._now(), self._process(me), line))

    def _member(self, me: int, generation: int) -> str:
        return (
            f"Generation{{generationId=<:n{generation}:>, memberId='{self.marks.get(me, '')}',"
            " protocol='range'}"
        )

    def _client(self, firing: Firing, me: int, was: Client, now: Client, before: State) -> None:
        rule, _, label = firing.name.partition(":")
        link = before[self.semantics.at["link", me]]
        code = link.answer.code if link.answer is not None else 0
        if rule in (client.send_join.name, client_faults.late_commit.name):
            self._joins(me, was, now)
        elif rule == client.join_answer.name:
            self._join_answer(me, label, was, now, code)
        elif rule == client.sync_answer.name:
            self._sync_answer(me, label, was, now, code)
        elif rule == client.heartbeat_answer.name:
            self._heartbeat_answer(me, label, was, code)
        elif rule == client.commit_answer.name and label == "refused":
            self._say(
                me, f"OffsetCommit failed with {self._member(me, was.generation)}: {SAYS[code]}"
            )
            self._reset(me, code, "OFFSET_COMMIT")
        elif rule == client.commit_answer.name and label == "rebalancing" and now.rejoin:
            self._say(me, "Request joining group due to: group is already rebalancing")
        elif rule == client_faults.poll_timeout.name:
            self._poll_timeout(me)
        elif rule == client_faults.close.name:
            self._closes(me, was, left=label != "unheard")
        elif rule == client_faults.crash.name:
            self.troubles.append((self._now(), self._process(me), "killed"))
            self._give_up(me, was.owned, "killed")
        if rule == client.join_complete.name or (
            rule == client.sync_answer.name
            and label == "assigned"
            and now.granted == client.NOTHING
        ):
            self._install(me, now)
        if now == Client():
            self.marks.pop(me, None)

    def _joins(self, me: int, was: Client, now: Client) -> None:
        if me not in self.marks:  # it starts
            self.lives[me] = self.lives.get(me, 0) + 1
            self.marks[me] = ""
            self._say(me, "Subscribed to topic(s): t", logger="ClassicKafkaConsumer")
            self._say(me, f"Discovered group coordinator {NODE}")
        if now.state != Member.PREPARING:  # the commit before JoinGroup
            return
        if was.prepare != client.Prepare.DONE and was.owned:
            lost = was.generation == NO_GENERATION
            if lost:
                self._say(me, LOST)
            self._take_away(me, was.owned, "lost" if lost else "revoked")
        self._say(me, "(Re-)joining group")

    def _take_away(self, me: int, owned: int, how: str) -> None:
        word = "Lost" if how == "lost" else "Revoke"
        self._say(me, f"{word} previously assigned partitions {_names(owned)}", logger=INVOKER)
        self._give_up(me, owned, how)

    def _give_up(self, me: int, owned: int, how: str) -> None:
        """The truth about what the application was told, or is not told any more."""
        process = self._process(me)
        self.owned = [
            evolve(one, until=self._now(), how=how)
            if one.process == process and one.until is None and owned >> one.partition & 1
            else one
            for one in self.owned
        ]

    def _install(self, me: int, now: Client) -> None:
        self._say(
            me, f"Notifying assignor about the new Assignment(partitions={_names(now.owned)})"
        )
        self._say(me, f"Adding newly assigned partitions: {_names(now.owned)}", logger=INVOKER)
        process = self._process(me)
        self.owned += [Owned(process, p, self._now()) for p in _partitions(now.owned)]

    def _join_answer(self, me: int, label: str, was: Client, now: Client, code: int) -> None:
        if label == "joined":
            self._say(
                me,
                f"Successfully joined group with generation {self._member(me, now.generation)}",
            )
        elif label == "id_given":
            reason = f"need to re-join with the given member-id: {self.marks[me]}"
            self._say(me, f"Request joining group due to: {reason}")
        elif label == "refused":
            self._say(
                me,
                f"JoinGroup failed: {SAYS[code]} Need to re-join the group. Sent generation was"
                f" {self._member(me, was.generation)}",
            )
            self._reset(me, code, "JOIN_GROUP")

    def _sync_answer(self, me: int, label: str, was: Client, now: Client, code: int) -> None:
        sent = self._member(me, was.generation)
        if label == "assigned":
            self._say(me, f"Successfully synced group in generation {sent}")
        elif label == "retry" and code == REBALANCE_IN_PROGRESS:
            self._say(
                me,
                "SyncGroup failed: The group began another rebalance. Need to re-join the group."
                f" Sent generation was {sent}",
            )
            self._say(
                me,
                f"Request joining group due to: rebalance failed due to '{SAYS[code]}'"
                " (RebalanceInProgressException)",
            )
        elif label == "retry":
            self._say(
                me,
                f"SyncGroup failed: {SAYS[code]} Marking coordinator unknown. Sent generation was"
                f" {sent}",
            )
        elif label == "refused":
            self._say(
                me,
                f"SyncGroup failed: {SAYS[code]} Need to re-join the group. Sent generation was"
                f" {sent}",
            )
            self._reset(me, code, "SYNC_GROUP")

    def _heartbeat_answer(self, me: int, label: str, was: Client, code: int) -> None:
        if label == "well":
            self._say(me, "Received successful Heartbeat response", "DEBUG")
        elif label == "told_to_rejoin":
            self._say(me, "Request joining group due to: group is already rebalancing")
        elif label == "refused":
            self._say(
                me,
                f"Attempt to heartbeat with {self._member(me, was.generation)} and group instance"
                f" id Optional.empty failed due to {CALLED[code]}, resetting generation",
            )
            self._reset(me, code, "HEARTBEAT")

    def _reset(self, me: int, code: int, api: str) -> None:
        why = f"encountered {CALLED[code]} from {api} response"
        both = " and member id" if code == UNKNOWN_MEMBER_ID else ""
        self._say(me, f"Resetting generation{both} due to: {why}")
        self._say(me, f"Request joining group due to: {why}")

    def _leaves(self, me: int, why: str) -> None:
        who = f"Member {self.marks[me]} sending LeaveGroup request to coordinator {NODE}"
        self._say(me, f"{who} due to {why}")
        for what in ("Resetting generation and member id", "Request joining group"):
            self._say(me, f"{what} due to: consumer pro-actively leaving the group")

    def _poll_timeout(self, me: int) -> None:
        self.troubles.append((self._now(), self._process(me), "poll_timeout"))
        self._say(me, POLL, "WARN")
        self._leaves(me, "consumer poll timeout has expired.")

    def _closes(self, me: int, was: Client, left: bool) -> None:
        if was.owned:
            lost = was.generation == NO_GENERATION
            self._take_away(me, was.owned, "lost" if lost else "revoked")
        if left:
            self._leaves(me, "the consumer is being closed")


def _partitions(owned: int) -> list[int]:
    return [p for p in range(owned.bit_length()) if owned >> p & 1]


def _names(owned: int) -> str:
    return f"[{', '.join(f't-{p}' for p in _partitions(owned))}]"


def client_run(
    seed: int, scope: Scope, steps: int, *, to_rest: bool = False, faulty_share: float = FAULTY
) -> Run:
    """The request log of one random run of the model with the logs of its members; `request_run`
    prints the same run without them.
    """
    choose = random.Random(seed)
    printer = ClientPrinter(semantics_of(scope), scope, choose)
    walk(scope, choose, steps, printer, faulty_share)
    said, owned, troubles, told = printer.rest_of_clients if to_rest else printer.printed
    lines = tuple((at, who, compiled(text)) for at, who, text in printer.said[:said])
    beside = tuple((at, compiled(text)) for at, text in printer.coordinator.lines[:told])
    clients = Clients(lines, owned, tuple(printer.troubles[:troubles]), beside)
    return evolve(as_run(printer, to_rest=to_rest), members=clients)
