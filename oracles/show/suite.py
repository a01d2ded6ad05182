"""An answer as test cases, for CI: a JUnit XML file (`--junit FILE`), and annotations of GitHub
Actions.

A case passes, fails, ends with an error (nothing is known, and why), or is skipped (it was not
judged, and why). Everything comes as printable text, which XML can hold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from attrs import frozen

from groupcheck.oracles.printable import on_github, printable
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
    # Where the line stands that shows it; empty and 0 if no file does.
    file: str = ""
    line: int = 0


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
    if on_github():
        sys.stderr.writelines(f"{line}\n" for line in github_commands(told))


def wanted(junit: Path | None) -> bool:
    """Whether anybody asks for test cases."""
    return junit is not None or on_github()


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
            **_place(case),
        }
        element = ElementTree.SubElement(inner, "testcase", about)
        if case.became != PASSED:
            wrong = ElementTree.SubElement(element, case.became, {"message": printable(case.why)})
            wrong.text = _lines(case.text)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def github_commands(suite: Suite) -> Iterator[str]:
    """A command of GitHub's (`::error title=...::message`, with `file` and `line` where they are
    known) for each case that failed or ended with an error. Cases with the same message share one;
    the last one says how many more there are.
    """
    alike: dict[str, list[Case]] = {}
    for case in suite.cases:
        if case.became in (FAILURE, ERROR):
            message = "\n".join(filter(None, (printable(case.why), _lines(case.text))))
            alike.setdefault(message, []).append(case)
    shown = len(alike) if len(alike) <= MOST_ANNOTATIONS else MOST_ANNOTATIONS - 1
    for message, cases in list(alike.items())[:shown]:
        more = "" if len(cases) == 1 else f" and {len(cases) - 1:,} more"
        title = f"{suite.name}: {cases[0].name}{more}"
        yield _annotation({**_place(cases[0]), "title": title}, message)
    if len(alike) > shown:
        yield _annotation({"title": suite.name}, f"{len(alike) - shown:,} other messages")


def _place(case: Case) -> dict[str, str]:
    """File and line of a case, as far as they are known."""
    place = {"file": printable(case.file)} if case.file else {}
    return place | ({"line": str(case.line)} if case.file and case.line else {})


def _annotation(properties: Mapping[str, str], message: str) -> str:
    escaped = ",".join(f"{name}={_property(text)}" for name, text in properties.items())
    return f"::error {escaped}::{_data(message)}"


def _property(text: str) -> str:
    """As GitHub wants the value of a property: a colon would end it, and a comma begin another."""
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")


def _data(text: str) -> str:
    """As GitHub wants the text of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
