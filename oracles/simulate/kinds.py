"""Where the value of each assumption comes from, unless somebody has given it.

- `setting`: a default of Kafka 4.3.0
- `scenario`: it says what happens, and how often
- `measured`: on real brokers, over loopback (tests/bench/coordinator_times.py: groups of 100 to
  3,000 members on Kafka 1.1.1 and 4.3.0)
- `assumed`: chosen before there was a figure to compare with
- `fitted`: chosen so that a figure of an article comes out (`article`)
- `given`: by the user
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from groupcheck.oracles.simulate.assumptions import Assumptions

Kind = Literal["setting", "scenario", "measured", "assumed", "fitted", "given"]
MEASURED = ("service_ms", "join_ms_per_member")
SCENARIO = (
    "other_requests_per_s",
    "other_group_members",
    "loss",
    "backlog_s",
    "pause_every_s",
    "pause_ms",
    "group_age_s",
    "metadata_bytes",
    "changed_members",
    "added_partitions",
    "stall_ms",
    "trigger_ms",
    "restart_ms",
    "restart_gap_ms",
    "start_spread_ms",
)
ASSUMED = (
    "network_ms",
    "answer_ms",
    "append_ms",
    "assign_ms_per_partition",
    "bytes_per_ms",
    "processing_ms",
    "revoke_ms",
    "resume_ms",
    "records_per_s",
    "capacity_per_s",
    "shared_spare",
)


def usual(name: str) -> Kind:
    """The kind of a default."""
    if name in MEASURED:
        return "measured"
    if name in SCENARIO:
        return "scenario"
    return "assumed" if name in ASSUMED else "setting"


def kinds(a: Assumptions) -> Mapping[str, Kind]:
    """Name of an assumption -> its kind; what is not the default was given."""
    default = Assumptions()
    return {
        f.name: usual(f.name) if getattr(a, f.name) == getattr(default, f.name) else "given"
        for f in attrs.fields(Assumptions)
    }
