"""The life of one member by its client's log: the worlds of the model that fit, and what is certain
in all of them.

Only the Java client for the classic protocol is followed: the model's member is this client. A line
that no world explains shows that lines are missing before it, or that two processes write under one
name; the member may then be anything. So what follows from several lines is only claimed where all
lines between them are explained.
"""

from __future__ import annotations

import re

from attrs import Factory, define, evolve, field, frozen

from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    Heartbeat,
    JoinGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)
from groupcheck.traces.clients.partitions import partitions_of
from groupcheck.traces.clients.statement import Statement, is_another
from groupcheck.traces.members import member_worlds as w

FINDINGS_KEPT = 200
"""Of each kind of finding about one member."""
_APIS: dict[str, type[Request]] = {
    "JOIN_GROUP": JoinGroup,
    "SYNC_GROUP": SyncGroup,
    "HEARTBEAT": Heartbeat,
    "OFFSET_COMMIT": OffsetCommit,
    "OFFSETCOMMIT": OffsetCommit,
}
_LEAVING = "sending LeaveGroup request"
_JOINED, _SYNCED = "Successfully joined group with generation", "Successfully synced group"
_STARTS = {"setting", "subscribed", "closed"}


@frozen
class Lapse:
    """A membership that ended without the member's doing."""

    client: str
    member: str
    generation: int
    # The line with which the last round of the member began: it was sent before the coordinator
    # counted its session anew.
    begun: Statement
    # The line that shows the membership last, and the one where the member learns of its end.
    sure: Statement
    learnt: Statement
    # The request that was refused, as the line names it.
    api: str
    # The partitions that the member held until `given_up`; empty if the log does not tell.
    partitions: tuple[str, ...] = ()
    given_up: Statement | None = None
    # The next generation that it joined, and the line.
    again: Statement | None = None
    next_generation: int | None = None

    @property
    def missed(self) -> int:
        """How many generations passed without it."""
        return 0 if self.next_generation is None else self.next_generation - self.generation - 1


