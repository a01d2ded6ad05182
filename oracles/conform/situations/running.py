"""Executes the situations on the real coordinator."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.oracles.conform.situations.changing import CHANGING
from groupcheck.oracles.conform.situations.expiring import EXPIRING
from groupcheck.oracles.conform.situations.failing import FAILING
from groupcheck.oracles.conform.situations.joining import JOINING
from groupcheck.oracles.conform.situations.known import KNOWN
from groupcheck.oracles.conform.situations.leaving import LEAVING
from groupcheck.oracles.conform.situations.moving import MOVING
from groupcheck.oracles.conform.situations.offsets import OFFSETS
from groupcheck.oracles.conform.situations.situation import Situation
from groupcheck.oracles.conform.situations.static_members import STATIC_MEMBERS
from groupcheck.oracles.conform.situations.syncing import SYNCING
from groupcheck.oracles.conform.situations.takeovers import TAKEOVERS
from groupcheck.oracles.conform.situations.timeouts import TIMEOUTS
from groupcheck.oracles.conform.situations.twins import TWINS
from groupcheck.oracles.conform.situations.upgrading import UPGRADING
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import LostSchedule, Transcript
from groupcheck.oracles.kafka.versions import VERSIONS

SITUATIONS: tuple[Situation, ...] = (
    *JOINING,
    *SYNCING,
    *LEAVING,
    *OFFSETS,
    *EXPIRING,
    *FAILING,
    *MOVING,
    *KNOWN,
    *STATIC_MEMBERS,
    *TAKEOVERS,
    *TWINS,
    *UPGRADING,
    *CHANGING,
    *TIMEOUTS,
)


@frozen
class SituationResult:
    """The result of a situation."""

    situation: Situation
    # What is not as expected; empty if it agrees.
    differs: tuple[str, ...]
    transcript: Transcript | LostSchedule


def execute(
    driver: Driver, situations: tuple[Situation, ...] = SITUATIONS
) -> Iterator[SituationResult]:
    """Runs the situations that the driver's version of Kafka knows, in their order."""
    newer = VERSIONS[: VERSIONS.index(driver.version)]
    situations = tuple(situation for situation in situations if situation.since not in newer)
    results = driver.run_all(situation.schedule() for situation in situations)
    for situation, result in zip(situations, results):
        what = (
            (str(result),) if isinstance(result, LostSchedule) else tuple(situation.differs(result))
        )
        yield SituationResult(situation, what, result)
