"""What is said about recordings of real clients whose truth is known: calm ones are called calm."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from groupcheck.traces.causes.diagnosis import diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog

FOLDER = Path(__file__).parents[2] / "data/clients"
# Recording -> the causes that it really shows (the truth that came with it); all others are calm.
TROUBLED = {
    "poll_timeout.b": ["poll_timeout"],
    "partitions_added.b": ["partitions_added"],
    "coop_join_kill.b": ["commit_during_rebalance"],
    "live-java_coop.b": ["commit_during_rebalance"],
    # In these runs b handles a batch for longer than max.poll.interval.ms, and a is frozen for 9 s,
    # longer than its session; the client of KIP-848 notices its poll limit first.
    "recorded-2.2.2.a": ["session_expired_broker"],
    "recorded-2.2.2.b": ["poll_timeout"],
    "recorded-2.4.1-cooperative.a": ["session_expired_broker"],
    "recorded-2.4.1-cooperative.b": ["poll_timeout"],
    "recorded-2.8.2.a": ["session_expired_client"],
    "recorded-2.8.2.b": ["poll_timeout"],
    "recorded-3.4.1-cooperative.a": ["session_expired_client"],
    "recorded-3.4.1-cooperative.b": ["poll_timeout"],
    "recorded-3.9.1-kip848.a": ["poll_timeout"],
    "recorded-3.9.1-kip848.b": ["poll_timeout"],
    "recorded-4.1.1.a": ["session_expired_client"],
    "recorded-4.1.1.b": ["poll_timeout"],
}
# test_java_recordings.py has the truth of the others, whose names begin with recorded-.
RECORDINGS = sorted(file.name.removesuffix(".log.gz") for file in FOLDER.glob("[!r]*.log.gz"))


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_shows_its_causes_and_no_others(name: str) -> None:
    evidence = Evidence()
    with gzip.open(FOLDER / f"{name}.log.gz", "rt", encoding="utf-8", errors="replace") as lines:
        evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    found = [diagnose(group, shipped_knowledge()) for group in evidence.by_group()]
    assert [f.cause.kind for d in found for f in d.causes] == TROUBLED.get(name, [])
    if name not in TROUBLED:
        assert {d.health for d in found} == {"calm"}


def test_processes_that_follow_each_other_under_one_name_are_not_taken_for_one() -> None:
    evidence = Evidence()
    for name in ("b", "b2", "c"):
        path = FOLDER / f"static_bounce.{name}.log.gz"
        log = ClientLog(name=path.name)
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            evidence.add_all(log.statements(enumerate(lines, 1)))
    found = [diagnose(group, shipped_knowledge()) for group in evidence.by_group()]
    assert [f.cause.kind for d in found for f in d.causes] == []
