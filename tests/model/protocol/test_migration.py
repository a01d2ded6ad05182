"""Groups that migrate between the classic protocol and KIP-848: counts, progress, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import ScopeError
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.protocol.migration.scope import MigrationScope
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.explain.subject import subject

BOTH = {"restarts": "both", "cooperative": True}
COUNTS = [
    ({}, 4_059, 12_776),
    (BOTH, 19_180, 82_716),
    pytest.param({**BOTH, "any_faults": 1}, 1_346_401, 9_878_829, marks=pytest.mark.night),
    pytest.param(
        {"restarts": "both", "static_members": 1, "any_faults": 1},
        2_442_199,
        16_392_046,
        marks=pytest.mark.night,
    ),
]
# All processes begin with the new protocol, and one that closes leaves classic members alone.
ALONE = {"policy": "upgrade", "restarts": "downgrade", "faults": {"close": 1}}


# Any request of any client, with each policy.
ANYBODY = {"requests": "anybody", "partitions": 1, "static_members": 1}
ANYBODY_COUNTS = [
    ({"members": 1, "topics": 2, "policy": "downgrade"}, 976),
    ({"members": 2, "policy": "disabled"}, 251),
    *(
        pytest.param(fields, states, marks=pytest.mark.night)
        for fields, states in (
            ({"members": 1, "topics": 2, "policy": "upgrade"}, 2_765),
            ({"members": 1, "topics": 2}, 1_369),
            ({"members": 2, "policy": "downgrade"}, 36_385),
            ({"members": 2, "policy": "upgrade"}, 41_962),
            ({"members": 2, "policy": "upgrade", "static_members": 2}, 87_293),
            ({"members": 2, "static_members": 0}, 72_153),
        )
    ),
]


@pytest.mark.parametrize(("fields", "states"), ANYBODY_COUNTS)
def test_promises_hold_whatever_clients_send(fields: dict[str, Any], states: int) -> None:
    found = explore(subject("migration", **{**ANYBODY, **fields}).spec)
    assert (found.verdict, found.states) == ("holds", states)


@pytest.mark.parametrize(("fields", "states", "transitions"), COUNTS)
def test_a_rolling_upgrade_and_its_way_back_hold(
    fields: dict[str, Any], states: int, transitions: int
) -> None:
    found = explore(subject("migration", **fields).spec)
    assert (found.verdict, found.states, found.transitions) == ("holds", states, transitions)


def test_a_whole_group_can_be_upgraded_while_members_of_both_protocols_share_it() -> None:
    goals = explore(subject("migration").spec).goals
    assert goals["group_is_upgraded"] == 15
    assert goals["both_protocols_share_the_group"] == 11


@pytest.mark.parametrize(
    ("k15", "broken"), [("mended", set()), ("as_kafka", {"can_converge", "target_follows"})]
)
def test_classic_members_alone_get_no_other_target(k15: str, broken: set[str]) -> None:
    spec = subject("migration", **ALONE, partitions=1, k15=k15, progress=True).spec
    progress = explore(spec.only(["can_converge", "target_follows"]), liveness=True).progress
    assert {name for name, verdict in progress.items() if verdict == "violated"} == broken


@pytest.mark.parametrize(
    "fields",
    [
        {"java": True},
        {"regexes": 1},
        {"regexes": 1, "requests": "anybody"},
        {"wire": "explicit"},
        {"max_size": 1},
        {"faults": {"append_failure": 1}},
        {"requests": "anybody", "faults": {"crash": 1}},
    ],
)
def test_what_groups_that_migrate_do_not_have_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ScopeError):
        MigrationScope(**fields)


@pytest.mark.parametrize("options", ["--set restarts=both", "--set requests=anybody"])
def test_progress_is_refused_where_nothing_ends(
    options: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["check", "migration", "--progress", *options.split()]) == 2
    assert "--progress" in capsys.readouterr().err
