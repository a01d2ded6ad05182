"""The settings of a logged group: what lines state, and what can be estimated from times.

Requests, and some lines about members, state the session and rebalance timeouts of clients. All
else follows from times: a bound, or an estimate, which an answer lists among what it assumes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from attrs import Factory, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.replay.what_if.change import each_valid
from groupcheck.oracles.replay.what_if.protocols import CONSUMER, PACE
from groupcheck.oracles.simulate.assumptions import named, number_of
from groupcheck.traces.findings.findings import HEARTBEAT, INITIAL_DELAY, REBALANCE, SESSION
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.story.events import RebalanceCause
from groupcheck.traces.story.member import client_of
from groupcheck.traces.story.moments import Round, elapsed

NAMES = {
    SESSION: "session_timeout_ms",
    REBALANCE: "max_poll_interval_ms",
    HEARTBEAT: "heartbeat_interval_ms",
    INITIAL_DELAY: "initial_rebalance_delay_ms",
}
"""Settings that a log may tell -> the assumptions of a simulation."""
MEASURED = {
    SESSION: "how long members that nobody used took to expire",
    REBALANCE: "how long a rebalance waited for members that did not rejoin",
    HEARTBEAT: "the median time between heartbeats",
    INITIAL_DELAY: "the join phase of the empty group, which members that join make longer",
}
"""What measured settings are estimated from."""
BY_ITSELF = (
    RebalanceCause.LEADER_REJOIN,
    RebalanceCause.MEMBER_REJOIN,
    RebalanceCause.METADATA_CHANGE,
)
LEAST_WAITS = 3
DEFAULT_SESSION_MS = 45_000.0
DEFAULT_HEARTBEAT_MS = 3_000.0
DEFAULT_PACE_MS = 5_000.0
"""group.consumer.heartbeat.interval.ms; the session of a group of KIP-848 is by default as long as
that of a classic one.
"""
PROTOCOL = "protocol"
PROTOCOLS = ("eager", "cooperative")
EAGER = ("range", "roundrobin", "sticky")
"""Kafka's assignors that only support the eager protocol."""
REVOKES = "need to revoke partitions"
"""So the Java client says why it joins again (KIP-800), in a cooperative group only."""


@frozen
class Estimate:
    """A value that no line states."""

    value_ms: float
    # What it is estimated from, in words.
    source: str


@frozen
class Settings:
    """The known part of a group's settings: the name of an assumption -> ms."""

    told: Mapping[str, float] = Factory(dict)
    # Those that `told` lacks.
    estimated: Mapping[str, Estimate] = Factory(dict)

    @property
    def values(self) -> dict[str, float]:
        """All of them."""
        return {**{name: one.value_ms for name, one in self.estimated.items()}, **self.told}


def settings_of(report: GroupReport) -> Settings:
    """The settings that the log states and those that follow from its times. Of several values the
    longest holds.
    """
    names = names_of(report)
    told: dict[str, float] = {}
    found: dict[str, Estimate] = {}
    for one in report.findings.settings:
        name, value = names.get(one.name), float(one.value_ms)
        if name is None or value <= 0:
            continue
        if not one.measured:
            told[name] = max(told.get(name, 0.0), value)
        elif name not in found or found[name].value_ms < value:
            found[name] = Estimate(value, MEASURED[one.name])
    session, beat = names[SESSION], names[HEARTBEAT]
    if session not in found and (most := _longest_session(report)) is not None:
        found[session] = most
    estimate = None if report.protocol == CONSUMER else _heartbeat(report.timeline.rounds)
    if beat not in found and estimate is not None:
        known = told.get(session) or (found[session].value_ms if session in found else None)
        if known is None or estimate.value_ms < known:
            found[beat] = estimate
    return Settings(told, {name: one for name, one in found.items() if name not in told})


def names_of(report: GroupReport) -> dict[str, str]:
    """Settings that a log may tell -> the assumptions that they are in such a group: what the
    heartbeats of a group of KIP-848 show is the pace of its broker.
    """
    if report.protocol != CONSUMER:
        return NAMES
    return {one: PACE.get(name, name) for one, name in NAMES.items()}


