"""The bug table and the rows of the comparison as Parquet: what is documented is what stands there,
and it agrees with `--json`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas
import pytest

from groupcheck.oracles.check import bugs
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.show import parquet

DOCUMENT = (Path(__file__).parents[3] / "docs/tables.md").read_text("utf-8")


def documented(title: str) -> dict[str, str]:
    section = DOCUMENT.split(f"## `{title}`")[1].split("\n## ")[0]
    return {
        name: kind.split()[0]
        for name, kind in re.findall(
            r"^\| `(\w+)` \| (string|bool|int32|int64|float64|list of string) \|", section, re.M
        )
    }


def answered(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, object]:
    code = cli.run([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_every_column_is_documented_with_its_type() -> None:
    assert documented("groupcheck bugs --parquet FILE") == bugs.columns()
    assert documented("groupcheck conform VARIANT --parquet FILE") == parquet.CONFORMANCE


def test_the_bug_table_says_what_the_document_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "bugs.parquet"
    code, told = answered(
        capsys, "bugs", "leader_forgotten", "size_cap_off_by_one", "--parquet", str(file)
    )
    table = pandas.read_parquet(file)
    assert code == 0 and list(table.columns) == list(bugs.columns())
    rows = [
        {**row, "scope": json.loads(row["scope"]), "broken": list(row["broken"])}
        for row in table.to_dict("records")
    ]
    assert rows == [{k: value for k, value in bug.items() if k != "real"} for bug in told]


def test_the_rows_of_a_comparison_add_up_to_its_counts_and_answer_the_documented_question(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = ["classic", "--members", "1", "--generations", "1", "--mutation", "leader_forgotten"]
    code, told = answered(capsys, "conform", *scope, "--parquet", str(tmp_path / "rows.parquet"))
    table = pandas.read_parquet(tmp_path / "rows.parquet")
    assert code == 1 and list(table.columns) == list(parquet.CONFORMANCE)
    assert (len(table), table.executed.sum(), table.agrees.eq(True).sum()) == (
        told["rows"],
        told["executed"],
        told["agreeing"],
    )
    monkeypatch.chdir(tmp_path)
    names: dict[str, pandas.Series] = {}
    exec(re.findall(r"```python\n(.*?)```", DOCUMENT, re.S)[0], names)
    assert names["answer"].sum() == told["differing"] > 0
    assert told["differences"][0]["input"] in names["answer"].index


def test_the_members_rows_are_a_table_and_test_cases_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = ["--parquet", str(tmp_path / "rows"), "--junit", str(tmp_path / "cases")]
    scope = "classic --side member --generations 1 --mutation keeps_partitions_when_lost"
    small = "--set partitions=1 --set autocommit=no --max-differences 3"
    code, told = answered(capsys, "conform", *scope.split(), *small.split(), *files)
    table = pandas.read_parquet(tmp_path / "rows")
    assert code == 1 and list(table.columns) == list(parquet.CONFORMANCE)
    assert (len(table), table.executed.sum(), table.agrees.eq(True).sum()) == (
        told["rows"],
        told["executed"],
        told["agreeing"],
    )
    differing = set(table[table.agrees.eq(False)].input)
    assert differing == {d["input"] for d in told["differences"]}
    cases = (tmp_path / "cases").read_text("utf-8")
    assert "the application closes the member" in cases and "rows differ" in cases
    assert "rows were not executed: stopped after 3 differences" in cases


@pytest.mark.parametrize("more", [["--live"], ["--diff", "4.0.0", "4.3.0"]])
def test_a_table_of_what_has_no_rows_is_refused(
    more: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.run(["conform", "classic", *more, "--parquet", str(tmp_path / "x")]) == 2
    assert "--parquet: only the comparison of a variant with Kafka" in capsys.readouterr().err


def test_a_table_that_cannot_be_written_is_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.run(["bugs", "--parquet", str(tmp_path / "no" / "where.parquet")]) == 2
    assert "'--parquet': there is no directory" in capsys.readouterr().err
