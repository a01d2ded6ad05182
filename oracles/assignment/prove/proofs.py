"""Proves statements about assignors with z3, shows that their premises are possible, and refutes
their mutants.

A statement is proved if z3 finds no numbers for which the premises hold and the claim does not. z3
would say the same of premises that contradict each other, so a proof shows numbers for which they
hold. A mutant is refuted if there are numbers for which the wrong formula breaks the claim; they
are put into the formula again before they count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from groupcheck.oracles.assignment.prove.prove_types import (
    Answer,
    Proof,
    ProveDocument,
    Refutation,
    Values,
)
from groupcheck.oracles.assignment.solvers import solver
from groupcheck.oracles.processes.supervisor import until_interrupted
from groupcheck.oracles.show import json_schemas

if TYPE_CHECKING:
    from groupcheck.oracles.assignment.prove.statement import Mutant, Statement

SCHEMA = "groupcheck.prove/1"
PATIENCE_MS = 20_000  # for one question to z3
# Numbers up to these are tried first, so that an example is one that a person can follow.
SMALL = (3, 9, None)
Progress = Callable[[int, int, str], None]


def prove_all(
    progress: Progress | None = None, statements: Sequence[Statement] | None = None
) -> tuple[Proof, ...]:
    """The proof of every statement, in order; after Ctrl-C of those before. `progress` hears how
    many are done, how many there are, and a statement's words before z3 is asked. Raises
    `UserError` if z3 is not installed.
    """
    if statements is None:
        solver("z3", "statements are proved")
        from groupcheck.oracles.assignment.prove.statements import STATEMENTS

        statements = STATEMENTS
    proofs: list[Proof] = []
    stopped: list[str] = []
    with until_interrupted(stopped.append):
        for statement in statements:
            if progress is not None:
                words = f"{statement.subject}: {statement.words}"
                progress(len(proofs), len(statements), words)
            proofs.append(prove(statement))
    return tuple(proofs)


def prove(statement: Statement) -> Proof:
    """Proves one statement, shows that its premises are possible, and refutes its mutants."""
    began = time.perf_counter()
    answer, counterexample = _answer(statement)
    seconds = time.perf_counter() - began
    mutants = [
        Refutation(words=mutant.words, counterexample=_refute(statement, mutant))
        for mutant in statement.mutants
    ]
    premises = _example(statement, _terms(statement)[0])
    refuted = all(one.counterexample is not None for one in mutants)
    return Proof(
        subject=statement.subject,
        words=statement.words,
        source=statement.source,
        bound=statement.bound,
        answer=answer,
        seconds=round(seconds, 3),
        premises=premises,
        counterexample=counterexample,
        mutants=mutants,
        stands=answer == "proved" and premises is not None and refuted,
    )


def document(proofs: Iterable[Proof], missing: int = 0) -> dict[str, Any]:
    """All that `groupcheck assign --prove --json` prints; `seconds` apart, the same every time.
    `missing`: statements that were not proved any more.
    """
    every = list(proofs)
    verdict: Literal["proved", "not proved"] = (
        "proved" if not missing and all(p.stands for p in every) else "not proved"
    )
    shown = ProveDocument(verdict=verdict, statements=every)
    return json_schemas.document(SCHEMA, shown)


def exit_code(proofs: Iterable[Proof]) -> int:
    """0 if all stand, else 1."""
    return 0 if all(proof.stands for proof in proofs) else 1


def _terms(statement: Statement, mutant: Mutant | None = None) -> tuple[list[Any], Any]:
    import z3

    from groupcheck.oracles.assignment.prove.statement import PARTS

    variables = {name: z3.Int(name) for name in statement.variables.split()}
    parts = {**PARTS, mutant.part: mutant.instead} if mutant else PARTS
    return statement.premises(variables, parts), statement.claim(variables, parts)


def _answer(statement: Statement) -> tuple[Answer, Values | None]:
    import z3

    premises, claim = _terms(statement)
    solver = z3.Solver()
    solver.set("timeout", PATIENCE_MS)
    solver.set("ctrl_c", False)  # Python hears it
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
    """Numbers for which all the terms hold, small ones if possible."""
    import z3

    variables: Mapping[str, Any] = {name: z3.Int(name) for name in statement.variables.split()}
    for most in SMALL:
        solver = z3.Solver()
        solver.set("timeout", PATIENCE_MS)
        solver.set("ctrl_c", False)  # Python hears it
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
