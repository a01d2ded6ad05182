"""The names of `import groupcheck`, imported when they are first used (PEP 562)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOMES = {
    "CheckResult": "groupcheck.oracles.check.run",
    "FollowResult": "groupcheck.oracles.check.run",
    "UserError": "groupcheck.model.engine.errors",
    "assignor_contract": "groupcheck.oracles.assignment.against.contract",
    "check": "groupcheck.oracles.check.run",
    "coordinator": "groupcheck.oracles.coordinator.served",
    "follow": "groupcheck.oracles.check.run",
    "replay": "groupcheck.oracles.replay.report",
}


def __getattr__(name: str) -> Any:
    """A public name of the package. Raises `AttributeError` for any other."""
    if name not in HOMES:
        raise AttributeError(f"module 'groupcheck' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    """The names that completion offers."""
    return sorted([*HOMES, "__version__"])
