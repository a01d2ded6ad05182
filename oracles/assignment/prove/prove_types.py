"""The types of the document that `assign --prove --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Amount

Values = dict[str, int]
Answer = Literal["proved", "refuted", "unknown"]


@frozen(kw_only=True)
class Refutation:
    """One wrong version."""

    words: Annotated[str, "What is wrong with it."]
    counterexample: Annotated[Values | None, "Numbers that refute it; null if none were found."]


@frozen(kw_only=True)
class Proof:
    """One statement."""

    subject: Annotated[str, "The assignor or formula that it is about."]
    words: Annotated[str, "What it says."]
    source: Annotated[str, "The class or KIP from which the formula is taken."]
    bound: Annotated[str, "For which numbers it is proved; `universal` for all."]
    answer: Annotated[Answer, "What z3 answers; unknown: it gave up."]
    seconds: Annotated[Amount, "Seconds of wall clock for the statement alone."]
    premises: Annotated[
        Values | None, "Numbers for which its premises hold; null if none were found."
    ]
    counterexample: Annotated[
        Values | None, "Numbers that refute the statement; null unless it is refuted."
    ]
    mutants: Annotated[list[Refutation], "Wrong versions of its formula."]
    stands: Annotated[
        bool, "Whether it is proved, its premises can hold, and every mutant is refuted."
    ]

    @property
    def refuted(self) -> int:
        """How many mutants were refuted."""
        return sum(one.counterexample is not None for one in self.mutants)


@frozen(kw_only=True)
class ProveDocument:
    """What `groupcheck assign --prove --json` prints: statements about the assignors and what z3
    says about them.
    """

    verdict: Annotated[Literal["proved", "not proved"], "`proved` if every statement stands."]
    statements: Annotated[list[Proof], "The statements, in order."]
