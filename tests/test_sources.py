"""docs/sources.md: no statement of the sources is missing, each has a verdict, and what it shows.
That quoted commands print what the page says is tested with those of all pages.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import outputs
import pytest

PAGE = Path(__file__).parents[1] / "docs/sources.md"
TEXT = PAGE.read_text("utf-8")
ROWS = 81
ROW = re.compile(r"^\*\*(\d+)\. ([a-z ]+)\.\*\* ", re.M)
VERDICTS = ("agrees", "article wrong", "partly", "other figures", "left out")
ELSEWHERE = re.compile(r"Shown (?:above|with row \d+)|[Rr]ow \d+|[Tt]he last line above")
SLOW = re.compile(r'```console title="takes ([a-z ]+)"\n')
MINUTES = "minutes"
"""Its figures are those of another page."""


def rows() -> dict[int, tuple[str, str]]:
    """Number -> (verdict, what the page says)."""
    at = [*ROW.finditer(TEXT)]
    ends = [m.start() for m in at[1:]] + [len(TEXT)]
    return {int(m[1]): (m[2], TEXT[m.end() : end]) for m, end in zip(at, ends, strict=True)}


def test_no_statement_is_missing() -> None:
    assert [int(m[1]) for m in ROW.finditer(TEXT)] == [*range(1, ROWS + 1)]


def test_each_statement_has_a_verdict_and_the_table_counts_them() -> None:
    counted = Counter(verdict for verdict, _ in rows().values())
    assert set(counted) == set(VERDICTS)
    table = dict(re.findall(r"^\| ([a-z ]+) \| (\d+) \|", TEXT, re.M))
    assert table == {verdict: str(counted[verdict]) for verdict in VERDICTS}
    assert sum(counted.values()) == ROWS


def test_what_agrees_or_is_wrong_is_shown_by_a_command() -> None:
    for number, (verdict, said) in rows().items():
        assert len(said.split("```")[0].split()) >= 4, number
        shown = "```console" in said or ELSEWHERE.search(said) or "`conform " in said
        assert shown or verdict in ("left out", "partly"), number


def test_a_row_that_is_shown_elsewhere_names_a_row_that_shows_something() -> None:
    by_number = rows()
    for number, (_, said) in by_number.items():
        for other in re.findall(r"(?:Shown with|[Rr]ow|As) row (\d+)|[Rr]ow (\d+)", said):
            named = int(other[0] or other[1])
            assert named != number
            assert "```console" in by_number[named][1] or "Row 32" in by_number[named][1]


@pytest.mark.night
def test_commands_that_take_long_print_what_the_page_says() -> None:
    blocks = [m for m in SLOW.finditer(TEXT) if m[1] != MINUTES]
    assert blocks
    for m in blocks:
        block = "```console\n" + TEXT[m.end() : TEXT.index("```", m.end()) + 4]
        quoted = [outputs.timeless(q.output) for q in outputs.quotes(block)]
        assert quoted == [outputs.timeless(said) for said in outputs.outputs(block)]
        assert all(quoted)
