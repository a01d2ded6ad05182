"""What the replay of a broker's log found about a group, as statements like those of clients, so
that one base of causes serves all logs.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.traces.clients.said import Said
from groupcheck.traces.clients.sentences import kinds
from groupcheck.traces.clients.who import BROKER
from groupcheck.traces.report import FileReport, GroupReport

KINDS = {"generation_reset": "group_reset", "fenced": "instance_fenced"}
"""An anomaly -> the statement, where their names differ."""


def statements(report: FileReport, group: GroupReport) -> Iterator[Said]:
    """Each anomaly whose kind is a kind of statement."""
    for found in group.anomalies:
        kind = KINDS.get(found.kind, found.kind)
        if kind in kinds():
            yield Said(
                kind=kind,
                line=found.line,
                text=found.text,
                log=report.path,
                library=BROKER,
                group=group.group,
                fields={"told": found.text[:1].upper() + found.text[1:]},
            )
