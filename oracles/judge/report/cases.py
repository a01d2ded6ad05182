"""A judgement as test cases for CI, one for each rule."""

from __future__ import annotations

from groupcheck.oracles.judge.report.verdicts import Judgement, RuleVerdict, by_root
from groupcheck.oracles.show.suite import ERROR, FAILURE, PASSED, SKIPPED, Case, Suite

BECAME = {
    "keeps": PASSED,
    "breaks": FAILURE,
    "unsteady": ERROR,
    "not_judged": SKIPPED,
    "known": PASSED,
}


def suite(command: str, told: Judgement) -> Suite:
    """The test cases. `command`: what the suite is called after."""
    cases = [_case(one) for one in told.rules]
    if told.reason:
        cases.append(Case("the whole run", ERROR, told.reason))
    return Suite(f"{command}, {told.subject}", tuple(cases))


def _case(one: RuleVerdict) -> Case:
    roots = by_root(r for r in one.remarks if r.became == one.became)
    lines = []
    for root, some in roots.items():
        lines += [root, f"in {some[0].row}: {some[0].detail}", *map(str, some[0].lines), ""]
    why = {"not_judged": "nothing tried it", "known": ""}.get(one.became, "; ".join(roots))
    return Case(one.rule.name, BECAME[one.became], why or one.rule.sentence, "\n".join(lines))
