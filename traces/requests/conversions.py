"""The conversions of one group between the classic protocol and KIP-848, as its requests show them:
a classic group becomes a consumer group with the first heartbeat that is accepted, and a consumer
group has become a classic one when a JoinGroup is answered with a leader (GroupMetadataManager:
classic members of a consumer group lead nobody).
"""

from __future__ import annotations

from attrs import Factory, define

from groupcheck.model.protocol.codes import NONE
from groupcheck.traces.exchanges.exchange import EpochExchange, Exchange, JoinExchange
from groupcheck.traces.findings.report import Anomaly
from groupcheck.traces.phrases import became
from groupcheck.traces.story.events import CLASSIC

KEPT = 20
CONSUMER = "consumer"


@define
class Conversions:
    """One group's, filled by `observe`."""

    notes: list[Anomaly] = Factory(list)
    # Is it a consumer group? None: no request has told.
    _modern: bool | None = None
    # The generation or the epoch that was told last.
    _number: int = 0

    @property
    def modern(self) -> bool:
        """Is it a consumer group now, as far as requests tell?"""
        return self._modern is True

    @property
    def happened(self) -> bool:
        """Did the group change its protocol?"""
        return bool(self.notes)

    def observe(self, e: Exchange) -> None:
        """Takes each exchange, in the order in which the broker began with them."""
        if e.code != NONE:
            return
        if isinstance(e, EpochExchange) and e.protocol == CONSUMER and (e.to_epoch or 0) > 0:
            if self._modern is False:
                told = became(CONSUMER, f"in generation {self._number}")
                self._note(e.line, f"{told}: {e.member} joined it with a heartbeat")
            self._modern, self._number = True, max(self._number, e.to_epoch or 0)
        elif isinstance(e, JoinExchange) and e.leader:
            if self._modern:
                told = became(CLASSIC, f"at epoch {self._number}")
                self._note(e.line, f"{told}: {e.leader} leads generation {e.to_generation}")
            self._modern, self._number = False, e.to_generation

    def _note(self, line: int, text: str) -> None:
        if len(self.notes) < KEPT:
            self.notes.append(Anomaly("protocol_changed", line, text))
