"""The frame of a comparison of two sides, one of them real code: from what differs to the verdict,
the exit code, the report, the JSON document, the test cases and the table. Each kind of `conform`
is a subclass that says what is special about it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from groupcheck.model.engine import UserError
from groupcheck.oracles.kafka.own_build import OwnBuild
from groupcheck.oracles.show.json_schemas import document
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.parquet import CONFORMANCE, write_table
from groupcheck.oracles.show.suite import Suite, tell, wanted
from groupcheck.oracles.show.terminal import answer

Agreement = Literal["agrees", "differs", "unknown"]
T = TypeVar("T")

EXIT_CODES: dict[Agreement, int] = {"agrees": 0, "differs": 1, "unknown": 3}
COLOUR = {"agrees": "bold green", "differs": "bold red", "unknown": "bold yellow"}
SHOWN = 3  # differences that a report tells in full
# The options whose name is not that of the argument.
FLAGS = {"faults": "fault", "settings": "set", "assignors": "assignor"}


class Comparison(ABC):
    """The result of a comparison.

    A kind says whether its sides differ, and why not everything is known (`reason`); it names the
    sides (`title`), and gives the figures and what is shown below them (`details`), the `content`
    of its document, and its test cases (`suite`). `carried_out` is the command around it.
    """

    # Name and version of its document.
    schema: ClassVar[str]
    # What was compared, if it is no release.
    build: OwnBuild | None = None

    @property
    @abstractmethod
    def differs(self) -> bool:
        """Does anything differ?"""

    @property
    def reason(self) -> str:
        """Why the run stopped early, or why the verdict is unknown; else empty."""
        return ""

    @property
    def verdict(self) -> Agreement:
        """`agrees`, `differs`, or `unknown` where not everything was executed or seen."""
        return "differs" if self.differs else "unknown" if self.reason else "agrees"

    @property
    def exit_code(self) -> int:
        """0 all agree, 1 some differ, 3 unknown."""
        return EXIT_CODES[self.verdict]

    @abstractmethod
    def content(self) -> Any:
        """A value of the type of its document."""

    def document(self) -> dict[str, Any]:
        """All that `--json` prints. `seconds` apart, the same question gives the same document."""
        return document(self.schema, self.content())

    @abstractmethod
    def title(self) -> str:
        """The two sides of the comparison."""

    @abstractmethod
    def figures(self) -> RenderableType:
        """The figures, in words."""

    @abstractmethod
    def details(self) -> Iterator[RenderableType]:
        """The differences, each with its shortest schedule or smallest input."""

    def headline(self) -> Text:
        """The verdict, what was compared with what, and the reason of the verdict, if any."""
        parts = (
            (self.verdict, COLOUR[self.verdict]),
            (self.title(), "bold"),
            (self.reason, ""),
        )
        return Text("  ").join(Text(text, style) for text, style in parts if text)

    def view(self) -> RenderableType:
        """The report for people."""
        return Group(
            self.headline(),
            *([Text(f"  {self.build.summary()}")] if self.build else []),
            Padding(self.figures(), (0, 0, 0, 2)),
            *self.details(),
        )

    def suite(self) -> Suite | None:
        """Its test cases; None for a kind that has none."""
        return None

    def table(self) -> list[dict[str, Any]]:
        """A row of its table for each row that was compared (docs/tables.md); some have none."""
        return []


def carried_out(
    compare: Callable[..., Comparison],
    progress_line: Callable[..., str] | None,
    *,
    as_json: bool,
    junit: Path | None = None,
    parquet: Path | None = None,
) -> int:
    """Compares, prints the answer, writes the files that are wanted, and gives the exit code.
    `compare` takes `progress`, to which it reports, or None if nobody looks; `progress_line` puts a
    report into words. Without it `compare` speaks for itself.
    """
    if progress_line is None:
        result = compare()
    else:
        with reports(progress_line) as progress:
            result = compare(progress=progress)
    answer(result.document, result.view, as_json)
    if parquet:
        write_table(result.table(), CONFORMANCE, parquet)
    if wanted(junit) and (suite := result.suite()):
        tell(lambda: suite, junit)
    return result.exit_code


def refuse(options: Mapping[str, Any], names: Iterable[str], why: str) -> None:
    """Raises `UserError` for the first option of these names that was given."""
    for name in names:
        if options.get(name):
            flag = FLAGS.get(name, name).replace("_", "-")
            raise UserError(why, where=f"--{flag}", do="leave it out")


def block(head: str, *lines: str | tuple[str, str], indent: int = 3) -> Group:
    """One thing that differs, and what is to be said about it in lines, perhaps with a style."""
    styled = ((line, "") if isinstance(line, str) else line for line in lines)
    below = (Text(" " * indent + text, style) for text, style in styled)
    return Group(Text(f"\n{head}", "bold red"), *below)


def first_of(
    some: Sequence[T], shown: Callable[[int, T], RenderableType], more: str
) -> Iterator[RenderableType]:
    """The first ones, each with its number, and how many more there are."""
    yield from (shown(k, one) for k, one in enumerate(some[:SHOWN], 1))
    if len(some) > SHOWN:
        yield Text(f"\n{len(some) - SHOWN:,} more {more}")
