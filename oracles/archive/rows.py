"""Rows of an archive's tables, taken from the documents that `groupcheck replay --json` prints:
what they say is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from groupcheck.oracles.printable import as_json
from groupcheck.oracles.replay.document import file_document, group_document
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.traces.findings.report import FileReport, GroupReport

Row = dict[str, Any]
_TIMES = ("started", "joined", "ended", "first_seen", "id_handed_out")


def when(text: str | None) -> datetime | None:
    """A document's time as a column's: a time of day alone is one of 1970-01-01, a day without a
    year one of 1972.
    """
    if text is None or text == "-":
        return None
    before = {len("17:25:16.582"): "1970-01-01 ", len("10-25 17:25:16.582"): "1972-"}
    return datetime.fromisoformat(before.get(len(text), "") + text)


def rows_of(report: FileReport) -> Iterator[tuple[str, Row]]:
    """(table, row) of a file and all of its groups, without the events and without what only the
    file system knows.
    """
    document = printed(file_document(report))
    here = {"file": document["file"]}
    for found in document["anomalies"]:
        yield "anomalies", {**here, "group": None, "coordinator": None, **found}
    for g in report.groups:
        yield from _of_group(g, report)
    yield (
        "files",
        {name: value for name, value in document.items() if name not in ("anomalies", "files")}
        | {"groups": len(report.groups)},
    )


def _of_group(g: GroupReport, report: FileReport) -> Iterator[tuple[str, Row]]:
    document = printed(group_document(g, report))
    mine = {"file": report.path, "group": g.group, "coordinator": g.coordinator}
    for number, one in enumerate(document["rebalances"], g.timeline.rounds_dropped + 1):
        yield "rebalances", {**mine, "number": number, **_timed(one)}
    for member in document["members"]:
        yield "members", {**mine, **_timed(member)}
    for anomaly in document["anomalies"]:
        yield "anomalies", {**mine, **anomaly}
    yield "verdicts", {**mine, **_verdict(document)}


def _timed(document: Row) -> Row:
    return {name: when(value) if name in _TIMES else value for name, value in document.items()}


def _verdict(document: Row) -> Row:
    time = document["time"]
    facts = document.get("request_facts")
    return {
        **{
            name: document[name]
            for name in (
                "protocol",
                "verdict",
                "reason",
                "begins",
                "lines",
                "unexplained",
                "assumed_missing",
            )
        },
        "lowest_generation": document["generations"]["lowest"],
        "highest_generation": document["generations"]["highest"],
        "causes": list(document["rebalance_causes"].items()),
        "counts": list(document["counts"].items()),
        **{
            name: when(value) if name in ("first", "last") else value
            for name, value in time.items()
        },
        "rebalances_not_listed": document["rebalances_not_listed"],
        "members_not_listed": document["members_not_listed"],
        "epochs": [{**epoch, "time": when(epoch["time"])} for epoch in document["epochs"]],
        "answers_judged": document.get("answers_judged"),
        "facts": None if facts is None else as_json(facts),
    }
