"""Runs of the model's classic group, printed as the log that a real coordinator would write, in the
words of several versions.

The printer looks at single firings of rules (`core` and `seats` before and after), so it knows the
coordinator's steps, and nothing of the replay.
"""

from __future__ import annotations

import random
import re
from typing import Any

from attrs import Factory, define, frozen

from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Firing
from groupcheck.model.protocol.classic.group import REST, Core, Leader, Phase, Seats, leader_of
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.generate.run import Names, Rounds, Run, run_of
from groupcheck.oracles.generate.walk import Enabled, Pair, semantics_of, walk


@frozen
class Style:
    """How a version of Kafka prints: `joins` (4.0 on: also the second step of a join), `scala`
    (suffixes, leaves printed last).

    `debug`: why a round cannot end yet. `old`: a version before 2.8, which prints no sizes, no ids
    and no leader (and 1.1 neither reasons nor leaves).
    """

    name: str
    scala: bool = False
    joins: bool = True
    old: str = ""
    debug: bool = False


OLD_STYLES = (
    Style("scala-2.4", scala=True, joins=False, old="2.4"),
    Style("scala-1.1", scala=True, joins=False, old="1.1"),
)
STYLES = (
    Style("java-4"),
    Style("java-4-debug", debug=True),
    Style("java-3.8", joins=False),
    Style("scala-3.5", scala=True, joins=False),
)


