"""Request logs of groups that change between the classic protocol and KIP-848, recorded with a
broker 4.3.0 and members of librdkafka (`rolling_upgrade` and `rolling_downgrade`).
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parents[2] / "data/requests"
UP, DOWN = DATA / "live-rolling_upgrade.log.gz", DATA / "live-rolling_downgrade.log.gz"


def group(path: Path) -> GroupReport:
    (g,) = replay_file(str(path)).groups
    return g


def requests(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """The line and the content of each request."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    found = (line.partition("request:")[2].rpartition(" (kafka")[0] for line in lines)
    return [(number, json.loads(text)) for number, text in enumerate(found, 1)]


def test_an_upgrade_is_named_at_the_heartbeat_that_brings_it() -> None:
    g = group(UP)
    assert g.verdict == "holds"
    (note,) = [a for a in g.anomalies if a.kind == "protocol_changed"]
    first = next(
        (line, one)
        for line, one in requests(UP)
        if one["requestHeader"]["requestApiKeyName"] == "CONSUMER_GROUP_HEARTBEAT"
    )
    assert note.line == first[0] and first[1]["request"]["memberEpoch"] == 0
    assert note.text == (
        "the group became a consumer group in generation 2: fza+L29aTXGcm6l4xUNMIg joined it with a"
        " heartbeat"
    )


def test_a_downgrade_is_named_where_somebody_leads_again() -> None:
    g = group(DOWN)
    assert g.verdict == "holds"
    (note,) = [a for a in g.anomalies if a.kind == "protocol_changed"]
    led = next(
        line
        for line, one in requests(DOWN)
        if one["requestHeader"]["requestApiKeyName"] == "JOIN_GROUP" and one["response"]["leader"]
    )
    assert note.text.startswith("the group became a classic group at epoch 6: ")
    assert note.line in (led, led + 1)  # two are answered together


@pytest.mark.parametrize("path", [UP, DOWN])
def test_a_partition_that_goes_over_to_the_other_protocol_is_owned(path: Path) -> None:
    """It has another name there, and is not without an owner for that."""
    unowned = group(path).findings.unowned
    assert {one.partition.rpartition("-")[2] for one in unowned} == set("012345")
    assert len({one.partition.rpartition("-")[0] for one in unowned}) == 1
    assert max(one.window.ms or 0 for one in unowned if not one.window.open) < 1_500
    last = max(one.window.until or 0 for one in unowned)
    assert all((one.window.since or 0) > last - 500 for one in unowned if one.window.open)
