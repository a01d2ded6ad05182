"""What `groupcheck assign` judges as test cases: one for each promise, statement or assignor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from groupcheck.oracles.assignment.against import Against
from groupcheck.oracles.assignment.conformance import AssignorConformance
from groupcheck.oracles.assignment.judging import Judged
from groupcheck.oracles.assignment.promises import PROMISES
from groupcheck.oracles.assignment.proofs import Proof
from groupcheck.oracles.assignment.sequence import JudgedSequence
from groupcheck.oracles.show.suite import ERROR, FAILURE, PASSED, SKIPPED, Case, Suite

NOT_JUDGED = "not judged: partitions are assigned wrongly or not at all"
FEW = 20  # violations told in one case


def judged_suite(judged: Judged | JudgedSequence) -> Suite:
    """One case for each promise, and one for the constraints. The time is divided evenly."""
    if isinstance(judged, JudgedSequence):
        broken = [(v.promise, f"{where}: {v.words}") for where, v in judged.violations]
        rounds = [one for change in judged.changes for one in change.rounds]
        title = judged.asked.about or "sequence"
        constraints: tuple[str, ...] = ()
        cores: Sequence[str] = ()
    else:
        broken = [(v.promise, v.words) for v in judged.violations]
        rounds, title, cores = [judged], judged.question.about or "assignment", judged.right.core
        constraints = ("constraint",) * bool(judged.question.constraints)
    unjudged = {name for one in rounds for name in one.not_judged}
    names = dict.fromkeys([*judged.promises, *constraints, *(promise for promise, _ in broken)])
    share = judged.seconds / max(1, len(names))
    cases = [
        _promise(
            name, [words for promise, words in broken if promise == name], name in unjudged, share
        )
        for name in names
    ]
    if cores:
        why = "no assignment keeps all of these together"
        cases.append(Case("a right assignment exists", FAILURE, why, "\n".join(cores)))
    return Suite(f"assign {title}", tuple(cases))


def _promise(name: str, broken: Sequence[str], unjudged: bool, seconds: float) -> Case:
    if broken:
        more = [f"and {len(broken) - FEW:,} more"] if len(broken) > FEW else []
        statement = [PROMISES[name].statement] if name in PROMISES else []
        text = "\n".join([*statement, *broken[1:FEW], *more])
        return Case(name, FAILURE, broken[0], text, seconds)
    if unjudged:
        return Case(name, SKIPPED, NOT_JUDGED, seconds=seconds)
    return Case(name, seconds=seconds)


def proofs_suite(proofs: Iterable[Proof]) -> Suite:
    """One case for each statement."""
    return Suite("assign --prove", tuple(map(_proof, proofs)))


def _proof(p: Proof) -> Case:
    name = f"{p.subject}: {p.words}"
    if p.stands:
        return Case(name, PASSED, seconds=p.seconds)
    if p.answer == "unknown":
        return Case(name, ERROR, "unknown: z3 gave up", seconds=p.seconds)
    if p.answer == "refuted":
        return Case(name, FAILURE, f"refuted by {p.counterexample}", seconds=p.seconds)
    kept = [m.words for m in p.mutants if m.counterexample is None]
    why = f"not refuted: mutant, {kept[0]}" if kept else "its premises may contradict each other"
    return Case(name, FAILURE, why, seconds=p.seconds)


def against_suite(result: Against) -> Suite:
    """One case for each assignor, and one for each promise that it breaks."""
    return Suite(f"assign --against {result.library.name}", tuple(_against(result)))


def _against(result: Against) -> Iterator[Case]:
    wrong = {finding.assignor for finding in result.findings}
    for number, f in enumerate(result.findings, 1):
        yield Case(f"{f.assignor}: {f.promise} ({number})", FAILURE, f.words, f.code)
    for offered in result.library.assignors:
        if offered.name in result.given_up:
            yield Case(offered.name, ERROR, "unknown: it did not answer in time")
        elif offered.name not in wrong:
            yield Case(offered.name)


def assignors_suite(result: AssignorConformance) -> Suite:
    """One case for each assignor that is compared with Kafka's class."""
    cases = []
    for tally in result.tallies:
        kinds = "\n".join(f"{kind}: {n:,} inputs" for kind, (n, _) in tally.differences.items())
        why = f"{tally.differing:,} of {tally.inputs:,} inputs differ" if tally.differing else ""
        became = FAILURE if tally.differing else PASSED
        cases.append(Case(tally.assignor, became, why, kinds, tally.seconds))
    return Suite("conform assignors", tuple(cases))
