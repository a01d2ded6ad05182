"""`groupcheck assign --against`: an assignor's promises, and the smallest group for which it breaks
each.

Hypothesis draws so many small groups of each kind (`groups`), and each promise is asked of every
answer. The smallest group that breaks the promise is a finding: nothing can be left out of it. Then
the search looks for other causes: groups that break the promise although some of that finding's
circumstances are missing, up to `CAUSES` for a promise.

The budget of a search is a number of examples, not a time, so the same question has the same answer
on any machine. Only an assignor that does not come to an end is stopped: after `asked.PATIENCE_S`
for one answer, and for good after `asked.MOST_HUNG` of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from attrs import asdict, frozen

from groupcheck.model.assignors import Group, NoAssignment, Partitions
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment import groups
from groupcheck.oracles.assignment.against.asked import (
    FRESH,
    Answers,
    Asked,
    GivenUp,
    answer_shown,
    asked_of,
    breaks,
    judgement,
)
from groupcheck.oracles.assignment.against.offered import (
    Claim,
    Claims,
    Library,
    own_traceback,
)
from groupcheck.oracles.assignment.promises import ASSIGNORS, PROMISES, answer
from groupcheck.oracles.assignment.validity import named

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
    """What Kafka's own assignor does with the same group, by groupcheck's function, which equals
    the class.
    """

    assignor: str
    # It keeps the promise.
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
    # Code that shows it again.
    code: str
    # What is unusual about the group.
    circumstances: tuple[str, ...] = ()
    # None: it is about one member's claim.
    group: Group | None = None
    answer: Any = None
    # What Kafka's own assignor of that name does, if there is one.
    kafka: Beside | None = None
    # Of the assignor's own code, if it raised an exception or had to be stopped; else empty.
    traceback: str = ""

    def document(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "assignor": self.assignor,
            "promise": self.promise,
            "words": self.words,
            "circumstances": list(self.circumstances),
            "input": groups.shown(self.group) if self.group else None,
            "answer": self.answer,
            "code": self.code,
            "traceback": self.traceback or None,
            "kafka": asdict(self.kafka) if self.kafka else None,
        }


@frozen
class Against:
    """What a run found."""

    library: Library
    # The most groups of a kind that one search looks at.
    examples: int
    # How many promises were asked.
    searches: int
    findings: tuple[Finding, ...]
    # Assignors that were not asked any more, because they did not answer in time. Some of their
    # promises were not searched.
    given_up: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 if there are findings."""
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
    """What is unusual about a group. It tells findings of one cause from those of another."""
    unwanted = {topic for topic, _ in group.topics}.difference(*(m.topics for m in group.members))
    strange = {
        "static and dynamic members mix": len({m.instance is not None for m in group.members}) > 1,
        "nobody subscribes to a topic": bool(unwanted),
    }
    return groups.circumstances(group) | {name for name, here in strange.items() if here}


def findings(
    library: Library, examples: int = EXAMPLES, progress: Progress | None = None
) -> Against:
    """Asks every assignor of the library for every promise. Raises `UserError` if Hypothesis is not
    installed.
    """
    installed("--against")
    found: list[Finding] = []
    given_up = []
    searched = 0
    with library.open():
        for offered in library.assignors:
            answers = Answers(offered)
            for search in Searches(library, answers, examples, beyond=True).by_promise().values():
                searched += 1
                if progress is not None:
                    progress(
                        f"{library.name} {library.version}: {offered.name}, search {searched},"
                        f" {len(found)} found"
                    )
                found += search()
            if answers.gave_up:
                given_up.append(offered.name)
    return Against(library, examples, searched, tuple(found), tuple(given_up))


def installed(where: str) -> None:
    """Raises `UserError` if Hypothesis is not installed."""
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        raise UserError(
            "the search needs hypothesis, which is not installed", where=where, do=INSTALL
        ) from None


