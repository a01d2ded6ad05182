"""The result of a run of `assign --against`, as data: findings, and what was drawn to find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.assignors import Group, NoAssignment
from groupcheck.oracles.assignment import groups
from groupcheck.oracles.assignment.against import against_types
from groupcheck.oracles.assignment.against.libraries.programs import question
from groupcheck.oracles.assignment.against.offered import Library
from groupcheck.oracles.assignment.against.promise_questions import answer_shown
from groupcheck.oracles.assignment.shares import lost
from groupcheck.oracles.assignment.validity import Assigned, named
from groupcheck.oracles.show.json_schemas import document

SCHEMA = "groupcheck.against/1"
MANY_MEMBERS, MANY_PARTITIONS = 5, 11  # from which on a group or a topic counts as large


@frozen
class Finding:
    """A promise that an assignor breaks, with the smallest example."""

    library: str
    version: str
    assignor: str
    promise: str
    # How the promise is broken.
    words: str
    # Code that shows it again.
    code: str
    # What is unusual about the group.
    circumstances: tuple[str, ...] = ()
    # The smallest group; None if the finding is about one member's claim.
    group: Group | None = None
    # The assignor's answer as plain JSON.
    answer: Any = None
    # Of a promise about several answers: the groups that were asked about, with the answers.
    rounds: tuple[tuple[Group, Assigned | NoAssignment], ...] = ()
    # What Kafka's own assignor of that name does, if there is one, by groupcheck's function, which
    # equals the class. Its answer is None if the promise is about several answers.
    kafka: against_types.KafkaAnswer | None = None
    # The traceback of the assignor's own code, if it raised an exception or had to be stopped; of a
    # program that gave no answer, the end of its standard error; else empty.
    traceback: str = ""
    # Why it only informs and does not fail; empty if it fails.
    informs: str = ""

    def shown(self) -> against_types.Finding:
        """As the document has it."""
        return against_types.Finding(
            assignor=self.assignor,
            promise=self.promise,
            words=self.words,
            fails=not self.informs,
            informs=self.informs or None,
            circumstances=list(self.circumstances),
            input=groups.shown(self.group) if self.group else None,
            question=question(self.group) if self.group else None,
            answer=self.answer,
            rounds=[round_shown(*one) for one in self.rounds],
            code=self.code,
            traceback=self.traceback or None,
            kafka=self.kafka,
        )


def round_shown(group: Group, given: Assigned | NoAssignment) -> against_types.Round:
    """One round of a sequence: claims, answer, and what was lost and gained."""
    claims = {m.id: sorted(m.owned) for m in group.members}
    got = {} if isinstance(given, NoAssignment) else given
    return against_types.Round(
        input=groups.shown(group),
        answer=answer_shown(given),
        kept=sum(p in got.get(m, ()) for m, owned in claims.items() for p in owned),
        lost=[named(p) for p in lost(group, got)],
        gained={
            m: [named(p) for p in sorted(got.get(m, frozenset()).difference(owned))]
            for m, owned in claims.items()
        },
    )


@frozen
class Against:
    """The result of a run."""

    library: Library
    # The most groups of a kind that one search looks at.
    examples: int
    # How many promises were asked.
    searches: int
    findings: tuple[Finding, ...]
    # Assignors that were not asked any more, because they did not answer in time. Some of their
    # promises were not searched.
    given_up: tuple[str, ...] = ()
    # The seed of the groups that were drawn.
    seed: int = 0
    # Promise -> statement, of those that were asked.
    promises: Mapping[str, str] = {}
    # What was drawn (`coverage`): a property of groups in words -> how many groups have it.
    drawn: Mapping[str, int] = {}
    # Known violations (`baseline`) that did not show up.
    gone: tuple[str, ...] = ()
    # The end of what a program wrote to its standard error.
    stderr: str = ""

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The findings that do not only inform."""
        return tuple(finding for finding in self.findings if not finding.informs)

    @property
    def exit_code(self) -> int:
        """1 if there are findings that do not only inform."""
        return 1 if self.failing else 0

    def document(self) -> dict[str, Any]:
        """All that `--json` prints; the same question gives the same document."""
        found = against_types.AgainstDocument(
            library=self.library.name,
            version=self.library.version,
            examples=self.examples,
            seed=self.seed,
            searches=self.searches,
            assignors=[offered.name for offered in self.library.assignors],
            promises=dict(self.promises),
            drawn=dict(self.drawn),
            given_up=list(self.given_up),
            verdict="findings" if self.failing else "nothing found",
            findings=[finding.shown() for finding in self.findings],
            gone=list(self.gone),
            stderr=self.stderr or None,
        )
        return document(SCHEMA, found)


def inform(finding: Finding, why: str) -> Finding:
    """The finding as one that does not fail."""
    return evolve(finding, informs=finding.informs or why)


def circumstances(group: Group) -> frozenset[str]:
    """The unusual features of a group. It tells findings of one cause from those of another."""
    wanted = frozenset[str]().union(*(m.topics for m in group.members))
    sizes = dict(group.topics)
    strange = {
        "static and dynamic members mix": len({m.instance is not None for m in group.members}) > 1,
        "nobody subscribes to a topic": not wanted.issuperset(sizes),
        "a topic does not exist": not wanted.issubset(sizes),
        "a topic has no partitions": 0 in sizes.values(),
    }
    return groups.circumstances(group) | {name for name, here in strange.items() if here}


COVERAGE: Mapping[str, Callable[[Group], bool]] = {
    "groups": lambda group: True,
    f"{MANY_MEMBERS} or more members": lambda group: len(group.members) >= MANY_MEMBERS,
    f"a topic of {MANY_PARTITIONS} or more partitions": lambda group: any(
        size >= MANY_PARTITIONS for _, size in group.topics
    ),
    "all members are static": lambda group: all(m.instance is not None for m in group.members),
    "members have claims": lambda group: any(m.owned for m in group.members),
    "racks of replicas": lambda group: any(any(of) for _, of in group.racks),
}


def coverage(drawn: Iterable[Group]) -> dict[str, int]:
    """How many of the groups are large, have racks, and so on; every circumstance is counted."""
    counts = dict.fromkeys(COVERAGE, 0)
    unusual: dict[str, int] = {}
    for group in drawn:
        for name, here in COVERAGE.items():
            counts[name] += here(group)
        for name in circumstances(group):
            unusual[name] = unusual.get(name, 0) + 1
    return counts | dict(sorted(unusual.items()))
