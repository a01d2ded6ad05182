"""What was found in assignors of other languages, asked again: the adapters are built with pinned
versions, and each finding of `findings.json` has to come out again.

    python tests/oracles/assignment/adapters/again.py

It needs go, node and npm. What is built lies in `.venv/adapters`.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from attrs import frozen

from groupcheck.model.assignors import Group, NoAssignment
from groupcheck.oracles.assignment.against.command import library_of
from groupcheck.oracles.assignment.against.libraries.programs import library
from groupcheck.oracles.assignment.against.offered import Library
from groupcheck.oracles.assignment.judge.question import question
from groupcheck.oracles.assignment.promises import MADE, Case, judged

HERE = Path(__file__).parent
BUILT = Path(__file__).parents[4] / ".venv" / "adapters"
FINDINGS = HERE / "findings.json"
IN_PROCESS = ("kafka-python", "aiokafka")
TIMES = 30  # that an assignor is asked: some answer by the order of a map, which differs


@frozen
class Found:
    """A finding: an assignor breaks a promise for this group."""

    library: str
    version: str
    assignor: str
    # The promise, or `answers` (it fails instead of answering).
    promise: str
    # How it is broken, in words.
    words: str
    # topics, members and racks, as in a file for `groupcheck assign`.
    input: dict[str, object]

    @property
    def group(self) -> Group:
        return question({**self.input, "assignor": self.assignor}).group


def findings() -> list[Found]:
    return [Found(**one) for one in json.loads(FINDINGS.read_text("utf-8"))]


def command(name: str, assignor: str) -> str:
    """The adapter for this assignor, as `--against "program: COMMAND"` takes it."""
    if name == "kafkajs":
        return f"node {shlex.quote(str(BUILT / 'javascript' / 'adapter.js'))}"
    return f"{shlex.quote(str(BUILT / 'go-adapters'))} {name} {assignor}"


def build() -> None:
    """Fetches the pinned versions, and builds."""
    BUILT.mkdir(parents=True, exist_ok=True)
    program = str(BUILT / "go-adapters")
    subprocess.run(
        ["go", "build", "-mod=readonly", "-o", program, "."], cwd=HERE / "go", check=True
    )
    shutil.copytree(HERE / "javascript", BUILT / "javascript", dirs_exist_ok=True)
    quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    subprocess.run(["npm", "ci", *quiet], cwd=BUILT / "javascript", check=True)


def opened(found: Found) -> Library:
    if found.library in IN_PROCESS:
        return library_of(found.library, None)
    return library(command(found.library, found.assignor), found.assignor)


def broken(found: Found) -> Iterator[str]:
    """How the assignor's answers break the promise, in words, each time that it is asked."""
    offering = opened(found)
    names = (*MADE[found.assignor], found.promise)
    with offering.open():
        (offered,) = (
            one
            for one in offering.assignors
            if found.library not in IN_PROCESS or one.name == found.assignor
        )
        for _ in range(TIMES):
            try:
                given = offered.solve(found.group)
            except Exception as thrown:  # an assignor of anybody's may raise anything
                if found.promise == "answers":
                    yield f"{type(thrown).__name__}: {thrown}"
                continue
            if found.promise != "answers":
                case = Case(found.group, given)
                for name, ways in judged(case, dict.fromkeys(names)):
                    if name == found.promise and ways:
                        yield ways[0].words


def came_again(found: Found) -> str:
    """The words of the finding, if it came again; else empty."""
    with closing(broken(found)) as ways, suppress(NoAssignment):
        return next((words for words in ways if words == found.words), "")
    return ""


def main() -> int:
    build()
    gone = 0
    for found in findings():
        again = bool(came_again(found))
        gone += not again
        said = "found again" if again else "NOT FOUND"
        print(f"{said:12} {found.library} {found.version} {found.assignor}: {found.words}")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main())
