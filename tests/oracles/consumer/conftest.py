"""One JVM of each version for these tests."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from groupcheck.oracles.consumer import command
from groupcheck.oracles.kafka.driver import Driver, shared


@pytest.fixture(autouse=True)
def no_other_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command takes the JVM of its version that runs already, for a long run or not."""

    def running(version: str, *, long_run: bool) -> nullcontext[Driver]:
        return nullcontext(shared(version))

    monkeypatch.setattr(command, "Driver", running)
