"""The conversions of one group between the classic protocol and KIP-848 in a log of a coordinator,
each judged by the rules of the model `migration`: which group may be converted, and in which
generation or epoch it goes on.

A classic group with members becomes a consumer group when somebody joins with a heartbeat: its
epoch is the classic generation, and the joiner brings the next one (`upgrade_group`). A consumer
group becomes a classic one when all of its members use the classic protocol: its generation is the
epoch (`downgraded`). Source: GroupMetadataManager.convertToConsumerGroup and convertToClassicGroup.
The policy of the broker, which may forbid either, is in no line.
"""

from __future__ import annotations

from attrs import Factory, define

from groupcheck.traces.broker.belief import Belief
from groupcheck.traces.phrases import became, some_of
from groupcheck.traces.story.consumer_steps import WrongStep
from groupcheck.traces.story.epoch_rounds import FIRST_EPOCH
from groupcheck.traces.story.events import (
    CLASSIC,
    Converted,
    Event,
    OtherProtocol,
    RebalanceCause,
    RebalanceStarted,
)

MEMBERS_KEPT = 20_000
NAMED = 3


@define
class Migrating:
    """One group's, filled by `observe` and `converted`."""

    # How many conversions were judged.
    judged: int = 0
    # Members of a consumer group -> the line that showed them, and whether they use the classic
    # protocol.
    members: dict[str, tuple[int, bool]] = Factory(dict)
    # All members are among them.
    whole: bool = False
    # The epoch of the consumer group.
    _epoch: int | None = None
    # The line of the last conversion, and the epoch or generation that has to be the next.
    _next: tuple[int, int] | None = None
    # The line that begins the rebalance of a downgrade has just been printed, before the line that
    # tells of the downgrade itself.
    rebalances: bool = False

    def observe(self, event: Event) -> WrongStep | None:
        """Takes an event; tells what is wrong with it after a conversion."""
        if isinstance(event, RebalanceStarted):
            reason = event.reason
            self.rebalances = reason is not None and reason.cause == RebalanceCause.DOWNGRADE
            if self.rebalances and self._epoch is not None:
                self._next = event.line, self._epoch
            return self._goes_on(event.generation, "generation")
        if not isinstance(event, OtherProtocol):
            return None
        if event.what == "epoch" and event.epoch is not None:
            begins = self._epoch is None and event.epoch <= FIRST_EPOCH
            self.whole = self.whole or (begins and len(self.members) == 1)
            self._epoch = event.epoch
            self.rebalances = False
            return self._goes_on(event.epoch, "epoch")
        self._member(event)
        return None

    def _member(self, event: OtherProtocol) -> None:
        member = event.member or ""
        if event.what == "joined":
            self.whole = self.whole and len(self.members) < MEMBERS_KEPT
            if len(self.members) < MEMBERS_KEPT:
                self.members[member] = event.line, event.joins_classic
        elif event.what in ("left", "fenced"):
            self.members.pop(member, None)
        elif event.what == "rejoined":
            # The sentence does not tell every version's protocol of the one that came back.
            self.members.pop(event.detail or "", None)
            self.whole = False

    def _goes_on(self, number: int, what: str) -> WrongStep | None:
        if self._next is None:
            return None
        (line, expected), self._next = self._next, None
        if number == expected:
            return None
        why = f"{what} {number} follows the conversion in line {line}"
        return WrongStep(f"{why}, which leads to {what} {expected}", f"{what} {expected}")

    def forget(self) -> None:
        """Lines may be missing: which members there are is not known."""
        self.members, self.whole, self._epoch, self._next = {}, False, None, None
        self.rebalances = False

    def upgraded(
        self, event: Converted, belief: Belief, generation: int | None
    ) -> tuple[str, WrongStep | None]:
        """A classic group becomes a consumer group; `belief`, `generation`: what is known of it.
        Gives what happened in words, and what is wrong with it.
        """
        self.forget()
        self.judged += 1
        self.members = dict.fromkeys(belief.inside, (event.line, True))
        self.whole = belief.not_parked() is not None
        empty = belief.most() == 0
        if generation is not None and not event.was_empty:
            self._epoch = generation
            self._next = event.line, generation + 1
        if event.was_empty:
            return became("consumer"), None
        told = became("consumer", "" if generation is None else f"in generation {generation}")
        told += f", with members of the classic protocol: {self._named()}" if self.members else ""
        if empty:
            why = "the group is Empty: it is replaced by a consumer group, and not converted"
            return told, WrongStep(why, "Converted the empty classic group")
        return told, None

    def downgraded(self, event: Converted) -> tuple[str, WrongStep | None]:
        """A consumer group becomes a classic group."""
        self.judged += 1
        modern = {id: line for id, (line, classic) in self.members.items() if not classic}
        told, wrong = became(CLASSIC), None
        if not event.was_empty:
            at, named = self._epoch, self._named()
            told = became(CLASSIC, "" if at is None else f"at epoch {at}")
            told += f", with members of the classic protocol alone: {named}" if named else ""
            if modern and self.whole:
                who, line = next(iter(modern.items()))
                why = f"{who} still uses the consumer protocol (line {line})"
                wrong = WrongStep(f"{why}: only classic members may be left", "no conversion")
        epoch, rebalances = self._epoch, self.rebalances
        self.forget()
        if epoch is not None and not (event.was_empty or rebalances):
            self._next = event.line, epoch
        return told, wrong

    def _named(self) -> str:
        return some_of([id for id, (_, classic) in self.members.items() if classic], NAMED)
