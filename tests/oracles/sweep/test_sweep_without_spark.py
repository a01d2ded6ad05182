"""A sweep in this process, and tables, on a machine that has PyArrow but neither PySpark nor
pandas.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

WITHOUT = """
import sys


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "pandas", "yaml"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing())
from groupcheck.oracles.command_line.cli import run

code = run(sys.argv[1:])
assert not [name for name in sys.modules if name.startswith("groupcheck.oracles.spark")]
sys.exit(code)
"""
SWEEP = """
[[grid]]
variant = "classic"
members = 1
partitions = 1
generations = 1
"""


@pytest.mark.parametrize(
    ("arguments", "table"),
    [
        (["sweep", "sweep.toml", "--out", "out"], "out/sweep.parquet"),
        (["bugs", "size_cap_off_by_one", "--parquet", "bugs.parquet"], "bugs.parquet"),
    ],
)
def test_without_pyspark_a_sweep_and_a_table_are_written(
    arguments: list[str], table: str, tmp_path: Path
):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert parquet.read_table(tmp_path / table).num_rows == 1


def test_without_pyspark_a_sweep_on_spark_says_what_to_install(tmp_path: Path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, "sweep", "sweep.toml", "--spark", "local[2]"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "PySpark is not installed (pip install 'groupcheck[spark]')" in done.stderr
