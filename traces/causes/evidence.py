"""The evidence about each group in all logs together, kept in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from attrs import Factory, define, evolve, field

from groupcheck.traces.both.clients import TELLING, Claims
from groupcheck.traces.both.contradictions import contradictions
from groupcheck.traces.both.coordinator_claims import CoordinatorClaims
from groupcheck.traces.both.removals import decide
from groupcheck.traces.causes.derived import derive
from groupcheck.traces.causes.group_evidence import MOST_WRITERS, GroupEvidence
from groupcheck.traces.causes.versions import Versions
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.facts import across
from groupcheck.traces.facts.rules import Rule, shipped_rules
from groupcheck.traces.facts.watch import Watch
from groupcheck.traces.lines.timestamps import FIRST_DATED
from groupcheck.traces.members.clocks import Clocks
from groupcheck.traces.members.group_story import Stories, group_story
from groupcheck.traces.members.members import GroupMembers, Members

MOST_GROUPS = 10_000
NO_GROUP = ""
OF_STEPS = {"changed", "went_back", "stands_still"}
OF_ONE_MEMBER = {
    "callback_held", "callback_slow", "commit_in_round", "heartbeat_gap", "heartbeat_starved",
    "join_loop", "poll_never_returned", "poll_returned", "rejoin_late", "revoked_again",
    "round_missed",
}  # fmt: skip
"""Facts of these sorts and kinds compare one line of a member with the next."""


@define
class Evidence:
    """All groups. A statement that names no group belongs to the one that its writer named, or to
    the only group that there is.
    """

    groups: dict[str, GroupEvidence] = Factory(dict)
    # The members that logs of clients show.
    members: Members = Factory(Members)
    stories: Stories = Factory(Stories)
    # Which versions logs tell.
    versions: Versions = Factory(Versions)
    # How far the clocks of clients and brokers are apart.
    clocks: Clocks = Factory(Clocks)
    # What coordinators and clients say about generations and member ids.
    coordinator_claims: CoordinatorClaims = Factory(CoordinatorClaims)
    claims: Claims = Factory(Claims)
    # The facts that are looked for, by kind.
    rules: Mapping[str, Rule] = Factory(shipped_rules)
    # The logs tell of other groups, too, whose lines are left out: a statement that names no group
    # may be of any.
    others: bool = False
    # Group -> what it does, followed while lines are read.
    _watched: dict[str, Watch] = Factory(dict)
    # Who -> the group that this writer named last.
    _of: dict[str, str] = Factory(dict)
    _streamed: Sequence[Rule] = field(init=False)

    @_streamed.default
    def _rules_in_stream(self) -> Sequence[Rule]:
        return [rule for rule in self.rules.values() if rule.stream]

    def add(self, said: Statement) -> None:
        group = said.group or self._of.get(said.who, NO_GROUP)
        if said.group and said.who and len(self._of) < MOST_WRITERS:
            self._of[said.who] = said.group
        if group not in self.groups and len(self.groups) >= MOST_GROUPS:
            group = NO_GROUP
        found = self.groups.get(group)
        if found is None:
            found = self.groups[group] = GroupEvidence(group)
            self._watched[group] = Watch(self._streamed)
        found.add(said)
        for follows in self._watched[group].hear(said):
            found.add(follows)
        if said.kind in TELLING:
            said = said if said.group else evolve(said, group=group)
            self.claims.add(said, group)
        self.claims.hear(said)
        self.members.add(said, group)
        self.stories.add(said, group)
        self.clocks.add(said, group)
        self.versions.add(said)

    def add_all(self, statements: Iterable[Statement]) -> None:
        for said in statements:
            self.add(said)

    def by_group(self) -> list[GroupEvidence]:
        """The evidence of each group, when all has been read, with the facts that follow from
        several statements.
        """
        for name, watch in self._watched.items():
            for follows in watch.end():
                self.groups[name].add(follows)
        groups = self._of_groups()
        followed = self.members.of_groups()
        skews, misplaced = self.clocks.skews_and_misplaced()
        stories = self.stories.of_groups()
        alone = len(groups) == 1 and groups[0].group and not self.others
        nameless = stories.pop(NO_GROUP, []) if alone else []
        every = (s for g in groups for s in g.all())
        times = {(s.log, s.time < FIRST_DATED) for s in every if s.time is not None}
        mixed = {log for log, undated in times if undated and (log, False) in times}
        for group in groups:
            if mixed:
                group.leave_out_undated(mixed)
            group.followed = followed.get(group.group, group.followed)
            by_broker = decide(group.group, self.coordinator_claims, self.claims, skews)
            group.removals = by_broker.removals
            group.followed = group.followed.beside(
                contradictions(group.group, self.coordinator_claims, self.claims, skews, misplaced),
                by_broker.proofs,
            )
            group.correct_times(skews)
            ahead = {s.process: s.ahead for s in reversed(group.skews) if s.differs}
            told = [*stories.get(group.group, []), *nameless]
            for m in told:
                if (life := self.members.life(m.log, m.process, m.client)) is not None:
                    m.step.follow(life)
            group.story = group_story(
                m.shifted(ahead.get((m.log, m.process), 0), m.log in mixed) for m in told
            )
            group.versions = self.versions
            facts = (*derive(group, self.rules), *_of_members(group.followed), *by_broker.facts)
            if shared := group.shared:
                group.leave_out(lambda said: self._of_one(said, shared))
                facts = tuple(f for f in facts if not self._of_one(f, shared))
            for said in facts:
                group.add(said)
        named = {g.group: g for g in groups if g.group}
        for said in across(
            self.rules, lambda *some: [s for g in named.values() for s in g.all(*some)]
        ):
            if said.group in named:
                named[said.group].add(said)
        return groups

    def _of_one(self, said: Statement, shared: Set[str]) -> bool:
        """Does the fact follow from lines of one member that are those of several?"""
        rule = self.rules.get(said.kind)
        steps = said.kind in OF_ONE_MEMBER or (
            rule is not None and rule.per == "process" and rule.sort in OF_STEPS
        )
        return steps and (said.subject in shared or said.who in shared)

    def _of_groups(self) -> list[GroupEvidence]:
        named = [g for g in self.groups.values() if g.group]
        nameless = self.groups.get(NO_GROUP)
        if nameless is None:
            return named
        if len(named) != 1 or self.others:
            return [*named, nameless]
        (only,) = named
        whole = GroupEvidence(only.group)
        statements = [
            s for g in (nameless, only) for t in g.tallies.values() for s in t.statements()
        ]
        for said in sorted(statements, key=lambda s: s.line):
            whole.add(said)
        for kind, tally in whole.tallies.items():
            parts = [g.tallies[kind] for g in (nameless, only) if kind in g.tallies]
            tally.count = sum(part.count for part in parts)
        return [whole]


def _of_members(followed: GroupMembers) -> Iterator[Statement]:
    """The findings about members, as statements like those of lines."""
    for early in followed.early:
        fields = {"after": early.after, "limit": early.limit}
        yield evolve(early.lapse.learnt, kind="removed_early", fields=fields)
    for one in followed.impossible:
        place = f"line {one.said.line}" + (f" of {one.said.log}" if one.said.log else "")
        told = {"place": place, "told": one.text}
        yield evolve(one.said, kind="impossible_line", fields=told)
        yield evolve(one.against, kind="impossible_line", fields=told)
