"""Groups that migrate between the classic protocol and KIP-848: counts, progress, refusals."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupcheck.model.engine import ScopeError
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.protocol.migration.scope import MigrationScope
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.explain.subject import subject

BOTH = {"restarts": "both", "cooperative": True}
COUNTS = [
    ({}, 4_183, 13_368),
    ({"partitions": 1, "static_members": 1, "any_faults": 1}, 33_259, 126_718),
    (BOTH, 56_259, 245_654),
    *(
        pytest.param(fields, states, transitions, marks=pytest.mark.night)
        for fields, states, transitions in (
            ({"any_faults": 1}, 281_801, 1_411_722),
            ({"members": 3, "partitions": 1}, 189_357, 996_355),
            ({**BOTH, "any_faults": 1}, 3_621_293, 25_696_625),
            ({"partitions": 1, "restarts": "both", "any_faults": 1}, 153_047, 847_523),
            (
                {"partitions": 1, "restarts": "both", "static_members": 1, "any_faults": 1},
                273_539,
                1_368_044,
            ),
        )
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
            ({"members": 1, "topics": 2, "policy": "upgrade"}, 1_456),
            ({"members": 1, "topics": 2}, 1_168),
            ({"members": 2, "policy": "downgrade"}, 35_745),
            ({"members": 2, "policy": "upgrade"}, 21_617),
            ({"members": 2, "policy": "upgrade", "static_members": 2}, 44_788),
            ({"members": 2, "static_members": 0}, 44_522),
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
    assert goals["group_is_upgraded"] == 14
    assert goals["both_protocols_share_the_group"] == 12


def broken(found: Any) -> set[str]:
    return {name for name, verdict in found.progress.items() if verdict == "violated"}


@pytest.mark.parametrize(
    ("fields", "fall"),
    [
        ({}, set()),
        ({"k15": "as_kafka"}, {"can_converge", "target_follows"}),
        ({"k15": "as_kafka", "kafka": "4.2.0"}, set()),
    ],
)
def test_k15_classic_members_alone_get_no_other_target(
    fields: dict[str, Any], fall: set[str]
) -> None:
    spec = subject("migration", **ALONE, partitions=1, progress=True, **fields).spec
    assert broken(explore(spec.only(["can_converge", "target_follows"]), liveness=True)) == fall


@pytest.mark.parametrize(
    ("k13", "fall"), [("mended", set()), ("as_kafka", {"process_is_member_again"})]
)
def test_k13_a_member_that_comes_in_the_first_round_is_none_for_good(
    k13: str, fall: set[str]
) -> None:
    found = explore(subject("migration", partitions=1, progress=True, k13=k13).spec, liveness=True)
    assert broken(found) == fall
    assert len(found.progress) == 8


@pytest.mark.parametrize(
    ("name", "fields"),
    [("first_round_over", {}), ("id_expires", {"faults": {"lose_response": 1}})],
)
def test_rounds_end_because_their_timers_do(name: str, fields: dict[str, Any]) -> None:
    spec = subject("migration", partitions=1, progress=True, **fields).spec
    spec = spec.only(["group_converges"])
    unfair = attrs.evolve(spec, fair=[f for f in spec.fair if f.name != name])
    assert broken(explore(spec, liveness=True)) == set()
    assert broken(explore(unfair, liveness=True)) == {"group_converges"}


def test_among_members_the_first_round_ends_without_a_fault() -> None:
    spec = subject("migration", partitions=1, faults={"rebalance_timeout": 1}).spec
    never = explore(spec).never_fired
    assert "join_phase_over:longer" in never
    assert not {"first_round_over:longer", "join_phase_over:ended"} & {*never}


@pytest.mark.night
@pytest.mark.parametrize("fields", [{"any_faults": 1}, {"any_faults": 1, "restarts": "downgrade"}])
def test_a_group_that_migrates_comes_to_rest_after_any_fault(fields: dict[str, Any]) -> None:
    found = explore(subject("migration", progress=True, **fields).spec, liveness=True)
    assert set(found.progress.values()) == {"holds"} and len(found.progress) == 8


def test_members_are_told_apart_by_nothing_but_what_they_do() -> None:
    spec = subject("migration", partitions=1, faults={"lose_response": 1}).spec
    one, other = (explore(spec, symmetry=s) for s in (True, False))
    assert one.symmetry.used and not other.symmetry.used
    assert (one.states, one.transitions, one.depth) == (
        other.states,
        other.transitions,
        other.depth,
    )


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
