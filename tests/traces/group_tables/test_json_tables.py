"""Committed offsets as JSON of other tools are read as tables; other JSON is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.group_tables.outputs import Outputs
from groupcheck.traces.group_tables.table_log import Watching

MEMBER = "c-1-11111111-1111-1111-1111-111111111111"
NESTED = {
    "groupId": "g",
    "state": "STABLE",
    "topics": [
        {
            "topic": "t",
            "partitions": [
                {"partition": 0, "currentOffset": 100, "endOffset": 206, "lag": 106,
                 "consumerId": MEMBER},
                {"partition": 1, "currentOffset": None, "endOffset": 6, "lag": None},
            ],
        }
    ],
}  # fmt: skip
FLAT = [
    {"consumer_group": "g", "topic_name": "t", "partition_id": 0, "current_offset": "100",
     "log_end_offset": "206", "lag": "106", "member-id": MEMBER},
    {"consumer_group": "h", "topic_name": "t", "partition_id": 0, "current_offset": "7",
     "log_end_offset": "7", "lag": "0"},
]  # fmt: skip
BURROW = {
    "error": False,
    "status": {
        "cluster": "local",
        "group": "g",
        "partitions": [
            {"topic": "t", "partition": 0, "status": "STOP", "start": {"offset": 90, "lag": 5},
             "end": {"offset": 100, "lag": 105}, "current_lag": 106},
        ],
    },
}  # fmt: skip


def said(text: str) -> list[Statement]:
    return Watching().read(Outputs(), enumerate(text.splitlines(), 1))


def described(document: Any, indent: int | None = None) -> dict[str, tuple[Any, ...]]:
    """Group -> its partitions, those with an owner, and the lag."""
    some = [s for s in said(json.dumps(document, indent=indent)) if s.kind == "described"]
    return {s.group: tuple(s.fields[k] for k in ("partitions", "owned", "lag")) for s in some}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("document", "told"),
    [
        (NESTED, {"g": (2, 1, 106)}),
        (FLAT, {"g": (1, 1, 106), "h": (1, 0, 0)}),
        (BURROW, {"g": (1, 0, 106)}),
    ],
    ids=["nested", "flat", "burrow"],
)
def test_offsets_as_json_are_read(
    document: Any, told: dict[str, tuple[Any, ...]], indent: int | None
) -> None:
    assert described(document, indent) == told


def test_two_documents_of_one_group_are_two_moments() -> None:
    later = json.loads(json.dumps(NESTED).replace("100", "50"))
    kinds = {s.kind for s in said(f"{json.dumps(NESTED)}\n{json.dumps(later)}")}
    assert "committed_offset_went_back" in kinds


@pytest.mark.parametrize(
    "line",
    [
        '{"topic":"t","partition":0,"offset":12,"value":"lag"}',
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}',
        '{"partitions":[{"partition":"t-0","size":1,"offsetLag":0,"isFuture":false}]}',
        '{"partition":0,"lag":12',
        "[2024-01-01 10:00:00,000] INFO partition 0 has lag 12",
        "[" * 5_000 + '"partition" "lag"' + "]" * 5_000,
    ],
)
def test_other_json_is_no_table(line: str) -> None:
    assert said(line) == []


def test_an_object_that_does_not_end_hides_no_table_for_ever() -> None:
    table = f"TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID\nt 0 1 2 1 {MEMBER}"
    assert {s.kind for s in said("{\n" + "x\n" * 30_000 + table)} >= {"described", "owns"}
