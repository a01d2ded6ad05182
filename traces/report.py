"""What a replay answers: one report a file, one a group, as plain values."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import Factory, frozen

from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED, Kind
from groupcheck.traces.facts import RequestFacts
from groupcheck.traces.owners import Owners
from groupcheck.traces.timeline import Timeline

RANK = {HOLDS: 0, UNKNOWN: 1, VIOLATED: 2}


@frozen
class Anomaly:
    """Something worth a look. `kind` is a word for scripts, `text` a sentence, `line` where it
    shows first (0: nowhere in particular).
    """

    kind: str
    line: int
    text: str
    evidence: tuple[str, ...] = ()


@frozen
class Unexplained:
    """A line that no world of the model explains.

    `skips`: the generation runs ahead, as when lines are missing. `lost`: kinds of lines (names of
    events) that would explain it, were they missing. `assumed`: the log has no line of those kinds
    at all, so they are taken for filtered out.
    """

    line: int
    text: str
    why: str
    possible: str
    skips: bool
    lost: tuple[str, ...] = ()
    assumed: bool = False


@frozen
class Requests:
    """What a request log adds to the report of a group."""

    facts: RequestFacts
    # Who believed to own what.
    owners: Owners
    # How many answers were judged.
    judged: int


@frozen
class GroupReport:
    """One group on one coordinator. `coordinator` is the broker's id, None if the log does not
    tell.

    `protocol`: classic, consumer, share or streams; a request log also tells cooperative, static,
    and the protocol type of what is no consumer.
    `requests`: of a request log.
    """

    group: str
    coordinator: int | None
    protocol: str
    verdict: Kind
    reason: str
    timeline: Timeline
    anomalies: tuple[Anomaly, ...]
    unexplained: tuple[Unexplained, ...]
    unexplained_count: int
    assumed_count: int
    lines: int
    begins: str
    requests: Requests | None = None


@frozen
class FileReport:
    """One file. `foreign`: lines that no coordinator wrote; `strange`: lines of a coordinator that
    no version is known to print, `samples` of them.
    """

    path: str
    format: str
    verdict: Kind
    reason: str
    lines: int
    understood: int
    foreign: int
    strange: int
    samples: tuple[tuple[int, str], ...] = ()
    versions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    groups: tuple[GroupReport, ...] = ()
    anomalies: tuple[Anomaly, ...] = Factory(tuple)


def worst_of(reports: Sequence[FileReport]) -> tuple[Kind, str]:
    """The worst verdict of several files with its reason; unknown if there is none."""
    worst = max(reports, key=lambda r: RANK[r.verdict], default=None)
    if worst is None:
        return UNKNOWN, "no file was given"
    return worst.verdict, (
        f"{worst.path}: {worst.reason}"
        if len(reports) > 1 and worst.verdict != HOLDS
        else worst.reason
    )
