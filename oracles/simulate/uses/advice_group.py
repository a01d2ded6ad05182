"""A group as its owner describes it, and the alternatives of protocol and timeouts that it has."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs
from attrs import field, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.simulate.assumptions import Assumptions, named, with_settings
from groupcheck.oracles.simulate.uses import advice_versions

MOST_MEMBERS = 300  # a rolling restart of more takes minutes for each alternative
MOST_PARTITIONS = 20_000  # a round of more takes a second
MOST_MS = 86_400_000.0  # a day: a simulation plays every heartbeat of a slow message or a session
# Groups of KIP-848; the second is `consumer` with static members.
CONSUMER, CONSUMER_STATIC = "consumer", "consumer+static"
OF_CONSUMER = (CONSUMER, CONSUMER_STATIC)
STATIC = ("static_membership", "cooperative_static", CONSUMER_STATIC)
COOPERATIVE = ("cooperative", "cooperative_static")
# What the option --now calls a classic protocol, and any protocol -> its variant.
CLASSIC: Mapping[str, str] = {
    "eager": "classic",
    "cooperative": "cooperative",
    "eager-static": "static_membership",
    "cooperative-static": "cooperative_static",
}
PROTOCOLS: Mapping[str, str] = {
    **CLASSIC,
    "consumer": CONSUMER,
    "consumer-static": CONSUMER_STATIC,
}
# Kafka 4.3.0: ConsumerConfig; group.min.session.timeout.ms and group.max.session.timeout.ms.
DEFAULT_SESSION_MS, DEFAULT_POLL_MS, DEFAULT_HEARTBEAT_MS = 45_000.0, 300_000.0, 3_000.0
LEAST_SESSION_MS, MOST_SESSION_MS = 6_000.0, 1_800_000.0
LEAST_POLL_MS = 60_000.0  # below a minute, ordinary work would be taken for a hang
SHORT_SESSION_MS = 10_000.0  # the default of Kafka before 3.0 (KIP-735)
MOST_TIMEOUT_MS = 2**31 - 1  # the timeouts of ConsumerConfig are ints

# Assumptions that are the settings of what somebody has now.
TIMEOUTS = ("session_timeout_ms", "heartbeat_interval_ms", "max_poll_interval_ms")
# Assumptions that the description of the group says -> what to do instead of setting one.
DESCRIBED: Mapping[str, str] = {
    "restart_ms": "use --restart",
    "stall_ms": "use --slow-message",
    "changed_members": "leave it out: all members restart in a deploy, and any other event"
    " concerns one of them",
}
# Assumptions about scenarios and protocols that no alternative is simulated in.
UNUSED = (
    "metadata_max_age_ms",
    "rebalance_delay_ms",
    "added_partitions",
    "trigger_ms",
    "start_spread_ms",
)
OF_BROKER = ("consumer_heartbeat_interval_ms", "consumer_session_timeout_ms")
INTERVAL = "consumer_assignment_interval_ms"
"""Assumptions about groups of KIP-848 alone, which are alternatives only with `--kafka`."""


@frozen(kw_only=True)
class Week:
    """How often things happen to the group in a week."""

    # All members restart, one after the other.
    deploys: float = 5.0
    # A process dies and is started again.
    bounces: float = 1.0
    # A process dies and stays away.
    crashes: float = 0.2
    # A member loses the coordinator for `Described.outage_ms`, while it works on. By KIP-735 that
    # is much more common than the death of a client: ten times as common, to have a number.
    outages: float = 10.0
    # One message takes as long as `Described.slow_ms`.
    slow: float = 0.0
    # An application stops polling and never goes on, while its process lives.
    hangs: float = 0.0


@frozen(order=True)
class Alternative:
    """A protocol and its settings; timeouts in ms. Those of KIP-848 are the broker's, but for
    max.poll.interval.ms.
    """

    variant: str = "classic"
    session_timeout_ms: float = DEFAULT_SESSION_MS
    heartbeat_interval_ms: float = DEFAULT_HEARTBEAT_MS
    max_poll_interval_ms: float = DEFAULT_POLL_MS

    def changes(self, of: Alternative) -> int:
        """In how many ways somebody who has another one would change that. Of KIP-848, the session
        and the heartbeats are nobody's to change.
        """
        consumer = self.variant in OF_CONSUMER
        if consumer != (of.variant in OF_CONSUMER):
            return (
                1
                + ((self.variant in STATIC) != (of.variant in STATIC))
                + (self.max_poll_interval_ms != of.max_poll_interval_ms)
            )
        return (
            ((self.variant in STATIC) != (of.variant in STATIC))
            + ((self.variant in COOPERATIVE) != (of.variant in COOPERATIVE))
            + (self.session_timeout_ms != of.session_timeout_ms)
            + (self.heartbeat_interval_ms != of.heartbeat_interval_ms)
            + (self.max_poll_interval_ms != of.max_poll_interval_ms)
        )

    @property
    def settings(self) -> dict[str, str]:
        """The consumer's settings, by Kafka's names."""
        made = {
            "group.protocol": "consumer",
            "max.poll.interval.ms": f"{self.max_poll_interval_ms:.0f}",
        }
        if self.variant not in OF_CONSUMER:
            made = self._classic
        if self.variant in STATIC:
            made["group.instance.id"] = "<another one for each process, the same after a restart>"
        return made

    @property
    def _classic(self) -> dict[str, str]:
        return {
            "partition.assignment.strategy": "org.apache.kafka.clients.consumer."
            + ("CooperativeStickyAssignor" if self.variant in COOPERATIVE else "RangeAssignor"),
            "session.timeout.ms": f"{self.session_timeout_ms:.0f}",
            "heartbeat.interval.ms": f"{self.heartbeat_interval_ms:.0f}",
            "max.poll.interval.ms": f"{self.max_poll_interval_ms:.0f}",
        }


DEFAULTS = Alternative()
"""A consumer with Kafka's defaults."""


