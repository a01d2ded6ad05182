"""Connect's leader of every version that can be driven: compared with groupcheck's on a fifth of
what `groupcheck conform connect` enumerates and on all of its random rounds, and asked for the
symptoms of bugs that were fixed on the way. Run by `make nightly`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from test_connect_bugs import (
    MAX_DELAY,
    answer_is_lost,
    comes_back_in_time,
    leaves_while_delays_are_off,
    second_joins_during_the_revocation_for_the_first,
    two_come_during_the_delay,
    zombie_returns,
)

from groupcheck.model.assignors.connect import of_version
from groupcheck.oracles.connect.comparing import compare
from groupcheck.oracles.connect.driver import VERSIONS, Leaders
from groupcheck.oracles.connect.inputs import families

EVERY = 5
Symptom = tuple[str, str, Callable[[Leaders], bool]]
SYMPTOMS: tuple[Symptom, ...] = (
    ("KAFKA-9184", "2.4.0", lambda leaders: comes_back_in_time(leaders).delay == MAX_DELAY),
    ("KAFKA-9841", "2.5.1", lambda leaders: zombie_returns(leaders) == [2, 1]),
    ("KAFKA-9848", "2.5.1", lambda leaders: answer_is_lost(leaders).delay == MAX_DELAY),
    ("KAFKA-10413", "2.8.0", lambda leaders: two_come_during_the_delay(leaders)[1:] == [4, 0]),
    (
        "KAFKA-12495",
        "3.4.0",
        lambda leaders: (
            second_joins_during_the_revocation_for_the_first(leaders).tasks() == [4, 2, 2]
        ),
    ),
    ("KAFKA-15693", "3.7.0", lambda leaders: leaves_while_delays_are_off(leaders) == [2]),
)
"""A bug, the version that fixed it, and whether it shows."""


def wrong_symptoms(leaders: Leaders) -> list[str]:
    """The bugs that show although they were fixed, or do not although they were not."""
    here = _numbers(leaders.version)
    return [bug for bug, fixed, shows in SYMPTOMS if shows(leaders) == (here >= _numbers(fixed))]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def judged(version: str) -> Mapping[str, Any]:
    """What became of a version."""
    with Leaders(version, long_run=True) as leaders:
        result = compare(leaders, families(of_version(version), 1, every=EVERY), seed=1)
        return {
            "rounds": sum(tally.inputs for tally in result.tallies),
            "differing": result.differing,
            "wrong symptoms": wrong_symptoms(leaders),
        }


if __name__ == "__main__":
    FOUND = {version: judged(version) for version in VERSIONS}
    for VERSION, WHAT in FOUND.items():
        print(VERSION, *(f"{name} {value}" for name, value in WHAT.items()), sep="  ")
    sys.exit(any(what["differing"] or what["wrong symptoms"] for what in FOUND.values()))
