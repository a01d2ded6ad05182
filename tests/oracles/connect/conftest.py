"""Kafka Connect's own leader of the newest version, in one JVM for these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from groupcheck.oracles.connect.driver import Leaders


@pytest.fixture(scope="session")
def newest() -> Iterator[Leaders]:
    with Leaders("4.3.0") as leaders:
        yield leaders
