"""Generated logs of consumer groups some of whose members subscribe by a regular expression."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from consumer_logs import groups_of, runs_of, truth, written

from groupcheck.oracles.replay.document import round_document
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.traces.clients.client_log import ClientLog

TOLD = ("to_generation", "cause", "members", "size", "outcome")
DIALECT = "consumer-4.3-regex-debug"


@pytest.mark.parametrize(("dialect", "seed"), runs_of([DIALECT], [DIALECT]))
def test_an_epoch_begins_once_the_expression_is_resolved(
    dialect: str, seed: int, tmp_path: Path
) -> None:
    """Its cause is the member that brought the expression."""
    one = written(tmp_path, dialect, seed, 60_000)
    lines = one.path.read_text().splitlines()
    resolved = [k for k, line in enumerate(lines) if "Received updated regular expr" in line]
    assert resolved
    for k in resolved:
        told = "updated its subscribed regex to: t.*."
        member = lines[k].partition("context of member ")[2].partition(":")[0]
        brought = max(j for j in range(k) if f"Member {member} {told}" in lines[j])
        assert not any("Bumped group epoch" in line for line in lines[brought:k])
    happened = truth(tmp_path, "rebalances")
    for g in groups_of(one):
        assert g.verdict == "holds"
        told = [printed(round_document(r)) for r in g.timeline.rounds]
        real = happened[g.group]
        assert [[t[key] for key in TOLD] for t in told] == [[r[key] for key in TOLD] for r in real]


def test_a_member_says_what_it_subscribes_by(tmp_path: Path) -> None:
    one = written(tmp_path, "requests-consumer-regex", 1, 60_000)
    joins = [
        request["subscribedTopicRegex"] or request["subscribedTopicNames"]
        for line in one.path.read_text().splitlines()
        if "CONSUMER_GROUP_HEARTBEAT" in line
        for request in [json.loads(line[line.index("{") : line.rindex(" (")])["request"]]
        if request["memberEpoch"] == 0
    ]
    assert "t.*" in joins
    assert ["t"] in joins
    line = (
        "[2024-10-25 17:00:05,156] INFO [Consumer clientId=a, groupId=g] Subscribing to regular"
        " expression t.* (org.apache.kafka.clients.consumer.internals.AsyncKafkaConsumer)"
    )
    (said,) = ClientLog().statements(enumerate([line], 1))
    assert (said.kind, said.fields["pattern"]) == ("subscribed", "t.*")
