"""Runs of the model's classic group, printed as the log that a real coordinator would write, in the
words of several versions.

The printer looks at single firings of rules (`core` and `seats` before and after), so it knows the
coordinator's steps, and nothing of the replay.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from attrs import Factory, define, field, frozen

from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Firing
from groupcheck.model.protocol.classic import coordinator, failover, timers
from groupcheck.model.protocol.classic.group import REST, Core, Leader, Phase, Seats, leader_of
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.generate import sentences
from groupcheck.oracles.generate.run import Names, Rounds, Run, Who, run_of
from groupcheck.oracles.generate.walk import Enabled, Pair, semantics_of, walk

JAVA = (
    "INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=7] {}"
    " (org.apache.kafka.coordinator.group.GroupMetadataManager)"
)
SCALA = "INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.GroupCoordinator)"
ENTERING = (
    *(f"{coordinator.join_group.name}:{label}" for label in ("added", "parked")),
    *(f"{coordinator.leave_group.name}:{label}" for label in ("left", "pending")),
)


@frozen
class Style:
    """How a version of Kafka prints."""

    name: str
    # its sentences by key
    words: Mapping[str, str] = field(eq=False)
    # the line around a sentence
    line: str = JAVA
    # a version before 2.8, or ""
    old: str = ""


OLD_STYLES = (
    Style("scala-2.4", sentences.SCALA_2_4, SCALA, "2.4"),
    Style("scala-1.1", sentences.SCALA_1_1, SCALA, "1.1"),
)
STYLES = (
    Style("java-4", sentences.JAVA),
    Style("java-4-debug", sentences.JAVA_DEBUG),
    Style("java-3.8", sentences.JAVA_3_8),
    Style("scala-3.5", sentences.SCALA, SCALA),
)


@define
class Printer:
    """Turns firings into lines; the listener of a walk. Each id of the model gets a member id of
    its own when it appears.
    """

    style: Style
    semantics: Semantics
    # that may join
    members: int
    random: random.Random
    names: Names = Factory(Names)
    # (milliseconds since the beginning, line)
    lines: list[tuple[int, str]] = Factory(list)
    # milliseconds since the beginning
    clock: int = 0
    rounds: Rounds = Factory(Rounds)
    # lines, rounds and generation when the group was last empty
    rest: tuple[int, Rounds, int] = Factory(lambda: (0, Rounds(), 0))
    # lines and rounds before the step at hand
    before: tuple[int, Rounds] = Factory(lambda: (0, Rounds()))
    # milliseconds that may pass before a line
    pauses: tuple[int, ...] = (0, 1, 7)
    # a sentence that is printed when no walk over all members is under way
    late: str = ""
    # before the firing at hand
    leader: Leader | None = None
    # the step at hand is one that the old coordinator does not take
    foreign: bool = False

    def memory(self, state: State) -> tuple[Core, dict[Who, Any]]:
        """The coordinator's memory: `core`, and the seat of each id."""
        core = state[self.semantics.at["core", None]]
        assert isinstance(core, Core)
        seats: dict[Who, Any] = {}
        for i in range(self.members):
            mine = state[self.semantics.at["seats", i]]
            assert isinstance(mine, Seats)
            seats.update({(i, id): seat for id, seat in mine})
        return core, seats

    def preferred(self, state: State, enabled: Enabled) -> list[Pair]:
        return []

    def step(self, firing: Firing, before: State, after: State) -> None:
        self.before = len(self.lines), self.rounds

    def taken_back(self) -> bool:
        foreign, self.foreign = self.foreign, False
        if foreign:
            self.late = ""
            lines, self.rounds = self.before
            del self.lines[lines:]
        return foreign

    def rested(self, generation: int, quiet: bool) -> None:
        if quiet and not self.late:
            self.rest = len(self.lines), self.rounds, generation

    def fired(self, firing: Firing, before: State, after: State) -> None:
        """Prints what one firing does."""
        for who in self.memory(after)[1].keys() - self.memory(before)[1].keys():
            self.names.add(who, self.random)
        self.named(firing, before, after)

    def named(self, firing: Firing, before: State, after: State) -> None:
        """Prints what one firing does; all members have names."""
        core, seats = self.memory(before)
        self.leader = leader_of(before[self.semantics.at["seats", i]] for i in range(self.members))
        then, left = self.memory(after)
        self.rounds = self.rounds.after(firing, core, seats, then, left, self.leader, self.names)
        self._rule(firing, core, seats, then, left)
        if then.generation == core.generation and core.phase == Phase.PREPARING:
            self._still_open(firing.name, then)
        if then.generation == core.generation + 1:
            self._completed(then, left)
        resting = not then.errands and after[self.semantics.at["walk", None]] == REST
        if self.late and resting:
            self._print(self.late.format(members=then.members))
            self.late = ""

    def _words(self, key: str, **values: Any) -> str:
        return self.style.words[key].format(**values)

    def _say(self, key: str, **values: Any) -> None:
        self._print(self._words(key, **values))

    def _print(self, sentence: str) -> None:
        if sentence:
            self.clock += self.random.choice(self.pauses)
            self.lines.append((self.clock, self.style.line.format(sentence)))

    def _prepare(self, core: Core, key: str, **values: Any) -> None:
        """A rebalance begins, with its reason."""
        self._say("prepare", n=core.generation, reason=self._words(key, **values))

    def _all(self, whose: list[Who]) -> str:
        names = ", ".join(map(self.names.mark, whose))
        return f"Set({names})" if self.style.line == SCALA else f"[{names}]"

    def _rule(
        self, firing: Firing, core: Core, seats: dict[Who, Any], then: Core, left: dict[Who, Any]
    ) -> None:
        name, _, label = firing.name.partition(":")
        gone = next((who for who in seats if who not in left), None)
        leader = self.names.mark(self.leader) if self.leader is not None else ""
        if name == coordinator.join_group.name:
            self._join(label, core, seats, left)
        elif name == coordinator.sync_group.name and core.phase == Phase.COMPLETING:
            synced = [who for who in left if left[who].sync and not seats[who].sync]
            if leader and (label == "led" or (label == "parked" and synced == [self.leader])):
                self._say("assigned", name=leader, n=core.generation, members=core.members)
        elif name == coordinator.leave_group.name and label in ("left", "pending"):
            self._gone("left" if label == "left" else "pending_left", core, gone)
        elif name == timers.session_timeout.name:
            self._gone("pending_expired" if label == "pending" else "expired", core, gone)
        elif name == timers.new_member_timeout.name:
            self._gone("expired", core, gone)
        elif name == timers.sync_timeout.name:
            late = [who for who in seats if seats[who].due]
            self._prepare(core, "not_synced", names=self._all(late))
        elif name == timers.append_failed.name:
            self._prepare(core, "append_failed", name=leader)
        elif name == failover.fail_over.name:
            self._say("unloading", n=core.generation)
            self.late = self._words("loaded", n=then.generation)

    def _join(self, label: str, core: Core, seats: dict[Who, Any], left: dict[Who, Any]) -> None:
        new = [who for who in left if who not in seats]
        if label == "id_required":
            self._say("id_required", name=self.names.mark(new[0]), phase=core.phase)
        elif label == "added":
            (who,) = new or [who for who in left if left[who].member and not seats[who].member]
            name = self.names.mark(who)
            self._say("joins" if new else "pending_joins", name=name, phase=core.phase)
            if core.phase != Phase.PREPARING:
                self._prepare(core, "new_member", name=name)
        elif label == "restarted":
            (who,) = [who for who in left if left[who].join and not seats[who].join]
            leads = self.leader == who and core.phase == Phase.STABLE
            key = "leader_again" if leads else "member_again"
            self._prepare(core, key, name=self.names.mark(who), phase=core.phase)

    def _still_open(self, name: str, then: Core) -> None:
        if name in ENTERING:
            self._say(
                "initial" if then.initial else "open",
                members=then.members,
                parked=then.parked,
                pending=then.pending,
            )

    def _gone(self, key: str, core: Core, who: Who | None) -> None:
        """A member left or expired, which begins a rebalance if the group had settled."""
        assert who is not None
        name, old = self.names.mark(who), self.style.line == SCALA
        settled = core.phase in (Phase.COMPLETING, Phase.STABLE)
        self._say(key, name=name)
        reason = "" if key == "pending_expired" else f"{key}_reason"
        if settled and reason and self.style.words[reason]:
            self._prepare(core, reason, name=name)
        if key.endswith("left"):
            self.late = self._words(f"{key}_late", name=name) or self.late
            self.foreign |= old and settled and key == "pending_left"
        else:
            self.foreign |= old and core.initial

    def _completed(self, then: Core, left: dict[Who, Any]) -> None:
        missing = [who for who in left if left[who].member and not left[who].join]
        if missing:
            self._say("missing", names=self._all(missing))
        joined = sum(1 for who in left if left[who].member and left[who].join)
        self._say("stabilized" if joined else "empty", n=then.generation, members=joined)


def broker_run(seed: int, style: Style, scope: Scope, steps: int, *, to_rest: bool = False) -> Run:
    """The coordinator's log of one random run of the model. `to_rest`: only until the group was
    last as empty as at the beginning.
    """
    choose = random.Random(seed)
    printer = Printer(style, semantics_of(scope), scope.members, choose)
    walk(scope, choose, steps, printer)
    lines, rounds, generation = printer.rest if to_rest else (len(printer.lines), printer.rounds, 0)
    return run_of(printer.lines[:lines], rounds.told, printer.names, generation)