@define
class Printer:
    """Turns firings into lines, the listener of a walk. Each id of the model gets a member id of
    its own when it appears.
    """

    style: Style
    semantics: Semantics
    members: int
    random: random.Random
    names: Names = Factory(Names)
    lines: list[tuple[int, str]] = Factory(list)
    clock: int = 0
    rounds: Rounds = Factory(Rounds)
    rest: tuple[int, Rounds, int] = Factory(lambda: (0, Rounds(), 0))
    before: tuple[int, Rounds] = Factory(lambda: (0, Rounds()))
    late: str = ""
    leader: Leader | None = None  # before the step at hand
    resting: bool = True  # no walk over all members is on its way
    foreign: bool = False  # a step that the old coordinator does not take

    def memory(self, state: State) -> tuple[Core, dict[tuple[int, int], Any]]:
        core = state[self.semantics.at["core", None]]
        assert isinstance(core, Core)
        seats: dict[tuple[int, int], Any] = {}
        for i in range(self.members):
            mine = state[self.semantics.at["seats", i]]
            assert isinstance(mine, Seats)
            seats.update({(i, id): seat for id, seat in mine})
        return core, seats

    def say(self, sentence: str) -> None:
        sentence = older(sentence, self.style.old) if self.style.old else sentence
        if not sentence:
            return
        self.clock += self.random.choice((0, 1, 7))
        if self.style.scala:
            self.lines.append(
                (
                    self.clock,
                    (
                        f"INFO [GroupCoordinator 1]: {sentence}"
                        " (kafka.coordinator.group.GroupCoordinator)"
                    ),
                )
            )
        else:
            logger = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"
            self.lines.append(
                (
                    self.clock,
                    (
                        "INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=7]"
                        f" {sentence} {logger}"
                    ),
                )
            )

    def preferred(self, state: State, enabled: Enabled) -> list[Pair]:
        return []

    def step(self, firing: Firing, before: State, after: State) -> None:
        self.before = len(self.lines), self.rounds

    def taken_back(self) -> bool:
        """A step that this version of the coordinator does not take."""
        foreign, self.foreign = self.foreign, False
        if foreign:
            self.late = ""
            lines, self.rounds = self.before
            del self.lines[lines:]
        return foreign

    def rested(self, generation: int, quiet: bool) -> None:
        if quiet and not self.late:
            self.rest = len(self.lines), self.rounds, generation

    def name(self, who: tuple[int, int]) -> str:
        return self.names.mark(who)

    def fired(self, firing: Firing, before: State, after: State) -> None:
        """Prints what one firing does."""
        core, seats = self.memory(before)
        self.leader = leader_of(before[self.semantics.at["seats", i]] for i in range(self.members))
        then, left = self.memory(after)
        for who in left.keys() - seats.keys():
            self.names.add(who, self.random)
        self.rounds = self.rounds.after(firing, core, seats, then, left, self.leader, self.names)
        self.resting = not then.errands and after[self.semantics.at["walk", None]] == REST
        self._rule(firing, core, seats, then, left)
        if (
            self.style.debug
            and then.generation == core.generation
            and core.phase == Phase.PREPARING
        ):
            self._still_open(firing.name, then)
        if then.generation == core.generation + 1:
            self._completion(core, seats, then, left)
        if self.late and self.resting:
            self.say(self.late)
            self.late = ""

    def _collection(self, names: list[str]) -> str:
        return f"Set({', '.join(names)})" if self.style.scala else f"[{', '.join(names)}]"

    def _prepare(self, core: Core, reason: str) -> None:
        if self.style.scala:
            said = (
                "Preparing to rebalance group <:g:> in state PreparingRebalance with old"
                f" generation <:n{core.generation}:> (__consumer_offsets-7)"
            )
            self.say(f"{said} (reason: {reason})")
        else:
            self.say(
                "Preparing to rebalance group <:g:> in state PreparingRebalance with old"
                f" generation <:n{core.generation}:> (reason: {reason})."
            )

    def _rule(
        self, firing: Firing, core: Core, seats: dict[Any, Any], then: Core, left: dict[Any, Any]
    ) -> None:
        name, _, label = firing.name.partition(":")
        gone = [who for who in seats if who not in left]
        settled = core.phase in (Phase.COMPLETING, Phase.STABLE)
        if name == "join_group":
            self._join(label, core, seats, left)
        elif (
            name == "sync_group"
            and core.phase == Phase.COMPLETING
            and self.leader is not None
            and label in ("led", "parked")
        ):
            synced = [who for who in left if left[who].sync and not seats[who].sync]
            if label == "led" or synced == [self.leader]:
                said = (
                    f"Assignment received from leader {self.name(self.leader)} for group <:g:> for"
                    f" generation <:n{core.generation}:>."
                )
                self.say(f"{said} The group has {core.members} members, 0 of which are static.")
        elif name == "leave_group" and label in ("left", "pending"):
            self._leave(label, core, gone[0], settled)
        elif name == "session_timeout":
            self._expired(label, core, gone[0], settled)
        elif name == "new_member_timeout":
            self._expired("member", core, gone[0], settled)
        elif name == "sync_timeout":
            late = [self.name(who) for who in seats if seats[who].due]
            self._prepare(
                core, f"Removing {self._collection(late)} on pending sync request expiration"
            )
        elif name == "append_failed":
            assert self.leader is not None
            self._prepare(
                core,
                "Error COORDINATOR_NOT_AVAILABLE when storing group assignment during SyncGroup"
                f" (member: {self.name(self.leader)})",
            )
        elif name == "fail_over":
            where = (
                "Unloading group metadata for <:g:> with generation"
                if self.style.scala
                else "[GroupId=<:g:>] Unloading group metadata for generation"
            )
            self.say(f"{where} <:n{core.generation}:>{'' if self.style.scala else '.'}")
            loaded = f"Loading group metadata for <:g:> with generation <:n{then.generation}:>"
            self.late = loaded if self.style.scala else "loaded"
        if self.late == "loaded" and self.resting:
            self.late = f"Loaded classic group <:g:> with {then.members} members."

    def _join(self, label: str, core: Core, seats: dict[Any, Any], left: dict[Any, Any]) -> None:
        new = [who for who in left if who not in seats]
        if label == "id_required":
            tail = "request" if self.style.scala else "requesting"
            said = (
                f"Dynamic member with unknown member id joins group <:g:> in {core.phase} state."
                f" Created a new member id {self.name(new[0])}"
            )
            self.say(f"{said} and {tail} the member to rejoin with this id.")
        elif label == "added":
            (who,) = new or [who for who in left if left[who].member and not seats[who].member]
            if not new and self.style.joins:
                self.say(
                    f"Pending dynamic member with id {self.name(who)} joins group <:g:> in"
                    f" {core.phase} state. Adding to the group now."
                )
            elif new:
                if self.style.scala:
                    said = (
                        f"Dynamic Member with unknown member id joins group <:g:> in {core.phase}"
                        f" state. Created a new member id {self.name(who)}"
                    )
                    self.say(f"{said} for this member and add to the group.")
                else:
                    said = (
                        "Dynamic member with unknown member id joins group <:g:> in state"
                        f" {core.phase}. Created a new member id {self.name(who)}"
                    )
                    self.say(f"{said} and added the member to the group.")
            if core.phase != Phase.PREPARING:
                none = "None" if self.style.scala else "null"
                self._prepare(
                    core,
                    f"Adding new member {self.name(who)} with group instance id {none}; client"
                    " reason: not provided",
                )
        elif label == "restarted":
            (who,) = [who for who in left if left[who].join and not seats[who].join]
            leads = self.leader == who and core.phase == Phase.STABLE
            what = (
                f"Leader {self.name(who)} re-joining group"
                if leads
                else f"Updating metadata for member {self.name(who)}"
            )
            self._prepare(core, f"{what} during {core.phase}; client reason: not provided")

    def _still_open(self, name: str, then: Core) -> None:
        if name not in (
            "join_group:added",
            "join_group:parked",
            "leave_group:left",
            "leave_group:pending",
        ):
            return
        if then.initial:
            self.say(
                "Cannot complete join phase of group <:g:> because this is an initial rebalance."
            )
            return
        counts = (
            f"Members={then.members}, AwaitingJoinResponses={then.parked},"
            f" PendingJoinMembers={then.pending}."
        )
        self.say(
            "Cannot complete join phase of group <:g:> because not all the members have rejoined."
            f" {counts}"
        )

    def _leave(self, label: str, core: Core, who: tuple[int, int], settled: bool) -> None:
        name = self.name(who)
        if self.style.old:
            said = (
                f"Member[group.instance.id None, member.id {name}] in group <:g:> has left,"
                " removing it from the group"
            )
            self.say(
                f"Pending member {name} is leaving group <:g:>." if label == "pending" else said
            )
            self.foreign = label == "pending" and settled
            if settled and label == "left":
                self._prepare(core, f"removing member {name} on LeaveGroup")
            return
        if self.style.scala:
            if label == "pending":
                self.foreign = settled
                self.late = (
                    f"Pending member with memberId={name} has left group <:g:> through explicit"
                    " `LeaveGroup` request"
                )
                return
            if settled:
                self._prepare(
                    core, f"Removing member {name} on LeaveGroup; client reason: not provided"
                )
            metadata = (
                f"MemberMetadata(memberId={name}, groupInstanceId=None, clientId=c,"
                " clientHost=/1.1.1.1, sessionTimeoutMs=6000, "
            )
            metadata += "rebalanceTimeoutMs=9000, supportedProtocols=List(range))"
            self.late = (
                f"Member {metadata} has left group <:g:> through explicit `LeaveGroup`; client"
                " reason: not provided"
            )
            return
        kind = "Member" if label == "left" else "Pending member"
        self.say(
            f"[Group <:g:>] {kind} {name} has left group through explicit `LeaveGroup` request;"
            " client reason: not provided"
        )
        if settled:
            self._prepare(core, f"explicit `LeaveGroup` request for ({name}) members.")

    def _expired(self, label: str, core: Core, who: tuple[int, int], settled: bool) -> None:
        stop = "" if self.style.scala else "."
        self.foreign = self.foreign or (self.style.scala and core.initial)
        if label == "pending":
            self.say(
                f"Pending member {self.name(who)} in group <:g:> has been removed after session"
                " timeout expiration."
            )
            return
        self.say(
            f"Member {self.name(who)} in group <:g:> has failed, removing it from the group{stop}"
        )
        if settled:
            self._prepare(core, f"removing member {self.name(who)} on heartbeat expiration{stop}")

    def _completion(
        self, core: Core, seats: dict[Any, Any], then: Core, left: dict[Any, Any]
    ) -> None:
        missing = [self.name(who) for who in left if left[who].member and not left[who].join]
        if missing:
            self.say(
                "Group <:g:> removed dynamic members who haven't joined:"
                f" {self._collection(missing)}"
            )
        joined = sum(1 for who in left if left[who].member and left[who].join)
        suffix = " (__consumer_offsets-7)" if self.style.scala else ""
        stop = "" if self.style.scala else "."
        if joined:
            self.say(
                f"Stabilized group <:g:> generation <:n{then.generation}:>{suffix} with {joined}"
                f" members{stop}"
            )
        else:
            self.say(
                f"Group <:g:> with generation <:n{then.generation}:> is now empty{suffix}{stop}"
            )