@frozen
class Searches:
    """For each promise a search for how one assignor of a library breaks it."""

    library: Library
    answers: Answers
    # The most groups of a kind that one search looks at.
    examples: int
    # See `asked_of`.
    beyond: bool = False
    # Findings are only groups for which Kafka's own assignor keeps the promise.
    no_worse: bool = False
    # It is a finding, too, if a search could judge no answer at all.
    must_judge: bool = False

    def by_promise(self) -> dict[str, Search]:
        """Promise -> search."""
        searches: dict[str, Search] = {
            asked.promise: partial(self._broken, asked)
            for asked in asked_of(self.answers.offered, beyond=self.beyond)
        }
        claims = self.answers.offered.claims
        if claims is not None:
            for promise, wrong, code in (
                ("claims are told", _not_told, claims.told_code),
                ("claims are one's own", _not_own, claims.newcomer_code),
            ):
                searches[promise] = partial(
                    self._about_claims, promise, partial(wrong, claims), code
                )
        return searches

    def _finding(self, promise: str, words: str, code: str, **more: Any) -> Finding:
        library, offered = self.library, self.answers.offered
        return Finding(library.name, library.version, offered.name, promise, words, code, **more)

    def _broken(self, asked: Asked) -> list[Finding]:
        """How the assignor breaks one promise, in up to `CAUSES` ways."""
        from groupcheck.oracles.assignment.against.groups import minimal

        offered = self.answers.offered
        found: list[Finding] = []
        before: list[frozenset[str]] = []

        def wanted(group: Group) -> bool:
            if not self.answers.broken(asked, group):
                return False
            if any(why <= circumstances(group) for why in before):
                return False
            beside = self._beside(asked, group) if self.no_worse else None
            return beside is None or beside.keeps

        for kind in asked.kinds(offered.like):
            while len(found) < CAUSES:
                group = minimal(kind, wanted, circumstances, self.examples)
                if group is None:
                    break
                violations = self.answers.broken(asked, group)[:SHOWN]
                before.append(circumstances(group))
                found.append(
                    self._finding(
                        asked.promise,
                        "; ".join(violation.words for violation in violations),
                        offered.code(group),
                        circumstances=tuple(sorted(before[-1])),
                        group=group,
                        answer=answer_shown(self.answers.of(group)),
                        kafka=self._beside(asked, group),
                        traceback=next((v.traceback for v in violations if v.traceback), ""),
                    )
                )
        return found or self._unjudged(asked)

    def _unjudged(self, asked: Asked) -> list[Finding]:
        """The finding that a search judged no answer, or that it ended before it had asked for all.
        No finding if it judged one, or need not.
        """
        from groupcheck.oracles.assignment.against.groups import drawn

        if not self.must_judge:
            return []
        answers, offered = self.answers, self.answers.offered
        asked_for = [g for kind in asked.kinds(offered.like) for g in drawn(kind, self.examples)]
        try:
            given = {group: answers.of(group) for group in asked_for}
        except GivenUp:
            given = {}
        if answers.gave_up:
            given = {group: answers.known[group] for group in answers.silent}
            why = "it gave no answer (in time) too often and is not asked any more"
        elif any(judgement(asked, offered.like, g, a) is not None for g, a in given.items()):
            return []
        elif all(isinstance(answer, NoAssignment) for answer in given.values()):
            why = "it never gave an assignment"
        else:
            why = (
                f"no answer is {' and '.join(PROMISES[asked.promise].needs)}, as this promise needs"
            )
        group, smallest = min(given.items(), key=lambda known: groups.size(known[0]))
        thrown = smallest if isinstance(smallest, NoAssignment) else None
        told = f"; for the smallest group: {thrown}" if thrown else ""
        return [
            self._finding(
                asked.promise,
                f"not judged in {len(asked_for):,} groups, because {why}{told}",
                offered.code(group),
                group=group,
                answer=answer_shown(smallest),
                traceback=thrown.traceback if thrown else "",
            )
        ]

    def _beside(self, asked: Asked, group: Group) -> Beside | None:
        like = self.answers.offered.like
        if like is None or asked.of_many is not None or self.library.of_kafka:
            return None
        given = answer(ASSIGNORS[like], group)
        return Beside(like, not breaks(asked, like, group, given), answer_shown(given))

    def _about_claims(
        self,
        promise: str,
        wrong: Callable[[Claim], str | None],
        code: Callable[[Partitions, int], str],
    ) -> list[Finding]:
        """How a member's own claim breaks a promise."""
        from groupcheck.oracles.assignment.against.groups import minimal_claim

        def told(claim: Claim) -> tuple[str | None, str]:
            """What is wrong, and the traceback if it is an exception."""
            try:
                return wrong(claim), ""
            except Exception as raised:  # of somebody's own class
                return f"{type(raised).__name__}: {raised}", own_traceback(raised)

        most = min(self.examples, OF_CLAIMS)
        claim = minimal_claim(lambda claim: told(claim)[0] is not None, most)
        if claim is None:
            return self._unjudged(Asked(promise, FRESH))
        words, traceback = told(claim)
        return [self._finding(promise, str(words), code(*claim), traceback=traceback)]


def _not_told(claims: Claims, claim: Claim) -> str | None:
    """How the claim that the leader reads differs from what the member was assigned."""
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
    """How a consumer that was assigned nothing claims what another one was assigned."""
    owned, _ = claims.of_a_newcomer(*claim)
    return (
        f"a new consumer claims {_list(owned)}, which another one of the same process was assigned"
        if owned
        else None
    )


def _list(partitions: Iterable[tuple[str, int]]) -> str:
    return ", ".join(map(named, sorted(partitions))) or "nothing"
