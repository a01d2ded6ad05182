"""Known violations, which only inform: a document that `assign --against --json` printed, or
`--write-baseline` wrote.

A finding is known if the document has one of the same assignor and promise with the same
circumstances, or with fewer. So a known violation stands for its cause, not for one group: with
another seed, or after a change of the assignor, its smallest group may be another one. An entry
without circumstances covers every breach of its promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.against.finding import SCHEMA, Against, Finding, inform
from groupcheck.oracles.assignment.reading import read_json
from groupcheck.oracles.printable import printable

KNOWN = "it is known (--baseline)"


@frozen
class Known:
    """A violation that is known."""

    assignor: str
    promise: str
    circumstances: frozenset[str]

    def covers(self, finding: Finding) -> bool:
        """Is the finding this one?"""
        return (self.assignor, self.promise) == (
            finding.assignor,
            finding.promise,
        ) and self.circumstances.issubset(finding.circumstances)


def read(path: Path) -> tuple[Known, ...]:
    """The known violations of a file. Raises `UserError` if it is no such document."""
    document = read_json(path)
    try:
        if document["schema"] != SCHEMA:
            raise ValueError
        return tuple(map(_known, document["findings"]))
    except (KeyError, TypeError, ValueError):
        raise UserError(
            f"this is no document {SCHEMA}",
            where=printable(str(path)),
            do="write it with --write-baseline FILE",
        ) from None


def _known(given: Any) -> Known:
    names = given["assignor"], given["promise"], *given["circumstances"]
    if not all(isinstance(name, str) for name in names):
        raise TypeError
    return Known(names[0], names[1], frozenset(names[2:]))


def beside(result: Against, known: tuple[Known, ...]) -> Against:
    """The result in which known violations only inform, and which names those that are gone."""

    def marked() -> Iterator[Finding]:
        for finding in result.findings:
            covered = any(one.covers(finding) for one in known)
            yield inform(finding, KNOWN) if covered else finding

    gone = [
        f"{one.assignor}: {one.promise}"
        for one in known
        if not any(one.covers(finding) for finding in result.findings)
    ]
    return evolve(result, findings=tuple(marked()), gone=tuple(dict.fromkeys(gone)))
