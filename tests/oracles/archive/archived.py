"""An archive's tables in a test's hands: rows as plain values, and what the one-process replay says
in the same form.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.dataset as dataset

from groupcheck.oracles.archive.task import Pack, TaskFiles, replay_pack
from groupcheck.oracles.replay.document import file_document, group_document
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.oracles.show.parquet import speakable
from groupcheck.traces.reading import TraceError
from groupcheck.traces.replay import replay_file

Table = list[dict[str, Any]]


def in_process(uri: str) -> Any:
    """What replays packs without Spark."""

    def run(packs: Sequence[Pack]) -> list[TaskFiles]:
        return [replay_pack(uri, pack) for pack in packs]

    return run


def table(archive: Path, name: str) -> Table:
    """A table's rows, in an order that is the same in every archive of the same logs."""
    rows = dataset.dataset(archive / name, format="parquet").to_table().to_pylist()
    return sorted(
        rows, key=lambda row: [(v is not None, str(v)) for k, v in row.items() if k != "modified"]
    )


def tables(archive: Path) -> dict[str, Table]:
    return {
        name: table(archive, name)
        for name in ("events", "rebalances", "anomalies", "members", "verdicts", "files")
    }


def shown(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(sep=" ", timespec="milliseconds")


def _told(row: dict[str, Any], *without: str) -> dict[str, Any]:
    """A row as the JSON document writes it."""
    return {
        k: shown(v) if isinstance(v, datetime) else v for k, v in row.items() if k not in without
    }


def documents(archive: Path) -> dict[tuple[str, str, int | None], dict[str, Any]]:
    """The groups of `groupcheck replay --json`, put together again from the tables."""
    import json

    found = {}
    for row in table(archive, "verdicts"):
        told = _told(row)
        facts = told.pop("facts")
        judged = told.pop("answers_judged")
        time = {
            k: told.pop(k)
            for k in (
                "first",
                "last",
                "observed_ms",
                "preparing_ms",
                "unstable_ms",
                "unstable_share",
                "median_period_ms",
                "most_in_an_hour",
            )
        }
        told["time"] = time
        told["generations"] = {
            "lowest": told.pop("lowest_generation"),
            "highest": told.pop("highest_generation"),
        }
        told["rebalance_causes"] = dict(told.pop("causes"))
        told["counts"] = dict(told["counts"])
        told["epochs"] = [_told(epoch) for epoch in told["epochs"]]
        told |= {"rebalances": [], "members": [], "anomalies": []}
        told |= (
            {} if facts is None else {"answers_judged": judged, "request_facts": json.loads(facts)}
        )
        found[row["file"], row["group"], row["coordinator"]] = told
    of = ("file", "group", "coordinator")
    for row in sorted(table(archive, "rebalances"), key=lambda row: row["number"]):
        found[row["file"], row["group"], row["coordinator"]]["rebalances"].append(
            _told(row, *of, "number")
        )
    for name in ("members", "anomalies"):
        for row in table(archive, name):
            if row["group"] is not None:
                found[row["file"], row["group"], row["coordinator"]][name].append(_told(row, *of))
    return found


def one_process(paths: Sequence[Path]) -> dict[tuple[str, str, int | None], dict[str, Any]]:
    """The same, by the replay itself. A table has times of day as of 1970-01-01, and escapes for
    half characters.
    """
    found = {}
    for path in paths:
        try:
            report = replay_file(str(path))
        except TraceError:
            continue
        for g in report.groups:
            told = {"group": g.group, **printed(group_document(g, report))}
            del told["findings"]  # no table has them
            found[speakable(report.path), speakable(g.group), g.coordinator] = _dated(told)
    return found


def _dated(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            k: _date(v) if k in _TIMES and isinstance(v, str) else _dated(v)
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [_dated(v) for v in value]
    return speakable(value) if isinstance(value, str) else value


_TIMES = {"first", "last", "time", "started", "joined", "ended", "first_seen", "id_handed_out"}


def _date(text: str) -> str | None:
    return (
        None if text == "-" else f"1970-01-01 {text}" if len(text) == len("17:25:16.582") else text
    )


def compared(archive: Path, paths: Sequence[Path]) -> int:
    """How many groups were compared, all of them equal; files too."""
    ours, theirs = documents(archive), one_process(paths)
    assert ours.keys() == theirs.keys()
    for key, told in theirs.items():
        mine = ours[key]
        for one in told["rebalances"]:
            one.pop("handovers", None)  # the tables have none of them (docs/archive.md)
        for name in ("members", "anomalies"):  # their order is not kept
            for document in (mine, told):
                document[name] = sorted(document[name], key=str)
        assert mine == told, key
    rows = {row["file"]: row for row in table(archive, "files")}
    for path in paths:
        row = rows[speakable(str(path))]
        try:
            report = replay_file(str(path))
        except TraceError as refused:
            assert row["error"] and row["error"] in str(refused) and row["verdict"] == "unknown"
            continue
        told = printed(file_document(report))
        told["reason"] = speakable(told["reason"])
        for name in ("anomalies", "file", "files"):  # in other tables, or known already
            del told[name]
        assert {k: row[k] for k in told} == told
    return len(ours)
