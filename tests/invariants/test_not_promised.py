"""What Kafka does not promise is checked only if it is asked for; it breaks, marked as known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groupcheck import check
from groupcheck.invariants.registry import for_families
from groupcheck.model.variants.registry import load, names
from groupcheck.oracles.command_line import cli

SHOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "one_process_at_work": ("classic", {"members": 2, "faults": {"session_timeout": 1}}),
    "commits_by_owners": ("classic", {"members": 2, "any_faults": 1}),
    "same_join_starts_no_round": (
        "classic",
        {
            "members": 2,
            "generations": 2,
            "protocols": "range,sticky|range,sticky",
            "faults": {"fail_over": 1, "lose_response": 1},
        },
    ),
    "offsets_only_grow": (
        "classic",
        {"members": 1, "generations": 1, "records": 2, "faults": {"delay_request": 1}},
    ),
    "nothing_uncommitted": (
        "classic",
        {
            "members": 1,
            "generations": 1,
            "records": 2,
            "commit_style": "async",
            "faults": {"lose_request": 1},
        },
    ),
    "bounces_cost_nothing": ("static_membership", {"members": 2, "faults": {"crash": 1}}),
    "cooperative_owners_apart": (
        "cooperative_static",
        {"members": 2, "records": 0, "faults": {"rebalance_timeout": 1}},
    ),
    "transactions_by_members": (
        "offsets",
        {"members": 1, "generations": 1, "commits": "anonymous"},
    ),
    "delivered_once_by_anybody": (
        "offsets",
        {
            "members": 1,
            "commits": "transactions",
            "faults": {"session_timeout": 1, "reset_offsets": 1},
        },
    ),
    "joining_offsets_stay": (
        "offsets",
        {"members": 1, "faults": {"session_timeout": 1, "delete_offsets": 1}},
    ),
    "archived_record_was_seen": ("share_partition", {"faults": {"lose_response": 2}}),
    "deliveries_are_limited": ("share_partition", {"faults": {"fail_over": 1}}),
    "slow_brokers_get_no_more": ("sticky_partitioner", {"faults": {"slow_broker": 1}}),
    "nothing_skipped": (
        "offsets",
        {
            "members": 1,
            "records": 2,
            "reset": "latest",
            "faults": {"session_timeout": 1, "expire_offsets": 1},
        },
    ),
}


def test_each_is_shown_to_break() -> None:
    families = {family for name in names() for family in load(name).every_family}
    assert set(SHOWN) == {p.name for p in for_families(families).not_promised}


@pytest.mark.parametrize("invariant", SHOWN)
def test_it_breaks_if_it_is_asked_for_and_only_then(invariant: str) -> None:
    variant, scope = SHOWN[invariant]
    result = check(variant, invariants=[invariant], **scope)
    assert [v.invariant for v in result.verdict.violations] == [invariant]
    assert result.explanations[0].known
    assert result.explanations[0].sentence
    assert check(variant, **scope)


def test_the_answer_says_that_it_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "check classic --members 2 --fault session_timeout=1 --invariant one_process_at_work"
    assert cli.run(asked.split()) == 1
    assert "Kafka does not promise this" in capsys.readouterr().out
    assert cli.run([*asked.split(), "--json"]) == 1
    assert [v["promised"] for v in json.loads(capsys.readouterr().out)["violations"]] == [False]
    assert cli.run("check classic --mutation commit_ahead_of_processing --json".split()) == 1
    assert all(v["promised"] for v in json.loads(capsys.readouterr().out)["violations"])
