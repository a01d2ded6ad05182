"""`groupcheck assign --html`: members by partitions, what is wrong marked in its cell, the right
one beside it; hostile names stay text.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from groupcheck.oracles.command_line import cli

DATA = Path(__file__).parents[2] / "data" / "assign"


@pytest.fixture
def drawn(tmp_path, capsys):
    """The page of a file or a document."""

    def draw(given):
        file, page = given, tmp_path / "page.html"
        if isinstance(given, dict):
            file = tmp_path / "given.json"
            file.write_text(json.dumps(given), "utf-8")
        assert cli.run(["assign", str(file), "--html", str(page)]) in (0, 1)
        capsys.readouterr()
        return page.read_text("utf-8")

    return draw


def cells(page, kind):
    return re.findall(rf'<td class="{kind}"(?: title="([^"]*)")?>', page)


def test_what_is_wrong_is_marked_in_its_cell_and_the_right_one_stands_beside_it(drawn):
    page = " ".join(drawn(DATA / "printed-sticky-after.json").split())
    assert (
        page.count("<caption>") == 2
        and "<caption>right: balanced, with the fewest moves</caption>" in page
    )
    wrong = [words.split(",")[0] for words in cells(page, "wrong")]
    twice = [
        f"{p} to {m}"
        for m in ("C1", "C2")
        for p in ("Order-0", "Order-2", "Order-3", "Stock-1", "Stock-4")
    ]
    assert sorted(wrong) == sorted([*twice, "Stock-5 to C1"])
    assert page.count('class="marked" title="given to nobody"') == 6
    assert "valid: C1 gets Stock-5, which does not exist (Stock has 5 partitions)" in page


def test_what_is_not_subscribed_to_is_marked(drawn):
    members = {"a": {"subscribes": ["t"]}, "b": {"subscribes": []}}
    assert cells(
        drawn({"topics": {"t": 1}, "members": members, "assignment": {"b": {"t": [0]}}}), "wrong"
    ) == ["t-0 to b"]


def test_a_right_assignment_is_drawn_once_with_what_is_kept_and_what_comes_from_another(drawn):
    page = drawn(DATA / "sticky.json")
    assert page.count("<caption>") == 1 and cells(page, "wrong") == []
    assert cells(page, "moved") == [
        f"stock-{n} to c3, from {frm}" for n, frm in enumerate(("c1", "c1", "c2"))
    ]
    assert len(cells(page, "kept")) == 6 and len(cells(page, "left")) == 3


def test_members_out_of_balance_are_marked(drawn):
    page = drawn(DATA / "printed-roundrobin-before.json")
    assert re.findall(r'class="member marked" scope="row">(\w+)<', page) == ["C1", "C3"]


def test_each_round_of_a_sequence_is_drawn(drawn):
    page = drawn(DATA / "sequence-own.json")
    assert re.findall(r"<h2[^>]*>([^<]*)</h2>", page) == [
        "c3 joins, round 1", "c3 joins, round 2", "c2 leaves", "orders grows to 5 partitions",
    ]  # fmt: skip
    assert (
        cells(page, "wrong") == ["orders-1 to c3, from c1"]
        and "not at rest after this round" in page
    )


def test_hostile_names_stay_text(drawn):
    evil = '"></title></style><script>alert(1)</script>&\x1b[31m'
    page = drawn(
        {
            "about": evil,
            "topics": {evil: 1},
            "members": {
                evil: {"subscribes": [evil], "claims": {evil: [0]}},
                "b": {"subscribes": []},
            },
            "assignment": {"b": {evil: [0]}},
        }
    )
    assert "<script" not in page and "\x1b" not in page and "&lt;script&gt;alert(1)" in page
    assert page.count("</style>") == page.count("</title>") == 1
    assert "javascript:" not in page and "://" not in page


def test_a_large_group_is_cut_to_what_is_wrong(drawn):
    members = {f"c{k}": {"subscribes": ["t"]} for k in range(300)}
    page = drawn(
        {
            "topics": {"t": 3000},
            "members": members,
            "assignor": "range",
            "assignment": {"c299": {"t": [2999, 3000]}},
        }
    )
    assert len(page) < 1_000_000 and ">c299<" in page and len(cells(page, "wrong")) == 1
    assert "though c0, c1, c2, c3, c4 and 295 others could have it" in page
    assert "240 members and 2,851 partitions are not drawn" in page


def test_a_page_needs_a_file_and_somewhere_to_be_written(capsys, tmp_path):
    assert cli.run(["assign", "--prove", "--html", "x.html"]) == 2
    assert "--html: needs an assignment to show (add FILE)" in capsys.readouterr().err
    assert (
        cli.run(["assign", str(DATA / "sticky.json"), "--html", str(tmp_path / "no" / "x.html")])
        == 2
    )
    assert "there is no directory" in capsys.readouterr().err
