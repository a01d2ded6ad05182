"""Generated logs of consumer groups whose coordinator cannot append for a while: what was done
before an append failed did not happen.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from consumer_logs import GROUP, groups_of, runs_of, truth

from groupcheck.oracles.generate.files import Order, generate
from groupcheck.oracles.replay.document import round_document
from groupcheck.oracles.show.json_schemas import printed as printed_text
from groupcheck.traces.replay import replay_file

TOLD = ("from_generation", "to_generation", "cause", "members", "size")
APPENDS = "requests-consumer-appends"


def lost_in(folder: Path) -> list[dict[str, Any]]:
    """The appends that failed; a log may have none."""
    there = (folder / "truth/lost.jsonl").exists()
    return truth(folder, "lost")[GROUP] if there else []


@pytest.mark.parametrize(("dialect", "seed"), runs_of([APPENDS], [APPENDS]))
def test_what_was_not_appended_did_not_happen(dialect: str, seed: int, tmp_path: Path) -> None:
    """The members heard of each; no epoch counts that only a lost record had."""
    order = Order(1, 60_000, 1, (dialect,), seed, runs=2, clients=True)
    (one,) = generate(tmp_path, order)
    (group,) = groups_of(one)
    lost, real = lost_in(tmp_path), truth(tmp_path, "rebalances")[GROUP]
    assert group.verdict == "holds"
    assert group.requests is not None
    refused = group.requests.facts.errors.get("CONSUMER_GROUP_HEARTBEAT 15", Counter())
    assert refused.total() == sum(one["of"] == "heartbeat" for one in lost)
    epochs = [r["to_generation"] for r in real]
    told = [r.to_generation for r in group.timeline.rounds]
    assert [epoch for epoch in epochs if epoch in told] == told
    coordinator = tmp_path / f"logs/{GROUP}.coordinator.log"
    printed = coordinator.read_text().count("ERROR [GroupCoordinator id=1] Failed to write records")
    assert printed == len(lost)
    report = replay_file(str(coordinator))
    assert report.strange == 0
    (group,) = report.groups
    assert group.verdict in ("holds", "unknown")  # steps of members may be among what was lost
    rounds = [printed_text(round_document(r)) for r in group.timeline.rounds]
    assert [[t[key] for key in TOLD] for t in rounds] == [[r[key] for key in TOLD] for r in real]
    assert seed > 1 or len(lost) > 5, json.dumps(lost)


def test_kafka_before_4_3_says_it_in_other_words(tmp_path: Path) -> None:
    """CoordinatorRuntime of 4.0 to 4.2."""
    log = tmp_path / "broker.log"
    lines = (
        "INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=7] [GroupId g] Bumped group"
        " epoch to 2 with metadata hash 5."
        " (org.apache.kafka.coordinator.group.GroupMetadataManager)",
        "ERROR [GroupCoordinator id=1] Writing records to __consumer_offsets-7 failed due to: no"
        " replicas. (org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)",
    )
    log.write_text("".join(f"[2024-10-25 17:00:00,00{k}] {line}\n" for k, line in enumerate(lines)))
    report = replay_file(str(log))
    assert (report.understood, report.strange) == (2, 0)