@define
class MemberLife:
    """One member. Statements are added in the order of the log."""

    client: str
    worlds: w.Worlds = field(factory=w.every_world)
    tells: w.Tells = w.Tells.ROUNDS
    # The line of its last JoinGroup, and of the one that brought it into the generation.
    asked: Statement | None = None
    begun: Statement | None = None
    # The generation that it joined last, its id, and the line that shows both last.
    generation: int | None = None
    member: str = ""
    sure: Statement | None = None
    # The ids that it had before: one that comes back shows a second process of the same name.
    _former: set[str] = Factory(set)
    shared: bool = False
    # Statements that were followed, and those that no world explains.
    followed: int = 0
    # The last of them.
    told: Statement | None = None
    gaps: list[Statement] = Factory(list)
    lapses: list[Lapse] = Factory(list)
    _last: tuple[int, str] = (0, "")

    def add(self, said: Statement) -> None:
        if "Request joining group due to" in said.text:
            self.tells = w.Tells.RESETS
        elif said.kind == "joined" and "Generation{" in said.text:
            self.tells = max(self.tells, w.Tells.ANSWERS)
        steps = self._steps(said)
        if said.kind in _STARTS and said.fields.get("step") is None:
            self._forget()
        elif said.kind == "lost":
            self._gives_up(said)
        elif steps and self._last != (said.line, said.kind):
            self._last = (said.line, said.kind)
            self.followed, self.told = self.followed + 1, said
            self._follow(said, steps)

    def _steps(self, said: Statement) -> tuple[w.Step, ...]:
        """The steps of the model's member that the statement may tell of."""
        if said.kind == "joining" and "(Re-)joining group" in said.text:
            return (w.joins,)
        if said.kind == "joined" and _JOINED in said.text:
            return (w.joined, w.settled) if self.tells == w.Tells.ROUNDS else (w.joined,)
        if said.kind == "synced" and _SYNCED in said.text:
            return (w.synced,)
        if said.kind == "id_given" and said.member != self.member:
            return (w.given_id,)
        if said.kind in ("left", "poll_expired") and _LEAVING in said.text:
            return (w.leaves,)
        if said.kind == "generation_reset" or _refused(said, self.tells):
            return _resets(said)
        return ()

    def _follow(self, said: Statement, steps: tuple[w.Step, ...]) -> None:
        if said.kind == "synced":
            self.tells = max(self.tells, w.Tells.ANSWERS)
        before = w.apart_from_lines(self.worlds, self.tells)
        after = w.behind(self._fitting(said, before), steps)
        whole = bool(after)
        if not whole:
            self._note_gap(said)
            after = w.behind(w.every_world(), steps) or w.every_world()
        if whole and said.kind in ("generation_reset", "member_unknown", "commit_refused"):
            self._note_lapse(said, before)
        self.worlds = after
        if said.kind == "joining":
            self.asked = said
        self._number(said)

    def _fitting(self, said: Statement, before: w.Worlds) -> w.Worlds:
        """Those of the worlds in which the member has the numbers that the line names."""
        generation, member = said.fields.get("generation"), said.member
        if self.tells == w.Tells.ROUNDS or not member or not self.member:
            return before
        if said.kind == "synced":
            same = (generation, member) == (self.generation, self.member)
            return before if same or self.generation is None else frozenset()
        if said.kind == "joined":
            older = isinstance(generation, int) and generation < (self.generation or 0)
            if member == self.member and older:
                return frozenset()
            return frozenset(x for x in before if x.keeps_id == (member == self.member))
        return before

    def _number(self, said: Statement) -> None:
        generation = said.fields.get("generation")
        if said.kind in ("joined", "synced") and isinstance(generation, int):
            if self.lapses and self.lapses[-1].again is None and said.kind == "joined":
                self._note_return(said, generation)
            known = self.generation, self.member
            other = is_another((generation, said.member), known, bool(said.instance))
            self.shared = self.shared or other
            self.generation, self.sure = generation, said
            if said.kind == "joined":
                self.begun = self.asked
        if said.member and said.kind in ("joined", "synced", "id_given"):
            self.shared = self.shared or said.member in self._former
            if self.member and self.member != said.member:
                self._former.add(self.member)
            self.member = said.member

    def _forget(self) -> None:
        """Another process may begin here: nothing is known of it."""
        self.worlds = w.every_world()
        self.generation = self.sure = self.begun = self.asked = None
        self.member = ""

    def _note_gap(self, said: Statement) -> None:
        self.sure = self.begun = self.asked = None
        if len(self.gaps) < FINDINGS_KEPT:
            self.gaps.append(said)

    def _note_lapse(self, said: Statement, before: w.Worlds) -> None:
        """The coordinator had removed the member: it was in a generation in every world."""
        error = str(said.fields.get("error", ""))
        certain = generation_and_member(said) == (self.generation, self.member) or all(
            x.client.generation != NO_GENERATION for x in before
        )
        generation, begun, sure = self.generation, self.begun, self.sure
        if error != "UNKNOWN_MEMBER_ID" or None in (generation, begun, sure) or not certain:
            return
        assert generation is not None and begun is not None and sure is not None
        if len(self.lapses) < FINDINGS_KEPT:
            self.lapses.append(
                Lapse(
                    self.client,
                    self.member,
                    generation,
                    begun,
                    sure,
                    said,
                    str(said.fields.get("api", "")),
                )
            )
        self.sure = None

    def _note_return(self, said: Statement, generation: int) -> None:
        lapse = self.lapses[-1]
        if said.member != lapse.member or not said.member:
            self.lapses[-1] = evolve(lapse, again=said, next_generation=generation)

    def _gives_up(self, said: Statement) -> None:
        """The callback for partitions that are lost runs."""
        callback = said.fields.get("step", "callback") == "callback"
        if callback and self.lapses and self.lapses[-1].given_up is None:
            some = tuple(partitions_of(str(said.fields.get("partitions", ""))))
            self.lapses[-1] = evolve(self.lapses[-1], given_up=said, partitions=some)


_NAMED = re.compile(r"generationId=(\d{1,10}), memberId='([^']{1,400})'")


def generation_and_member(said: Statement) -> tuple[int, str] | None:
    """The generation and the member id of the request that the statement is about, if its line
    names both.
    """
    found = _NAMED.search(said.text)
    return (int(found[1]), found[2]) if found else None


def _refused(said: Statement, tells: w.Tells) -> bool:
    """Versions that do not print the reset show it by the refused heartbeat or commit."""
    heartbeat = said.kind in ("member_unknown", "generation_old", "instance_fenced")
    commit = said.kind == "commit_refused" and "OffsetCommit failed with Generation" in said.text
    told = (heartbeat and "Attempt to heartbeat" in said.text) or commit
    return tells < w.Tells.RESETS and told


def _resets(said: Statement) -> tuple[w.Step, ...]:
    request = _APIS.get(str(said.fields.get("api", "")).upper())
    error = str(said.fields.get("error", ""))
    if request is not None and error in w.ERRORS:
        return (w.REFUSED[error, request],)
    return (w.forgets, *w.RESETS)
