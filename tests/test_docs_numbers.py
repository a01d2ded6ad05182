"""Numbers in the prose of pages are those of what produces them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from groupcheck.oracles.explain.subject import every_mutation
from groupcheck.oracles.museum.exhibits import EXHIBITS

ROOT = Path(__file__).parents[1]


def prose(page: str) -> str:
    return " ".join((ROOT / page).read_text("utf-8").split())


def found(page: str, pattern: str) -> list[str]:
    """The figures that the page has where `pattern` stands, which is there once."""
    (match,) = re.finditer(pattern, prose(page))
    return [*match.groups()]


def test_the_museum_counts_what_it_shows() -> None:
    shown = len({e.mutation for e in EXHIBITS})
    assert found("docs/museum.md", r"Of the mutations, (\d+) are shown above") == [str(shown)]


def test_the_answer_about_scopes_says_how_many_members_bugs_need() -> None:
    needs = Counter(m.scope.get("members", 0) for m in every_mutation())
    assert "none needs more than three members, and most no more than two" in prose("docs/faq.md")
    assert max(needs) == 3 and needs[3] < needs.total() / 10


def test_the_finding_about_heartbeats_in_step_has_the_figures_of_the_simulation() -> None:
    finding = found(
        "FINDINGS.md", r"300 members is (\S+) s ten seconds after a round and (\S+) s a"
    )
    page = r"20 replications (\S+) s \([^)]*\) ten seconds after it .{0,200}? and (\S+) s \([^)]*\)"
    assert finding == found("docs/simulate.md", page + " after a day")
