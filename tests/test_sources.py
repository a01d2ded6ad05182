"""docs/sources.md: no statement of the sources is missing, each has a verdict, and what it shows.
That quoted commands print what the page says is tested with those of all pages.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from pathlib import Path

import outputs
import pytest

from groupcheck.oracles.command_line.listing import SOURCES, listing

PAGE = Path(__file__).parents[1] / "docs/sources.md"
TEXT = PAGE.read_text("utf-8")
ROWS = 81
ROW = re.compile(r"^\*\*(\d+)\. ([a-z ]+)\.\*\* ", re.M)
VERDICTS = ("agrees", "article wrong", "partly", "other figures", "left out")
ABOVE = re.compile(r"Shown above|[Tt]he last line above")
OTHER = re.compile(r"[Rr]ow (\d+)")
STEPS = 3  # references from a row to the one that shows it
SLOW = re.compile(r'```console title="takes ([a-z ]+)"\n')
MINUTES = "minutes"
"""Its figures are those of another page."""
SECTION = re.compile(r"^## (S\d)?", re.M)
PROJECT = "groupcheck"
"""Who promised what stands in the last section, which is no article's."""
LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
COMMAND = re.compile(r"^\$ (groupcheck .*?)(?: \| .*)?$", re.M)


def listed() -> list[dict[str, str]]:
    """What `groupcheck list sources` says of each row, as the page has it."""
    at = [(m.start(), m[1] or PROJECT) for m in SECTION.finditer(TEXT)]
    starts = {int(m[1]): m.start() for m in ROW.finditer(TEXT)}
    told = []
    for number, (verdict, said) in rows().items():
        source = next(name for start, name in reversed(at) if start < starts[number])
        doc = " ".join(LINK.sub(r"\1", said.split("\n\n")[0].split("\n```")[0]).split())
        doc = f"{doc[:-1]}." if doc.endswith(":") else doc
        commands = COMMAND.findall(said)
        row = {"name": str(number), "source": source, "verdict": verdict, "doc": doc}
        told.append(row | ({"command": commands[0]} if commands else {}))
    return told


def rows() -> dict[int, tuple[str, str]]:
    """Number -> (verdict, what the page says)."""
    at = [*ROW.finditer(TEXT)]
    ends = [m.start() for m in at[1:]] + [len(TEXT)]
    said = [TEXT[m.end() : end].split("\n## ")[0] for m, end in zip(at, ends, strict=True)]
    return {int(m[1]): (m[2], text) for m, text in zip(at, said, strict=True)}


def test_no_statement_is_missing() -> None:
    assert [int(m[1]) for m in ROW.finditer(TEXT)] == [*range(1, ROWS + 1)]


def test_each_statement_has_a_verdict_and_the_table_counts_them() -> None:
    counted = Counter(verdict for verdict, _ in rows().values())
    assert set(counted) == set(VERDICTS)
    table = dict(re.findall(r"^\| ([a-z ]+) \| (\d+) \|", TEXT, re.M))
    assert table == {verdict: str(counted[verdict]) for verdict in VERDICTS}
    assert sum(counted.values()) == ROWS


def test_the_command_line_lists_what_the_page_says(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--rewrite"):
        text = ",\n ".join(json.dumps(row, ensure_ascii=False) for row in listed())
        SOURCES.write_text(f"[\n {text}\n]\n", "utf-8")
    assert listing("sources") == listed()
    assert {row["source"] for row in listed()} == {"S1", "S2", "S3", "S4", "S5", PROJECT}
    assert sum("command" in row for row in listed()) > ROWS / 2


def test_what_agrees_or_is_wrong_is_shown_by_a_command() -> None:
    for number, (verdict, said) in rows().items():
        assert len(said.split("```")[0].split()) >= 4, number
        elsewhere = ABOVE.search(said) or OTHER.search(said)
        shown = shows(said) or elsewhere or "`conform " in said
        assert shown or verdict in ("left out", "partly"), number


def shows(said: str) -> bool:
    return "```console" in said


def test_a_row_that_names_another_one_leads_to_a_row_that_shows_something() -> None:
    by_number = rows()
    for number, (_, said) in by_number.items():
        for other in OTHER.findall(said):
            named = int(other)
            assert named != number
            for _ in range(STEPS - 1):
                text = by_number[named][1]
                if not shows(text) and (further := OTHER.search(text)):
                    named = int(further[1])
            assert shows(by_number[named][1]), (number, named)


def test_a_row_that_is_shown_above_has_a_row_above_it_that_shows_something() -> None:
    for section in re.split(r"^## ", TEXT, flags=re.M):
        at = [m.start() for m in ROW.finditer(section)]
        for start, end in itertools.pairwise([*at, len(section)]):
            if ABOVE.search(section, start, end):
                assert shows(section[at[0] : start]), section[start:end]


@pytest.mark.night
def test_commands_that_take_long_print_what_the_page_says() -> None:
    blocks = [m for m in SLOW.finditer(TEXT) if m[1] != MINUTES]
    assert blocks
    for m in blocks:
        block = "```console\n" + TEXT[m.end() : TEXT.index("```", m.end()) + 4]
        quoted = [outputs.timeless(q.output) for q in outputs.quotes(block)]
        assert quoted == [outputs.timeless(said) for said in outputs.outputs(block)]
        assert all(quoted)
