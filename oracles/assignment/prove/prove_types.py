"""The types of the document that `assign --prove --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Amount


@frozen(kw_only=True)
class Mutant:
    """One wrong version."""

    words: Annotated[str, "What is wrong with it."]
    counterexample: Annotated[
        dict[str, int] | None, "Numbers that refute it; null if none were found."
    ]


@frozen(kw_only=True)
class Statement:
    """One statement."""

    subject: Annotated[str, "The assignor or formula that it is about."]
    words: Annotated[str, "What it says."]
    source: Annotated[str, "The class or KIP from which the formula is taken."]
    bound: Annotated[str, "For which numbers it is proved; `universal` for all."]
    answer: Annotated[Literal["proved", "refuted", "unknown"], "What z3 answers."]
    seconds: Annotated[Amount, "Seconds of wall clock for the statement alone."]
    premises: Annotated[
        dict[str, int] | None, "Numbers for which its premises hold; null if none were found."
    ]
    counterexample: Annotated[
        dict[str, int] | None, "Numbers that refute the statement; null unless it is refuted."
    ]
    mutants: Annotated[list[Mutant], "Wrong versions of its formula."]
    stands: Annotated[
        bool, "Whether it is proved, its premises can hold, and every mutant is refuted."
    ]


@frozen(kw_only=True)
class ProveDocument:
    """What `groupcheck assign --prove --json` prints: statements about the assignors and what z3
    says about them.
    """

    verdict: Annotated[Literal["proved", "not proved"], "`proved` if every statement stands."]
    statements: Annotated[list[Statement], "The statements, in order."]
