"""Numbers in the prose of pages are those of what produces them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from groupcheck.oracles.explain.subject import every_mutation
from groupcheck.oracles.museum.exhibits import EXHIBITS

ROOT = Path(__file__).parents[1]
MUTATIONS = tuple(every_mutation())


def prose(page: str) -> str:
    return " ".join((ROOT / page).read_text("utf-8").split())


def found(page: str, pattern: str) -> list[str]:
    """The figures that the page has where `pattern` stands, which is there once."""
    (match,) = re.finditer(pattern, prose(page))
    return [*match.groups()]


def test_the_museum_counts_the_mutations() -> None:
    pattern = r"Of the (\d+) mutations, (\d+) were made up and have no release, and (\d+) are shown"
    seeded = sum(m.ticket == "seeded" for m in MUTATIONS)
    counts = [len(MUTATIONS), seeded, len({e.mutation for e in EXHIBITS})]
    assert found("docs/museum.md", pattern) == [str(n) for n in counts]


def test_the_answer_about_scopes_counts_the_members_that_bugs_need() -> None:
    pattern = (
        r"(\d+) of the (\d+) need no more than two members, (\d+) need three, and (\d+) are of a"
        r" producer's partitioner"
    )
    needs = Counter(m.scope.get("members", "none") for m in MUTATIONS)
    assert set(needs) == {1, 2, 3, "none"}
    counts = [needs[1] + needs[2], len(MUTATIONS), needs[3], needs["none"]]
    assert found("docs/faq.md", pattern) == [str(n) for n in counts]


def test_the_finding_about_heartbeats_in_step_has_the_figures_of_the_simulation() -> None:
    finding = found(
        "FINDINGS.md", r"300 members is (\S+) s ten seconds after a round and (\S+) s a"
    )
    page = r"20 replications (\S+) s \([^)]*\) ten seconds after it .{0,200}? and (\S+) s \([^)]*\)"
    assert finding == found("docs/simulate.md", page + " after a day")
