"""One JVM with Kafka's own coordinator for all tests; it is built on first use."""

from __future__ import annotations

import pytest
from kafka_talk import Talk

from groupcheck.oracles.kafka.driver import Driver, shared


@pytest.fixture(scope="session")
def driver() -> Driver:
    return shared()


@pytest.fixture
def talk(driver: Driver) -> Talk:
    return Talk(driver)
