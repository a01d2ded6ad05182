"""Follows one group on one coordinator through the model, line by line, and keeps every world that
fits.

Each event shows one step of the coordinator: the worlds in which that step can happen take it, the
others are dropped. An event that no world explains is refused, with what was possible instead. Then
the replay goes on as if the lines that would explain it had been lost, or else as if the log began
there.
"""

from __future__ import annotations

from collections.abc import Set

from attrs import Factory, define, frozen

from groupcheck.traces.broker.belief import GOING, Misfit
from groupcheck.traces.broker.gaps import shortest_gap
from groupcheck.traces.broker.group_worlds import NOT_PRINTED, GroupWorlds, Worlds, starts_in
from groupcheck.traces.broker.member_lines import MEMBER_LINES
from groupcheck.traces.broker.round_lines import ROUND_LINES
from groupcheck.traces.story.events import (
    Event,
    GroupDied,
    GroupEmptied,
    GroupLoaded,
    GroupUnloaded,
    MemberLeft,
    NotSynced,
    RebalanceStarted,
    RoundSkipped,
    RoundStuck,
    Stabilized,
)

_LINES = ROUND_LINES | MEMBER_LINES


@frozen
class Refusal:
    """A line that no world explains."""

    # Why it does not fit, and what was possible instead.
    why: str
    possible: str
    # The generation runs ahead, as if lines were missing.
    skips: bool = False
    # Kinds of lines that would explain it if they were missing.
    lost: tuple[str, ...] = ()
    # The line contradicts itself: no group, whatever its state, prints it.
    impossible: bool = False


@define
class LineFollower:
    """Reads the events of one group in their order."""

    group: GroupWorlds = Factory(GroupWorlds)

    def observe(self, event: Event, seen: Set[str] = frozenset()) -> Refusal | None:
        """Takes the step that the event shows, or says why no world allows it. `seen`: the kinds of
        lines that this log has; lines of these kinds are assumed missing last.
        """
        group = self.group
        group.time_goes_on(event.time)
        worlds, base = group.worlds, group.base
        due = self._due(event) if group.debt or group.owed or group.closing else None
        why = due or self._take(event)
        refusal = None
        if why is not None:
            possible = group.state_text(worlds, base)
            ahead = getattr(event, "generation", None)
            step = 1 if isinstance(event, Stabilized | GroupEmptied) else 0
            skips = base is not None and ahead is not None and ahead > base + step
            lost, impossible = self._recover(event, why, worlds, base, seen)
            refusal = Refusal(why.text, possible, skips, lost, impossible)
        group.just_ended = _ended_with(event)
        return refusal

    def _take(self, event: Event) -> Misfit | None:
        line = _LINES.get(type(event))
        return None if line is None else line(self.group, event)

    def _due(self, event: Event) -> Misfit | None:
        """A misfit if this line does not show what the last one made necessary."""
        group = self.group
        if (
            group.debt
            and not (isinstance(event, MemberLeft) and event.late)
            and not _capped_instead(group)
        ):
            return Misfit(
                f"the group had {group.belief.size()} members, and no line says who left", GOING
            )
        if group.owed and not isinstance(
            event, RebalanceStarted | MemberLeft | NotSynced | GroupUnloaded | GroupLoaded
        ):
            return Misfit(f"a rebalance had to begin: {group.owed}")
        if group.closing and not isinstance(
            event, Stabilized | GroupEmptied | RoundStuck | RoundSkipped | GroupUnloaded | GroupDied
        ):
            return Misfit(
                "members that had not rejoined were removed, and the join phase did not end"
            )
        return None

    def _recover(
        self, event: Event, why: Misfit, worlds: Worlds, base: int | None, seen: Set[str]
    ) -> tuple[tuple[str, ...], bool]:
        """Finds missing lines that explain the event and goes on from there. If there are none,
        starts again with the event. Returns the kinds of lines, and whether no state of a group
        explains the event.
        """
        gap = shortest_gap(worlds, base, event, starts_in(event), seen)
        if gap is not None:
            lost, place = gap
            if not lost and why.lost:
                # The group's state fits, so it is the members that do not.
                lost = next(((kind,) for kind in why.lost if kind not in seen), ())
            if lost:
                self.group.go_on_from(
                    frozenset({place.world}),
                    None if base is None else base + place.ahead,
                    emptied="GroupEmptied" in lost,
                )
                if self._take(event) is None:
                    return lost, False
        self.group.forget()
        return (), self._take(event) is not None


def _capped_instead(group: GroupWorlds) -> bool:
    """No leave is printed after all: did group.max.size make the generation smaller?"""
    size = group.just_ended or 0
    if size < 1 or not group.belief.capped(size) or group.belief.sized(size) is not None:
        return False
    group.debt = False
    group.assume(
        "size_cap",
        f"a generation has only {size} members: it fits only if group.max.size is {size}",
    )
    return True


def _ended_with(event: Event) -> int | None:
    """The size with which a round ended in this line; None if none ended."""
    if isinstance(event, Stabilized):
        return NOT_PRINTED if event.members is None else event.members
    return 0 if isinstance(event, GroupEmptied) else None
