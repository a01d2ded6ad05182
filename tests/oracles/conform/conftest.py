"""One JVM with Kafka's own coordinator for these tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

from groupcheck.oracles.kafka.driver import Driver, shared

settings.register_profile("nightly")  # `make nightly`: schedules by the thousand, other ones every time


@pytest.fixture(scope="session")
def coordinator() -> Driver:
    return shared()
