"""Impossible lines, whatever lines are missing: statements about one member id that contradict each
other.

A member id is handed out once. The generation of a group grows as long as it has members. So a
member id never joins an earlier generation than before, and never a generation at all after its
member has left or the coordinator has said that it does not know the id. Both lines must show their
times, and the later line must tell the later time; a line that was copied is left out.

A coordinator that fails before the leader's assignment is written forgets the generation: the next
one begins with the generation before. So a generation counts when a member has its share of it.
"""

from __future__ import annotations

from attrs import Factory, define, frozen

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.members.life import generation_and_member

MOST_IDS, MOST_TOLD = 20_000, 50
_JOINS = ("joined", "synced")
CLASSIC = {"aiokafka", "kafka-python", "kafkajs", "librdkafka"}
"""Libraries besides Java's that print generation and id in lines of the classic protocol alone."""


@frozen
class Impossible:
    """A line that no client prints, with the line that it contradicts."""

    said: Statement
    against: Statement
    text: str


@define
class _Id:
    """The facts about one member id."""

    # The highest generation that a new coordinator knows, too, and the line that shows it: those of
    # which the member has its share; before the first of them, all that it joined.
    generation: int = -1
    shown: Statement | None = None
    synced: bool = False
    # The line that ends it, and the generation of the answer that was under way at that time.
    ended: Statement | None = None
    late: int | None = None
    # (kind, generation) of all that was said of it.
    told: set[tuple[str, int]] = Factory(set)
    # The last contradiction. If the next line is one, too, older lines were copied.
    doubtful: Impossible | None = None
    copied: bool = False


@define
class Contradictions:
    """All member ids of all logs of clients."""

    found: list[Impossible] = Factory(list)
    _ids: dict[str, _Id] = Factory(dict)
    # (log, process, client) -> the line with which it joined last, the generation and the member.
    _last: dict[tuple[str, str, str], tuple[Statement, tuple[int, str]]] = Factory(dict)

    def add(self, said: Statement) -> None:
        """Adds a statement of a client of the classic protocol."""
        numbers = generation_and_member(said)
        generation = said.fields.get("generation")
        if numbers is None and said.library in CLASSIC and said.member:
            numbers = (generation, said.member) if isinstance(generation, int) else None
        writer = (said.log, said.process, said.client)
        last = self._last.get(writer)
        if said.kind == "joined" and numbers is not None and said.client:
            if last is None or _in_order(last[0], said):
                self._last[writer] = said, numbers
        elif said.kind == "synced" and numbers is None and last is not None:  # librdkafka
            numbers = last[1] if _in_order(last[0], said) else None
        if said.kind in _JOINS and numbers is not None:
            self._joined(said, *numbers)
        elif numbers is not None and _unknown(said):
            self._end(numbers[1], said)
        elif said.kind in ("left", "poll_expired") and said.member and _LEAVES in said.text:
            self._end(said.member, said)

    def impossible_lines(self) -> list[Impossible]:
        """The lines that are certain when all logs have been read."""
        last = (known.doubtful for known in self._ids.values())
        return [*self.found, *(d for d in last if d is not None)][:MOST_TOLD]

    def _of(self, member: str) -> _Id:
        if member not in self._ids and len(self._ids) >= MOST_IDS:
            return _Id()
        return self._ids.setdefault(member, _Id())

    def _end(self, member: str, said: Statement) -> None:
        known = self._of(member)
        known.ended = known.ended or said

    def _joined(self, said: Statement, generation: int, member: str) -> None:
        known = self._of(member)
        new = (said.kind, generation) not in known.told
        known.told.add((said.kind, generation))
        wrong = _contradiction(said, generation, known)
        doubtful, known.doubtful = known.doubtful, None
        if wrong is not None or generation < known.generation:
            known.copied = known.copied or doubtful is not None
            if wrong is not None and not known.copied and (new or known.ended is None):
                known.doubtful = wrong
            return
        if doubtful is not None and len(self.found) < MOST_TOLD:
            self.found.append(doubtful)
        if known.ended is not None and _after(known.ended, said):
            known.late = generation
        if generation >= known.generation and (said.kind == "synced" or not known.synced):
            known.generation, known.shown = generation, said
            known.synced = said.kind == "synced"


_LEAVES = "sending LeaveGroup request"


def _unknown(said: Statement) -> bool:
    """The coordinator does not know the id of this request, and the client gives it up."""
    refused = said.fields.get("error") == "UNKNOWN_MEMBER_ID" and not said.fields.get("ignored")
    heartbeat = said.kind == "member_unknown" and "Attempt to heartbeat with Gen" in said.text
    return refused and heartbeat


def _contradiction(said: Statement, generation: int, known: _Id) -> Impossible | None:
    if (
        known.ended is not None
        and _after(known.ended, said)
        and not _under_way(said, generation, known, known.ended)
    ):
        return Impossible(
            said,
            known.ended,
            f"the member is in generation {generation} again, although this id of it had ended"
            " before: an id that has left, or that the coordinator does not know any more, is"
            " never used again",
        )
    least = known.generation if known.synced else known.generation - 1
    if generation < least and known.shown is not None and _after(known.shown, said):
        return Impossible(
            said,
            known.shown,
            f"the member is in generation {generation} after it was in generation"
            f" {known.generation} under the same id: generations only grow while a group has"
            " members",
        )
    return None


def _under_way(said: Statement, generation: int, known: _Id, ended: Statement) -> bool:
    """May this be the answer to a request that was sent before the member left? A consumer that is
    closed leaves also while it waits for a round; when it is late with poll(), it can only wait for
    SyncGroup. The line with which it joined may be missing, so that may be any later generation.
    """
    if ended.kind == "member_unknown" or known.late not in (None, generation):
        return False
    waits = ended.kind == "left" or said.kind == "synced"
    return generation >= known.generation if waits else generation == known.generation


def _in_order(earlier: Statement, later: Statement) -> bool:
    """The times of two lines do not say that they stand in another order."""
    return earlier.time is None or later.time is None or earlier.time <= later.time


def _after(earlier: Statement, later: Statement) -> bool:
    """Is `later` later by its place and by its time? Times in whole seconds must differ."""
    if earlier.time is None or later.time is None or earlier.log != later.log:
        return False
    if earlier.line >= later.line or later.time < earlier.time:
        return False
    return later.time > earlier.time or later.time % 1_000 != 0