def _longest_session(report: GroupReport) -> Estimate | None:
    """The longest session.timeout.ms that the log allows, if that is shorter than Kafka's default:
    a session counts anew from each generation, so no member that expired had one that is longer
    than the time since then.
    """
    lives = [
        (ms, m)
        for m in report.timeline.members.values()
        if m.gone == "expired" and (ms := elapsed(m.armed or m.joined, m.ended)) is not None
    ]
    since = "last generation" if report.protocol != CONSUMER else "last heartbeat that a line shows"
    if not lives and report.protocol == CONSUMER:
        signs = report.timeline.signs
        gone = [m for m in report.timeline.members.values() if m.gone == "gone" and m.id in signs]
        lives = [(m.ended.time - signs[m.id], m) for m in gone if m.ended and m.ended.time]
        since = "last heartbeat"
    if not lives:
        return None
    most, member = min(lives, key=lambda life: life[0])
    if not 0 < most < DEFAULT_SESSION_MS:
        return None
    line = member.ended.line if member.ended is not None else 0
    return Estimate(
        float(most),
        f"the time from the {since} of {client_of(member.id)} to its expiry in line {line};"
        " it is at most so long",
    )


def _heartbeat(rounds: Sequence[Round]) -> Estimate | None:
    """The heartbeat interval, in ms, where the join phases are too short for Kafka's default: they
    last until the last member has sent its next heartbeat, so up to one interval. (The estimate of
    the end of a uniform distribution from its largest value.) Where all members join again by
    themselves, nobody waits for a heartbeat.
    """
    waits = [
        (took, r.cause)
        for r in rounds
        if not r.initial and not r.not_rejoined and r.outcome != "emptied" and (r.size or 0) > 1
        if (took := elapsed(r.started, r.joined_at)) is not None
    ]
    longest = max((took for took, _ in waits), default=0)
    enough = sum(cause not in BY_ITSELF for _, cause in waits) >= LEAST_WAITS
    if not enough or not 0 < longest < DEFAULT_HEARTBEAT_MS / 2:
        return None
    return Estimate(
        longest * (len(waits) + 1) / len(waits),
        f"the longest of {len(waits)} join phases, {longest} ms",
    )


def is_cooperative(report: GroupReport) -> bool | None:
    """Does the classic group rebalance cooperatively? None: no line tells.

    A Java client is cooperative if all assignors in its list are (ConsumerCoordinator).
    """
    chosen = {g.protocol for g in report.requests.facts.generations} if report.requests else set()
    lists = {(name,) for name in chosen if name} or report.timeline.assignors
    if any(names and all("cooperative" in name for name in names) for names in lists):
        return True
    if any(REVOKES in (r.client_reason or "") for r in report.timeline.rounds):
        return True
    return False if any(name in EAGER for names in lists for name in names) else None


def given_settings(given: Mapping[str, str]) -> tuple[dict[str, str], bool | None]:
    """The assumptions among what the user states, and whether the group is said to be cooperative
    (`protocol=eager` or `protocol=cooperative`; None: nothing is said). Raises `UserError`.
    """
    rest = {named(name): value for name, value in given.items()}
    protocol = rest.pop(PROTOCOL, None)
    if protocol not in (None, *PROTOCOLS):
        raise UserError(
            f"there is no protocol {protocol!r}",
            where="--set",
            do=f"{PROTOCOL}={PROTOCOLS[0]} or {PROTOCOL}={PROTOCOLS[1]}",
        )
    each_valid(rest)
    return rest, None if protocol is None else protocol == PROTOCOLS[1]


def consistent(known: Mapping[str, str | float]) -> dict[str, str | float]:
    """With a session that is shorter than three times the default heartbeat interval, a heartbeat
    interval of a third of it, if none is known: Kafka's client refuses one that is not shorter, and
    so does its broker.
    """
    found = dict(known)
    for default, names in ((DEFAULT_HEARTBEAT_MS, PACE), (DEFAULT_PACE_MS, PACE.values())):
        beat, session = names
        with suppress(ValueError):  # a text that is no number is refused where it is used
            lasts = number_of(session, found.get(session, DEFAULT_SESSION_MS))
            if beat not in found and 0 < lasts < 3 * default:
                found[beat] = lasts / 3
    return found
