"""`make nightly`: runs the steps of steps.toml and shows what became of each.

nightly.py [--only WORD] [--jobs N] [--again] [--list]

Two steps run at a time, because most of them keep one processor busy. A run that was stopped goes
on: a step that has passed at this commit is not run again. What a step prints is in build/nightly.
A step that fails does not stop the others. Exits with 1 if a step of this run has failed.
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import asdict, frozen
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CHANGED = "-dirty"  # of the commit of a checkout in which files were changed
LAST_LINES = 15  # of a step that failed


@frozen
class Step:
    """One command of the nightly run."""

    name: str
    command: tuple[str, ...]

    @property
    def log(self) -> str:
        """The name of the file with what it prints."""
        return "".join(c if c.isalnum() else "-" for c in self.name) + ".log"


@frozen
class Result:
    """What became of a step."""

    name: str
    commit: str
    exit_code: int
    seconds: float

    @property
    def verdict(self) -> str:
        """In words."""
        if self.exit_code in (130, -signal.SIGINT):  # a shell's number of it, and Python's
            return "stopped"
        return f"failed with {self.exit_code}" if self.exit_code else "passed"


def steps(text: str, programs: Mapping[str, str]) -> list[Step]:
    """The steps of a list. `programs`: what stands for each name in braces."""
    return [
        Step(f"{part}: {name}", tuple(shlex.split(command.format_map(programs))))
        for part, named in tomllib.loads(text).items()
        for name, command in named.items()
    ]


def commit_of(root: Path) -> str:
    """The commit of the checkout; with a mark if files were changed since."""
    told = ["git", "-C", str(root), "describe", "--always", f"--dirty={CHANGED}", "--abbrev=12"]
    return subprocess.run(told, check=True, capture_output=True, text=True).stdout.strip()


@frozen
class Results:
    """What became of steps in this run and in earlier ones, and what they printed."""

    folder: Path
    commit: str

    @property
    def _file(self) -> Path:
        return self.folder / "results.jsonl"

    def last(self) -> dict[str, Result]:
        """The newest result of each step."""
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        return {result.name: result for result in (Result(**json.loads(line)) for line in lines)}

    def todo(self, chosen: Iterable[Step]) -> list[Step]:
        """The steps that have not passed at this commit."""
        if self.commit.endswith(CHANGED):  # which changes, nobody knows
            return list(chosen)
        last = self.last().values()
        passed = {r.name for r in last if r.commit == self.commit and not r.exit_code}
        return [step for step in chosen if step.name not in passed]

    def run_all(self, todo: Iterable[Step], jobs: int, console: Console) -> list[Result]:
        """Runs the steps, `jobs` of them at a time, and shows which are running."""
        running: list[str] = []

        def run(step: Step) -> Result:
            running.append(step.name)
            status.update("; ".join(running))
            try:
                return self.run(step, console)
            finally:
                running.remove(step.name)
                status.update("; ".join(running))

        pool = ThreadPoolExecutor(jobs)
        try:
            with console.status("") as status:
                return list(pool.map(run, todo))
        finally:  # of an interrupt, too: what has not begun does not begin
            pool.shutdown(cancel_futures=True)

    def run(self, step: Step, console: Console) -> Result:
        """Runs one step, keeps its result at once and shows it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / step.log
        began = time.monotonic()
        with log.open("w") as file:
            done = subprocess.run(step.command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT)
        seconds = round(time.monotonic() - began, 1)
        result = Result(step.name, self.commit, done.returncode, seconds)
        with self._file.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")
        console.print(f"{result.verdict:16}{seconds:8,.0f} s  {step.name}", highlight=False)
        if result.exit_code:
            lines = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            told = "\n".join(f"    {line}" for line in lines)
            console.print(told, markup=False, highlight=False)
        return result


def expected(todo: Iterable[Step], known: Mapping[str, Result]) -> str:
    """How long these steps may take, by their last results."""
    last = [known.get(step.name) for step in todo]
    seconds = sum(result.seconds for result in last if result)
    never = sum(result is None for result in last)
    told = []
    if never < len(last):
        told.append(f"they took {seconds / 60:,.0f} minutes last time")
    if never:
        told.append(f"{never} were never run here")
    return ", ".join(told)


def table(chosen: Iterable[Step], known: Mapping[str, Result]) -> Table:
    """Every step with its last result."""
    shown = Table(box=None)
    for title in ("step", "last result", "seconds", "commit"):
        shown.add_column(title, justify="right" if title == "seconds" else "left")
    for step in chosen:
        last = known.get(step.name)
        if last is None:
            shown.add_row(step.name, "never run")
        else:
            shown.add_row(step.name, last.verdict, f"{last.seconds:,.0f}", last.commit)
    return shown


def programs() -> dict[str, str]:
    """What steps.toml names in braces."""
    bin = Path(sys.executable).parent
    found = {name: str(bin / name) for name in ("python", "pytest", "groupcheck")}
    # What takes hours is no hang; and a test marked `night` is what a step may be there for.
    found["pytest"] += " --timeout=0 --night"
    found["s3"] = str(ROOT / ".venv" / "nightly" / "bin" / "python")
    return found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="the steps of `make nightly`")
    parser.add_argument("--only", metavar="WORD", help="run the steps with this word in the name")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="steps at a time (2)")
    parser.add_argument("--again", action="store_true", help="run what has passed, too")
    parser.add_argument("--list", action="store_true", help="show the steps and their last results")
    asked = parser.parse_args()
    every = steps((HERE / "steps.toml").read_text(), programs())
    chosen = [step for step in every if asked.only is None or asked.only in step.name]
    if not chosen:
        parser.error(f"no step has {asked.only!r} in its name; --list shows them")
    if asked.jobs < 1:
        parser.error(f"--jobs {asked.jobs}: at least one step runs at a time")
    results, console = Results(ROOT / "build" / "nightly", commit_of(ROOT)), Console()
    if asked.list:
        console.print(table(chosen, results.last()))
        return 0
    todo = chosen if asked.again else results.todo(chosen)
    about = f"{len(todo)} of {len(chosen)} steps to run at {results.commit}"
    console.print(f"{about}; what they print is in {results.folder}", highlight=False)
    if todo:
        console.print(expected(todo, results.last()), highlight=False)
    try:
        failed = [r for r in results.run_all(todo, asked.jobs, console) if r.exit_code]
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on")
        return 130
    console.print(f"{len(todo) - len(failed)} passed, {len(failed)} failed", highlight=False)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
