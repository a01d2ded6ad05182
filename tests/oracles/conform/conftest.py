"""One JVM with Kafka's own coordinator for these tests."""

from __future__ import annotations

import pytest

from groupcheck.oracles.kafka.driver import Driver, shared


@pytest.fixture(scope="session")
def coordinator() -> Driver:
    return shared()
