"""Which groups are answered: consumer groups of one protocol, the classic one or KIP-848, of a size
that can be simulated.
"""

from __future__ import annotations

import re

from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import VIOLATED
from groupcheck.oracles.replay.what_if.outside import Outside
from groupcheck.oracles.replay.what_if.protocols import CONSUMER
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.story.member import client_of

CONSUMERS = ("classic", "cooperative", "static")
"""Protocols of `GroupReport` that are those of classic consumer groups."""
STATIC = ("away", "replaced")
"""How static members of a group of KIP-848 go."""
OTHERS = {
    # The name of a protocol that members offer in JoinGroup -> who they are.
    "default": "Kafka Connect",
    "compatible": "Kafka Connect",
    "sessioned": "Kafka Connect",
    "stream": "Kafka Streams",
    "v0": "the Schema Registry",
}
CONNECT_CLIENT = re.compile(r"connect-\d+\Z")
"""The client id of a worker of Kafka Connect without a setting (DistributedHerder)."""
MOST_EVENTS = 5_000


def too_large(report: GroupReport) -> None:
    """Events are matched with each other, which takes a time that grows with their square; and a
    member that a line only counts is one that is simulated. Raises `UserError`.
    """
    story = report.timeline
    largest = max((r.size or 0 for r in story.rounds), default=0)
    count = max(len(story.members), len(story.rounds), largest)
    if count > MOST_EVENTS or story.rounds_dropped or story.members_dropped:
        raise UserError(
            f"has {count:,} members or rebalances, and at most {MOST_EVENTS:,} are simulated",
            where=report.group,
            do="give a part of the log",
        )


def without_contradictions(report: GroupReport) -> None:
    """Refuses lines that contradict each other, from which nobody can read what happened. Raises
    `UserError`.
    """
    if report.verdict == VIOLATED:
        raise UserError(
            f"replay without --what-if says violated: {report.reason}",
            where=report.group,
            do="give a part of the log that it does not call so",
        )


def consumers(report: GroupReport) -> None:
    """Raises `UserError` for a group that is not known to be one of consumers with one protocol."""
    if any(a.kind == "protocol_changed" for a in report.anomalies):
        raise UserError(
            "changes between the classic protocol and KIP-848, and a simulation has one protocol",
            where=report.group,
            do="give the part of the log before that, or after it",
        )
    if report.protocol == CONSUMER:
        _dynamic(report)
        return
    if report.protocol not in CONSUMERS:
        raise UserError(
            f"is a group of the {report.protocol} protocol, and only consumer groups are simulated",
            where=report.group,
        )
    for name in sorted(_offered(report)):
        if name in OTHERS:
            raise UserError(
                f"has members of {OTHERS[name]} (protocol {name}), and only consumers with Kafka's"
                " own assignors are simulated",
                where=report.group,
            )
    clients = {client_of(id) for id in report.timeline.members}
    if report.requests is None and clients and all(map(CONNECT_CLIENT.match, clients)):
        raise UserError(
            "has members with the client ids of workers of Kafka Connect, and only consumers are"
            " simulated",
            where=report.group,
            do="give the request log if they are consumers: it tells the protocol",
        )


def _dynamic(report: GroupReport) -> None:
    """Raises `UserError` for a group of KIP-848 with static members: its log does not tell which of
    the others are static, too.
    """
    gone = sorted(m.id for m in report.timeline.members.values() if m.gone in STATIC)
    if gone or report.timeline.counts["away"]:
        raise UserError(
            f"has static members ({gone[0] if gone else 'one was away'}), and the log of a group of"
            " KIP-848 does not tell which others are",
            where=report.group,
            do="ask about the log of a group without them",
        )


def _offered(report: GroupReport) -> set[str]:
    """The names of the protocols that members offer, as far as the log tells."""
    found = {name for names in report.timeline.assignors for name in names}
    generations = report.requests.facts.generations if report.requests else ()
    return found | {g.protocol for g in generations if g.protocol}


def simulable(events: Outside) -> None:
    """Raises `UserError` for a log that does not show what a simulation needs."""
    if events.static is None:
        raise UserError(
            "has static and dynamic members, and a simulation has members of one kind",
            where=events.group,
        )
    times = [r.started.time for r in events.rounds if r.started is not None]
    if not times or None in times:
        raise UserError(
            "shows no rebalance with a time",
            where=events.group,
            do="give a log of the broker that coordinates the group, with times",
        )
    if not events.happenings:
        raise UserError("names no member that came or went", where=events.group)
