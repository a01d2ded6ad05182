"""The assumptions of a simulation about machines, network, clients and settings: one field each,
with its meaning, unit and default.

Settings of Kafka have Kafka's defaults (4.3.0). Everything else is an assumption about a place that
nobody has measured for you: replace it by what you know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import attrs
from attrs import converters, field, frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.errors import shown
from groupcheck.oracles.quantities import time_of
from groupcheck.oracles.simulate.distributions import Distribution, distribution

COUNTS = ("changed_members", "added_partitions")
"""Whole numbers from 1 up; so is `other_group_members`, or 0."""
FROM_1_MS = (
    "heartbeat_interval_ms",
    "session_timeout_ms",
    "max_poll_interval_ms",
    "request_timeout_ms",
    "metadata_max_age_ms",
    "new_member_timeout_ms",
    "consumer_heartbeat_interval_ms",
    "consumer_session_timeout_ms",
)
"""Kafka takes them in whole milliseconds (ConsumerConfig, GroupMetadata). What happens every 0 ms
would not let the time go on.
"""
LEAST, MOST = 1e-9, 1e15
"""Of numbers other than 0. What is smaller is no machine's or network's, and divides others up to
infinity; of what is larger, sums are no longer exact.
"""
MOST_OTHERS = 100_000  # per second: far more than the coordinator's one thread can serve
MOST_METADATA = 100 << 20  # socket.request.max.bytes of Kafka 4.3.0 (SocketServerConfigs)
LEAST_GAP_S = 0.1  # between two pauses of a process


def _number(default: float, doc: str) -> Any:
    return field(default=default, converter=_positive_zero, metadata=_doc(doc))


def _positive_zero(value: float) -> float:
    """The number; 0.0 for -0.0, which nobody means."""
    return float(value) + 0.0


def _doc(text: str) -> dict[str, str]:
    return {"doc": text}


@frozen(kw_only=True)
class Assumptions:
    """See the fields' documentation (`documented`). Durations are in milliseconds."""

    # -- settings of Kafka
    heartbeat_interval_ms: float = _number(3_000, "heartbeat.interval.ms of the members.")
    session_timeout_ms: float = _number(45_000, "session.timeout.ms of the members.")
    max_poll_interval_ms: float = _number(
        300_000, "max.poll.interval.ms of the members, which is also the rebalance timeout."
    )
    initial_rebalance_delay_ms: float = _number(
        3_000, "group.initial.rebalance.delay.ms of the broker."
    )
    new_member_timeout_ms: float = _number(
        300_000, "How long the coordinator waits for a new member (NEW_MEMBER_JOIN_TIMEOUT_MS)."
    )
    retry_backoff_ms: float = _number(
        100, "retry.backoff.ms: a waiting heartbeat thread looks at its timer this often."
    )
    request_timeout_ms: float = _number(
        30_000, "request.timeout.ms: when a member gives up a request that is never answered."
    )
    metadata_max_age_ms: float = _number(
        300_000, "metadata.max.age.ms: how often a member looks at the topics."
    )
    rebalance_delay_ms: float = _number(
        300_000, "scheduled.rebalance.max.delay.ms (Connect alone)."
    )
    consumer_heartbeat_interval_ms: float = _number(
        5_000, "group.consumer.heartbeat.interval.ms of the broker (KIP-848 alone)."
    )
    consumer_session_timeout_ms: float = _number(
        45_000, "group.consumer.session.timeout.ms of the broker (KIP-848 alone)."
    )
    consumer_assignment_interval_ms: float = _number(
        1_000,
        "group.consumer.assignment.interval.ms of the broker: the least time between two targets"
        " (KIP-848 alone, Kafka 4.3 and newer; before: 0).",
    )
    # -- network and coordinator
    network_ms: Distribution = field(
        default=distribution("lognormal:0.5,0.5"),
        converter=distribution,
        metadata=_doc("One way of a message between member and coordinator."),
    )
    service_ms: Distribution = field(
        default=distribution("exponential:0.1"),
        converter=distribution,
        metadata=_doc("How long the coordinator's one thread works on a request."),
    )
    join_ms_per_member: float = _number(
        0,
        "How much longer it works on a JoinGroup for each member of the group. Up to Kafka 2.0 it"
        " looked at all of them (KAFKA-7142): 0.00018 was measured on 1.1.1.",
    )
    answer_ms: float = _number(
        0.01, "How long it works on each answer to a request that was parked."
    )
    append_ms: Distribution = field(
        default=distribution("lognormal:5,0.5"),
        converter=distribution,
        metadata=_doc("From the append of a record to its commit (acks=all)."),
    )
    assign_ms_per_partition: float = _number(
        0.005, "How long an assignor works for each partition, at the leader or coordinator."
    )
    bytes_per_ms: float = _number(100_000, "How fast a large answer goes over the network.")
    other_requests_per_s: float = _number(
        0, "Requests of other groups that the same coordinator serves, up to 100,000."
    )
    other_group_members: float = _number(
        0,
        "Members of another group of the same kind that the same coordinator serves: the same"
        " happens to it at the same time. 0: there is none.",
    )
    loss: float = _number(
        0, "The share of messages that are lost with their connection (0 to below 1)."
    )
    # -- members and their load
    processing_ms: Distribution = field(
        default=distribution("lognormal:50,1"),
        converter=distribution,
        metadata=_doc("How long the application works between two polls."),
    )
    revoke_ms: Distribution = field(
        default=distribution("lognormal:7,0.5"),
        converter=distribution,
        metadata=_doc(
            "From the moment at which a member stops until its JoinGroup leaves: it commits its"
            " offsets (a round trip and an append; the wait for the coordinator's thread comes on"
            " top) and calls onPartitionsRevoked."
        ),
    )
    resume_ms: Distribution = field(
        default=distribution("lognormal:3,0.5"),
        converter=distribution,
        metadata=_doc(
            "From the answer with its share until a member works on a partition that is new to it:"
            " onPartitionsAssigned, the committed offset, the first fetch (two round trips; the"
            " wait for the coordinator's thread comes on top)."
        ),
    )
    records_per_s: float = _number(80, "Records that arrive in each partition.")
    capacity_per_s: float = _number(
        100,
        "Records of one partition that its owner processes at most. Arrivals over capacity is also"
        " the share of time in which a member works and does not poll.",
    )
    shared_spare: float = _number(
        0,
        "By which share of all arrivals the whole group may exceed them, if its members share"
        " something, such as a database. 0: they share nothing.",
    )
    backlog_s: float = _number(
        0,
        "How far each partition is behind when the scenario begins: its oldest unread record"
        " arrived so long ago.",
    )
    pause_every_s: float = _number(
        0,
        "A whole process, its heartbeats too, stands still once in so long on average, 0.1 or more;"
        " 0: never.",
    )
    pause_ms: Distribution = field(
        default=distribution("lognormal:200,1"),
        converter=distribution,
        metadata=_doc(
            "How long such a pause lasts (garbage collection, no CPU, a frozen host). In outage:"
            " how long members lose the coordinator."
        ),
    )
    group_age_s: float = _number(
        86_400,
        "Time since the last round before the scenario begins. A round puts the heartbeats of all"
        " members in step, and they drift apart by up to retry_backoff_ms with each one.",
    )
    metadata_bytes: float = _number(
        0, "Bytes of user data that each member's subscription has besides topics and partitions."
    )
    # -- what happens in scenarios
    changed_members: float | None = field(
        default=None,
        converter=converters.optional(_positive_zero),
        metadata=_doc(
            "How many members join, leave, crash, are sick or restart. By default the scenario says"
            " it: all in rolling-restart, one in the others."
        ),
    )
    added_partitions: float = _number(
        1, "In partitions-added: how many of the partitions are not there at first."
    )
    stall_ms: Distribution = field(
        default=distribution("uniform:300000,600000"),
        converter=distribution,
        metadata=_doc("How long a sick host's application does not poll."),
    )
    trigger_ms: float = _number(
        10_000, "In sick-host: how long after the stall began another member joins."
    )
    restart_ms: float = _number(10_000, "How long a restarting process is away.")
    restart_gap_ms: float = _number(
        5_000, "In rolling-restart: from the start of one process to the stop of the next."
    )
    start_spread_ms: float = _number(2_000, "In cold-start: all processes start within this time.")

    def __attrs_post_init__(self) -> None:
        for name in attrs.fields_dict(type(self)):
            value = getattr(self, name)
            if isinstance(value, float) and value and not LEAST <= value <= MOST:
                raise UserError(
                    f"{name} is {value:g}, neither 0 nor a number from {LEAST:g} to {MOST:g}",
                    where="assumptions",
                )
        for name in ("capacity_per_s", "bytes_per_ms"):
            if not getattr(self, name):
                raise UserError(f"{name} is 0", where="assumptions", do="give more than 0")
        for name in FROM_1_MS:
            if (value := getattr(self, name)) < 1:
                raise UserError(f"{name} is {value:g}, less than 1 ms", where="assumptions")
        for name in COUNTS:
            value = getattr(self, name)
            if value is not None and (value < 1 or not value.is_integer()):
                raise UserError(
                    f"{name} is {value:g}, not a whole number from 1 up", where="assumptions"
                )
        if not self.other_group_members.is_integer():
            raise UserError(
                f"other_group_members is {self.other_group_members:g}, not a whole number",
                where="assumptions",
            )
        for of, refuses in (("", "client"), ("consumer_", "broker")):
            beat, session = f"{of}heartbeat_interval_ms", f"{of}session_timeout_ms"
            if getattr(self, beat) >= getattr(self, session):
                raise UserError(
                    f"{beat} is {getattr(self, beat):g}, and {session} {getattr(self, session):g}"
                    f" is no longer: Kafka's {refuses} refuses that",
                    where="assumptions",
                )
        self._check_rates()

    def _check_rates(self) -> None:
        if self.other_requests_per_s > MOST_OTHERS:
            raise UserError(
                f"other_requests_per_s is {self.other_requests_per_s:g}",
                where="assumptions",
                do=f"give at most {MOST_OTHERS:,}",
            )
        if self.metadata_bytes > MOST_METADATA:
            raise UserError(
                f"metadata_bytes is {self.metadata_bytes:g}",
                where="assumptions",
                do=f"give at most {MOST_METADATA:,}: a broker takes no larger request",
            )
        if 0 < self.pause_every_s < LEAST_GAP_S:
            raise UserError(
                f"pause_every_s is {self.pause_every_s:g}",
                where="assumptions",
                do=f"give 0, or at least {LEAST_GAP_S:g}",
            )
        if self.loss >= 1:
            raise UserError(
                f"loss is {self.loss:g}", where="assumptions", do="give a share below 1, as in 0.01"
            )
        if self.records_per_s >= self.capacity_per_s:
            raise UserError(
                f"{self.records_per_s:g} records arrive in a partition, and its owner processes"
                f" {self.capacity_per_s:g}: lag would grow for ever",
                where="assumptions",
                do="give capacity_per_s more than records_per_s",
            )

    @property
    def busy(self) -> float:
        """The share of time in which an application works and does not poll."""
        return self.records_per_s / self.capacity_per_s


