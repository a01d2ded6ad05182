"""Tickets are named only where the versions that a log tells have the fault, or as a condition."""

from __future__ import annotations

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.replay.claims import in_words
from groupcheck.oracles.replay.report import ReplayReports
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import in_ranges, read_causes, shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog

BROKER = (
    "[2024-05-01 10:00:01,000] INFO [GroupCoordinator 1]: Stabilized group shop generation {n}"
    " (__consumer_offsets-1) with 1 members (kafka.coordinator.group.GroupCoordinator)"
)
VERSION = (
    "[2024-05-01 10:00:00,000] INFO Kafka version: {version}"
    " (org.apache.kafka.common.utils.AppInfoParser)"
)


def tickets(*lines: str) -> list[str]:
    """The tickets that are named for a JoinGroup that timed out."""
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    (answer,) = ReplayReports([], heard=evidence, knowledge=shipped_knowledge()).answers
    words = in_words(answer, [])
    return [t for claim in (*words.causes, *words.candidates) for t in claim.tickets]


@pytest.mark.parametrize(
    ("version", "ranges", "so"),
    [
        ("2.3.0", [">=2.3 <2.3.1"], True),
        ("2.3", [">=2.3.0 <2.3.1"], True),
        ("2.3.1", [">=2.3 <2.3.1"], False),
        ("2.10.0", ["<2.9"], False),
        ("3.6.0", [">=2.3 <3.5.2", ">=3.6 <3.6.1"], True),
        ("3.5.2", [">=2.3 <3.5.2", ">=3.6 <3.6.1"], False),
        ("0.10.2.1", ["<2.1.1"], True),
    ],
)
def test_a_range_holds_the_versions_that_it_says(version: str, ranges: list[str], so: bool) -> None:
    assert in_ranges(version, ranges) == so


def test_every_ticket_with_ranges_says_whose_and_describes_them() -> None:
    causes = shipped_knowledge().causes.values()
    every = [t for c in causes for t in (*c.tickets, *(t for s in c.signs for t in s.tickets))]
    ranged = [t for t in every if t.ranges]
    assert len(ranged) >= 7
    for ticket in ranged:
        assert ticket.software in ("broker", "java", "librdkafka")
        assert ticket.affects and ticket.fixed
        assert not ticket.here


@pytest.mark.parametrize(
    "more", ['ranges = ["2.3 to 2.4"]', 'ranges = [">=2.3"]', 'software = "x"']
)
def test_a_user_s_ticket_that_is_half_said_is_refused(more: str) -> None:
    text = f"""
[[cause]]
kind = "k"
severity = "calm"
title = "t"
text = "t"
action = "a"
tickets = [{{ id = "T-1", {more} }}]
[[cause.signs]]
needs = ["lost"]
"""
    with pytest.raises(UserError, match="T-1"):
        read_causes(text, "mine.toml")


TIMED_OUT = (
    "%5|1714557605.000|REQTMOUT|c#consumer-1| [thrd:GroupCoordinator]: GroupCoordinator/1: Timed"
    " out JoinGroupRequest in flight (after 30000ms, timeout #0)"
)


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ([TIMED_OUT], "KAFKA-7610 (if the broker is before 2.1.1, "),
        (
            [VERSION.format(version="2.0.1"), BROKER.format(n=3), TIMED_OUT],
            "KAFKA-7610 (2.0.1 here",
        ),
        ([VERSION.format(version="3.6.1-ccs"), BROKER.format(n=3), TIMED_OUT], ""),
    ],
    ids=["no version", "an affected version", "another version"],
)
def test_a_ticket_is_named_by_the_versions_that_the_log_tells(lines: list[str], named: str) -> None:
    found = tickets(*lines)
    assert [t for t in found if "7610" in t][:1] == [t for t in found if t.startswith(named)][:1]
    assert bool([t for t in found if "7610" in t]) == bool(named)
