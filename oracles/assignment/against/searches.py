"""`groupcheck assign --against`: an assignor's promises, and the smallest group for which it breaks
each.

For each kind of group a number of groups is drawn, the small ones by Hypothesis (`groups`), and
each promise is checked on every answer. The smallest group that breaks the promise is a finding:
nothing can be left out of it. Then the search looks for other causes: groups that break the promise
although some of that finding's circumstances are missing, up to `CAUSES` for a promise. Groups for
which Kafka's own assignor keeps the promise come first.

Some findings only inform (`Finding.informs`): answers that vary, and promises that Kafka's own
assignor breaks in the same group, or does not make for such a group. `Search` can make them fail,
too.

The budget of a search is a number of examples, not a time, so the same question has the same answer
on any machine. Only an assignor that does not come to an end is stopped: after `asked.PATIENCE_S`
for one answer, and for good after `asked.MOST_HUNG` of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cached_property, partial
from typing import Any

from attrs import frozen

from groupcheck.model.assignors import Group, NoAssignment, Partitions
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment import groups
from groupcheck.oracles.assignment.against.against_types import KafkaAnswer
from groupcheck.oracles.assignment.against.finding import (
    Against,
    Finding,
    circumstances,
    coverage,
)
from groupcheck.oracles.assignment.against.offered import (
    Claim,
    Claims,
    Library,
    OfferedAssignor,
    own_traceback,
)
from groupcheck.oracles.assignment.against.promise_questions import (
    AGAIN,
    FRESH,
    PROBED,
    Answers,
    GivenUp,
    PromiseQuestion,
    answer_shown,
    asked_of,
    judgement,
    statement,
)
from groupcheck.oracles.assignment.promises import ASSIGNORS, PROMISES, variants
from groupcheck.oracles.assignment.validity import named

EXAMPLES = 250
OF_CLAIMS = 50  # examples of single claims: there are few of them
CAUSES = 3
SHOWN = 4  # ways in which one answer breaks a promise
INSTALL = "pip install 'groupcheck[contract]'"
Progress = Callable[[str], None]
Ask = Callable[[], "list[Finding]"]
VARIES = "answers vary; each group is asked about several times, and every answer is judged"
KAFKAS_TOO = "Kafka's own assignor breaks the promise here, too"
NOT_MADE = "Kafka's own assignor does not promise it for such a group"


@frozen
class Search:
    """The terms of a search: what it asks, and how strict it is."""

    # The most groups of a kind that one search looks at; of large ones a quarter.
    examples: int = EXAMPLES
    # Another seed draws other groups.
    seed: int = 0
    # Promises that are not asked.
    skipped: Collection[str] = ()
    # See `asked_of`.
    beyond: bool = False
    # It fails even where Kafka's own assignor breaks the promise, too.
    kafka_fails: bool = False
    # It fails if answers vary.
    varying_fails: bool = False
    # It is a finding, too, if a search could judge no answer at all.
    must_judge: bool = False


def findings(
    library: Library, how: Search | int = EXAMPLES, progress: Progress | None = None
) -> Against:
    """Asks every assignor of the library for every promise. `how`: a number stands for so many
    examples. Raises `UserError` if Hypothesis is not installed.
    """
    if isinstance(how, int):
        how = Search(how, beyond=True)
    installed("--against")
    found: list[Finding] = []
    given_up = []
    promises: dict[str, str] = {}
    drawn: dict[Group, None] = {}
    searched = 0
    with library.open():
        for offered in library.assignors:
            searches = Searches(library, Answers(offered), how)
            for promise, ask in searches.by_promise().items():
                searched += 1
                promises[promise] = statement(promise)
                if progress is not None:
                    progress(
                        f"{library.name} {library.version}: {offered.name}, search {searched},"
                        f" {len(found)} found"
                    )
                found += ask()
            drawn |= dict.fromkeys(searches.drawn())
            if searches.answers.gave_up:
                given_up.append(offered.name)
        said = library.said()
    return Against(
        library,
        how.examples,
        searched,
        tuple(found),
        tuple(given_up),
        how.seed,
        promises,
        coverage(drawn),
        stderr=said,
    )


def installed(where: str) -> None:
    """Raises `UserError` if Hypothesis is not installed."""
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        raise UserError(
            "the search needs hypothesis, which is not installed", where=where, do=INSTALL
        ) from None


@frozen(slots=False)
class Searches:
    """For each promise a search for how one assignor of a library breaks it."""

    library: Library
    answers: Answers
    how: Search

    def by_promise(self) -> dict[str, Ask]:
        """Promise -> search."""
        searches: dict[str, Ask] = {
            asked.promise: partial(self._broken, asked) for asked in self._asked
        }
        claims = self.answers.offered.claims
        if claims is not None:
            for promise, wrong, code in (
                ("claims are told", _wrong_claim, claims.claim_code),
                ("claims are one's own", _not_own, claims.newcomer_code),
            ):
                searches[promise] = partial(
                    self._about_claims, promise, partial(wrong, claims), code
                )
        return {p: ask for p, ask in searches.items() if p not in self.how.skipped}

    @cached_property
    def _asked(self) -> tuple[PromiseQuestion, ...]:
        return tuple(
            asked
            for asked in asked_of(self.answers.offered, beyond=self.how.beyond)
            if asked.promise not in self.how.skipped
        )

    @cached_property
    def _kafkas(self) -> Answers | None:
        """The answers of Kafka's own assignor; None if there is none to compare with."""
        like = self.answers.offered.like
        if like is None or self.library.of_kafka:
            return None
        return Answers(OfferedAssignor(like, like, ASSIGNORS[like], lambda *groups: ""))

    def _drawn(self, asked: PromiseQuestion, kind: str) -> tuple[Group, ...]:
        from groupcheck.oracles.assignment.against.groups import drawn

        return drawn(kind, asked.count(kind, self.how.examples), self.how.seed)

    def drawn(self) -> Iterable[Group]:
        """All groups that the searches look at."""
        for asked in self._asked:
            for kind in asked.kinds(self.answers.offered.like):
                yield from self._drawn(asked, kind)

    def _finding(self, promise: str, words: str, code: str, **more: Any) -> Finding:
        library, offered = self.library, self.answers.offered
        return Finding(library.name, library.version, offered.name, promise, words, code, **more)

    @cached_property
    def _varies(self) -> bool:
        """Do its answers vary? Found out before the first promise is asked."""
        if self.answers.offered.ask_again:
            for kind in AGAIN.kinds(self.answers.offered.like):
                self.answers.probe(self._drawn(AGAIN, kind)[:PROBED])
        return bool(self.answers.varied)

    def _broken(self, asked: PromiseQuestion) -> list[Finding]:
        """How the assignor breaks one promise, in up to `CAUSES` ways."""
        from groupcheck.oracles.assignment.against.reducing import minimal

        assert self._varies in (False, True)
        found: list[Finding] = []
        before: list[frozenset[str]] = []

        def wanted(as_kafka: bool, group: Group) -> bool:
            if not self.answers.broken(asked, group):
                return False
            if any(why <= circumstances(group) for why in before):
                return False
            return self._kafka_breaks(asked, group) == as_kafka

        for as_kafka in (False, True):
            for kind in asked.kinds(self.answers.offered.like):
                while len(found) < CAUSES:
                    drawn = self._drawn(asked, kind)
                    group = minimal(drawn, partial(wanted, as_kafka), circumstances)
                    if group is None:
                        break
                    before.append(circumstances(group))
                    found.append(self._found(asked, group))
        return found or self._unjudged(asked)

    def _found(self, asked: PromiseQuestion, group: Group) -> Finding:
        answer, violations = self.answers.breach(asked, group)
        assert answer is not None
        rounds = violations[0].rounds
        return self._finding(
            asked.promise,
            "; ".join(violation.words for violation in violations[:SHOWN]),
            self.answers.offered.code(*([asked for asked, _ in rounds] or [group])),
            circumstances=tuple(sorted(circumstances(group))),
            group=group,
            answer=answer_shown(answer),
            rounds=rounds,
            kafka=self._beside(asked, group),
            traceback=next((v.traceback for v in violations if v.traceback), ""),
            informs=self._informs(asked, group),
        )

    def _informs(self, asked: PromiseQuestion, group: Group) -> str:
        """Why a violation in this group does not fail; empty if it does."""
        how = self.how
        if asked is AGAIN:
            return "" if how.varying_fails else VARIES
        if how.kafka_fails:
            return ""
        if self._kafka_breaks(asked, group):
            return KAFKAS_TOO
        promise = PROMISES.get(asked.promise)
        return NOT_MADE if asked.beyond and promise and not promise.made_for(group) else ""

    def _kafka_breaks(self, asked: PromiseQuestion, group: Group) -> bool:
        """Does Kafka's own assignor break the promise in a variant of the group?"""
        kafkas = self._kafkas
        return kafkas is not None and any(kafkas.broken(asked, one) for one in variants(group))

    def _beside(self, asked: PromiseQuestion, group: Group) -> KafkaAnswer | None:
        if self._kafkas is None or asked is AGAIN:
            return None
        kafkas = self._kafkas
        answer = None if asked.of_many else answer_shown(kafkas.of(group))
        return KafkaAnswer(
            assignor=kafkas.offered.name,
            keeps=not self._kafka_breaks(asked, group),
            answer=answer,
        )

    def _unjudged(self, asked: PromiseQuestion) -> list[Finding]:
        """The finding that a search judged no answer, or that it ended before it had asked for all.
        No finding if it judged one, or need not.
        """
        if not self.how.must_judge:
            return []
        answers, offered = self.answers, self.answers.offered
        asked_for = [g for kind in asked.kinds(offered.like) for g in self._drawn(asked, kind)]
        try:
            given = {group: answers.of(group) for group in asked_for}
        except GivenUp:
            given = {}
        if answers.gave_up:
            given = {group: answers.known[group][0] for group in answers.silent}
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

    def _about_claims(
        self,
        promise: str,
        wrong: Callable[[Claim], str | None],
        code: Callable[[Partitions, int], str],
    ) -> list[Finding]:
        """How a member's own claim breaks a promise."""
        from groupcheck.oracles.assignment.against.groups import minimal_claim

        def problem(claim: Claim) -> tuple[str | None, str]:
            """The text of what is wrong, and the traceback if it is an exception."""
            try:
                return wrong(claim), ""
            except (Exception, SystemExit) as raised:  # of somebody's own class
                return f"{type(raised).__name__}: {raised}", own_traceback(raised)

        most = min(self.how.examples, OF_CLAIMS)
        claim = minimal_claim(lambda claim: problem(claim)[0] is not None, most, self.how.seed)
        if claim is None:
            return self._unjudged(PromiseQuestion(promise, FRESH))
        words, traceback = problem(claim)
        return [self._finding(promise, str(words), code(*claim), traceback=traceback)]


def _wrong_claim(claims: Claims, claim: Claim) -> str | None:
    """How the claim that the leader reads differs from what the member was assigned."""
    owned, generation = claims.claim_of(*claim)
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
