"""The files that `simulate` writes have the figures of its answer."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from pyarrow import parquet

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.simulate import Setup, compare
from groupcheck.oracles.simulate.setup import MEASURES
from groupcheck.oracles.simulate.uses import compared, plots, tables
from groupcheck.oracles.simulate.uses.curves import answered

ASKED = ["simulate", "--scenario", "crash", "--members", "4", "--replications", "2"]
BOTH = ["--compare", "classic,cooperative"]


def test_csv_and_parquet_have_every_figure_of_the_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("csv", "parquet")}
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    assert cli.run([*ASKED, *BOTH, *options, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    wanted = [
        (one["variant"], measure, found["mean"])
        for one in told["variants"]
        for measure, found in one["measures"].items()
    ]
    table = parquet.read_table(files["parquet"]).to_pylist()
    assert [(r["variant"], r["measure"], r["mean"]) for r in table] == wanted
    with files["csv"].open() as file:
        lines = list(csv.DictReader(file))
    assert [(r["variant"], r["measure"], float(r["mean"])) for r in lines] == wanted
    assert len(wanted) == 2 * len(MEASURES)


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "＝"])
def test_no_text_of_a_csv_file_is_a_formula_and_numbers_stay_numbers(
    tmp_path: Path, begin: str
) -> None:
    rows = [{"name": f"{begin}1+1", "x": -1.5, "n": None}, {"name": "\t=1\r\n=1\x1b", "x": 2}]
    tables.write_rows(rows, ("name", "x", "n"), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == (
        f"name,x,n\n'{begin}1+1,-1.5,\n\\t=1\\r\\n=1\\x1b,2,\n"
    )


def test_equal_comparisons_give_equal_pictures() -> None:
    both = compare([Setup(variant=v, members=4) for v in ("classic", "cooperative")], 2)
    assert compared.drawn(both, "svg") == compared.drawn(both, "svg")
    assert b"longest pause of a member (s)" in compared.drawn(both, "svg")


def test_what_never_ended_has_no_bar_and_no_figure(tmp_path: Path) -> None:
    never = compare([Setup(members=4, scenario="crash", seconds=1)], 2)
    compared.write_html(never, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert '>until the group rests</td><td data-name="classic">unknown</td>' in page
    assert '<span class="verdict unknown">unknown</span> The group did not come to rest' in page


def test_a_page_has_the_shell_of_the_others_and_units_that_people_read(tmp_path: Path) -> None:
    long = [
        Setup(variant=v, members=4, scenario="crash").with_(session_timeout_ms=3_600_000)
        for v in ("classic", "cooperative")
    ]
    compared.write_html(compare(long, 2), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert 'name="viewport"' in page and '<main class="groupcheck">' in page
    assert "<h1>The longest pause of a member is " in page
    assert re.search(r'until the group rests</td><td data-name="classic">\d+ min', page)
    assert "all stops of partitions together (min)" in page and "e+0" not in page
    assert "sessions of running" not in page.split("<table>")[0]  # a panel of zeros


def test_a_curve_has_its_units_in_table_picture_and_conclusion() -> None:
    found = answered("initial-delay", members=4, values=(0, 120_000), replications=2)
    heads, rows = plots.figures(found)
    assert heads[:2] == ["", "group.initial.rebalance.delay.ms"]
    assert [row[:2] for row in rows] == [["classic", "0 s"], ["classic", "120 s"]]
    picture = plots.drawn(found, "svg").decode()
    assert "longest start of a process (s)" in picture
    assert "group.initial.rebalance.delay.ms (s)" in picture
    assert plots.conclusion(found).startswith("Longest start of a process: classic ")


def test_a_picture_of_another_kind_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groupcheck.oracles.simulate.command.compare", None)
    assert cli.run([*ASKED, "--plot", str(tmp_path / "out.pdf")]) == 2
    assert "end it with .png or .svg" in capsys.readouterr().err
    same = ["--csv", str(tmp_path / "a"), "--html", str(tmp_path / "a")]
    assert cli.run([*ASKED, *same]) == 2
    assert "is also the file of" in capsys.readouterr().err
