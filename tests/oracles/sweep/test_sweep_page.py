"""The page of a sweep and the view of one under way: matrices, links, and nothing that a text could
break out of.
"""

from __future__ import annotations

import re
from typing import Any

import attrs
from rich.console import Console

from groupcheck.oracles.sweep import sweep_types
from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.command import worst
from groupcheck.oracles.sweep.folder import CellResult
from groupcheck.oracles.sweep.growing import Sweep, grown
from groupcheck.oracles.sweep.live import RunningSweep
from groupcheck.oracles.sweep.outcome import Outcome
from groupcheck.oracles.sweep.page import matrices, page, short
from groupcheck.oracles.sweep.rows import row

HOLDS = Outcome("holds", "every state was explored", 12_345, complete=True)
HOSTILE = "</title></style><script>alert(1)</script>\x1b[31m"


def rows(sweep: Sweep, done: dict[int, CellResult] | None = None) -> list[sweep_types.Cell]:
    return [
        row(
            cell, (done or {}).get(cell.number, CellResult(HOLDS, None, "")), sweep.grids[cell.grid]
        )
        for cell in sweep.cells
    ]


def sweep(*grids: dict[str, Any], **more: Any) -> Sweep:
    return grown({"grid": [{"variant": "classic", **grid} for grid in grids], **more}, "file")


def test_numbers_go_across_and_all_else_down_and_what_was_left_out_stays_empty():
    asked = sweep(
        {
            "members": [1, 2],
            "generations": 3,
            "faults": [{}, {"crash": 1}],
            "without": {"members": 2, "faults": {"crash": 1}},
        }
    )
    (matrix,) = matrices(asked, rows(asked))
    assert matrix.columns == ("members 1", "members 2")
    assert [(label, [cell and cell.number for cell in line]) for label, line in matrix.lines] == [
        ("no faults", [1, 3]),
        ("crash 1", [2, None]),
    ]


def test_columns_are_in_the_order_of_their_numbers_and_each_grid_has_its_matrix():
    asked = sweep(
        {"members": [10, 9]},
        {"mutation": ["leader_forgotten", "none"], "name": "bugs", "members": 3},
    )
    first, second = matrices(asked, rows(asked))
    assert first.columns == ("members 9", "members 10")
    assert (second.title, [label for label, _ in second.lines]) == (
        "bugs",
        ["leader_forgotten", "no mutation"],
    )


def test_the_page_shows_verdicts_states_links_and_what_is_not_as_expected():
    asked = sweep({"members": [1, 2]})
    fell = Outcome("violated", "one_owner", 7, broken=("one_owner",), steps=3, key="gc1-0")
    found = rows(asked, {2: CellResult(fell, None, "pages/abc.html")})
    text = " ".join(page(asked, worst(found), found).split())
    assert '<span class="verdict violated">violated</span> sweep' in text
    assert 'class="violated odd" title="violated, expected: holds: one_owner"' in text
    assert text.count('href="pages/abc.html"') == 2
    assert "12.3k" in text and "12,345" in text
    assert "<script" not in text and "http" not in re.sub(r"<meta[^>]*>", "", text)


def test_no_text_of_the_file_or_of_an_error_breaks_out_of_the_page():
    asked = sweep({"name": HOSTILE}, name=HOSTILE)
    found = rows(asked, {1: CellResult(Outcome("unknown", HOSTILE, broken=(HOSTILE,)), None, "")})
    text = page(asked, "unknown", found)
    assert "<script" not in text and "\x1b" not in text
    assert text.count("</style>") == text.count("</title>") == 1
    assert text.count("&lt;script&gt;") >= 4


def test_counts_are_short():
    counts = {
        0: "0",
        999: "999",
        1000: "1.0k",
        99_949: "99.9k",
        123_456: "123k",
        4_500_000: "4.5M",
        2 * 10**9: "2.0G",
    }
    assert {count: short(count) for count in counts} == counts


def test_the_worst_is_violated_before_unknown_before_holds():
    (cell,) = rows(sweep({}))

    def one(verdict: str, expected: str) -> sweep_types.Cell:
        return attrs.evolve(cell, verdict=verdict, as_expected=verdict == expected)

    assert worst([one("holds", "holds"), one("violated", "violated")]) == "holds"
    assert worst([one("unknown", "holds"), one("holds", "holds")]) == "unknown"
    assert worst([one("unknown", "holds"), one("holds", "violated")]) == "violated"


def test_the_view_of_a_sweep_under_way_counts_cells_and_names_the_last():
    asked: list[Cell] = list(sweep({"members": [1, 2, 3]}).cells)
    watched = RunningSweep(cells=3, resumed=1, doing="small scopes")
    watched.see(asked[1], HOLDS)
    watched.see(asked[2], attrs.evolve(HOLDS, verdict="violated"))
    console = Console(width=100, record=True)
    with console.capture() as captured:
        console.print(watched.view())
    shown = captured.get()
    assert "3 of 3 cells  1 holds  1 violated  0 unknown" in shown and "small scopes" in shown
    assert "violated       12,345  classic, members 3" in shown
