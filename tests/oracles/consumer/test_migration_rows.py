"""Migration between classic and consumer groups: the model's rows on Kafka's own coordinator."""

from __future__ import annotations

import json

import pytest

from groupcheck.model.protocol.consumer.releases import RELEASES
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.consumer.migration import EVERY, VERSIONS, compare, families, spec_of
from groupcheck.oracles.kafka.driver import shared

# Rows and memories of one member, without and with a group.instance.id.
ROWS = [(1_064, 70), (881, 57)]


def test_all_rows_of_one_member_agree_and_rounds_go_step_by_step() -> None:
    asked = [f for f in EVERY if f.fields["members"] == 1 and "topics" not in f.fields]
    result = compare(shared("4.3.1"), [(f, spec_of(f, "4.3.1")) for f in asked])
    assert [tally.differences for tally in result.tallies] == [{}, {}]
    assert [(tally.inputs, len(tally.memories)) for tally in result.tallies] == ROWS
    steps = {
        "upgrade_group:upgraded",
        "upgrade_group:broken",
        "group_converted:kept",
        "group_converted:downgraded",
        "join_group:converts",
        "join_round:asked",
        "join_round:added",
        "join_round:replaced",
        "sync_round:planned",
        "sync_phase_over",
        "round_moved:completing",
    }
    assert not steps & set(result.never_executed)


@pytest.mark.night
@pytest.mark.parametrize("kafka", VERSIONS)
def test_the_rows_of_every_family_agree_and_groups_are_converted(kafka: str) -> None:
    asked = [(f, spec_of(f, kafka)) for f in families(kafka)]
    result = compare(shared(kafka), asked)
    assert [tally.differences for tally in result.tallies] == [{}] * len(result.tallies)
    # Where only the first rows of the policy `disabled` are executed, no SyncGroup waits yet.
    never = () if RELEASES[kafka].keeps_classic_out else ("sync_round:parked",)
    assert result.never_executed == never


def test_a_policy_that_lets_classic_members_in_has_too_many_rows_to_execute_all() -> None:
    most = {v: {f.name: f.most for f in families(v)}["policy disabled"] for v in VERSIONS}
    assert most == {
        **dict.fromkeys(("4.1.1", "4.2.0", "4.3.0"), 6_000),
        "4.3.1": None,
        "4.4.0": None,
    }


@pytest.mark.parametrize("options", ["--side member", "--whole", "--kafka 4.0.0", "--mutation x"])
def test_what_migration_does_not_have_is_refused(options: str) -> None:
    assert cli.run(["conform", "migration", *options.split()]) == 2


def test_the_document_says_what_was_compared(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["conform", "migration", "--kafka", "4.3.1", "--max-rows", "50", "--json"]
    assert cli.run(asked) == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["side"], document["inputs"], document["differing"]) == ("migration", 50, 0)


def test_a_known_bug_of_the_coordinator_differs(capsys: pytest.CaptureFixture[str]) -> None:
    bug = ["--mutation", "upgrade_forgets_the_plan", "--max-differences", "1", "--max-rows", "1000"]
    assert cli.run(["conform", "migration", *bug]) == 1
    assert "differs" in capsys.readouterr().out
