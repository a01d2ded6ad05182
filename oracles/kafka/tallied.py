"""A comparison of answers, input by input: the results of each family of inputs, the smallest
input of each kind of difference, and how all this is shown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Annotated, Any, ClassVar, Generic, Protocol, TypeVar

from attrs import define, field, frozen
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.kafka.comparison import Agreement, Comparison
from groupcheck.oracles.kafka.own_build import OwnBuild
from groupcheck.oracles.printable import as_json
from groupcheck.oracles.show.json_schemas import Also, Count, printed
from groupcheck.oracles.show.suite import FAILURE, PASSED, Case, Suite

REPORT_INTERVAL = 2_000  # inputs between two reports of progress
LONGEST = 700  # characters of an example at the terminal
Progress = Callable[[str, int, int], None]
"""Called with the name of a family, inputs so far, and those that differ."""
X = TypeVar("X")  # an input
Y = TypeVar("Y")  # its answer


@frozen(kw_only=True)
class ComparisonFields:
    """The first fields of the documents of such comparisons."""

    compared: Annotated[list[str], Also(minItems=2, maxItems=2), "Whose answers are compared."]
    seed: Annotated[int, "Seed of the random inputs."]
    verdict: Annotated[
        Agreement, "Whether any answer differs; unknown: none does, and the run was interrupted."
    ]
    inputs: Annotated[Count, "Inputs over all families or assignors."]
    differing: Annotated[Count, "Inputs over all families or assignors whose answers differ."]


class Example(Protocol):
    """An input on which two sides differ, with both answers."""

    @property
    def size(self) -> Any:
        """How much a reader has to read; of two examples the smaller one is kept."""

    def input_shown(self) -> Any:
        """The input, as the document has it."""

    def answers_shown(self, sides: tuple[str, str]) -> dict[str, Any]:
        """Side -> what it makes of the input."""


K = TypeVar("K")  # a kind of difference
E = TypeVar("E", bound=Example)


@define
class Tally(Generic[K, E]):
    """The results for one family of inputs."""

    # What an input is called.
    unit: ClassVar[str]

    # Its name, perhaps with its bounds.
    name: str
    inputs: int = field(default=0, kw_only=True)
    differing: int = field(default=0, kw_only=True)
    # Of wall clock.
    seconds: float = field(default=0.0, kw_only=True)
    # Kind of difference -> how many inputs, and the smallest of them.
    differences: dict[K, tuple[int, E]] = field(factory=dict, kw_only=True)

    def note(self, kind: K, example: E) -> None:
        """The last input differs, in this way."""
        self.differing += 1
        number, smallest = self.differences.get(kind, (0, example))
        self.differences[kind] = number + 1, min(smallest, example, key=lambda one: one.size)

    @property
    def title(self) -> str:
        """The first cell of its row."""
        return self.name

    def numbers(self) -> tuple[int, ...]:
        """The other cells, but for the last, which is the speed."""
        return self.inputs, self.inputs - self.differing, self.differing

    def in_words(self, kind: K) -> str:
        """A kind of difference."""
        return str(kind)

    @classmethod
    def progress_line(cls, name: str, inputs: int, differing: int, seconds: float) -> str:
        """One line for a terminal."""
        return f"{name}: {inputs:,} {cls.unit}, {differing:,} differ  {seconds:.0f} s"

    def case(self) -> Case:
        """The family as a test case."""
        kinds = "\n".join(
            f"{self.in_words(kind)}: {n:,} {self.unit}" for kind, (n, _) in self.differences.items()
        )
        why = f"{self.differing:,} of {self.inputs:,} {self.unit} differ" if self.differing else ""
        return Case(self.name, FAILURE if self.differing else PASSED, why, kinds, self.seconds)


@define
class FamilyTally(Tally[tuple[str, ...], E]):
    """The results for a family, of which `name` has the bounds, too. The kind of a difference are
    the facts that differ, without numbers and names.
    """

    # The module that has the types `Family` and `Difference` of the document.
    types: ClassVar[ModuleType]

    @property
    def title(self) -> str:
        """The family's name."""
        return self.name.partition(":")[0]

    def in_words(self, kind: tuple[str, ...]) -> str:
        """The facts, in a row."""
        return ", ".join(kind)

    def shown(self, sides: tuple[str, str], **more: Any) -> Any:
        """As the document has it. `more`: fields that not every document has."""
        return self.types.Family(
            family=self.title,
            bound=self.name.partition(": ")[2],
            inputs=self.inputs,
            agreeing=self.inputs - self.differing,
            differing=self.differing,
            seconds=round(self.seconds, 3),
            differences=[
                self.types.Difference(
                    differs=list(kind),
                    inputs=number,
                    input=example.input_shown(),
                    answers=example.answers_shown(sides),
                )
                for kind, (number, example) in sorted(self.differences.items())
            ],
            **more,
        )

    def examples(self, called: str) -> Iterator[tuple[str, E]]:
        """The smallest input of each kind of difference, which is `called` so, with what is said of
        it.
        """
        for kind, (number, example) in sorted(self.differences.items()):
            differ = f"{self.in_words(kind)} differ {number:,} times"
            yield f"{self.title}: {differ}; the {called}:", example


F = TypeVar("F", bound=Tally[Any, Any])


@frozen
class TalliedComparison(Comparison, Generic[F]):
    """The result of a run."""

    # What stands where a variant would, and the columns of the report.
    command: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]

    # Whose answers stand first and second in the examples.
    sides: tuple[str, str]
    seed: int
    tallies: Sequence[F]
    # Whose answers stand first, if it is no release.
    build: OwnBuild | None = None
    # Why it ended before all was compared; empty: it did not.
    stopped: str = field(default="", kw_only=True)

    @property
    def differing(self) -> int:
        """How many inputs have different answers."""
        return sum(tally.differing for tally in self.tallies)

    @property
    def differs(self) -> bool:
        return self.differing > 0

    @property
    def reason(self) -> str:
        return self.stopped

    def compared(self) -> ComparisonFields:
        """The beginning of the document."""
        return ComparisonFields(
            compared=list(self.sides),
            seed=self.seed,
            verdict=self.verdict,
            inputs=sum(tally.inputs for tally in self.tallies),
            differing=self.differing,
        )

    def figures(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        table.add_column(self.columns[0], no_wrap=True)
        for name in self.columns[1:]:
            table.add_column(name, justify="right", no_wrap=True)
        for t in self.tallies:
            rate = f"{t.inputs / t.seconds:,.0f}" if t.seconds else ""
            table.add_row(t.title, *(f"{n:,}" for n in t.numbers()), rate)
        return table

    def suite(self) -> Suite:
        """One test case for each family."""
        return Suite(f"conform {self.command}", tuple(tally.case() for tally in self.tallies))


def answered(
    ask: Callable[[Iterator[X]], Iterable[Y]], inputs: Iterable[X]
) -> Iterator[tuple[X, Y]]:
    """Each input with its answer. `ask` answers in order, and may take more inputs before it has
    answered the first.
    """
    waiting: deque[X] = deque()

    def asked() -> Iterator[X]:
        for one in inputs:
            waiting.append(one)
            yield one

    for answer in ask(asked()):
        yield waiting.popleft(), answer


def values(named: dict[str, Any], longest: int = LONGEST, indent: int = 2) -> Iterator[Text]:
    """Each value as JSON on a line, cut after so many characters."""
    for name, value in named.items():
        text = as_json(printed(value))
        cut = text if len(text) <= longest else f"{text[:longest]} ... (--json has it all)"
        yield Text(f"{' ' * indent}{name}: {cut}")
