"""`make bench-first-minute`: how long a new user waits, with a fresh cache each time: from a wheel
in an empty environment, and from a clone.

bench_first_minute.py [--clone]

Seconds of wall time and of CPU, from the shell to the answer, children included. `--clone` also
clones this repository into a temporary folder and times `make demo` there, downloads included.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[2]
SWITCH = """
from groupcheck.model.engine import Spec, rule, single


@rule
def turn(light):
    yield {"green": "yellow", "yellow": "red", "red": "red and yellow"}.get(light, "green")


@rule
def press(light, waits):
    yield light, light == "green" and not waits


spec = Spec("light", {"light": single("green"), "waits": single(False)}, [turn, press])
"""
TEST = """
from groupcheck import check


def test_a_group_of_two_keeps_its_promises():
    assert check("classic", members=2, partitions=2, any_faults=1).holds
"""
# What is asked -> the arguments, and the seconds that a new user may wait.
ASKED = {
    "list of variants": (["list", "variants"], 2),
    "replay of a sample": (["replay", "sample:rolling-restart"], 4),
    "a protocol of 8 states": (["check", "light.py:spec"], 1),
    "README's check": (
        ["check", "classic", "--members", "2", "--partitions", "2", "--any-faults", "1"],
        5,
    ),
}


def timed(command: list[str], folder: Path, cache: Path) -> tuple[float, float]:
    """Wall and CPU seconds of a command that must not fail."""
    environment = {**os.environ, "GROUPCHECK_CACHE_DIR": str(cache)}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, spent


def installed(folder: Path) -> tuple[Path, int]:
    """The scripts of an environment with a wheel of this repository, and the bytes it takes."""
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", wheels, ROOT], check=True)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    scripts = folder / "venv" / "bin"
    (wheel,) = wheels.glob("*.whl")
    pip = [str(scripts / "pip"), "--quiet", "--disable-pip-version-check"]
    packages = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
    before = size_of(packages)
    subprocess.run([*pip, "install", str(wheel)], check=True)
    size = size_of(packages) - before
    subprocess.run([*pip, "install", "pytest"], check=True)
    return scripts, size


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clone", action="store_true")
    given = parser.parse_args()
    table = Table("what", "wall s", "CPU s", "target s")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "light.py").write_text(SWITCH)
        (folder / "test_group.py").write_text(TEST)
        scripts, size = installed(folder)
        asked = {
            what: ([str(scripts / "groupcheck"), *rest], s) for what, (rest, s) in ASKED.items()
        }
        asked["a first test with pytest"] = ([str(scripts / "pytest"), "test_group.py"], 8)
        for number, (what, (command, target)) in enumerate(asked.items()):
            wall, spent = timed(command, folder, folder / f"cache{number}")
            table.add_row(what, f"{wall:.1f}", f"{spent:.1f}", str(target))
        if given.clone:
            subprocess.run(["git", "clone", "-q", ROOT, folder / "clone"], check=True)
            wall, spent = timed(["make", "demo"], folder / "clone", folder / "cache")
            table.add_row("make demo in a clone", f"{wall:.1f}", f"{spent:.1f}", "75")
    Console().print(table, f"the wheel with what it needs: {size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
