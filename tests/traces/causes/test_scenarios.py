"""Recordings of the built-in scenarios of `groupcheck record` (tests/data/scenarios), each with the
logs of all members, the broker's log, its request log, and the truth: no log shows another cause
than the true one or what follows from it, and those listed here show it.

Recorded with `groupcheck record --scenario NAME --client CLIENT` against Kafka 4.3.0, members of
kafka-clients 4.3.0 or confluent-kafka 2.16.1.
"""

from __future__ import annotations

import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from groupcheck.traces.causes.diagnosis import Diagnosis, diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.from_brokers import statements
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.replay import replay_file

FOLDER = Path(__file__).parents[2] / "data" / "scenarios"
RECORDINGS = sorted(path.stem for path in FOLDER.glob("*.tgz"))
# Recording -> the logs that show its cause by themselves. In all others it cannot be told, and
# nothing else is claimed.
SHOWN: dict[str, set[str]] = {
    "broker_outage-java": {"a", "b", "all members"},
    "group_full-java": {"c", "all members", "requests"},
    "idle_proxy-java": {"a", "all members"},
    "killed_together-java": {"requests"},
    "long_pause-java": {"requests"},
    "no_common_assignor-java": {"b", "all members", "requests"},
    "session_too_short-java": {"a", "b", "all members", "requests"},
    "slow_callback-java": {"b", "all members"},
    "slow_handler-confluent-kafka": {"b", "all members", "requests"},
    "slow_handler-java": {"b", "all members", "requests"},
    "topic_late-java": {"a", "b", "all members"},
    "twin-java": {"a", "b", "all members", "requests"},
    "twins_in_process-java": {"a", "all members", "requests"},
    "zombie-java": {"requests"},
}
# Normal life, which no scenario needs to list.
NORMAL = {"join_restarts", "rolling_deploy", "new_group"}


@cache
def logs(name: str) -> dict[str, str]:
    """The texts of a recording by kind: truth, broker, requests, and each member's name."""
    with tarfile.open(FOLDER / f"{name}.tgz") as archive:
        texts = {
            member.name: archive.extractfile(member).read().decode()  # type: ignore[union-attr]
            for member in archive.getmembers()
        }
    return {name.rsplit(".", 2)[-2]: text for name, text in texts.items()}


def truth(name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(logs(name)["truth"])
    return told


def of_members(name: str) -> list[str]:
    return sorted(logs(name).keys() - {"truth", "broker", "requests"})


def diagnosed(evidence: Evidence) -> list[Diagnosis]:
    return [diagnose(group, shipped_knowledge()) for group in evidence.by_group()]


def by_clients(name: str, members: list[str]) -> list[Diagnosis]:
    evidence = Evidence()
    for member in members:
        lines = enumerate(logs(name)[member].splitlines(), 1)
        evidence.add_all(ClientLog(name=member).statements(lines))
    return diagnosed(evidence)


def by_broker(name: str, kind: str, folder: Path) -> list[Diagnosis]:
    path = folder / f"{kind}.log"
    path.write_text(logs(name)[kind], encoding="utf-8")
    report, evidence = replay_file(path), Evidence()
    for group in report.groups:
        evidence.add_all(statements(report, group))
    return diagnosed(evidence)


def causes(found: list[Diagnosis]) -> set[str]:
    return {f.cause.kind for d in found for f in d.causes} - NORMAL


@pytest.mark.parametrize("name", RECORDINGS)
def test_each_log_shows_the_cause_or_none(name: str, tmp_path: Path) -> None:
    members = of_members(name)
    found = {member: causes(by_clients(name, [member])) for member in members}
    found["all members"] = causes(by_clients(name, members))
    found["requests"] = causes(by_broker(name, "requests", tmp_path))
    cause = truth(name)["cause"]
    true = {cause["kind"], *cause["or"]} if cause else set()
    assert {log: some - true for log, some in found.items() if some - true} == {}
    shown = {log for log, some in found.items() if cause and cause["kind"] in some}
    assert shown == SHOWN.get(name, set())


def test_a_calm_recording_is_calm() -> None:
    calm = [name for name in RECORDINGS if truth(name)["cause"] is None]
    assert len(calm) >= 2
    for name in calm:
        for member in of_members(name):
            assert {d.health for d in by_clients(name, [member])} <= {"calm"}
