"""The requests of groups: what they say in Kafka's fields becomes a request of the model, and the
model's answer an answer in Kafka's fields.

What Kafka answers before it looks at a group's memory is answered here (GroupCoordinatorService,
GroupMetadataManager): names and timeouts that no group takes, groups that do not exist, protocols
that do not fit.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from math import inf
from typing import Any

import attrs
from attrs import Factory, define, field

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import coordinator
from groupcheck.model.protocol.classic.features.takeover import takeover_committed
from groupcheck.model.protocol.classic.group import Phase, is_member
from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_GROUP_ID,
    INVALID_SESSION_TIMEOUT,
    MEMBER_ID_REQUIRED,
    NONE,
    NOT_COORDINATOR,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.messages import (
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)
from groupcheck.oracles.coordinator.group import Group, Id, Member, Waiting
from groupcheck.oracles.coordinator.group_request import GroupRequest
from groupcheck.oracles.coordinator.model import HERE, Model
from groupcheck.oracles.coordinator.offsets import Offsets
from groupcheck.oracles.coordinator.votes import protocol_of, shared

TWO_STEP = 4  # of JoinGroup: a member without an id is told to come again with one (KIP-394)
SKIPS_ASSIGNMENT = 9  # of JoinGroup: a leader that comes back makes no plan (KIP-814)
SEVERAL = 3  # of LeaveGroup: it names several members
NO_GROUP_SAID = 9  # of OffsetCommit: a group that is not there has a code of its own (KIP-848)
NULLABLE_PROTOCOL = 7  # of JoinGroup: the protocol may be missing
MOST_GROUPS = 10_000
_FARTHEST = 400  # how far a generation of a request is taken apart from the running one


@define(eq=False, kw_only=True)
class Groups:
    """All groups of one coordinator. `now` gives seconds."""

    model: Model
    offsets: Offsets
    # The shortest and the longest session timeout that a member may ask for, in ms.
    session_ms: tuple[int, int]
    delay_s: float
    load_s: float
    # What is worth a line: refusals that Kafka would not have made.
    say: Callable[[str], None]
    now: Callable[[], float] = time.monotonic
    new_name: Callable[[str], str] = field(default=lambda prefix: f"{prefix}-{uuid.uuid4()}")
    groups: dict[str, Group] = Factory(dict)
    # The coordinator loads its groups until then.
    loading_until: float = 0.0
    # When a group is to be looked at, and for which of these times it waits.
    _due: list[tuple[float, int, str]] = Factory(list)
    _queued: dict[str, float] = Factory(dict)
    _pushes: int = 0

    def join_group(self, request: GroupRequest) -> None:
        values = request.values
        protocols = tuple((p["name"], p["metadata"]) for p in values["protocols"])
        refused = self._refused(values)
        least, most = self.session_ms
        if not refused and not least <= values["sessionTimeoutMs"] <= most:
            refused = INVALID_SESSION_TIMEOUT
        if not refused and not (protocols and values["protocolType"]):
            refused = INCONSISTENT_GROUP_PROTOCOL
        if refused:
            self._not_joined(request, refused)
            return
        name, instance = values["memberId"], self._instance(values)
        group = self.groups.get(values["groupId"])
        if group is None and name:
            self._not_joined(request, UNKNOWN_MEMBER_ID)
            return
        group = group or self._new(values["groupId"])
        if group is None:
            self._not_joined(request, COORDINATOR_NOT_AVAILABLE)
            return
        id = self._place(group, name, instance)
        if id is None:
            self.say(f"group {group.name}: no room for another member id, answered 81")
            self._not_joined(request, GROUP_MAX_SIZE_REACHED)
            return
        session_ms = values["sessionTimeoutMs"]
        said = Member(
            name=name,
            instance=instance,
            client=request.client,
            host="/127.0.0.1",
            session_s=session_ms / 1000,
            rebalance_s=max(0, values.get("rebalanceTimeoutMs", session_ms)) / 1000,
            protocol_type=values["protocolType"],
            protocols=protocols,
        )
        self._join(request, group, id, said)

    def _join(self, request: GroupRequest, group: Group, id: Id, said: Member) -> None:
        index, number = id
        seat = group.memory.seats[index][number]
        full = not coordinator.accepts(group.core, seat, self.model.scope)
        if not full and not self._agrees(group, said):
            self._not_joined(request, INCONSISTENT_GROUP_PROTOCOL)
            return
        if not full and number == NO_ID and self._revotes(group, index, said):
            # The members vote for another protocol then, so a takeover starts a round, as in a
            # group that waits for SyncGroup.
            core = evolve(group.core, phase=Phase.COMPLETING)
            group.memory = attrs.evolve(group.memory, core=core)
        asks = JoinGroup(number, group.claimed(id, said.protocols))

        def reply(answer: Answer, rules: tuple[str, ...]) -> None:
            self._joined(request, group, index, answer, rules)

        two_step = request.version >= TWO_STEP
        self._ask(group, index, asks, Waiting(reply, joins=said), two_step)

    def _place(self, group: Group, name: str, instance: str | None) -> Id | None:
        """Where the member sits, or will sit; None if there is no room."""
        id = group.who(name, instance)
        new = not name and (instance is None or id[1] != NO_ID)
        if not new:
            return id
        index = group.free()
        if index is None:
            return None
        group.place(index, static=instance is not None)
        return index, NO_ID

    def _agrees(self, group: Group, said: Member) -> bool:
        """Do all members support a protocol that the joiner lists (supportsProtocols)? An Empty
        group takes any.
        """
        if group.core.phase == Phase.EMPTY or not group.core.members:
            return True
        common = shared([member.protocols for _, member in group.joined])
        listed = {name for name, _ in said.protocols}
        return said.protocol_type == group.protocol_type and not listed.isdisjoint(common)

    def _revotes(self, group: Group, index: int, said: Member) -> bool:
        """Would the members choose another protocol, once this one has taken the place of another
        id?
        """
        if group.core.phase != Phase.STABLE:
            return False
        lists = [said.protocols if at == index else m.protocols for (at, _), m in group.joined]
        return protocol_of(lists) != group.protocol

    def _not_joined(self, request: GroupRequest, code: int, name: str | None = None) -> None:
        """`name`: the id that the member is given."""
        if name is None:
            name = request.values["memberId"] if code != GROUP_MAX_SIZE_REACHED else ""
        missing = None if request.version >= NULLABLE_PROTOCOL else ""
        about = {"generationId": -1, "protocolType": None, "protocolName": missing, "leader": ""}
        request.answer({"errorCode": code, **about, "memberId": name, "members": []})

    def _joined(
        self,
        request: GroupRequest,
        group: Group,
        index: int,
        answer: Answer,
        rules: tuple[str, ...],
    ) -> None:
        if answer.code != NONE:
            given = answer.code == MEMBER_ID_REQUIRED
            name = group.name_of((index, answer.id)) if given else None
            self._not_joined(request, answer.code, name)
            return
        me, leader = (index, answer.id), group.leader
        takes = any(rule.startswith(takeover_committed.name) for rule in rules)
        skips = request.version >= SKIPS_ASSIGNMENT
        led, members = group.name_of(leader), []
        if leader == me and (skips or not takes):
            members = [
                {
                    "memberId": member.name,
                    "groupInstanceId": member.instance,
                    "metadata": group.subscription(member),
                }
                for _, member in group.joined
            ]
        elif leader == me:
            # Old versions cannot say that it makes no plan: the leader is the id that it had.
            led = group.replaced.get(me, "")
        request.answer(
            {
                "errorCode": NONE,
                "generationId": answer.generation,
                "protocolType": group.protocol_type,
                "protocolName": group.protocol,
                "leader": led,
                "skipAssignment": takes and leader == me,
                "memberId": group.name_of(me),
                "members": members,
            }
        )

    def sync_group(self, request: GroupRequest) -> None:
        def answer(code: int, group: Group | None = None, assignment: bytes = b"") -> None:
            kind, name = (group.protocol_type, group.protocol) if group else (None, None)
            told = {"protocolType": kind, "protocolName": name, "assignment": assignment}
            request.answer({"errorCode": code, **told})

        group = self._existing(request, answer)
        if group is None:
            return
        values = request.values
        index, number = group.who(values["memberId"], self._instance(values))
        said_type, said_name = values.get("protocolType"), values.get("protocolName")
        known = is_member(group.memory.seats[index][number]) and group.core.phase != Phase.EMPTY
        wrong = (said_type not in (None, group.protocol_type)) or (
            said_name not in (None, group.protocol)
        )
        if known and wrong and self._asked_generation(group, values["generationId"]) == HERE:
            answer(INCONSISTENT_GROUP_PROTOCOL)
            return

        def reply(told: Answer, rules: tuple[str, ...]) -> None:
            if told.code == NONE:
                answer(NONE, group, group.assignment(told.share))
            else:
                answer(told.code)

        plan = {a["memberId"]: a["assignment"] for a in values["assignments"]}
        asks = SyncGroup(number, self._asked_generation(group, values["generationId"]))
        self._ask(group, index, asks, Waiting(reply, plan=plan))

    def heartbeat(self, request: GroupRequest) -> None:
        group = self._existing(
            request, lambda code: request.answer({"errorCode": code}), loading=NONE
        )
        if group is None:
            return
        values = request.values
        index, number = group.who(values["memberId"], self._instance(values))
        asks = Heartbeat(number, self._asked_generation(group, values["generationId"]))

        def reply(answer: Answer, rules: tuple[str, ...]) -> None:
            request.answer({"errorCode": answer.code})

        self._ask(group, index, asks, Waiting(reply))

    def leave_group(self, request: GroupRequest) -> None:
        values = request.values
        several = request.version >= SEVERAL
        leavers = values["members"] if several else [{"memberId": values["memberId"]}]

        def refuse(code: int) -> None:
            if several and code == UNKNOWN_MEMBER_ID:
                members = [_left(one, code) for one in leavers]
                request.answer({"errorCode": NONE, "members": members})
            else:
                request.answer({"errorCode": code, "members": []})

        group = self._existing(request, refuse)
        if group is None:
            return
        codes: list[int] = []
        for one in leavers:
            index, number = group.who(one["memberId"], self._instance(one))
            reply = Waiting(lambda answer, rules: codes.append(answer.code))
            self._ask(group, index, LeaveGroup(number), reply)
        loads = COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR
        whole = next((code for code in codes if code in loads or not several), NONE)
        members = [_left(one, code) for one, code in zip(leavers, codes, strict=True)]
        request.answer({"errorCode": whole, "members": members})

    def offset_commit(self, request: GroupRequest) -> None:
        values = request.values
        generation = values.get("generationIdOrMemberEpoch", -1)
        name, instance = values.get("memberId", ""), self._instance(values)
        commit = self.offsets.commit
        group = self.groups.get(values["groupId"])
        if self.offsets.nowhere(request):
            commit(request, NONE)
            return
        if self.loading:
            commit(request, COORDINATOR_LOAD_IN_PROGRESS)
            return
        if generation < 0 and (group is None or group.empty):
            # An administrator, or a consumer that manages its partitions by itself.
            made = group or self._new(values["groupId"])
            commit(request, NONE if made is not None else COORDINATOR_NOT_AVAILABLE)
            return
        if group is None:
            said = request.version >= NO_GROUP_SAID
            commit(request, GROUP_ID_NOT_FOUND if said else ILLEGAL_GENERATION)
            return
        index, number = group.who(name, instance)
        asks = OffsetCommit(number, self._asked_generation(group, generation), 0)
        reply = Waiting(lambda answer, rules: commit(request, answer.code))
        self._ask(group, index, asks, reply)

    # -- Moves of the coordinator

    @property
    def loading(self) -> bool:
        return self.now() < self.loading_until

    @property
    def load_code(self) -> int:
        """The error of requests that no group sees."""
        return COORDINATOR_LOAD_IN_PROGRESS if self.loading else NONE

    def fail_over(self) -> None:
        """The coordinator moves: what waits ends with 16, and the next one loads the groups."""
        now = self.now()
        self.loading_until = now + self.load_s
        for group in self.groups.values():
            group.fail_over(now)
            group.advance(now)
            self._queue(group)

    def advance(self) -> None:
        """Everything that is due happens."""
        now = self.now()
        while self._due and self._due[0][0] <= now:
            at, _, name = heappop(self._due)
            group = self.groups.get(name)
            if self._queued.get(name) == at:
                del self._queued[name]
            if group is not None:
                group.advance(now)
                self._queue(group)

    @property
    def next_due(self) -> float | None:
        """When something may happen next by itself."""
        return self._due[0][0] if self._due else None

    def _queue(self, group: Group) -> None:
        """The group is looked at when its next timer is due."""
        due = group.next_due
        if due is not None and due < self._queued.get(group.name, inf):
            self._queued[group.name] = due
            self._pushes += 1
            heappush(self._due, (due, self._pushes, group.name))

    def _ask(
        self, group: Group, index: int, asks: Request, waiting: Waiting, two_step: bool = True
    ) -> None:
        group.ask(index, asks, waiting, self.now(), two_step)
        self._queue(group)

    # -- Parts

    def _refused(self, values: Mapping[str, Any]) -> int:
        """The error of a request that no group sees; 0 if there is none."""
        if not values["groupId"]:
            return INVALID_GROUP_ID
        return COORDINATOR_LOAD_IN_PROGRESS if self._loads(values["groupId"]) else NONE

    def _instance(self, named: Mapping[str, Any]) -> str | None:
        """The instance id in a request, if the group knows of instances."""
        instance: str | None = named.get("groupInstanceId")
        return instance if self.model.knows_instances else None

    def _loads(self, name: str) -> bool:
        """Is it loading, and does no group of the model say so?"""
        return self.loading and name not in self.groups

    def _existing(
        self, request: GroupRequest, refuse: Callable[[int], None], loading: int | None = None
    ) -> Group | None:
        """The group of the request; None if it was refused."""
        code = self._refused(request.values)
        group = self.groups.get(request.values["groupId"])
        if code == COORDINATOR_LOAD_IN_PROGRESS and loading is not None:
            refuse(loading)
        elif code or group is None:
            refuse(code or UNKNOWN_MEMBER_ID)
        else:
            return group
        return None

    def _new(self, name: str) -> Group | None:
        """A new group; None if there are too many."""
        if len(self.groups) >= MOST_GROUPS:
            self._sweep()
        if len(self.groups) >= MOST_GROUPS:
            self.say(f"group {name}: there are {MOST_GROUPS:,} groups, answered 15")
            return None
        group = Group(
            name,
            self.model,
            delay_s=self.delay_s,
            load_s=self.load_s,
            new_name=self.new_name,
        )
        self.groups[name] = group
        return group

    def _sweep(self) -> None:
        """Forgets groups that have neither members nor offsets."""
        for name, group in list(self.groups.items()):
            if not group.members and not self.offsets.has(name):
                del self.groups[name]

    def _asked_generation(self, group: Group, generation: int) -> int:
        """A generation of a request as the model counts it."""
        apart = generation - group.generation
        return HERE + max(-_FARTHEST, min(apart, _FARTHEST))


def _left(one: Mapping[str, Any], code: int) -> dict[str, Any]:
    about = {"memberId": one["memberId"], "groupInstanceId": one.get("groupInstanceId")}
    return {**about, "errorCode": code}
