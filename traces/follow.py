"""Follows one group on one coordinator through the model, line by line, and keeps every world that fits.

A world is a value of the model's core (phase, initial delay, append in flight); all worlds of a group share the generation and what is
known of the members (`belief`). Each event is an observation of one coordinator step: it keeps the worlds in which that step can happen and
takes it there. What no world explains is refused with what was possible instead; then everything is possible again, and the event is taken
as the first line of a log that begins there.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, TypeVar

from attrs import Factory, define, frozen

from groupcheck.model.protocol.group import Phase
from groupcheck.traces import model_steps as steps
from groupcheck.traces.belief import GOING, Belief, Misfit
from groupcheck.traces.events import (
    AppendFailed,
    AssignmentReceived,
    Cause,
    EmptyAssignment,
    Event,
    GroupDied,
    GroupEmptied,
    GroupLoaded,
    GroupUnloaded,
    IdHandedOut,
    JoinRejected,
    MemberAdded,
    MemberExpired,
    MemberLeft,
    MemberLoaded,
    NotRejoined,
    NotSynced,
    Reason,
    RebalanceStarted,
    RoundOpen,
    RoundSkipped,
    RoundStuck,
    Stabilized,
    StaticReplaced,
)
from groupcheck.traces.gaps import shortest_gap

Worlds = frozenset[steps.World]


@frozen
class Printing:
    """What this coordinator's log shows. `ids`: every id that is handed out or made; `joins`: also the second step of a join; `removals`: members

    that did not rejoin; `counts`: sizes of groups; `late_leaves`: a leave may stand behind what it caused; `silent_deletion`: an expired
    group vanishes without its name.
    """

    ids: bool = False
    joins: bool = False
    removals: bool = False
    late_leaves: bool = True
    silent_deletion: bool = False


@frozen
class Refusal:
    """A line that no world explains: why, and what was possible instead.

    `skips`: the generation runs ahead, as if lines were missing. `lost`: kinds of lines that would explain it, were they missing.
    """

    why: str
    possible: str
    skips: bool = False
    lost: tuple[str, ...] = ()


LONGEST_SESSION_MS = 1_800_000
"""group.max.session.timeout.ms, by default."""
_ANYWHERE = frozenset({Phase.EMPTY, Phase.COMPLETING, Phase.STABLE})
_STARTS_IN = {
    Cause.JOIN: _ANYWHERE,
    Cause.NOT_TOLD: _ANYWHERE,
    Cause.OVER_CAPACITY: frozenset({Phase.STABLE}),
    Cause.STATIC_REPLACED: frozenset({Phase.COMPLETING}),
    Cause.PROTOCOL_CHANGE: frozenset({Phase.STABLE}),
    Cause.APPEND_FAILED: frozenset({Phase.COMPLETING}),
}
_IN_A_GENERATION = frozenset({Phase.COMPLETING, Phase.STABLE})


def _starts_in(event: Event) -> frozenset[Phase]:
    """The phases in which a round may begin for the reason that the line gives."""
    reason = event.reason if isinstance(event, RebalanceStarted) else None
    if reason is None:
        return _ANYWHERE
    return frozenset({reason.phase}) if reason.phase is not None else _STARTS_IN.get(reason.cause, _IN_A_GENERATION)


_HANDLERS: dict[type[Event], Callable[[Any, Any], Misfit | None]] = {}
_Handler = TypeVar("_Handler", bound=Callable[[Any, Any], Any])


def _on(kind: type[Event]) -> Callable[[_Handler], _Handler]:
    """Registers a method as the one that takes events of this kind."""

    def register(method: _Handler) -> _Handler:
        _HANDLERS[kind] = method
        return method

    return register


@define
class Follower:
    """`base`: the current generation, None while no line has told it. `owed`: a rebalance must begin now, for this reason.

    `departed`: who is gone by the lines before, `confirm`: leaves whose own line is still to come. `debt`: the last completion fits only if
    such a line comes next. `just_ended`: the last line ended a round, with so many members. `closing`: the join phase is ending in this very
    step. `notes`: what had to be assumed, for the report.
    """

    printing: Printing = Factory(Printing)
    worlds: Worlds = steps.EVERY_WORLD
    base: int | None = None
    belief: Belief = Factory(Belief)
    owed: str = ""
    departed: dict[str, None] = Factory(dict)
    confirm: dict[str, None] = Factory(dict)
    debt: bool = False
    just_ended: int | None = -1
    begun: int | None = None
    closing: bool = False
    notes: list[tuple[str, str]] = Factory(list)

    def observe(self, event: Event, seen: Set[str] = frozenset()) -> Refusal | None:
        """Takes the step that the event shows, or says why no world has it.

        Then it goes on as if the lines that would explain it had been lost, or else as if the log began here. `seen`: kinds of lines
        that this log is known to have; those are taken for lost last.
        """
        self.worlds = steps.silent_steps(self.worlds)
        if not self.printing.joins and self.belief.handed and any(steps.PHASE[w] == Phase.PREPARING for w in self.worlds):
            self.belief.silent_joins()
        self._outlived(event.time)
        worlds, base, possible = self.worlds, self.base, ""
        why = self._due(event)
        if why is None:
            why = self._take(event)
            if why is None:
                self.just_ended = self._ended_with(event)
                return None
        self.just_ended = None
        possible = self._possible(worlds, base)
        ahead = getattr(event, "generation", None)
        step = 1 if isinstance(event, Stabilized | GroupEmptied) else 0
        skips = base is not None and ahead is not None and ahead > base + step
        return Refusal(why.text, possible, skips, self._recover(event, why, worlds, base, seen))

    def _outlived(self, time: int | None) -> None:
        """Ids handed out before the log begins have expired after the longest session timeout that a broker allows."""
        if time is None or not self.belief.strangers:
            return
        self.begun = time if self.begun is None else self.begun
        if time - self.begun > LONGEST_SESSION_MS:
            self.belief.strangers = False

    @staticmethod
    def _ended_with(event: Event) -> int | None:
        """The size that a round ended with in this line (-1: not printed); None if none ended."""
        if isinstance(event, Stabilized):
            return -1 if event.members is None else event.members
        return 0 if isinstance(event, GroupEmptied) else None

    def _recover(self, event: Event, why: Misfit, worlds: Worlds, base: int | None, seen: Set[str]) -> tuple[str, ...]:
        """Finds lost lines that explain the event and goes on from there; none found: starts over from it."""
        gap = shortest_gap(worlds, base, event, _starts_in(event), seen)
        if gap is not None:
            lost, place = gap
            if not lost and why.lost:  # the group is where it should be, so it is the members that do not fit
                lost = next(((kind,) for kind in why.lost if kind not in seen), ())
            if lost:
                self._reopen(frozenset({place.world}), None if base is None else base + place.ahead, emptied="GroupEmptied" in lost)
                if self._take(event) is None:
                    return lost
        self.forget()
        self._take(event)  # what contradicts itself stays refused
        return ()

    def _reopen(self, worlds: Worlds, base: int | None, *, emptied: bool) -> None:
        """Goes on from this place; who the members are is open, unless the group has become empty."""
        strangers = self.belief.strangers
        self.forget()
        self.worlds, self.base = worlds, base
        if emptied and all(steps.PHASE[w] == Phase.EMPTY for w in worlds):
            self.belief.emptied()
            self.belief.strangers = strangers

    def forget(self, *, loaded: bool = False) -> None:
        """Everything is possible again (`loaded`: but ids handed out before are void)."""
        self.worlds, self.base = steps.EVERY_WORLD, None
        self.belief, self.just_ended, self.begun = Belief(strangers=not loaded), -1, None
        self.owed, self.departed, self.confirm, self.debt, self.closing = "", {}, {}, False, False

    def _possible(self, worlds: Worlds, base: int | None) -> str:
        """The worlds in words."""
        if base is None and len(worlds) == len(steps.EVERY_WORLD):
            return "anything: the log has not told the group's state yet"
        phases = sorted({steps.PHASE[w] for w in worlds})
        generation = "an unknown generation" if base is None else f"generation {base}"
        text = f"{' or '.join(map(str, phases))} in {generation} with {self.belief.size()} members"
        if self.owed:
            text += f"; a rebalance had to begin ({self.owed})"
        if self.closing:
            text += "; the join phase had to end"
        return text

    # --- pieces

    def _due(self, event: Event) -> Misfit | None:
        """What the last line made necessary and this one does not bring."""
        if self.debt and not (isinstance(event, MemberLeft) and event.late):
            return Misfit(f"the group had {self.belief.size()} members, and no line says who left", GOING)
        if self.owed and not isinstance(event, RebalanceStarted | MemberLeft | NotSynced | GroupUnloaded | GroupLoaded):
            return Misfit(f"a rebalance had to begin: {self.owed}")
        if self.closing and not isinstance(event, Stabilized | GroupEmptied | RoundStuck | RoundSkipped | GroupUnloaded | GroupDied):
            return Misfit("members that had not rejoined were removed, and the join phase did not end")
        return None

    def _keep(self, phases: frozenset[Phase] | None) -> Misfit | None:
        """Keeps the worlds in one of these phases (None: any)."""
        kept = self.worlds if phases is None else frozenset(w for w in self.worlds if steps.PHASE[w] in phases)
        if not kept:
            there = " or ".join(str(p) for p in sorted({steps.PHASE[w] for w in self.worlds}))
            return Misfit(f"the group was {there}, not {' or '.join(map(str, sorted(phases or ())))}")
        self.worlds = kept
        return None

    def _in(self, phase: Phase | None) -> Misfit | None:
        return None if phase is None else self._keep(frozenset({phase}))

    def _step(self, move: Callable[[steps.World], steps.World | None]) -> Misfit | None:
        moved = frozenset(after for after in map(move, self.worlds) if after is not None)
        if not moved:
            return Misfit(f"the group was {' or '.join(str(p) for p in sorted({steps.PHASE[w] for w in self.worlds}))}")
        self.worlds = moved
        return None

    def _generation(self, expected: int) -> Misfit | None:
        """The current generation is this one."""
        if self.base is not None and self.base != expected:
            return Misfit(f"generation {expected} is printed, but the group was in generation {self.base}")
        self.base = expected
        return None

    def _assume(self, kind: str, text: str) -> None:
        self.notes.append((kind, text))

    # --- rounds

    def _take(self, event: Event) -> Misfit | None:
        handler = _HANDLERS.get(type(event))
        return None if handler is None else handler(self, event)

    @_on(RebalanceStarted)
    def _(self, event: RebalanceStarted) -> Misfit | None:
        reason = event.reason or Reason("", Cause.NOT_TOLD)
        if reason.cause == Cause.DOWNGRADE:
            self.forget(loaded=True)
        reset = self._maybe_recreated(event)
        phases = _starts_in(event)
        why = (
            (None if reset else self._generation(event.generation))
            or self._keep(phases)
            or self._caused_by(reason)
            or self._step(steps.start_round)
        )
        if why:
            return why
        self.owed, self.debt, self.departed = "", False, {}
        self.belief.new_round()
        if reason.cause in (Cause.JOIN, Cause.LEADER_REJOIN, Cause.METADATA_CHANGE, Cause.STATIC_REPLACED, Cause.PROTOCOL_CHANGE):
            for id in reason.members:
                self.belief.park(id)
        if not self.printing.ids or (self.belief.strangers and not self.printing.joins):
            self.belief.others_most = None
        return None

    def _maybe_recreated(self, event: RebalanceStarted) -> bool:
        """An Empty group can vanish (its offsets expired) and be made anew, with generation 0."""
        gone = event.generation == 0 and self.base not in (None, 0) and any(steps.PHASE[w] == Phase.EMPTY for w in self.worlds)
        if not gone:
            return False
        if not self.printing.silent_deletion:
            return False
        self._assume(
            "generation_reset", f"generation {self.base} is followed by 0: the empty group was deleted in between, which is not printed"
        )
        self.base = 0
        self.worlds = frozenset(w for w in self.worlds if steps.PHASE[w] == Phase.EMPTY)
        return True

    def _caused_by(self, reason: Reason) -> Misfit | None:
        for id in reason.members:
            why = self._member_of_reason(reason, id)
            if why:
                return why
        return None

    def _member_of_reason(self, reason: Reason, id: str) -> Misfit | None:
        belief = self.belief
        if reason.cause == Cause.JOIN:
            if belief.inside.get(id):
                return None
            return belief.join(id, instance=reason.instance, known_ids=self.printing.ids)
        if reason.cause in (Cause.LEAVE, Cause.SESSION_EXPIRED, Cause.SYNC_TIMEOUT):
            if id in self.departed:  # the line before has said it already
                return None
            if reason.cause == Cause.LEAVE:
                self.confirm = {id: None}
            return belief.remove(id)
        why = belief.must_be_member(id)
        if why is None and reason.cause == Cause.LEADER_REJOIN:
            if belief.leader not in (None, id) and belief.leader in belief.dynamic:
                return Misfit(f"{id} is called the leader, but {belief.leader} is", GOING)
            belief.leader = id
        return why

    @_on(Stabilized)
    def _(self, event: Stabilized) -> Misfit | None:
        why = self._keep(frozenset({Phase.PREPARING}))
        if why is None and self.base is not None:
            why = self._generation(event.generation - 1)
        why = why or self._counted_at_end(event)
        why = why or self._step(lambda w: steps.end_round(w, True))
        if why:
            return why
        self.base = event.generation
        self.closing, self.departed = False, {}
        return None

    def _counted_at_end(self, event: Stabilized) -> Misfit | None:
        size = event.members
        if size is None:
            self.belief.forget_unparked()
            return None
        if size < 1:
            return Misfit("a generation without members is Empty, not stabilized")
        belief = self.belief
        if self.printing.late_leaves and not self.closing and size == belief.least() - 1:
            self.debt = True
            return None
        least = belief.least()
        if belief.capped(size) and size < least:
            self._assume("size_cap", f"generation {event.generation} has {size} members: it fits only if group.max.size is {size}")
        return belief.sized(size)

    @_on(GroupEmptied)
    def _(self, event: GroupEmptied) -> Misfit | None:
        why = self._keep(frozenset({Phase.PREPARING}))
        if why is None and self.base is not None:
            why = self._generation(event.generation - 1)
        if why is None and self.belief.inside and self.printing.removals:
            left = list(self.belief.inside)
            if len(left) > 1 or not self.printing.late_leaves or self.closing:
                why = Misfit(f"the group is called empty, but {', '.join(left[:3])} had not gone", GOING)
            else:
                self.debt = True
        why = why or self._step(lambda w: steps.end_round(w, False))
        if why:
            return why
        self.base = event.generation
        self.closing, self.departed = False, {}
        if not self.debt:
            self.belief.emptied()
        return None

    @_on(AssignmentReceived)
    def _(self, event: AssignmentReceived) -> Misfit | None:
        why = self._generation(event.generation) or self._step(steps.leader_syncs)
        if why is None and event.members is not None:
            why = self.belief.sized(event.members)
            if why is None and event.static is not None and event.static > event.members:
                why = Misfit(f"{event.static} of {event.members} members are called static")
        if why is None and event.leader is not None:
            why = self._leads(event.leader)
        return why

    def _leads(self, id: str) -> Misfit | None:
        belief = self.belief
        if belief.leader not in (None, id) and belief.leader in belief.dynamic:
            return Misfit(f"{id} sends the assignment, but {belief.leader} is the leader", GOING)
        why = belief.must_be_member(id)
        if why is None:
            belief.leader = id
        return why

    @_on(EmptyAssignment)
    def _(self, event: EmptyAssignment) -> Misfit | None:
        return self._generation(event.generation) or self._keep(_IN_A_GENERATION)

    @_on(RoundStuck)
    def _(self, event: RoundStuck) -> Misfit | None:
        self.closing = False
        return self._keep(frozenset({Phase.PREPARING}))

    @_on(RoundOpen)
    def _(self, event: RoundOpen) -> Misfit | None:
        if event.phase is not None:
            return self._in(event.phase)
        if event.initial:
            return self._keep(frozenset({Phase.PREPARING}))
        why = self._keep(frozenset({Phase.PREPARING}))
        if why is None and event.members is not None:
            why = self.belief.sized(event.members)
        return why

    @_on(AppendFailed)
    def _(self, event: AppendFailed) -> Misfit | None:
        if event.reverted_to is not None:
            self.forget_members()
        return None

    def forget_members(self) -> None:
        """Who the members are is open again, the state of the group is not."""
        self.belief = Belief(strangers=self.belief.strangers)

    # --- members

    @_on(IdHandedOut)
    def _(self, event: IdHandedOut) -> Misfit | None:
        why = self._exists(event.phase)
        if why is None:
            self.belief.hand_out(event.member)
        return why

    def _exists(self, phase: Phase | None) -> Misfit | None:
        """The line names the state; a group that was Empty may have been made anew since."""
        return self._in(phase)

    @_on(MemberAdded)
    def _(self, event: MemberAdded) -> Misfit | None:
        if not event.fresh and not self.printing.joins:
            self.belief.joined_least = self.belief.joined_most = 0  # such joins are printed here, so none was silent
        why = self._exists(event.phase)
        if why is None:
            known = event.fresh or event.member in self.belief.handed or not self.printing.ids
            if not known and not self.belief.strangers:
                return Misfit(f"no line hands out the id {event.member}")
            why = self.belief.join(event.member, instance=event.instance, known_ids=False)
        if why is None and event.phase is not None and event.phase != Phase.PREPARING:
            self.owed = f"{event.member} joined"
        return why

    @_on(StaticReplaced)
    def _(self, event: StaticReplaced) -> Misfit | None:
        why = self._in(event.phase) or self._keep(frozenset(Phase) - {Phase.EMPTY})
        return why or self.belief.replace(event.instance, event.old, event.new)

    @_on(MemberLeft)
    def _(self, event: MemberLeft) -> Misfit | None:
        if event.member in self.confirm:
            del self.confirm[event.member]
            return None
        if event.pending:
            self.departed[event.member] = None  # the new coordinator starts a round in a Stable group because of it, the old one does not
            return self.belief.drop_pending(event.member)
        if event.late:
            return (
                self._left_before(event.member)
                if self.just_ended is not None
                else self._keep(frozenset({Phase.PREPARING})) or self.belief.remove(event.member)
            )
        return self._gone(event.member, "left")

    def _left_before(self, id: str) -> Misfit | None:
        """The line of a leave that ended the round stands behind the end: the member was gone when the members were counted."""
        belief, size = self.belief, self.just_ended
        owed, self.debt = self.debt, False
        if all(steps.PHASE[w] == Phase.EMPTY for w in self.worlds):
            belief.handed.pop(id, None)
            if owed:
                belief.emptied()
            return None
        if id not in belief.inside:
            return belief.remove(id) if owed else None
        why = belief.remove(id)
        if not owed and why is None:
            belief.uncount(joins_shown=self.printing.joins)
            why = belief.sized(size) if size is not None and size > 0 else None
        return why

    def _gone(self, id: str, how: str) -> Misfit | None:
        why = self._keep(frozenset(Phase) - {Phase.EMPTY}) or self.belief.remove(id)
        if why is None:
            self.departed[id] = None
            self._owe(f"{id} {how}")
        return why

    def _owe(self, what: str) -> None:
        """After the loss of a member a round begins, unless one is running: the worlds tell."""
        running = frozenset(w for w in self.worlds if not steps.must_restart(w))
        if not running:
            self.owed = what

    @_on(MemberExpired)
    def _(self, event: MemberExpired) -> Misfit | None:
        if event.pending:
            return self.belief.drop_pending(event.member)
        return self._gone(event.member, "expired")

    @_on(NotRejoined)
    def _(self, event: NotRejoined) -> Misfit | None:
        why = self._keep(frozenset({Phase.PREPARING}))
        for id in event.members:
            if self.belief.inside.get(id):
                why = why or Misfit(f"{id} is removed for not joining, but it had joined this round")
            if id in self.belief.static:
                why = why or Misfit(f"{id} is static, and static members are not removed for not joining")
            why = why or self.belief.remove(id)
        self.closing = why is None
        return why

    @_on(NotSynced)
    def _(self, event: NotSynced) -> Misfit | None:
        why = self._keep(_IN_A_GENERATION)
        for id in event.members:
            why = why or self.belief.remove(id)
            self.departed[id] = None
        if why is None:
            self.owed = "members that had not sent SyncGroup were removed"
        return why

    @_on(JoinRejected)
    def _(self, event: JoinRejected) -> Misfit | None:
        return self._in(event.phase)

    # --- life

    @_on(GroupLoaded)
    def _(self, event: GroupLoaded) -> Misfit | None:
        self.forget(loaded=True)
        self.base = event.generation
        self.belief.loaded(event.members)
        phases = {Phase.EMPTY, Phase.STABLE}
        if event.members is not None:
            phases = {Phase.STABLE if event.members else Phase.EMPTY}
        return self._keep(frozenset(phases))

    @_on(MemberLoaded)
    def _(self, event: MemberLoaded) -> Misfit | None:
        if event.generation is None:  # the old coordinator prints the members of every record it reads, superseded ones too
            self.belief.name_loaded(event.member, event.instance)
        return None

    @_on(GroupUnloaded)
    def _(self, event: GroupUnloaded) -> Misfit | None:
        why = self._generation(event.generation)
        if why is None:
            self.forget(loaded=True)
        return why

    @_on(GroupDied)
    def _(self, event: GroupDied) -> Misfit | None:
        self.forget(loaded=True)
        return None
