"""The fields of messages are those of Kafka's own definitions."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from jar_definitions import RELEASE, definitions

from groupcheck.oracles.kafka.install import classpath


def jar(name: str) -> Path:
    """One of the pinned jars of the driver."""
    (found,) = [p for p in classpath(RELEASE).split(":") if Path(p).name == f"{name}-{RELEASE}.jar"]
    return Path(found)


def test_definitions_are_those_in_the_jars(request: pytest.FixtureRequest) -> None:
    made = definitions(jar("kafka-clients"), jar("kafka-group-coordinator"))
    place = Path(str(files("groupcheck.traces.messages") / "definitions.json"))
    if request.config.getoption("--rewrite"):
        place.write_text(made)
    assert place.read_text() == made
