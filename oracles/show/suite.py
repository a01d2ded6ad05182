"""An answer as test cases, for CI: a JUnit XML file (`--junit FILE`), and annotations of GitHub
Actions.

A case passes, fails, ends with an error (nothing is known, and why), or is skipped (it was not
judged, and why). Everything comes as printable text, which XML can hold.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

from attrs import frozen

from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.files import written

PASSED, FAILURE, ERROR, SKIPPED = "passed", "failure", "error", "skipped"
MOST_ANNOTATIONS = 10  # of one step of a job: GitHub shows no more


@frozen
class Case:
    """One test case."""

    name: str
    became: str = PASSED
    # One line about what is wrong, and all about it, in lines.
    why: str = ""
    text: str = ""
    # Of wall clock.
    seconds: float = 0.0


@frozen
class Suite:
    """The judgements of one command."""

    # It begins with the command.
    name: str
    cases: tuple[Case, ...]

    def number(self, became: str) -> int:
        return sum(case.became == became for case in self.cases)


def tell(suite: Callable[[], Suite], junit: Path | None) -> None:
    """Writes the JUnit file, if one is wanted, and the annotations, if this is a job of GitHub
    Actions. They go to stderr, where GitHub reads them as well: stdout holds the answer alone.
    """
    if not wanted(junit):
        return
    told = suite()
    if junit is not None:
        written(junit, as_junit(told))
    if _on_github():
        sys.stderr.writelines(f"{line}\n" for line in github_commands(told))


def wanted(junit: Path | None) -> bool:
    """Whether anybody asks for test cases."""
    return junit is not None or _on_github()


def _on_github() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def as_junit(suite: Suite) -> str:
    """The suite as JUnit XML."""
    counts = {
        "tests": str(len(suite.cases)),
        "failures": str(suite.number(FAILURE)),
        "errors": str(suite.number(ERROR)),
        "skipped": str(suite.number(SKIPPED)),
        "time": f"{sum(case.seconds for case in suite.cases):.3f}",
    }
    root = ElementTree.Element("testsuites", counts)
    inner = ElementTree.SubElement(root, "testsuite", {"name": printable(suite.name), **counts})
    for case in suite.cases:
        about = {
            "classname": f"groupcheck.{suite.name.split()[0]}",
            "name": printable(case.name),
            "time": f"{case.seconds:.3f}",
        }
        element = ElementTree.SubElement(inner, "testcase", about)
        if case.became != PASSED:
            wrong = ElementTree.SubElement(element, case.became, {"message": printable(case.why)})
            wrong.text = _lines(case.text)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def github_commands(suite: Suite) -> Iterator[str]:
    """A command of GitHub's (`::error title=...::message`) for each case that failed or ended with
    an error. Cases with the same message share one; the last one says how many more there are.
    """
    names: dict[str, list[str]] = {}
    for case in suite.cases:
        if case.became in (FAILURE, ERROR):
            message = "\n".join(filter(None, (printable(case.why), _lines(case.text))))
            names.setdefault(message, []).append(case.name)
    shown = len(names) if len(names) <= MOST_ANNOTATIONS else MOST_ANNOTATIONS - 1
    for message, cases in list(names.items())[:shown]:
        title = cases[0] if len(cases) == 1 else f"{cases[0]} and {len(cases) - 1:,} more"
        yield _annotation(f"{suite.name}: {title}", message)
    if len(names) > shown:
        yield _annotation(suite.name, f"{len(names) - shown:,} other messages")


def _annotation(title: str, message: str) -> str:
    escaped = _data(printable(title)).replace(":", "%3A").replace(",", "%2C")
    return f"::error title={escaped}::{_data(message)}"


def _data(text: str) -> str:
    """As GitHub wants the text of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
