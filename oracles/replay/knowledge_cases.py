"""Cases in a file of causes: logs, and what must be found in them. They are tried when the file is
read, so a cause and its test are one file of TOML.

    [[case]]
    causes = ["mine"]
    possible = []
    says = ["words of the text"]
    log = '''
    10:00:00,000 INFO [Consumer clientId=c-1, groupId=g] ...
    '''
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from attrs import frozen

from groupcheck.model.engine.errors import UserError
from groupcheck.traces.causes.diagnosis import Diagnosis, diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import Knowledge
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.facts.needs import read_tables
from groupcheck.traces.group_tables.outputs import Outputs
from groupcheck.traces.group_tables.table_log import Watching


@frozen
class Case:
    """A log and what it shows."""

    log: str
    # The causes that are certain or likely, exactly these, the first one first.
    causes: tuple[str, ...]
    # Of these, the ones that are told as overcome.
    overcome: tuple[str, ...] = ()
    # Candidates, these at least.
    possible: tuple[str, ...] = ()
    # Words of the texts of the causes or of what is healthy; of the candidates if there is neither.
    says: tuple[str, ...] = ()
    # The reason why it is calm; empty if that is not asked.
    healthy: str = ""
    # The log is read so many times in a row.
    repeat: int = 1


@frozen
class Outcome:
    """What was found in the log of a case."""

    field: Literal["causes", "overcome", "possible", "says", "healthy"]
    wanted: tuple[str, ...]
    found: tuple[str, ...]


def read_cases(text: str, where: str) -> list[Case]:
    """The cases of one TOML text. Raises `UserError` if they are not as this module says."""
    return read_tables(text, "case", list[Case], "case", where)


def diagnosed(case: Case, knowledge: Knowledge) -> list[Diagnosis]:
    """What is found in the log of a case."""
    evidence = Evidence()
    lines = [*enumerate((case.log * case.repeat).strip().split("\n"), 1)]
    evidence.add_all(ClientLog().statements(lines))
    evidence.add_all(Watching().read(Outputs(), lines))
    return [diagnose(group, knowledge) for group in evidence.by_group()]


def mistake(case: Case, found: list[Diagnosis]) -> Outcome | None:
    """The first thing that is not as the case says; None if all is."""
    causes = [f for d in found for f in d.causes]
    candidates = [f for d in found for f in d.candidates]
    healthy = [f for d in found for f in d.healthy]
    kinds = tuple(f.cause.kind for f in causes)
    if kinds != case.causes:
        return Outcome("causes", case.causes, kinds)
    over = tuple(f.cause.kind for f in causes if f.overcome)
    if over != case.overcome:
        return Outcome("overcome", case.overcome, over)
    maybe = tuple(f.cause.kind for f in candidates)
    if not {*case.possible} <= {*maybe}:
        return Outcome("possible", case.possible, maybe)
    if case.healthy and case.healthy not in [f.cause.kind for f in healthy[:1]]:
        return Outcome("healthy", (case.healthy,), tuple(f.cause.kind for f in healthy))
    texts = tuple(f.text for f in [*causes, *healthy] or candidates)
    missing = tuple(words for words in case.says if not any(words in text for text in texts))
    return Outcome("says", missing, texts) if missing else None


def try_cases(path: Path, knowledge: Knowledge) -> None:
    """Tries the cases of a user's file. Raises `UserError` for the first that fails."""
    cases = read_cases(path.read_text(encoding="utf-8"), str(path))
    for number, case in enumerate(cases, 1):
        wrong = mistake(case, diagnosed(case, knowledge))
        if wrong is not None:
            wanted, found = (", ".join(map(repr, some)) for some in (wrong.wanted, wrong.found))
            raise UserError(
                f"case {number} fails: its {wrong.field} should be {wanted or 'none'}",
                where=str(path),
                do=f"found was {found or 'nothing'}",
            )
