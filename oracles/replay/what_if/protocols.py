"""The protocols that a group may have had, and may be asked about: which variant each is, and whose
settings hold.

A group of KIP-848 keeps the pace of its broker (`group.consumer.heartbeat.interval.ms`), and its
sessions last as the broker says (`group.consumer.session.timeout.ms`). A consumer with
`group.protocol=consumer` refuses heartbeat.interval.ms, session.timeout.ms and
partition.assignment.strategy (ConsumerConfig.checkUnsupportedConfigsPostProcess, Kafka 4.0).
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.simulate import Assumptions

EAGER, COOPERATIVE, CONSUMER = "eager", "cooperative", "consumer"
VARIANTS = {
    # (protocol, are members static?) -> the variant that is simulated.
    (EAGER, False): "classic",
    (COOPERATIVE, False): "cooperative",
    (EAGER, True): "static_membership",
    (COOPERATIVE, True): "cooperative_static",
    (CONSUMER, False): "consumer",
    (CONSUMER, True): "consumer+static",
}
WORDS: Mapping[str, str | bool] = {
    # A word of --what-if -> the protocol, or whether members are static.
    COOPERATIVE: COOPERATIVE,
    EAGER: EAGER,
    CONSUMER: CONSUMER,
    "static": True,
    "dynamic": False,
}
PACE = {
    # A setting of the classic client -> the one that holds in a group of KIP-848.
    "heartbeat_interval_ms": "consumer_heartbeat_interval_ms",
    "session_timeout_ms": "consumer_session_timeout_ms",
}
INTERVAL = "consumer_assignment_interval_ms"
OF_CONSUMER = (*PACE.values(), INTERVAL)
OF_CLASSIC = (
    *PACE,
    "initial_rebalance_delay_ms",
    "new_member_timeout_ms",
    "request_timeout_ms",
    "answer_ms",
    "bytes_per_ms",
    "metadata_bytes",
)
"""Assumptions that change nothing in a group of the other protocol."""


@frozen
class Kind:
    """What a group is: its protocol, and whether its members are static."""

    protocol: str
    static: bool

    @property
    def variant(self) -> str:
        """The variant that is simulated."""
        return VARIANTS[self.protocol, self.static]

    def changed(self, words: tuple[str, ...]) -> Kind:
        """After the change that these words of --what-if mean."""
        protocol, static = self.protocol, self.static
        for word in words:
            value = WORDS[word]
            if isinstance(value, bool):
                static = value
            else:
                protocol = value
        return Kind(protocol, static)


def is_consumer(variant: str) -> bool:
    """Is this the variant of a group of KIP-848?"""
    return variant.startswith(CONSUMER)


def is_static(variant: str) -> bool:
    """Are the members of this variant static ones?"""
    return variant in (VARIANTS[p, True] for p in (EAGER, COOPERATIVE, CONSUMER))


def paced(variant: str, a: Assumptions) -> Assumptions:
    """The assumptions with the heartbeat interval and the session timeout that hold in a group of
    this variant, under their classic names.
    """
    if not is_consumer(variant):
        return a
    return evolve(a, **{old: getattr(a, new) for old, new in PACE.items()})


def each_of_a_side(settings: Mapping[str, str], before: Kind, after: Kind) -> None:
    """Checks that each setting of the change holds in the group after it, or in both. Raises
    `UserError` for one that this protocol does not have.
    """
    consumer = after.protocol == CONSUMER
    for name in settings:
        dotted = name.replace("_", ".")
        if consumer and name in OF_CLASSIC:
            other = PACE.get(name)
            raise UserError(
                f"{dotted} means nothing in a group of KIP-848",
                where="--what-if",
                do=f"change the broker's group.{other.replace('_', '.')}"
                if other
                else "leave it out",
            )
        if not consumer and name in OF_CONSUMER:
            raise UserError(
                f"group.{dotted} means nothing in a group of the classic protocol",
                where="--what-if",
                do="add --what-if consumer" if before.protocol != CONSUMER else "leave it out",
            )
