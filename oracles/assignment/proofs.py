"""`groupcheck assign --prove`: the statements proved with z3, their premises shown to be possible,
their mutants refuted.

A statement counts as proved if z3 finds no numbers for which the premises hold and the claim does
not; as z3 could also say that of premises which contradict each other, numbers for which they hold
are shown beside. A mutant counts as refuted if there are numbers for which the wrong formula breaks
the claim; z3's model is put in again before it counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import asdict, frozen

from groupcheck.model.engine import UserError

if TYPE_CHECKING:
    from groupcheck.oracles.assignment.statement import Mutant, Statement

SCHEMA = "groupcheck.prove/1"
PATIENCE_MS = 20_000  # for one question to z3
SMALL = (
    3,
    9,
    None,
)  # numbers up to these are tried first, so that an example is one that a person can follow
INSTALL = "pip install 'groupcheck[assign]'"
Progress = Callable[[str], None]
Values = dict[str, int]


@frozen
class Refuted:
    """A mutant, and the numbers for which it is wrong; none: it was not refuted."""

    words: str
    counterexample: Values | None


@frozen
class Proof:
    """What became of a statement. `answer`: proved, refuted, or unknown (z3 gave up).
    `counterexample`: of a statement that is refuted.

    `premises`: numbers for which they hold; none: they may contradict each other, and the statement
    says nothing.
    """

    subject: str
    words: str
    source: str
    bound: str
    answer: str
    seconds: float
    premises: Values | None
    counterexample: Values | None
    mutants: tuple[Refuted, ...]

    @property
    def stands(self) -> bool:
        """Proved, of premises that can be, and every mutant of it refuted."""
        return (
            self.answer == "proved"
            and self.premises is not None
            and all(m.counterexample is not None for m in self.mutants)
        )


def prove_all(
    progress: Progress | None = None, statements: Iterable[Statement] | None = None
) -> tuple[Proof, ...]:
    """Every statement's proof, in order. `progress` is called with each statement's words before z3
    is asked. Raises `UserError` without z3.
    """
    if statements is None:
        try:
            from groupcheck.oracles.assignment.statements import STATEMENTS
        except ImportError as missing:
            raise UserError(
                f"proofs need {missing.name}, which is not installed", do=INSTALL
            ) from None
        statements = STATEMENTS
    proofs = []
    for statement in statements:
        if progress is not None:
            progress(f"{statement.subject}: {statement.words}")
        proofs.append(prove(statement))
    return tuple(proofs)


def prove(statement: Statement) -> Proof:
    """One statement, its premises and its mutants. The seconds are z3's and ours over the statement
    alone.
    """
    began = time.perf_counter()
    answer, counterexample = _answer(statement)
    seconds = time.perf_counter() - began
    mutants = tuple(
        Refuted(mutant.words, _refute(statement, mutant)) for mutant in statement.mutants
    )
    premises = _example(statement, _terms(statement)[0])
    return Proof(
        statement.subject,
        statement.words,
        statement.source,
        statement.bound,
        answer,
        seconds,
        premises,
        counterexample,
        mutants,
    )


def document(proofs: Iterable[Proof]) -> dict[str, Any]:
    """All that `groupcheck assign --prove --json` prints; `seconds` apart, the same every time."""
    every = tuple(proofs)
    shown = [{**asdict(p), "seconds": round(p.seconds, 3), "stands": p.stands} for p in every]
    return {
        "schema": SCHEMA,
        "verdict": "proved" if all(p.stands for p in every) else "not proved",
        "statements": shown,
    }


def exit_code(proofs: Iterable[Proof]) -> int:
    """0 if all stand, else 1."""
    return 0 if all(proof.stands for proof in proofs) else 1


def _terms(statement: Statement, mutant: Mutant | None = None) -> tuple[list[Any], Any]:
    import z3

    from groupcheck.oracles.assignment.statement import PARTS

    variables = {name: z3.Int(name) for name in statement.variables.split()}
    parts = {**PARTS, mutant.part: mutant.instead} if mutant else PARTS
    return statement.premises(variables, parts), statement.claim(variables, parts)


def _answer(statement: Statement) -> tuple[str, Values | None]:
    import z3

    premises, claim = _terms(statement)
    solver = z3.Solver()
    solver.set("timeout", PATIENCE_MS)
    solver.add(*premises, z3.Not(claim))
    found = solver.check()
    if found == z3.unsat:
        return "proved", None
    return ("unknown", None) if found == z3.unknown else ("refuted", _refute(statement, None))


def _refute(statement: Statement, mutant: Mutant | None) -> Values | None:
    import z3

    premises, claim = _terms(statement, mutant)
    return _example(statement, [*premises, z3.Not(claim)])


def _example(statement: Statement, terms: list[Any]) -> Values | None:
    """Numbers for which all the terms hold, small ones if there are such."""
    import z3

    variables: Mapping[str, Any] = {name: z3.Int(name) for name in statement.variables.split()}
    for most in SMALL:
        solver = z3.Solver()
        solver.set("timeout", PATIENCE_MS)
        solver.add(
            *terms,
            *([] if most is None else [z3.And(-most <= v, v <= most) for v in variables.values()]),
        )
        if solver.check() == z3.sat:
            model = solver.model()
            if all(z3.is_true(model.eval(term, model_completion=True)) for term in terms):
                return {
                    name: model.eval(v, model_completion=True).as_long()
                    for name, v in variables.items()
                }
    return None
