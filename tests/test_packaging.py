"""What a user gets from the wheel: real files under the installed name, the two entry points, and a
light door for pytest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = ("model", "invariants", "traces", "oracles")


def sources() -> list[PurePosixPath]:
    """Every file of the package that is or would be in a commit: what was built beside them is not
    part of it.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *FLOORS],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [
        PurePosixPath(name)
        for name in listed.stdout.decode().split("\0")
        if name and (ROOT / name).is_file()
    ]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built without network or isolation from a copy of the checkout, so that nothing is
    left behind in it.
    """
    copy, out = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("wheel")
    shutil.copytree(
        ROOT / "src",
        copy / "src",
        symlinks=True,
        ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"),
    )
    for name in ("pyproject.toml", "README.md", "LICENSE", *sources()):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(out)!r})"
    subprocess.run(
        [sys.executable, "-c", build], cwd=copy, check=True, capture_output=True, timeout=60
    )
    (built,) = out.glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_holds_every_module_and_template_and_nothing_else(wheel: zipfile.ZipFile):
    packed = {PurePosixPath(n) for n in wheel.namelist() if n.startswith("groupcheck/")}
    outside = {
        PurePosixPath("groupcheck") / name for name in ("__init__.py", "__main__.py", "py.typed")
    }
    assert packed == outside | {"groupcheck" / name for name in sources()}


def test_the_samples_are_read_from_the_installed_wheel_in_any_folder(
    wheel: zipfile.ZipFile, tmp_path: Path
):
    wheel.extractall(tmp_path / "installed")
    (tmp_path / "elsewhere").mkdir()
    read = """
import groupcheck
from pathlib import Path
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.sweep.reading import read_sweep
assert cli.run(["replay", "sample:ghost-members"]) == 1
assert cli.run(["replay", "sample:zombie"]) == 1
assert cli.run(["assign", "sample:printed-range"]) == 1
assert read_sweep(Path("sample:sweep"))["grid"]
print(Path(groupcheck.__file__).parent.parent.name)
"""
    said = subprocess.run(
        [sys.executable, "-c", read],
        cwd=tmp_path / "elsewhere",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (said.stderr, said.stdout.splitlines()[-1]) == ("", "installed")


def test_each_python_that_is_named_is_tried_by_make_pythons():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    prefix = "Programming Language :: Python :: 3."
    named = [c for c in project["project"]["classifiers"] if c.startswith(prefix)]
    tried = project["tool"]["tox"]["env_list"]
    assert [c.rpartition(" ")[2] for c in named] == tried[: len(named)]
    assert project["project"]["requires-python"] == f">={tried[0]}"
    [[*_, posargs]] = [
        c for c in project["tool"]["tox"]["env_run_base"]["commands"] if "pytest" in c
    ]
    for file in posargs["default"]:
        assert Path(file.format(tox_root=ROOT)).is_file()


def test_the_wheel_is_for_every_platform_and_carries_the_license(wheel: zipfile.ZipFile):
    assert str(wheel.filename).endswith("-py3-none-any.whl")
    metadata = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    lines = wheel.read(metadata).decode().splitlines()
    assert "License-Expression: Apache-2.0" in lines and "Requires-Python: >=3.11" in lines
    assert [n for n in wheel.namelist() if n.endswith("licenses/LICENSE")]


def test_only_light_dependencies_are_asked_of_everyone(wheel: zipfile.ZipFile):
    metadata = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    required = [
        line.split()[1]
        for line in wheel.read(metadata).decode().splitlines()
        if line.startswith("Requires-Dist:") and "extra ==" not in line
    ]
    assert {r.partition(">")[0] for r in required} == {
        "attrs",
        "cattrs",
        "click",
        "jinja2",
        "psutil",
        "rich",
        "zstandard",
    }


def test_the_command_and_the_pytest_plugin_are_entry_points_that_load():
    (command,) = entry_points(group="console_scripts", name="groupcheck")
    (plugin,) = entry_points(group="pytest11", name="groupcheck")
    assert callable(command.load())
    assert plugin.load().__doc__


def test_the_pytest_plugin_imports_nothing_heavy_at_the_start():
    heavy = ("numpy", "numba", "llvmlite", "rich", "jinja2", "groupcheck.model.engine.fast.explore")
    asked = (
        f"import sys, groupcheck.oracles.pytest_plugin; print([m for m in {heavy} if m in"
        " sys.modules])"
    )
    said = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=60
    )
    assert said.stdout.strip() == "[]"
