"""Whole runs of the model as logs of one group `g`, as `groupcheck generate` prints them."""

from __future__ import annotations

from functools import cache

from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.generate.broker_lines import Style, broker_run
from groupcheck.oracles.generate.clock import Clock
from groupcheck.oracles.generate.request_lines import request_run
from groupcheck.oracles.generate.run import Run


def _stamped(run: Run) -> tuple[str, ...]:
    clock = Clock()
    return tuple(f"{clock.stamp(at)} {text}" for at, text in run.texts())


@cache
def printed_run(seed: int, style: Style, scope: Scope, steps: int) -> tuple[str, ...]:
    """The coordinator's log of one random run."""
    return _stamped(broker_run(seed, style, scope, steps))


@cache
def printed_requests(seed: int, scope: Scope, steps: int) -> tuple[str, ...]:
    """The request log of one random run."""
    return _stamped(request_run(seed, scope, steps))
