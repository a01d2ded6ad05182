"""`groupcheck assign --against`: an assignor's promises, and the smallest group for which it breaks
each.

Hypothesis draws small groups (`asked_groups`), of each kind so many, and each promise is asked of
every answer. The smallest group that breaks it is a finding, from which nothing more can be left
out. Then what else breaks it, under circumstances that are not all of that finding's: up to
`CAUSES` for a promise.

The budget is a number of examples for each search, not a time, so that the same question has the
same answer on any machine; only an assignor that does not come to an end is stopped, after
`asked.PATIENCE_S` for one answer, and after `MOST_HUNG` of them not asked any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from attrs import asdict, frozen

from groupcheck.model.assignors import Group, NoAssignment, Partitions
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.asked import (
    FRESH,
    Answers,
    Asked,
    GivenUp,
    answer_shown,
    asked_of,
    breaks,
    to_judge,
)
from groupcheck.oracles.assignment.offered import Claim, Claims, Library, Offered, own_traceback
from groupcheck.oracles.assignment.promises import ASSIGNORS, PROMISES
from groupcheck.oracles.assignment.validity import Assigned, named

SCHEMA = "groupcheck.against/1"
EXAMPLES = 250
OF_CLAIMS = 50  # examples of single claims: there are few of them
CAUSES = 3
SHOWN = 4  # ways in which one answer breaks a promise
INSTALL = "pip install 'groupcheck[contract]'"
Progress = Callable[[str], None]
Search = Callable[[], "list[Finding]"]


@frozen
class Beside:
    """Does Kafka's own assignor keep the promise there, and what does it answer? By groupcheck's
    function, which is equal to the class.
    """

    assignor: str
    keeps: bool
    answer: Any


@frozen
class Finding:
    """A promise that an assignor breaks, with the smallest example."""

    library: str
    version: str
    assignor: str
    promise: str
    words: str
    circumstances: tuple[str, ...]
    group: Group | None  # None where it is about one member's claim
    answer: Any
    code: str  # shows it again
    kafka: Beside | None = None  # what Kafka's own assignor of that name does there, if known
    traceback: str = (
        ""  # of the assignor's own code, if it raised an exception or had to be stopped
    )

    def document(self) -> dict[str, Any]:
        """As plain JSON."""
        from groupcheck.oracles.assignment.conform_inputs import shown

        return {
            "assignor": self.assignor,
            "promise": self.promise,
            "words": self.words,
            "circumstances": list(self.circumstances),
            "input": shown(self.group) if self.group else None,
            "answer": self.answer,
            "code": self.code,
            "traceback": self.traceback or None,
            "kafka": asdict(self.kafka) if self.kafka else None,
        }


@frozen
class Against:
    """What a run found. `searches`: how many promises were looked at, each with `examples` groups
    at most.

    `given_up`: assignors that were not asked any more, because they did not answer in time: of them
    not all was searched.
    """

    library: Library
    examples: int
    searches: int
    findings: tuple[Finding, ...]
    given_up: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 where there are findings."""
        return 1 if self.findings else 0

    def document(self) -> dict[str, Any]:
        """All that `--json` prints; the same question gives the same document."""
        return {
            "schema": SCHEMA,
            "library": self.library.name,
            "version": self.library.version,
            "examples": self.examples,
            "searches": self.searches,
            "assignors": [offered.name for offered in self.library.assignors],
            "given_up": list(self.given_up),
            "verdict": "findings" if self.findings else "nothing found",
            "findings": [finding.document() for finding in self.findings],
        }


def circumstances(group: Group) -> frozenset[str]:
    """What is unusual about a group: it tells findings of one cause from those of another."""
    from groupcheck.oracles.assignment import conform_findings as assignors_findings

    unwanted = {topic for topic, _ in group.topics}.difference(*(m.topics for m in group.members))
    strange = {
        "static and dynamic members mix": len({m.instance is not None for m in group.members}) > 1,
        "nobody subscribes to a topic": bool(unwanted),
    }
    return assignors_findings.circumstances(group) | {
        name for name, here in strange.items() if here
    }


def findings(
    library: Library, examples: int = EXAMPLES, progress: Progress | None = None
) -> Against:
    """Asks every assignor of the library for every promise. Raises `UserError` where Hypothesis is
    not installed.
    """
    installed("--against")
    found: list[Finding] = []
    given_up = []
    searched = 0
    with library.open():
        for offered in library.assignors:
            answers = Answers(offered)
            for search in searches_of(library, answers, examples, beyond=True).values():
                if progress is not None:
                    progress(
                        f"{library.name} {library.version}: {offered.name}, search {searched + 1},"
                        f" {len(found)} found"
                    )
                searched += 1
                found += search()
            if answers.gave_up:
                given_up.append(offered.name)
    return Against(library, examples, searched, tuple(found), tuple(given_up))


def installed(where: str) -> None:
    """Raises `UserError` where Hypothesis is not."""
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        raise UserError(
            "the search needs hypothesis, which is not installed", where=where, do=INSTALL
        ) from None


def searches_of(
    library: Library,
    answers: Answers,
    examples: int,
    *,
    beyond: bool = False,
    no_worse: bool = False,
    must_judge: bool = False,
) -> dict[str, Search]:
    """For each promise a search for how an assignor of the library breaks it. `beyond`: see
    `asked_of`. `no_worse`: only where Kafka's own keeps it. `must_judge`: a search that could judge
    no answer at all has that as its finding.
    """

    def search(asked: Asked, broken: Search) -> list[Finding]:
        found = broken()
        return found or (_unjudged(library, answers, asked, examples) if must_judge else [])

    offered = answers.offered
    searches: dict[str, Search] = {
        asked.promise: partial(
            search, asked, partial(_searched, library, answers, asked, examples, no_worse)
        )
        for asked in asked_of(offered, beyond=beyond)
    }
    if offered.claims is not None:
        for promise, wrong, code in (
            ("claims are told", _not_told, offered.claims.told_code),
            ("claims are one's own", _not_own, offered.claims.newcomer_code),
        ):
            says = partial(wrong, offered.claims)
            broken = partial(_about_claims, library, offered, promise, says, code, examples)
            searches[promise] = partial(search, Asked(promise, FRESH), broken)
    return searches


