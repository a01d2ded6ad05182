"""A cell of a sweep: one whole check."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
from attrs import field, frozen

from groupcheck.model.engine import Limits, UserError
from groupcheck.model.engine.fast.identity import identity
from groupcheck.model.engine.verdict import Kind
from groupcheck.oracles.explain.own import is_own
from groupcheck.oracles.explain.subject import Subject, subject
from groupcheck.oracles.printable import printable


@frozen
class Question:
    """The question of a cell: names of faults, mutations and invariants, from which any executor
    can build the model.
    """

    variant: str
    # fields of the scope that the file gives
    fields: Mapping[str, Any]
    # the budget of each fault; None if the file does not say
    faults: Mapping[str, int] | None
    mutation: str | None
    # those to check; none means all
    invariants: tuple[str, ...]
    limits: Limits
    # are promises about progress judged?
    progress: bool = False
    # Python files that may be run, as `allowed` gives them
    specs: Mapping[str, str] = field(factory=dict)

    def subject(self) -> Subject:
        """The spec, ready to be explored. Raises `UserError` for what does not fit, and for code
        in files other than `specs`.
        """
        return subject(
            self._found(self.variant),
            mutation=None if self.mutation is None else self._found(self.mutation),
            invariants=[self._found(name) for name in self.invariants],
            faults=self.faults,
            progress=self.progress,
            **self.fields,
        )

    @property
    def is_own(self) -> bool:
        """Is it about something in a file of the user's?"""
        return is_own(self.variant)

    def _found(self, name: str) -> str:
        """The name; that of something in a Python file with the whole path of the file. A sweep's
        file may come from anywhere, so the command line says which code may be run.
        """
        if not is_own(name):
            return name
        file, _, inside = name.rpartition(":")
        if os.path.normpath(file) not in self.specs:
            raise UserError(
                f"{printable(name)[:60]} is code, which a sweep runs only if the command line"
                " allows it",
                do=f"add --specs {printable(file)[:60]} if you trust that file",
            )
        return f"{self.specs[os.path.normpath(file)]}:{inside}"


def allowed(files: Iterable[Path]) -> dict[str, str]:
    """The Python files that a sweep may run: as it names them -> the whole path. Raises `UserError`
    for a file that is not there.
    """
    for file in files:
        if file.suffix != ".py" or not file.is_file():
            raise UserError(f"{printable(str(file))} is no Python file", where="--specs")
    return {os.path.normpath(file): str(file.resolve()) for file in files}


@frozen
class Cell:
    """A question with its place in the sweep."""

    # from 1, in the order of the file
    number: int
    # from 0
    grid: int
    question: Question
    # the verdict that it should have
    expect: Kind
    # every field of the scope as plain JSON, with the defaults and those of the mutation
    scope: Mapping[str, Any]
    # the invariants that are checked
    checked: tuple[str, ...]
    # the promises about progress that are not
    not_judged: tuple[str, ...]
    # digest of the model's code
    model: str
    # 20 hexadecimal digits, the same for the same question about the same model under the same
    # limits
    id: str

    @property
    def faults(self) -> Mapping[str, int]:
        """The budget of each fault that may happen."""
        given = self.scope.get("faults")
        return {name: n for name, n in given.items() if n} if isinstance(given, Mapping) else {}

    @property
    def asked(self) -> str:
        """The question without its limits: of two cells that ask the same, one is superfluous."""
        q = self.question
        return json.dumps([q.variant, q.mutation, sorted(self.checked), self.scope], sort_keys=True)


def cell(number: int, grid: int, question: Question, expect: Kind) -> Cell:
    """The cell of a question. Raises `UserError` if the question does not fit the variant."""
    about = question.subject()
    about_model = identity(about.spec)
    promises = (*about.spec.invariants, *(about.spec.progress if question.progress else ()))
    checked = tuple(p.name for p in promises)
    limits = attrs.astuple(question.limits)
    parts = [attrs.asdict(about_model), question.variant, question.mutation, checked, limits]
    digest = hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=10).hexdigest()
    scope, model = about.scope(), about_model.model
    return Cell(number, grid, question, expect, scope, checked, about.not_judged, model, digest)
