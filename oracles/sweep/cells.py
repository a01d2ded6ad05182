"""A cell of a sweep: one whole check, as plain data that any executor can rebuild the question
from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import attrs
from attrs import frozen

from groupcheck import __version__
from groupcheck.model.engine import Limits
from groupcheck.model.engine.fast.identity import identity
from groupcheck.oracles.explain.subject import Subject, subject


@frozen
class Question:
    """What is asked: the arguments of `subject`, with names of faults, mutations and invariants
    only, and the limits of the run.

    `fields`: fields of the scope that the file gives. `faults`: budget of each fault, None where
    the file says nothing.
    """

    variant: str
    fields: Mapping[str, Any]
    faults: Mapping[str, int] | None
    mutation: str | None
    invariants: tuple[str, ...]
    limits: Limits

    def subject(self) -> Subject:
        """The spec ready to be explored. Raises `UserError` for anything that does not exist or
        fit.
        """
        return subject(
            self.variant,
            mutation=self.mutation,
            invariants=self.invariants,
            faults=self.faults,
            **self.fields,
        )

    def plain(self) -> dict[str, Any]:
        """As plain data, for the way to an executor; `from_plain` is the way back."""
        return attrs.asdict(self)

    @staticmethod
    def from_plain(data: Mapping[str, Any]) -> Question:
        return Question(
            **{**data, "invariants": tuple(data["invariants"]), "limits": Limits(**data["limits"])}
        )


@frozen
class Cell:
    """A question with its place in the sweep: `number` from 1 in the order of the file, `grid` from
    0, and the verdict that is expected.

    `scope`: every field of the scope as plain JSON, defaults and a mutation's own included.
    `checked`: the invariants that are checked.
    `model`: digest of the model's code. `id`: the same for the same question about the same model
    under the same limits, 20 hexadecimal digits.
    """

    number: int
    grid: int
    question: Question
    expect: str
    scope: Mapping[str, Any]
    checked: tuple[str, ...]
    model: str
    id: str

    @property
    def faults(self) -> Mapping[str, int]:
        """The budget of each fault that may happen."""
        return {name: n for name, n in dict(self.scope.get("faults") or {}).items() if n}

    @property
    def asked(self) -> str:
        """The question without its limits: two cells that ask the same are one too many."""
        q = self.question
        return json.dumps([q.variant, q.mutation, sorted(self.checked), self.scope], sort_keys=True)


def cell(number: int, grid: int, question: Question, expect: str) -> Cell:
    """The cell of a question. Raises `UserError` where the question does not fit."""
    about = question.subject()
    about_model = identity(about.spec)
    checked = tuple(p.name for p in about.spec.invariants)
    limits = attrs.astuple(question.limits)
    parts = [__version__, about_model, question.variant, question.mutation, checked, limits]
    digest = hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=10).hexdigest()
    return Cell(
        number, grid, question, expect, about.scope(), checked, about_model["model"], digest
    )
