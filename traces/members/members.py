"""Every member that logs of clients show: its life, what is proved about it, what is impossible."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import Factory, define, evolve, frozen

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import JAVA, LIBRDKAFKA
from groupcheck.traces.members.impossible import CLASSIC, Contradictions, Impossible
from groupcheck.traces.members.life import Lapse, MemberLife
from groupcheck.traces.members.native import NativeLife
from groupcheck.traces.members.proofs import Early, Proof, Proofs

MOST_MEMBERS = 10_000


@frozen
class GroupMembers:
    """The members of one group, as far as logs of their clients show."""

    # Members whose lives were followed, and statements that are steps of the model's member.
    members: int = 0
    steps: int = 0
    # Lines that no world explains, because lines before them are missing or two processes write
    # under one name.
    gaps: tuple[Statement, ...] = ()
    # Clients with one name that are two processes.
    shared: tuple[str, ...] = ()
    lapses: tuple[Lapse, ...] = ()
    proofs: tuple[Proof, ...] = ()
    early: tuple[Early, ...] = ()
    impossible: tuple[Impossible, ...] = ()

    def beside(self, more: Iterable[Impossible], proofs: Iterable[Proof]) -> GroupMembers:
        """With more proofs, and more lines that cannot be true. Each line counts once, and what
        only such a line speaks against may be true.
        """
        found = {(i.said.log, i.said.line): i for i in more}
        for one in self.impossible:
            if (one.against.log, one.against.line) not in found:
                found.setdefault((one.said.log, one.said.line), one)
        return evolve(self, impossible=tuple(found.values()), proofs=(*self.proofs, *proofs))


@define
class _Member:
    group: str
    life: MemberLife
    # The life of a member of librdkafka; None for every other library.
    native: NativeLife | None = None
    proofs: Proofs = Factory(Proofs)


@define
class Members:
    """The members of all logs. Statements are added in the order of each log."""

    # (log, process, client) -> the member.
    _each: dict[tuple[str, str, str], _Member] = Factory(dict)
    _impossible: Contradictions = Factory(Contradictions)
    # (log, process) of clients that speak another protocol than the classic one.
    _others: set[tuple[str, str]] = Factory(set)

    def add(self, said: Statement, group: str) -> None:
        """`group`: the one that its writer belongs to."""
        if said.library != JAVA and said.library not in CLASSIC:
            return
        key = (said.log, said.process, said.client)
        if "epoch" in said.fields or said.fields.get("setting_group__protocol") == "consumer":
            self._others.add(key[:2])
        self._impossible.add(said)
        if not said.client:
            return
        member = self._each.get(key)
        if member is None:
            if len(self._each) >= MOST_MEMBERS:
                return
            native = NativeLife(said.client) if said.library == LIBRDKAFKA else None
            member = self._each[key] = _Member(group, MemberLife(said.client), native)
        member.group = group or member.group
        member.proofs.add(said)
        if said.library == JAVA:
            member.life.add(said)
        elif member.native is not None:
            member.native.add(said)

    def life(self, log: str, process: str, client: str) -> MemberLife | None:
        """The life of a member of Kafka's own client that speaks the classic protocol."""
        member = self._each.get((log, process, client))
        followed = member is not None and (log, process) not in self._others
        return member.life if member is not None and followed and member.life.told else None

    def of_groups(self) -> dict[str, GroupMembers]:
        """The members by group, when all logs have been read."""
        groups: dict[str, list[_Member]] = {}
        for key, member in self._each.items():
            if key[:2] not in self._others:
                groups.setdefault(member.group, []).append(member)
        told: dict[str, list[Impossible]] = {}
        for one in self._impossible.impossible_lines():
            told.setdefault(one.said.group, []).append(one)
        return {
            group: _group_members(groups.get(group, []), told.get(group, []))
            for group in dict.fromkeys([*groups, *told])
        }


def _group_members(members: list[_Member], impossible: list[Impossible]) -> GroupMembers:
    alone = [m for m in members if not m.life.shared]
    lives = [m.life for m in members if m.life.followed]
    native = [m.native for m in members if m.native is not None and not m.native.shared]
    return GroupMembers(
        members=len(lives),
        steps=sum(life.followed - len(life.gaps) for life in lives),
        gaps=tuple(said for life in lives for said in life.gaps),
        shared=tuple(dict.fromkeys(m.life.client for m in members if m.life.shared)),
        lapses=(
            *(lapse for m in alone for lapse in m.life.lapses),
            *(lapse for life in native for lapse in life.lapses),
        ),
        proofs=tuple(proof for m in alone for proof in m.proofs.proofs_of(m.life.lapses)),
        early=tuple(early for m in alone for early in m.proofs.early(m.life.lapses)),
        impossible=tuple(impossible),
    )
