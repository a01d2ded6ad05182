"""How many commits a member sent, and how many were refused, by the lines of its log: several lines
may tell of one.
"""

from __future__ import annotations

import re

from attrs import Factory, define

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.lines.shapes import shape_of

APART_MS = 1_000
"""Lines of one commit stand closer together, and so do a member's last step of a reconciliation
and the new epoch that answers it.
"""
_ASKS = re.compile(r"Committing offsets|Sending offset-commit|issuing commit|autocommitting")


def only_asks(said: Statement) -> bool:
    """Is it the request for a commit, which does not tell whether it succeeds?"""
    return said.kind == "committed" and _ASKS.search(said.text) is not None


@define
class Commits:
    """The commits of one member. Statements are added in the order of its log."""

    # Requests for commits, commits, and those that were refused.
    asked: int = 0
    done: int = 0
    refused: int = 0
    # The partitions of the last commit, and when it was.
    _batch: set[str] = Factory(set)
    _batch_at: int = 0
    # The lines about the last one that was refused, without their numbers.
    _told: set[tuple[bytes, str]] = Factory(set)
    _told_at: int = 0

    def add(self, said: Statement) -> None:
        """One commit may be told in a line for each partition, and by a line that asks for it."""
        if said.kind == "commit_refused":
            self._refuse(said)
            return
        self._told.clear()
        if only_asks(said):
            self.asked += 1
            return
        part = said.fields.get("partition_name", said.fields.get("partition"))
        if "offset" not in said.fields and part is None:
            self.done += "api" not in said.fields and bool(said.fields)
            return
        at = said.time or 0
        if not self._batch or part in self._batch or at - self._batch_at > APART_MS:
            self.done += 1
            self._batch.clear()
        self._batch.add(str(part))
        self._batch_at = at

    def _refuse(self, said: Statement) -> None:
        """A commit that was refused may be told for each partition, by the client, and by the
        exception that the application prints. A line that says the same again is about another one.
        """
        part = said.fields.get("partition_name", said.fields.get("partition", ""))
        line = shape_of(said.text), str(part)
        at = said.time if said.time is not None else self._told_at
        if not self._told or line in self._told or at - self._told_at > APART_MS:
            self.refused += 1
            self._told.clear()
        self._told.add(line)
        self._told_at = at
