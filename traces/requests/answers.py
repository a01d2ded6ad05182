"""Answers have to name the generation, the leader, the members, the member's share."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.codes import NONE
from groupcheck.traces.exchanges.exchange import Exchange, JoinExchange, SyncExchange
from groupcheck.traces.requests.coordinator_steps import Outcome
from groupcheck.traces.requests.member_indexes import Ids, Instance, MemberIndexes, id_at, with_id
from groupcheck.traces.requests.world import GroupWorld

LISTS_MEMBERS = 9
"""The first version of JoinGroup whose answer to a takeover by the leader lists the members, and
tells it to assign nothing (KIP-814).
"""


@frozen
class KnownNames:
    """The generation and the member ids that are known once answers have named them."""

    # The current generation; None as long as it is not known.
    base: int | None
    ids: Ids


@frozen
class Answers:
    """The answers of one outcome of a step that a world takes."""

    indexes: MemberIndexes
    # The leaders' assignments by request: member id -> bytes.
    plans: Mapping[int, Mapping[str, bytes]]
    world: GroupWorld
    outcome: Outcome

    def names_after(
        self, e: Exchange, index: int, known: KnownNames, anew: bool = False
    ) -> KnownNames | None:
        """The names that are known afterwards, if the answer fits the memory; None if it does not.
        `anew`: the group may have been deleted before, and begins again with this answer.
        """
        if isinstance(e, JoinExchange) and e.code == NONE:
            return self._joined(e, index, known, anew)
        if isinstance(e, SyncExchange) and e.code == NONE and not self._shares(e, index):
            return None
        return known

    def _joined(
        self, e: JoinExchange, index: int, known: KnownNames, anew: bool
    ) -> KnownNames | None:
        memory = self.outcome.after
        base, ids = known.base, known.ids
        if base is None or (anew and e.to_generation == 1 and self.world.memory.initial):
            base = e.to_generation  # not known so far; or the group begins again
        if not id_at(memory, ids, index, self.indexes):
            ids = with_id(ids, memory, index, e.response_member)
        taken = self.outcome.rules[0].startswith(takeover.takeover_committed.name)
        leads = index == memory.leader
        lists = leads and (not taken or e.version >= LISTS_MEMBERS)
        skips = taken and lists
        if (
            e.to_generation != base
            or self.indexes.given_before(e)
            or e.response_member != id_at(memory, ids, index, self.indexes)
            or (e.skips is not None and e.skips != skips)
            or (e.chosen and all(e.chosen != name for name, _ in e.protocols))
        ):
            return None
        if taken and e.version < LISTS_MEMBERS:
            leader = dict(self.world.leaders).get(e.line) or e.leader  # it may never have been told
            return KnownNames(base, ids) if e.leader == leader and not e.members else None
        if memory.leader is None:
            return None
        listed = self._listed(e, ids) if lists else None if e.members else ids
        if listed is None or not self._is(e.leader, memory.leader, listed):
            return None
        return KnownNames(base, listed)

    def _is(self, told: str, index: int, ids: Ids) -> bool:
        """Is this the member with that index, as far as its id is known?"""
        id = id_at(self.outcome.after, ids, index, self.indexes)
        return told == id or (not id and bool(told))

    def _listed(self, e: JoinExchange, ids: Ids) -> Ids | None:
        """The ids, if the leader is told who the members are; None if it is told something else."""
        memory, indexes = self.outcome.after, self.indexes
        static = dict(e.static)
        left = set(memory.members)
        for member, _ in e.members:
            key = indexes.key(member, static.get(member))
            index = indexes.index(key) if indexes.knows(key) else -1
            if index not in left:
                return None
            left.discard(index)
            id = id_at(memory, ids, index, indexes)
            if id != member:
                if id or not isinstance(key, Instance):
                    return None
                ids = with_id(ids, memory, index, member)
        return None if left else ids

    def _shares(self, e: SyncExchange, index: int) -> bool:
        """Does the answer bring the member's share of the leader's assignment?"""
        used = self.world.plan
        plan = self.plans.get(used.request) if used is not None else None
        return (
            plan is None or used is None or e.share == plan.get(used.name_of(index, e.member), b"")
        )
