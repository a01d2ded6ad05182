"""The extras of the package: each has the name of a task and brings what that task needs, and
whatever says `pip install 'groupcheck[...]'` names the right one.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from groupcheck.model.assignors import Group, Member
from groupcheck.model.engine import UserError, compiler
from groupcheck.oracles.assignment import optimum, solvers
from groupcheck.oracles.assignment.against import searches
from groupcheck.oracles.judge.live import live
from groupcheck.oracles.record.clients import CLIENTS
from groupcheck.oracles.show import parquet
from groupcheck.oracles.simulate.uses import plots
from groupcheck.oracles.spark import session
from groupcheck.oracles.sweep import command, reading

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
WRITTEN = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *(
        path
        for floor in ("model", "invariants", "traces", "oracles")
        for path in ROOT.glob(f"{floor}/**/*.py")
    ),
]
CLAIMED = Group({"t": 1}, [Member("A", ["t"], {"t": [0]}, 1)])


def named(text: str) -> list[str]:
    """The extras of every `groupcheck[...]` in a text."""
    return [
        extra
        for found in re.findall(r"groupcheck\[([\w,-]+)\]", text)
        for extra in found.split(",")
    ]


def test_every_extra_that_is_named_anywhere_exists():
    extras = {(path, extra) for path in WRITTEN for extra in named(path.read_text("utf-8"))}
    assert len(extras) > 8
    assert {(path, extra) for path, extra in extras if extra not in BRINGS} == set()


def brought(extra: str) -> set[str]:
    """The packages of an extra, with those of the extras that it names."""
    found: set[str] = set()
    for requirement in EXTRAS[extra]:
        others = named(requirement)
        own = set() if others else {re.split(r"[^\w-]", requirement)[0]}
        found |= own.union(*map(brought, others))
    return found


BRINGS = {extra: brought(extra) for extra in EXTRAS}


def sweeps(path: Path) -> None:
    path.write_text("a: 1\n")
    reading.read_sweep(path)


@pytest.mark.parametrize(
    ("module", "task"),
    [
        ("numpy", lambda _: compiler.must_be_installed()),
        ("numba", lambda _: compiler.must_be_installed()),
        ("hypothesis", lambda _: searches.installed("here")),
        ("hypothesis", lambda _: live.live("before all else", kafka="4.3.0", say=print)),
        ("scipy", lambda _: optimum.optimum(CLAIMED)),
        ("z3", lambda _: solvers.solver("z3", "it is done")),
        ("pyspark", lambda _: session.needed()),
        ("matplotlib", lambda _: plots.needed("--plot")),
        ("pyarrow", lambda _: parquet.needed("--parquet")),
        ("pyarrow", lambda f: command.run(f / "s.toml", None, None, False, 1, False)),
        ("yaml", lambda folder: sweeps(folder / "sweep.yaml")),
    ],
)
def test_a_missing_package_is_brought_by_the_extra_that_the_message_names(
    module: str, task: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for loaded in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError) as refused:
        task(tmp_path)
    (extra,) = named(str(refused.value))
    assert f"(pip install 'groupcheck[{extra}]'" in str(refused.value)
    distribution = {"z3": "z3-solver", "yaml": "pyyaml"}.get(module, module)
    assert distribution in BRINGS[extra]


def test_every_client_that_is_recorded_comes_with_the_extra_for_recording():
    assert BRINGS["record"] == {name for name in CLIENTS if name != "java"}


def test_the_contract_brings_hypothesis_alone_and_tables_need_no_spark():
    assert BRINGS["contract"] == {"hypothesis"}
    assert "pyspark" not in BRINGS["sweep"] | BRINGS["parquet"]


def test_all_brings_every_package_and_the_one_for_the_fixture():
    others = set().union(*(BRINGS[extra] for extra in BRINGS if extra not in ("all", "dev")))
    assert BRINGS["all"] == others | {"pytest"}
    assert BRINGS["all"] >= {"hypothesis", "z3-solver", "pyspark", "numba", "numpy"}


def test_a_cluster_explores_with_the_compiled_search():
    assert BRINGS["spark"] >= BRINGS["fast"]


def test_the_documented_extras_are_those_that_there_are():
    section = (ROOT / "docs/command_line.md").read_text("utf-8").split("## Extras")[1]
    rows = re.findall(r"^\| `(\w+)` \| ", section.split("\n## ")[0], re.M)
    assert rows == sorted(set(BRINGS) - {"dev"})