_NEWER = ("joins group <:g:> in", "removed dynamic members")
_UNTOLD = ("is leaving group", "has left, removing", "Pending member")


def older(sentence: str, version: str) -> str:
    """The sentence as an old version prints it; empty if it does not."""
    if any(words in sentence for words in _NEWER) or (
        version == "1.1" and any(words in sentence for words in _UNTOLD)
    ):
        return ""
    sentence = re.sub(r"; client reason: not provided\)$", ")", sentence)
    sentence = re.sub(r" with \d+ members$", "", sentence)
    sentence = re.sub(
        r"received from leader \S+ for (.*)\. The group has.*",
        r"received from leader for \1",
        sentence,
    )
    sentence = re.sub(
        r"(?:Leader|Updating metadata for member) (\S+) (?:re-joining group )?during \w+",
        r"Updating metadata for member \1",
        sentence,
    )
    sentence = re.sub(r"Error \w+ when storing", "error when storing", sentence).replace(
        "with group instance id", "with group instanceid"
    )
    if version == "1.1":
        sentence = re.sub(r" \(reason: .*", "", sentence).replace(
            " in state PreparingRebalance", ""
        )
    return sentence


def broker_run(seed: int, style: Style, scope: Scope, steps: int, *, to_rest: bool = False) -> Run:
    """The coordinator's log of one random run of the model; `to_rest`: only until the group was
    last as empty as at the beginning.
    """
    choose = random.Random(seed)
    printer = Printer(style, semantics_of(scope), scope.members, choose)
    walk(scope, choose, steps, printer)
    lines, rounds, generation = printer.rest if to_rest else (len(printer.lines), printer.rounds, 0)
    return run_of(printer.lines[:lines], rounds.told, printer.names, generation)
