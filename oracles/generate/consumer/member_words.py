"""What the lines of members have in common, whichever library writes them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from attrs import Factory, define

from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Firing
from groupcheck.model.protocol.consumer.java_member import JavaMember
from groupcheck.oracles.generate.consumer.broker import member
from groupcheck.oracles.generate.consumer.happenings import Fetched
from groupcheck.oracles.generate.consumer.records import Records
from groupcheck.oracles.generate.consumer.spans import Spans
from groupcheck.oracles.generate.run import Committed, Process


@define
class MemberWords(ABC):
    """Turns firings into the lines of all members of a run, and keeps what they had."""

    semantics: Semantics
    records: Records
    # (ms since the beginning, who, line)
    lines: list[tuple[int, Process, str]] = Factory(list)
    spans: Spans = Factory(Spans)
    # A member did what the library's does not, so the run is none of its.
    foreign: bool = False

    def process(self, me: int) -> Process:
        """The process in which a member runs now."""
        return Process(me, self.records.lives.get(me, 0))

    def fired(self, firing: Firing, before: State, after: State) -> None:
        """Takes a step of the run, with the state before and after it."""
        me = firing.me
        if me is None or me not in self.records.ids:
            return
        at = self.semantics.at["client", me]
        rule, _, label = firing.name.partition(":")
        self._steps(me, rule, label, before, before[at], after[at])

    @abstractmethod
    def hears(self, happening: Committed | Fetched) -> None:
        """A commit or a fetch of a member is answered."""

    @abstractmethod
    def _steps(
        self, me: int, rule: str, label: str, before: State, was: JavaMember, now: JavaMember
    ) -> None:
        """A rule has fired for a member, which `was` and is `now` so, in the state `before`."""

    def _id(self, me: int) -> str:
        return member(self.records.ids[me])
