"""Proofs that the life of a member rules out a cause: the line that proves it, and the statements
about which it does so.

A proof names a prerequisite that several causes share (`requires` in causes/knowledge):

- `membership_lost`: the member was removed, or had left. The same member id in a later generation
  shows that it was in the group all the time, since an id that is gone never comes back.
- `left_by_itself`: the member sent LeaveGroup.
- `process_ended`: the process is gone.
- `session_over`: the coordinator heard nothing for a session timeout. A membership that began less
  than that time ago cannot have ended in this way.

What the coordinator's log proves is in both/removals.py. The times are those of the client's own
clock. A session timeout counts only if the log tells it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from attrs import Factory, define, frozen

from groupcheck.traces.clients.frames import continues
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.lines.timestamps import show_span
from groupcheck.traces.members.life import Lapse

MOST_OPEN, MOST_PROOFS = 100, 500
ONE_REFUSAL_MS = 100
"""Lines about one refusal are not further apart."""
DOUBTED = {"commit_refused", "commit_failed", "generation_old", "member_unknown", "lost"}
"""Statements that leave open whether, or how, the membership had ended."""
_SESSION = "setting_session__timeout__ms"


@frozen
class Proof:
    """A prerequisite of causes that does not hold for a statement."""

    refutes: str
    # The statement that such causes cannot explain.
    about: Statement
    # The line that proves it.
    by: Statement
    text: str


@frozen
class Early:
    """A membership that ended before the session could expire."""

    lapse: Lapse
    # Milliseconds from the member's last JoinGroup, and its session timeout.
    after: int
    limit: int


@define
class Proofs:
    """The proofs about one member. Statements are added in the order of its log."""

    kept: list[Proof] = Factory(list)
    # The last refusals, and those since the member was last shown in a generation.
    _refusals: deque[Statement] = Factory(lambda: deque(maxlen=MOST_PROOFS))
    _open: deque[Statement] = Factory(lambda: deque(maxlen=MOST_OPEN))
    # The line that showed it last in a generation.
    _shown: Statement | None = None
    # The lines are in the order of their times; the last time.
    _ordered: bool = True
    _last: int = 0
    # Milliseconds; None if the log does not tell it.
    _session: int | None = None

    def add(self, said: Statement) -> None:
        if said.time is not None:
            self._ordered = self._ordered and said.time >= self._last
            self._last = said.time
        session = said.fields.get(_SESSION)
        if isinstance(session, int):
            self._session = session
        if said.kind in ("joined", "synced") and said.member:
            if self._shown is not None and said.member == self._shown.member:
                self._stayed(self._shown, said)
            self._open.clear()
            self._shown = said
        elif said.kind in DOUBTED:
            self._open.append(said)
            self._refusals.append(said)

    def _stayed(self, before: Statement, said: Statement) -> None:
        for refused in self._open:
            ms = _between(refused, said)
            if ms and _between(before, refused) and len(self.kept) < MOST_PROOFS:
                generation = said.fields.get("generation")
                text = (
                    f"{said.client} was in the group all the time: it is in generation {generation}"
                    f" {show_span(ms)} later under the same member id"
                )
                self.kept.append(Proof("membership_lost", refused, said, text))

    def early(self, lapses: Iterable[Lapse]) -> Iterator[Early]:
        """Those of the member's lapses that came too early for an expired session."""
        for lapse in lapses:
            ms = _between(lapse.begun, lapse.learnt)
            if self._session is not None and ms is not None and ms < self._session:
                yield Early(lapse, ms, self._session)

    def proofs_of(self, lapses: Iterable[Lapse]) -> Iterator[Proof]:
        """All proofs when the log has been read. `lapses`: those of the member's life. A line of a
        stack trace has the time of the one before it, as long as lines are in order.
        """
        yield from (p for p in self.kept if self._ordered or not continues(p.about.text))
        for early in self.early(lapses):
            lapse = early.lapse
            text = (
                f"{lapse.client} asked to join only {show_span(early.after)} before it was refused,"
                f" and its session timeout is {show_span(early.limit)}, by its own clock"
            )
            for refused in self._refusals:
                apart = _between(*sorted((refused, lapse.learnt), key=lambda s: s.line))
                if apart is not None and apart <= ONE_REFUSAL_MS:
                    yield Proof("session_over", refused, lapse.begun, text)


def _between(earlier: Statement, later: Statement) -> int | None:
    """The ms from one line to the other; None if a time is missing or they are not in order."""
    if earlier.time is None or later.time is None or earlier.line > later.line:
        return None
    return later.time - earlier.time if later.time >= earlier.time else None