def _searched(
    library: Library, answers: Answers, asked: Asked, examples: int, no_worse: bool
) -> list[Finding]:
    """How an assignor of the library breaks one promise, in up to `CAUSES` ways."""
    from groupcheck.oracles.assignment.asked_groups import minimal

    offered = answers.offered
    found: list[Finding] = []
    before: list[frozenset[str]] = []

    def wanted(group: Group) -> bool:
        if not answers.broken(asked, group) or any(why <= circumstances(group) for why in before):
            return False
        beside = _beside(library, offered, asked, group) if no_worse else None
        return beside is None or beside.keeps

    for groups in asked.kinds(offered.like):
        while (
            len(found) < CAUSES
            and (group := minimal(groups, wanted, circumstances, examples)) is not None
        ):
            violations, why = answers.broken(asked, group)[:SHOWN], circumstances(group)
            found.append(
                Finding(
                    library.name,
                    library.version,
                    offered.name,
                    asked.promise,
                    "; ".join(violation.words for violation in violations),
                    tuple(sorted(why)),
                    group,
                    answer_shown(answers.of(group)),
                    offered.code(group),
                    _beside(library, offered, asked, group),
                    next((v.traceback for v in violations if v.traceback), ""),
                )
            )
            before.append(why)
    return found


def _unjudged(library: Library, answers: Answers, asked: Asked, examples: int) -> list[Finding]:
    """The finding that a search judged no answer, or that it ended before it had asked for all; no
    finding where it judged one.
    """
    from groupcheck.oracles.assignment.asked_groups import drawn
    from groupcheck.oracles.assignment.conform_inputs import size

    offered = answers.offered
    groups = [group for kind in asked.kinds(offered.like) for group in drawn(kind, examples)]
    try:
        given = {group: answers.of(group) for group in groups}
    except GivenUp:
        given = {}
    if answers.gave_up:
        given = {group: answers.known[group] for group in answers.silent}
        why = "it gave no answer (in time) too often and is not asked any more"
    elif any(to_judge(asked, offered.like, group, answer) for group, answer in given.items()):
        return []
    elif all(isinstance(answer, NoAssignment) for answer in given.values()):
        why = "it never gave an assignment"
    else:
        why = f"no answer is {' and '.join(PROMISES[asked.promise].needs)}, as this promise needs"
    group, answer = min(given.items(), key=lambda known: size(known[0]))
    told = f"; for the smallest group: {answer}" if isinstance(answer, NoAssignment) else ""
    return [
        Finding(
            library.name,
            library.version,
            offered.name,
            asked.promise,
            f"not judged in {len(groups):,} groups, because {why}{told}",
            (),
            group,
            answer_shown(answer),
            offered.code(group),
            traceback=answer.traceback if isinstance(answer, NoAssignment) else "",
        )
    ]


def _beside(library: Library, offered: Offered, asked: Asked, group: Group) -> Beside | None:
    if offered.like is None or asked.of_many is not None or library.of_kafka:
        return None
    try:
        answer: Assigned | NoAssignment = ASSIGNORS[offered.like](group)
    except NoAssignment as none:
        answer = none
    return Beside(
        offered.like, not breaks(asked, offered.like, group, answer), answer_shown(answer)
    )


def _about_claims(
    library: Library,
    offered: Offered,
    promise: str,
    wrong: Callable[[Claim], str | None],
    code: Callable[[Partitions, int], str],
    examples: int,
) -> list[Finding]:
    from groupcheck.oracles.assignment.asked_groups import minimal_claim

    def told(claim: Claim) -> tuple[str | None, str]:
        """What is wrong, and the traceback where it is an exception."""
        try:
            return wrong(claim), ""
        except Exception as raised:  # of somebody's own class
            return f"{type(raised).__name__}: {raised}", own_traceback(raised)

    claim = minimal_claim(lambda claim: told(claim)[0] is not None, min(examples, OF_CLAIMS))
    if claim is None:
        return []
    words, traceback = told(claim)
    return [
        Finding(
            library.name,
            library.version,
            offered.name,
            promise,
            str(words),
            (),
            None,
            None,
            code(*claim),
            traceback=traceback,
        )
    ]


def _not_told(claims: Claims, claim: Claim) -> str | None:
    """How what the leader reads is not what the member was assigned."""
    owned, generation = claims.told(*claim)
    if owned != claim[0]:
        return f"a member that was assigned {_list(claim[0])} claims {_list(owned)}"
    if generation != claim[1]:
        return (
            f"a member that was assigned {_list(owned)} in generation {claim[1]} claims it of"
            f" generation {generation}"
        )
    return None


def _not_own(claims: Claims, claim: Claim) -> str | None:
    """How a consumer that was assigned nothing claims what another one was."""
    owned, _ = claims.of_a_newcomer(*claim)
    return (
        f"a new consumer claims {_list(owned)}, which another one of the same process was assigned"
        if owned
        else None
    )


def _list(partitions: Iterable[tuple[str, int]]) -> str:
    return ", ".join(map(named, sorted(partitions))) or "nothing"
