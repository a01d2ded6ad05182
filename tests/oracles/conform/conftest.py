"""One JVM with Kafka's own coordinator for these tests."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from groupcheck.oracles.conform import conformance
from groupcheck.oracles.conform.member import conformance as member_conformance
from groupcheck.oracles.kafka.driver import Driver, shared


@pytest.fixture(scope="session")
def coordinator() -> Driver:
    return shared()


@pytest.fixture(autouse=True)
def no_other_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison that is given no driver, as that of a command, takes the one of its version
    that runs already.
    """
    for module in (conformance, member_conformance):
        monkeypatch.setattr(module, "Driver", lambda version: nullcontext(shared(version)))