@frozen(kw_only=True)
class GroupDescription:
    """A group, as its owner describes it. Raises `UserError` where that makes no sense."""

    members: int = 10
    partitions: int = 10
    # How long a process is away when it restarts.
    restart_ms: float = 30_000.0
    # How long a member that works loses the coordinator. After request.timeout.ms (30 s) a client
    # gives up a connection that was not closed cleanly, and connects again (KIP-735).
    outage_ms: float = 30_000.0
    # The longest that the application works between two polls.
    slow_ms: float = 0.0
    week: Week = field(factory=Week)
    # The version of the brokers, if its owner says it: then KIP-848 is an alternative.
    kafka: str | None = None
    # What the group has now, if its owner says so.
    now: Alternative | None = None
    # Everything else; the settings in it are replaced by those of each alternative.
    assumptions: Assumptions = field(factory=Assumptions)

    def __attrs_post_init__(self) -> None:
        if not 2 <= self.members <= MOST_MEMBERS:
            raise UserError(
                f"{self.members} members",
                where="--members",
                do=f"take 2 to {MOST_MEMBERS}; a larger group has the same best settings as one of"
                " a tenth of its size, as long as its restarts take the same time for each member",
            )
        if not 1 <= self.partitions <= MOST_PARTITIONS:
            raise UserError(
                f"{self.partitions} partitions",
                where="--partitions",
                do=f"take 1 to {MOST_PARTITIONS:,}; with more than that for each member, costs grow"
                " as partitions do, and the best settings stay",
            )
        for name, value in attrs.asdict(self.week, recurse=False).items():
            if not 0 <= value <= 10_000:
                raise UserError(f"{value:g} {name} in a week", do="take 0 to 10,000")
        if self.week.slow and not self.slow_ms:
            raise UserError("a slow message needs its length", do="add --slow-message, as in 6m")
        for option, value in (("--slow-message", self.slow_ms), ("--outage", self.outage_ms)):
            if value > MOST_MS:
                raise UserError(
                    f"{value / 3_600_000:,.0f} hours are too long to simulate",
                    where=option,
                    do="take 24h at most. max.poll.interval.ms and session.timeout.ms are ints: no"
                    f" value above {MOST_TIMEOUT_MS:,} ms (24.8 days) exists",
                )
        if self.now is not None:
            _check_now(self.now)
        if self.kafka is not None:
            advice_versions.parsed(self.kafka)

    @property
    def base(self) -> Alternative:
        """The settings that the group has now, or else Kafka's defaults."""
        return self.now or DEFAULTS

    @property
    def disturbed(self) -> bool:
        """Does its owner describe losses, or pauses of processes?"""
        return bool(self.assumptions.loss or self.assumptions.pause_every_s)


def _check_now(now: Alternative) -> None:
    for name in TIMEOUTS:
        value = getattr(now, name)
        if value != int(value) or value > MOST_TIMEOUT_MS:
            raise UserError(
                f"{name.replace('_', '.')}={value:.16g} is no value that Kafka takes",
                where=name,
                do=f"give a whole number from 1 to {MOST_TIMEOUT_MS:,}",
            )
    if now.session_timeout_ms > MOST_MS:
        raise UserError(
            f"a session of {now.session_timeout_ms / 3_600_000:,.0f} hours is too long to simulate",
            where="session_timeout_ms",
            do=f"take {MOST_MS:.0f} at most, which is a day. A broker takes"
            f" {MOST_SESSION_MS:.0f} (group.max.session.timeout.ms), unless it is set otherwise",
        )


