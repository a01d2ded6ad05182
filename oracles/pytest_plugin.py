"""The pytest plugin: a fixture `groupcheck` whose `check` fails a test with the explained
counterexample.

    def test_a_crash_loses_nothing(groupcheck):
        groupcheck.check("classic", members=2, faults={"crash": 1})

Nothing but pytest is imported when pytest starts; the engine comes with the first check.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from groupcheck.model.engine import Spec
    from groupcheck.oracles.check.run import CheckResult
    from groupcheck.oracles.explain.subject import Promise

__all__ = ["Checker", "groupcheck"]
NOTED = "groupcheck"  # the property of a test that says what its checks left aside


class Checker:
    """The value of the fixture: `check`, which fails the test unless every promise holds."""

    def __init__(
        self, test: str, pictures: Path | None, properties: list[tuple[str, object]] | None = None
    ) -> None:
        """`properties`: of the test, where what a passed check did not judge is noted."""
        self._test, self._pictures = test, pictures
        self._properties = [] if properties is None else properties

    def check(
        self,
        what: str | Spec,
        *,
        allow_unknown: bool = False,
        invariants: Sequence[str | Promise] = (),
        **options: Any,
    ) -> CheckResult:
        """`groupcheck.check` as an assertion: takes the same arguments and gives the result.

        Raises `AssertionError` with the explained counterexample if an invariant is violated, and
        with the reason if the verdict is unknown (a limit, a fault or goal that was asked
        for and never happened), unless `allow_unknown`.
        """
        __tracebackhide__ = True
        from groupcheck.oracles.check.run import check
        from groupcheck.oracles.explain.answer import NOT_JUDGED

        result = check(what, invariants=invariants, **options)
        if result.holds or (result.unknown and allow_unknown):
            if result.subject.not_judged:
                self._properties.append((NOTED, f"progress: {NOT_JUDGED}"))
            return result
        lines = [str(result).rstrip()]
        if result.unknown:
            lines.append(
                "\nunknown is no proof: widen the limits or the scope, or pass allow_unknown=True"
            )
        if self._pictures is not None:
            lines.append(f"\npicture: {self._save(result)}")
        raise AssertionError("\n".join(lines))

    def explains(
        self,
        lines: Sequence[str],
        *,
        group: str,
        rounds: Sequence[tuple[int | None, int | None, int | None]],
    ) -> None:
        """Asserts that the model explains the lines of a broker's log about one group, and comes to
        these rebalances: (generation before, generation after, members). `groupcheck replay LOG
        --pytest` writes such tests.

        Raises `AssertionError` with the first line that the model does not explain.
        """
        __tracebackhide__ = True
        from groupcheck.oracles.replay.schedule import followed, rounds_of

        report = followed(lines, group)
        if report is None:
            raise AssertionError(f"no line is about the group {group!r}")
        if report.verdict != "holds":
            first = "".join(f"\nline {u.line}: {u.text}\n{u.why}" for u in report.unexplained[:1])
            raise AssertionError(f"{report.verdict}: {report.reason}{first}")
        if rounds_of(report) != tuple(rounds):
            raise AssertionError(f"the rebalances are {rounds_of(report)}, not {tuple(rounds)}")

    def _save(self, result: CheckResult) -> Path | str:
        """The path of the picture, or why there is none: a failure must not cost the
        counterexample.
        """
        assert self._pictures is not None
        from groupcheck.model.engine.errors import UserError

        path = self._pictures / (
            re.sub(r"[^\w.-]+", "-", self._test, flags=re.ASCII)[-150:] + ".html"
        )
        try:
            self._pictures.mkdir(parents=True, exist_ok=True)
            result.save(path)
        except (OSError, UserError) as error:
            return f"none, {error}"
        return path


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--groupcheck-html DIR`: pictures of the counterexamples of failed tests."""
    group = parser.getgroup("groupcheck", "model checking of Kafka consumer groups")
    group.addoption(
        "--groupcheck-html",
        metavar="DIR",
        default=None,
        help="write a page with the swim-lane of each counterexample to DIR",
    )


@pytest.fixture
def groupcheck(request: pytest.FixtureRequest) -> Checker:
    """Checks protocols: `groupcheck.check("classic", members=2, faults={"crash": 1})` fails with
    the explained counterexample.
    """
    directory = request.config.getoption("--groupcheck-html")
    pictures = Path(directory) if directory else None
    return Checker(request.node.nodeid, pictures, request.node.user_properties)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says of which tests the checks left promises aside."""
    noted: dict[object, list[str]] = {}
    for test in terminalreporter.getreports("passed"):
        for text in {text for name, text in test.user_properties if name == NOTED}:
            noted.setdefault(text, []).append(test.nodeid)
    if noted:
        terminalreporter.section("groupcheck")
    for text, tests in noted.items():
        terminalreporter.line(f"{text}: {', '.join(tests)}")
