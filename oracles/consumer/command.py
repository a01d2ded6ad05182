"""`groupcheck conform consumer`, `conform share`, `conform share_partition`, `conform streams` and
`conform migration` at the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.model.mutations import mutation as known_bug
from groupcheck.model.variants import load
from groupcheck.oracles.conform.command import OF_MODEL
from groupcheck.oracles.consumer import families as of_consumers
from groupcheck.oracles.consumer import migration as of_migration
from groupcheck.oracles.consumer.comparing import RowTally
from groupcheck.oracles.consumer.comparing import compare as compare_consumers
from groupcheck.oracles.consumer.member.families import compare as compare_members
from groupcheck.oracles.consumer.share import families as of_shares
from groupcheck.oracles.consumer.share.families import compare as compare_shares
from groupcheck.oracles.consumer.share_partition import families as of_records
from groupcheck.oracles.consumer.share_partition.leaders import LEADERS, Leaders
from groupcheck.oracles.consumer.streams import families as of_streams
from groupcheck.oracles.consumer.whole import compare as compare_whole
from groupcheck.oracles.kafka.async_member import VERSIONS
from groupcheck.oracles.kafka.comparison import carried_out, refuse
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.side_by_side import Diff, side_by_side
from groupcheck.oracles.kafka.versions import VERSIONS as VERSIONS_OF_GROUPS
from groupcheck.oracles.kafka.versions import known

# Why the comparison of consumer groups does not have an option of the others.
NOT_HERE: Mapping[str, str] = {
    "generations": "nothing grows in a consumer group of the model, so nothing bounds its rows",
    "faults": "each family of rows says which faults it has",
    "settings": "each family of rows says which scope it has",
    "findings": "the promises of these groups are judged by `check`",
    "assignors": "families of rows have uniform, range, and the assignor that members name",
    "parquet": "no table of these rows is written; --json has what differs",
    "coverage": "the coverage of Kafka's classes is measured for classic groups alone",
    "live": "a walk on a live broker follows classic groups alone",
}

LEADER_OF_RECORDS = "share_partition"
# Variant -> the comparison of its coordinator: families, spec of a family, and `compare`.
COORDINATORS: Mapping[str, tuple[Any, Any, Any]] = {
    "consumer": (of_consumers.families, of_consumers.spec_of, compare_consumers),
    "share": (of_shares.families, of_shares.spec_of, compare_shares),
    "streams": (of_streams.families, of_streams.spec_of, of_streams.compare),
    "share_partition": (of_records.families, of_records.spec_of, of_records.compare),
    "migration": (of_migration.families, of_migration.spec_of, of_migration.compare),
}


def run(
    variant: str,
    *,
    kafka: str,
    as_json: bool,
    side: str | None = None,
    whole: bool = False,
    schedules: int | None = None,
    seed: int = 0,
    members: int | None = None,
    mutation: str | None = None,
    max_rows: int | None = None,
    max_differences: int | None = None,
    junit: Path | None = None,
    diff: Diff | None = None,
    **others: Any,
) -> int:
    """Executes the rows, prints the answer, and returns the exit code: 0 all agree, 1 some differ,
    3 not every outcome was executed. `members`: only scopes of the coordinator with no more;
    `diff`: compares two versions with each other; `side`: coordinator (also if it is not given) or
    member. Raises `UserError` for an option that this comparison does not take.
    """
    if schedules is not None and not whole:
        raise UserError("is only for --whole", where="--schedules", do="add --whole")
    for name, why in NOT_HERE.items():
        refuse(others, (name,), why)
    of_members = whole or side == "member"
    if variant != "consumer" and of_members:
        raise _only_one_side(variant, "--whole" if whole else "--side")
    families, spec_of, compare = COORDINATORS[variant]
    if of_members:
        refuse(
            {"members": members}, ("members",), "the scopes of members have a number of their own"
        )
    if diff:
        _check_that_versions_are_compared(variant, "--whole" if whole else "--side", of_members)
    limits: dict[str, Any] = {
        "seed": seed,
        "max_rows": max_rows,
        "max_differences": max_differences,
    }
    if diff:
        refuse({"mutation": mutation}, ("mutation",), OF_MODEL)
        with side_by_side(diff, long_run=True) as (older, newer):
            newest = {family.name for family in families(newer.version, members)}
            both = [f for f in families(older.version, members) if f.name in newest]
            rows = [(family, spec_of(family, older.version)) for family in both]
            ask = partial(compare, newer, rows, older=older, **limits)
            return carried_out(ask, RowTally.progress_line, as_json=as_json, junit=junit)
    bug = None if mutation is None else known_bug(mutation)
    if bug is not None and bug.family not in load(variant).every_family:
        raise UserError(f"{bug.id} is no bug of {variant} groups", where="--mutation")
    version = known(kafka, LEADERS.versions if variant == LEADER_OF_RECORDS else VERSIONS_OF_GROUPS)
    if of_members:
        ask = partial(compare_members, bug=bug)
        if whole:
            refuse({"mutation": mutation}, ("mutation",), "whole groups follow the model as it is")
            ask = partial(compare_whole, schedules=schedules)
        return _with_members(version, partial(ask, **limits), as_json=as_json, junit=junit)
    asked = [(family, spec_of(family, version, bug)) for family in families(version, members)]
    with _started(variant, version) as driver:
        ask = partial(compare, driver, asked, mutation=mutation, **limits)
        return carried_out(ask, RowTally.progress_line, as_json=as_json, junit=junit)


def _started(variant: str, version: str) -> Any:
    """The JVM of the real side."""
    if variant == LEADER_OF_RECORDS:
        return Leaders(version)
    return Driver(version, long_run=True)


def _check_that_versions_are_compared(variant: str, option: str, of_members: bool) -> None:
    """Raises `UserError` if two versions are not compared with each other here."""
    if of_members:
        raise UserError(
            "two versions are compared in the rows of the coordinator alone",
            where=option,
            do="leave it out, or leave out --diff and --jars",
        )
    if variant == LEADER_OF_RECORDS:
        raise UserError(
            "the leader of a share partition is compared with the model alone",
            where="--diff",
            do="leave out --diff and --jars",
        )


def _only_one_side(variant: str, where: str) -> UserError:
    """The error for a comparison of members that are not modelled."""
    who = "leader" if variant == LEADER_OF_RECORDS else "coordinator"
    return UserError(f"only the {who} is compared in {variant}", where=where, do="leave it out")


def _with_members(
    version: str, compare: Callable[..., Any], *, as_json: bool, junit: Path | None
) -> int:
    """The same for Java's member, and for whole groups."""
    if version not in VERSIONS:
        raise UserError(
            f"no member of consumer groups of Kafka {version} is executed",
            where="--kafka",
            do="take " + ", ".join(VERSIONS),
        )
    with Driver(version, long_run=True) as driver:
        ask = partial(compare, driver, version)
        return carried_out(ask, RowTally.progress_line, as_json=as_json, junit=junit)
