"""What all logs together say about each group, kept in bounded memory."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator

from attrs import Factory, define

from groupcheck.traces.causes.knowledge import Need
from groupcheck.traces.clients.said import Said

KEPT = 500
"""Of each kind: so many of the first and of the last statements are kept."""
MOST_GROUPS, MOST_WRITERS = 10_000, 10_000
NO_GROUP = ""


@define
class Tally:
    """The statements of one kind about one group."""

    count: int = 0
    first: list[Said] = Factory(list)
    last: deque[Said] = Factory(lambda: deque(maxlen=KEPT))
    # Who wrote them, and how often.
    writers: Counter[str] = Factory(Counter)

    def add(self, said: Said) -> None:
        self.count += 1
        (self.first if len(self.first) < KEPT else self.last).append(said)
        if said.who and (said.who in self.writers or len(self.writers) < MOST_WRITERS):
            self.writers[said.who] += 1

    def kept(self) -> Iterator[Said]:
        """Those that were kept, in order."""
        yield from self.first
        yield from self.last


@define
class GroupEvidence:
    """What is said about one group."""

    # Its name; empty for statements that name no group.
    group: str
    tallies: dict[str, Tally] = Factory(dict)
    libraries: Counter[str] = Factory(Counter)

    def add(self, said: Said) -> None:
        self.tallies.setdefault(said.kind, Tally()).add(said)
        self.libraries[said.library] += 1

    def matching(self, need: Need, who: str | None = None) -> list[Said]:
        """The statements that meet the need, in order; of one writer if `who` is given. Empty if
        there are fewer than it asks for.
        """
        tally = self.tallies.get(need.kind)
        if tally is None:
            return []
        found = [
            said
            for said in tally.kept()
            if (who is None or said.who == who)
            and all(_fits(said.fields.get(k), values) for k, values in need.where.items())
        ]
        enough = len(found) >= need.at_least and len({s.who for s in found}) >= need.members
        return found if enough else []

    def writers(self) -> list[str]:
        """Everyone who wrote something about the group."""
        return sorted({who for tally in self.tallies.values() for who in tally.writers})


def _fits(value: object, wanted: tuple[str, ...]) -> bool:
    if value is None:
        return False
    text = str(value)
    return any(text.startswith(w[:-1]) if w.endswith("*") else text == w for w in wanted)


@define
class Evidence:
    """All groups. A statement that names no group belongs to the one that its writer named, or to
    the only group that there is.
    """

    groups: dict[str, GroupEvidence] = Factory(dict)
    # Who -> the group that this writer named last.
    _of: dict[str, str] = Factory(dict)

    def add(self, said: Said) -> None:
        group = said.group or self._of.get(said.who, NO_GROUP)
        if said.group and said.who and len(self._of) < MOST_WRITERS:
            self._of[said.who] = said.group
        if group not in self.groups and len(self.groups) >= MOST_GROUPS:
            group = NO_GROUP
        self.groups.setdefault(group, GroupEvidence(group)).add(said)

    def add_all(self, statements: Iterable[Said]) -> None:
        for said in statements:
            self.add(said)

    def settled(self) -> list[GroupEvidence]:
        """The evidence of each group, when all has been read."""
        named = [g for g in self.groups.values() if g.group]
        nameless = self.groups.get(NO_GROUP)
        if nameless is None:
            return named
        if len(named) != 1:
            return [*named, nameless]
        (only,) = named
        whole = GroupEvidence(only.group)
        statements = [s for g in (nameless, only) for t in g.tallies.values() for s in t.kept()]
        for said in sorted(statements, key=lambda s: s.line):
            whole.add(said)
        for kind, tally in whole.tallies.items():
            parts = [g.tallies[kind] for g in (nameless, only) if kind in g.tallies]
            tally.count = sum(part.count for part in parts)
        return [whole]
