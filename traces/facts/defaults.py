"""The defaults of consumers' settings (`defaults.toml`), which differ from library to library."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

CLOSE_SHARE = 0.1
"""Two durations are equal if they differ by less than this part."""
_OF_BROKER = {"connections.max.idle.ms of the broker": 600_000}
_REBALANCE_TIMEOUTS = (
    "max.poll.interval.ms", "rebalanceTimeout", "Consumer.Group.Rebalance.Timeout",
    "RebalanceTimeout", "rebalance_timeout", "rebalance_timeout_seconds",
)  # fmt: skip
_NUMBER = re.compile(r"\b\d{5,6}\b")
_DEFAULT = re.compile(r"\s*\(default [^)]*\)")


@cache
def defaults() -> Mapping[str, Mapping[str, str]]:
    """Library -> its settings -> their values by default, in words."""
    text = (files("groupcheck.traces.facts") / "defaults.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def _named() -> frozenset[str]:
    """All settings whose defaults belong to a library."""
    return frozenset(name for some in defaults().values() for name in some)


def by_default(setting: str, libraries: Iterable[str]) -> str:
    """` (default 300000)` if the setting has a default in the only library of clients; else empty.
    `libraries`: of clients, without the broker.
    """
    some = [*libraries]
    value = defaults().get(some[0], {}).get(setting, "") if len(some) == 1 else ""
    return f" (default {value})" if value else ""


def with_default(setting: str, wanted: str, libraries: Iterable[str]) -> str:
    """What a setting should be, with its default in the library of these clients. Defaults of
    brokers, workers and topics stay as they are.
    """
    if setting not in _named():
        return wanted
    return _DEFAULT.sub(lambda _: by_default(setting, libraries), wanted)


def rebalance_timeout(library: str) -> str:
    """The setting after which the coordinator does without a member of this library that does not
    rejoin; empty if it is not known.
    """
    own = defaults().get(library, {})
    return next((name for name in _REBALANCE_TIMEOUTS if name in own), "")


def longest_default(setting: str, library: str) -> int | None:
    """The longest value, in ms, that the setting had by default in any release of the library."""
    text = defaults().get(library, {}).get(setting, "")
    return max(map(int, _NUMBER.findall(text)), default=None)


def known_period(ms: float, library: str) -> str:
    """The settings of a library that are as long by default, or are so in the broker, and that
    there may be other reasons; empty if there is none, or the library is not known.
    """
    own = defaults().get(library)
    if own is None:
        return ""
    lengths = [(n, int(ms)) for n, text in own.items() for ms in _NUMBER.findall(text)]
    near = [n for n, at in [*lengths, *_OF_BROKER.items()] if abs(ms - at) <= CLOSE_SHARE * at / 2]
    return f"the default of {' or '.join(near)}, among other things" if near else ""
