"""Claims of clients about generations and member ids, to be held against a coordinator's log."""

from __future__ import annotations

from enum import StrEnum

from attrs import Factory, define, frozen

from groupcheck.traces.clients.statement import Statement, is_another
from groupcheck.traces.clients.who import BROKER
from groupcheck.traces.members.life import generation_and_member
from groupcheck.traces.members.proofs import DOUBTED

MOST_CLAIMS, MOST_CLIENTS, MOST_SILENCES = 100_000, 10_000, 1_000
SILENCE_MS = 2_000
Key = tuple[str, str, str]
"""Log, process and client."""


class What(StrEnum):
    """The kind of a claim."""

    # The member is in the generation.
    IN = "in"
    # It leads the generation.
    LEADS = "leads"
    # The coordinator does not know the member id.
    UNKNOWN = "unknown"
    # The member asks to leave.
    LEAVES = "leaves"


@frozen
class Claim:
    """A line of a client about one member id."""

    what: What
    said: Statement
    member: str
    # None if the line does not tell it, and neither do those before it.
    generation: int | None = None
    # The member that leads the generation; empty if the line does not tell it.
    leader: str = ""

    @property
    def key(self) -> Key:
        return self.said.log, self.said.process, self.said.client


@define
class Client:
    """One client of one process, as far as it is known at a line."""

    # The generation that it joined last; None if it may have left it since.
    generation: int | None = None
    member: str = ""
    # The ids that it had before: one that comes back shows a second process of the same name, and
    # so does another one in the same generation, unless the member is static.
    former: set[str] = Factory(set)
    shared: bool = False

    def joins(self, generation: int, member: str, static: bool) -> None:
        second = is_another((generation, member), (self.generation, self.member), static)
        self.shared = self.shared or member in self.former or second
        if self.member and self.member != member:
            self.former.add(self.member)
        self.generation, self.member = generation, member


@define
class Presence:
    """When a client says something, whatever it is."""

    first: Statement
    last: Statement
    # How many statements there are, and the long silences: the lines before and after each.
    count: int = 1
    silences: list[tuple[Statement, Statement]] = Factory(list)
    # The lines are in the order of their times.
    ordered: bool = True

    def hear(self, said: Statement) -> None:
        assert said.time is not None and self.last.time is not None
        self.count += 1
        gap = said.time - self.last.time
        self.ordered = self.ordered and gap >= 0
        if gap >= SILENCE_MS and len(self.silences) < MOST_SILENCES:
            self.silences.append((self.last, said))
        self.last = said

    def would_say(self, ms: int) -> float:
        """How many statements there are in such a time, on average."""
        assert self.first.time is not None and self.last.time is not None
        return self.count * ms / max(self.last.time - self.first.time, 1)


@define
class Claims:
    """All claims of all logs. Statements are added in the order of each log."""

    # Group -> its claims.
    groups: dict[str, list[Claim]] = Factory(dict)
    clients: dict[Key, Client] = Factory(dict)
    # Ids that were handed out to a member that joined without one: those of dynamic members.
    dynamic: set[str] = Factory(set)
    # Group -> statements that leave open whether, or how, a membership had ended; with the id.
    doubted: dict[str, list[tuple[Statement, str]]] = Factory(dict)
    lives: dict[Key, Presence] = Factory(dict)
    _count: int = 0

    def hear(self, said: Statement) -> None:
        """Notes that a client says something at all."""
        if said.time is None or not said.client or said.library == BROKER:
            return
        key = (said.log, said.process, said.client)
        life = self.lives.get(key)
        if life is None:
            if len(self.lives) < MOST_CLIENTS:
                self.lives[key] = Presence(said, said)
            return
        life.hear(said)

    def add(self, said: Statement, group: str) -> None:
        """`group`: the one that its writer belongs to."""
        if said.library == BROKER or "epoch" in said.fields or self._count >= MOST_CLAIMS:
            return
        self._doubt(said, group)
        claim = self._claim(said)
        if claim is not None:
            self._count += 1
            self.groups.setdefault(group, []).append(claim)

    def _doubt(self, said: Statement, group: str) -> None:
        if said.kind in DOUBTED and (numbers := generation_and_member(said)) is not None:
            self.doubted.setdefault(group, []).append((said, numbers[1]))
        elif said.kind in DOUBTED and said.client and (member := self._client(said).member):
            self.doubted.setdefault(group, []).append((said, member))

    def _claim(self, said: Statement) -> Claim | None:
        generation = said.fields.get("generation")
        if said.kind == "id_given" and said.member:
            self.dynamic.add(said.member)
            self._client(said).generation = None
        elif said.kind in ("joined", "synced") and said.member and isinstance(generation, int):
            self._client(said).joins(generation, said.member, bool(said.instance))
            leader = str(said.fields.get("leader", ""))
            return Claim(What.IN, said, said.member, generation, leader)
        elif said.kind == "leading" and isinstance(generation, int):
            known = self._client(said)
            if known.generation == generation:
                return Claim(What.LEADS, said, known.member, generation, known.member)
        elif said.kind in ("member_unknown", "commit_refused"):
            return self._unknown(said)
        elif said.kind in _OVER:
            self._client(said).generation = None
            if said.member and _LEAVES in said.text:
                return Claim(What.LEAVES, said, said.member)
        return None

    def _unknown(self, said: Statement) -> Claim | None:
        if said.fields.get("error") != "UNKNOWN_MEMBER_ID" or said.fields.get("ignored"):
            return None
        numbers = generation_and_member(said)
        if numbers is not None:
            return Claim(What.UNKNOWN, said, numbers[1], numbers[0])
        known = self._client(said)
        generation, known.generation = known.generation, None
        if generation is None or not said.client or "eartbeat" not in said.text:
            return None
        return Claim(What.UNKNOWN, said, known.member, generation)

    def _client(self, said: Statement) -> Client:
        return self.clients.setdefault((said.log, said.process, said.client), Client())

    def alone(self, claim: Claim) -> bool:
        """Is the writer's name that of one process?"""
        known = self.clients.get(claim.key)
        return known is None or not known.shared


_LEAVES = "sending LeaveGroup request"
_OVER = {"left", "poll_expired", "generation_reset", "closed", "subscribed", "started", "setting"}
"""Statements after which the next request may be that of another membership."""
TELLING = _OVER | DOUBTED | {"joined", "synced", "leading", "id_given"}
"""Kinds of statements that are or bear on claims."""
