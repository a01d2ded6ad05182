"""The worlds of one group that fit what its log has said so far.

A world is a value of the model's `core` (phase, initial delay, append in flight), given by its
number. All worlds of a group share the generation and what is known about the members (`belief`).
`round_lines` and `member_lines` say what each line does to them; `follow` reads the lines.

A log shows part of the coordinator's state, so the replay keeps bounds, not copies. If all missing
lines are of kinds that the log never shows, it was filtered (`unknown`); a line that no such gap
explains is a violation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from attrs import Factory, define, frozen

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.traces.broker import phase_steps as steps
from groupcheck.traces.broker.belief import Belief, Misfit
from groupcheck.traces.story.events import Event, RebalanceCause, RebalanceStarted

Worlds = frozenset[steps.World]
NOT_PRINTED = -1
"""In place of a size that the line does not print."""
LONGEST_SESSION_MS = 1_800_000
"""group.max.session.timeout.ms, by default."""


@frozen
class Printing:
    """The lines that a coordinator prints, which depend on the version."""

    # Every id that is handed out or made.
    ids: bool = False
    # The second step of a join, too.
    joins: bool = False
    # Members that did not rejoin.
    removals: bool = False
    # The line of a leave comes after what the leave caused.
    late_leaves: bool = True
    # An expired group vanishes without a line that names it.
    silent_deletion: bool = False


ANYWHERE = frozenset({Phase.EMPTY, Phase.COMPLETING, Phase.STABLE})
IN_A_GENERATION = frozenset({Phase.COMPLETING, Phase.STABLE})
_STARTS_IN = {
    RebalanceCause.JOIN: ANYWHERE,
    RebalanceCause.NOT_TOLD: ANYWHERE,
    RebalanceCause.OVER_CAPACITY: frozenset({Phase.STABLE}),
    RebalanceCause.STATIC_REPLACED: frozenset({Phase.COMPLETING}),
    RebalanceCause.PROTOCOL_CHANGE: frozenset({Phase.STABLE}),
    RebalanceCause.APPEND_FAILED: frozenset({Phase.COMPLETING}),
}


def starts_in(event: Event) -> frozenset[Phase]:
    """The phases in which a round may begin for the reason that the line gives."""
    reason = event.reason if isinstance(event, RebalanceStarted) else None
    if reason is None:
        return ANYWHERE
    return (
        frozenset({reason.phase})
        if reason.phase is not None
        else _STARTS_IN.get(reason.cause, IN_A_GENERATION)
    )


@lru_cache(maxsize=1 << 10)
def _phases_of(worlds: Worlds) -> frozenset[Phase]:
    return frozenset(steps.PHASE[w] for w in worlds)


@lru_cache(maxsize=1 << 10)
def _in_phases(worlds: Worlds, phases: frozenset[Phase]) -> Worlds:
    return frozenset(w for w in worlds if steps.PHASE[w] in phases)


def or_words(phases: frozenset[Phase]) -> str:
    """`CompletingRebalance or Stable`."""
    return " or ".join(map(str, sorted(phases)))


@define
class GroupWorlds:
    """The worlds of one group, and what they share."""

    printing: Printing = Factory(Printing)
    worlds: Worlds = steps.EVERY_WORLD
    # The current generation; None as long as no line has told it.
    base: int | None = None
    belief: Belief = Factory(Belief)
    # Why a rebalance must begin now; empty if none must.
    owed: str = ""
    # Members that earlier lines showed to be gone.
    departed: dict[str, None] = Factory(dict)
    # Leaves whose own line is still to come.
    confirm: dict[str, None] = Factory(dict)
    # The end of the last round fits only if such a line comes next.
    debt: bool = False
    # The size with which the last line ended a round, or `NOT_PRINTED`; None if it ended none.
    just_ended: int | None = NOT_PRINTED
    # The time of the first line.
    begun: int | None = None
    # The join phase is ending in this step.
    closing: bool = False
    # What had to be assumed: (kind of anomaly, text).
    notes: list[tuple[str, str]] = Factory(list)

    @property
    def phases(self) -> frozenset[Phase]:
        return _phases_of(self.worlds)

    def forget(self, *, loaded: bool = False) -> None:
        """Everything is possible again. `loaded`: ids that were handed out before are void."""
        self.worlds, self.base = steps.EVERY_WORLD, None
        self.belief, self.just_ended, self.begun = Belief(strangers=not loaded), NOT_PRINTED, None
        self.owed, self.departed, self.confirm, self.debt, self.closing = "", {}, {}, False, False

    def forget_members(self) -> None:
        """Forgets who the members are, but not the state of the group."""
        self.belief = Belief(strangers=self.belief.strangers)

    def go_on_from(self, worlds: Worlds, base: int | None, *, emptied: bool) -> None:
        """Goes on from here. Who the members are is open, unless the group has become empty."""
        strangers = self.belief.strangers
        self.forget()
        self.worlds, self.base = worlds, base
        if emptied and self.phases == {Phase.EMPTY}:
            self.belief.emptied()
            self.belief.strangers = strangers

    def time_goes_on(self, time: int | None) -> None:
        """Takes the steps that print no line: appends commit, members join a running round with ids
        that were handed out, and ids from before the log expire.
        """
        self.worlds = steps.silent_steps(self.worlds)
        if Phase.PREPARING in self.phases:
            if not self.printing.joins:
                self.belief.silent_joins()
            self.belief.note_peak()
        if time is not None and self.belief.strangers:
            self.begun = time if self.begun is None else self.begun
            if time - self.begun > LONGEST_SESSION_MS:
                self.belief.strangers = False

    def state_text(self, worlds: Worlds, base: int | None) -> str:
        if base is None and len(worlds) == len(steps.EVERY_WORLD):
            return "anything: the log has not told the group's state yet"
        generation = "an unknown generation" if base is None else f"generation {base}"
        text = (
            f"{or_words(frozenset(steps.PHASE[w] for w in worlds))} in {generation} with"
            f" {self.belief.size()} members"
        )
        if self.owed:
            text += f"; a rebalance had to begin ({self.owed})"
        if self.closing:
            text += "; the join phase had to end"
        return text

    # --- parts of a step: each keeps the worlds that fit, or says why none does

    def keep(self, phases: frozenset[Phase]) -> Misfit | None:
        """Keeps the worlds in one of these phases."""
        kept = _in_phases(self.worlds, phases)
        if not kept:
            return Misfit(f"the group was {or_words(self.phases)}, not {or_words(phases)}")
        self.worlds = kept
        return None

    def within(self, phase: Phase | None) -> Misfit | None:
        """Keeps the worlds in the phase that a line names; None: it names none."""
        return None if phase is None else self.keep(frozenset({phase}))

    def step(self, move: Callable[[steps.World], steps.World | None]) -> Misfit | None:
        """Takes a step of the coordinator in the worlds where it can be taken."""
        moved = frozenset(after for after in map(move, self.worlds) if after is not None)
        if not moved:
            return Misfit(f"the group was {or_words(self.phases)}")
        self.worlds = moved
        return None

    def in_generation(self, expected: int) -> Misfit | None:
        if self.base is not None and self.base != expected:
            return Misfit(
                f"generation {expected} is printed, but the group was in generation {self.base}"
            )
        self.base = expected
        return None

    def assume(self, kind: str, text: str) -> None:
        self.notes.append((kind, text))