def given(
    settings: Mapping[str, str], protocol: str | None, kafka: str | None = None
) -> tuple[Assumptions, Alternative | None]:
    """The assumptions of somebody who sets these, and what the group has now: that is one of
    `PROTOCOLS` and the timeouts among the settings, with Kafka's defaults in place of what is
    missing. None if neither is given. `kafka`: the version of the brokers. Raises `UserError`.
    """
    settings = {named(name): value for name, value in settings.items()}
    rules = advice_versions.release(kafka) if kafka is not None else None
    unused = UNUSED if rules is not None else (*UNUSED, *OF_BROKER, INTERVAL)
    for name in settings:
        if name in DESCRIBED:
            raise UserError(f"{name} is part of the description", where="--set", do=DESCRIBED[name])
        if name in unused:
            raise UserError(
                f"no event of `advise` depends on {name}",
                where="--set",
                do="leave it out, or use it in `groupcheck simulate`"
                if name in UNUSED
                else "add --kafka VERSION, 4.0 or newer, or leave it out",
            )
    found = with_settings(settings)
    if rules is not None and not rules.interval and INTERVAL not in settings:
        found = attrs.evolve(found, **{INTERVAL: 0})
    if "pause_ms" in settings and not found.pause_every_s:
        raise UserError(
            "pause_ms says how long pauses are, and there are none",
            where="--set",
            do="add --set pause_every_s=SECONDS, or use --outage",
        )
    if protocol is None and not set(TIMEOUTS) & set(settings):
        return found, None
    variant = PROTOCOLS[protocol or "eager"]
    if variant in OF_CONSUMER:
        return found, _consumer_now(variant, settings, found, rules is not None)
    return found, Alternative(variant, *(getattr(found, name) for name in TIMEOUTS))


def _consumer_now(
    variant: str, settings: Mapping[str, str], found: Assumptions, is_possible: bool
) -> Alternative:
    """What a group of KIP-848 has now: its session and its heartbeats are the broker's."""
    if not is_possible:
        raise UserError(
            "a group of KIP-848 has brokers of Kafka 4.0 or newer",
            where="--now",
            do="add --kafka VERSION, as in --kafka 4.3.1",
        )
    of_broker = dict(zip(("heartbeat_interval_ms", "session_timeout_ms"), OF_BROKER))
    for name in settings:
        if name in of_broker:
            raise UserError(
                f"{name} is a setting of classic members; under KIP-848 the broker has it",
                where="--set",
                do=f"set {of_broker[name]}",
            )
    beat, session = (getattr(found, name) for name in OF_BROKER)
    return Alternative(variant, session, beat, found.max_poll_interval_ms)


def alternatives(described: GroupDescription) -> tuple[list[Alternative], tuple[str, ...]]:
    """All combinations of protocols and timeouts, with what the group has now, and remarks about
    those that are left out.
    """
    notes: list[str] = []
    sessions, polls = _sessions(described, notes), _polls(described, notes)
    found = [
        Alternative(variant, session, DEFAULT_HEARTBEAT_MS, poll)
        for variant in CLASSIC.values()
        for session in sorted(sessions)
        for poll in sorted(polls)
    ]
    found += _of_consumer(described, sorted(polls), notes)
    now = described.now
    if now is not None and now.max_poll_interval_ms <= described.slow_ms:
        notes.append("What you have now is no alternative: its max.poll.interval.ms is too short.")
    elif now is not None and now not in found:
        found.insert(0, now)
    return found, tuple(notes)


def _of_consumer(
    described: GroupDescription, polls: list[float], notes: list[str]
) -> list[Alternative]:
    """Groups of KIP-848, with the session and the heartbeats of the broker."""
    if described.kafka is None:
        notes.append(
            "With brokers of Kafka 4.0 or newer, --kafka VERSION makes group.protocol=consumer"
            " (KIP-848) an alternative, too."
        )
        return []
    if not advice_versions.has_protocol(described.kafka):
        notes.append(
            f"group.protocol=consumer (KIP-848) is no alternative: Kafka {described.kafka} has no"
            " more than a preview of it, and brokers of 4.0 or newer are needed."
        )
        return []
    beat, session = (getattr(described.assumptions, name) for name in OF_BROKER)
    return [Alternative(v, session, beat, poll) for v in OF_CONSUMER for poll in polls]


def _sessions(described: GroupDescription, notes: list[str]) -> set[float]:
    sessions = {SHORT_SESSION_MS, DEFAULT_SESSION_MS}
    # The session began with the last heartbeat, and the process has to join, too.
    above = _rounded_up(1.2 * described.restart_ms + 2 * DEFAULT_HEARTBEAT_MS, 5_000)
    if above <= MOST_SESSION_MS:
        sessions.add(max(above, LEAST_SESSION_MS))
    else:
        notes.append(
            f"A restart of {described.restart_ms / 1000:g} s is longer than"
            " group.max.session.timeout.ms allows by default (1,800,000 ms): static membership"
            " cannot bridge it unless the broker's setting is raised."
        )
    return sessions


def _polls(described: GroupDescription, notes: list[str]) -> set[float]:
    polls = {DEFAULT_POLL_MS} if described.slow_ms < DEFAULT_POLL_MS else set()
    if described.slow_ms:
        above = max(_rounded_up(1.2 * described.slow_ms, 30_000), LEAST_POLL_MS)
        if not polls or described.week.hangs:
            polls.add(above)
        notes.append(
            "max.poll.interval.ms must be longer than the slowest message: else the next owner gets"
            " the message, and is too slow, too. It is also the rebalance timeout: a round waits"
            " for a member that works on such a message up to that long."
        )
    return polls


def _rounded_up(value: float, step: int) -> float:
    return float(math.ceil(value / step) * step)
