"""Logs that several tests of `--what-if` ask about."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_log import CLOSED, Log

from groupcheck.traces.findings.report import GroupReport


@pytest.fixture
def restarts(tmp_path: Path) -> GroupReport:
    """Two members; one is restarted, and away for 20 s."""
    log = Log()
    a = log.joins(0, "a", 3.0)
    b = log.joins(60, "b", 2.0, a)
    log.leaves(120, b, a, 2.0, CLOSED)
    log.joins(140, "b", 2.0, a)
    return log.report(tmp_path)