def documented() -> Mapping[str, str]:
    """Name of an assumption -> what it means."""
    return {f.name: f.metadata["doc"] for f in attrs.fields(Assumptions)}


def near_setting(name: str, among: Iterable[str]) -> str:
    """The setting that a mistyped name is likely to mean, with dots if the name has some; empty if
    none is near.
    """
    near = "".join(get_close_matches(named(name), among, 1))
    return near.replace("_", ".") if "." in name else near


def named(name: str) -> str:
    """The assumption that a setting's name means, with dots as Kafka writes it or without; a name
    that means none stays as it is, without dots.
    """
    plain = name.replace(".", "_")
    if (short := plain.removeprefix("group_")) in documented():
        return short
    return "max_poll_interval_ms" if plain == "rebalance_timeout_ms" else plain


def unit_of(name: str) -> str:
    """The unit of the times that an assumption means: `ms` or `s`; empty: it is no time."""
    if name.endswith(("_per_s", "_per_ms")):
        return ""
    return "ms" if "_ms" in name else "s" if name.endswith("_s") else ""


def number_of(name: str, value: str | float) -> float:
    """The number that a text means as the value of an assumption: a time may have a unit of its
    own, as in `30s`. Raises `ValueError`.
    """
    unit = unit_of(name)
    return time_of(value, unit) if unit else float(value)


def with_settings(given: Mapping[str, str | float], base: Assumptions | None = None) -> Assumptions:
    """The assumptions with some replaced, as NAME -> text of a number, of a time such as `30s`, or
    of a distribution. Raises `UserError`.
    """
    base = base or Assumptions()
    changed: dict[str, Any] = {}
    for given_name, value in given.items():
        name = named(given_name)
        known = attrs.fields_dict(Assumptions).get(name)
        if known is None:
            near = near_setting(given_name, documented())
            raise UserError(
                f"there is no assumption {given_name!r}",
                do=f"did you mean {near}?" if near else "one of " + ", ".join(documented()),
            )
        if name in changed:
            raise UserError("is given twice", where=given_name)
        try:
            changed[name] = (
                distribution(value)
                if known.type in (Distribution, "Distribution")
                else number_of(name, value)
            )
        except (ValueError, OverflowError):
            also = ", nor a time such as 30s" if unit_of(name) else ""
            raise UserError(f"{shown(value)[:60]} is not a number{also}", where=name) from None
    return attrs.evolve(base, **changed)
