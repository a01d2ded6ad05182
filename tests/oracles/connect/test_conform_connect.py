"""groupcheck's leader of Connect's workers against Kafka's own: a part of every family of rounds,
and what a difference looks like.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import attrs
import pytest

from groupcheck.model.assignors.connect import (
    CURRENT,
    Assigned,
    Config,
    Memory,
    Release,
    Round,
    Worker,
    of_version,
    perform_assignment,
    work,
)
from groupcheck.model.engine import OutageError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.connect import command
from groupcheck.oracles.connect.comparing import ConnectConformance, compare, played
from groupcheck.oracles.connect.driver import VERSIONS, Leaders
from groupcheck.oracles.connect.inputs import Family, families
from groupcheck.oracles.connect.rounds import Facts, Step, differences, expected, read
from groupcheck.oracles.kafka.jvm import Jvm

SIZES = {"every": 211, "random": 120, "runs": 3, "clusters": 24}
"""A part of what `groupcheck conform connect` compares."""
FEWER = {"every": 997, "random": 60, "runs": 2, "clusters": 6}
OLD = ("2.3.0", "3.3.2")
ITEMS = work("a", [("a", 0), ("a", 1)])
UNEVEN = Round("w0", (Worker("w0", 1, ITEMS), Worker("w1", 1)), Config(1, ITEMS))
FLAGS = [flag.name for flag in attrs.fields(Release)]


def some(version: str, sizes: dict[str, int]) -> list[Family]:
    return list(families(of_version(version), 0, **sizes))


@pytest.fixture(scope="module")
def compared(newest: Leaders) -> ConnectConformance:
    return compare(newest, some("4.3.0", SIZES))


def test_kafkas_leader_and_groupchecks_give_the_same(compared: ConnectConformance, misfits):
    assert [tally.differences for tally in compared.tallies] == [{}] * len(compared.tallies)
    assert all(tally.inputs for tally in compared.tallies)
    assert compared.exit_code == 0 and misfits(compared.document()) == []


@pytest.mark.parametrize("version", OLD)
def test_so_do_those_of_an_old_version(version: str):
    with Leaders(version) as leaders:
        result = compare(leaders, some(version, FEWER))
    assert result.differing == 0 and all(tally.inputs for tally in result.tallies)


def test_every_behaviour_that_changed_is_seen_by_the_inputs_of_these_tests():
    """So a mistake of that size in groupcheck's function would be seen, too."""
    scripts = [
        (script, [memory for memory, _ in played(script, CURRENT, perform_assignment)])
        for family in some("4.3.0", SIZES)
        for script in family.scripts()
    ]

    def all_facts(release: Release) -> Iterator[Facts]:
        for script, memories in scripts:
            for memory, step in zip(memories, script):
                yield expected(perform_assignment(memory, step.round, release))

    right = list(all_facts(CURRENT))
    # The code in which these stand was replaced by KAFKA-12495.
    old = {
        "counts_duplicates_once",
        "revokes_down_to_the_ceiling",
        "revokes_duplicates",
        "tells_of_revocations",
    }
    unseen = set()
    for flag in FLAGS:
        base = attrs.evolve(CURRENT, backs_off=flag not in old)
        wrong = all_facts(attrs.evolve(base, **{flag: False}))
        reference = right if flag not in old else all_facts(base)
        if not any(map(differences, reference, wrong)):
            unseen.add(flag)
    assert unseen == set()


def test_a_function_that_is_wrong_is_told_with_its_smallest_input(newest: Leaders, misfits):
    def wrong(memory: Memory, round_: Round, release: Release) -> Assigned:
        return perform_assignment(memory, round_, attrs.evolve(release, knows_who_was_there=False))

    (family,) = [one for one in some("4.3.0", SIZES) if one.bound.startswith("any memory")]
    result = compare(newest, [family], perform=wrong)
    assert result.exit_code == 1 and misfits(result.document()) == []
    (told,) = result.document()["families"]
    assert 0 < told["differing"] < told["inputs"]
    assert {"memory: delay", "memory: scheduled_rebalance"} <= set(
        told["differences"][0]["differs"]
    )
    smallest = told["differences"][0]
    assert smallest["Kafka 4.3.0"]["memory: delay"] < 300_000
    assert smallest["groupcheck"]["memory: delay"] == 300_000
    assert result.suite().cases[0].became == "failure"


def test_what_kafkas_class_throws_is_a_difference_and_no_end():
    assert differences({"throws": "x"}, {"owners": None}) == ("throws",)
    assert differences({"throws": "x"}, {"throws": "x"}) == ()


def test_what_changed_between_two_versions_is_found_without_a_model(newest: Leaders):
    (family,) = [one for one in some("4.3.0", FEWER) if one.bound.startswith("any memory")]
    with Leaders("2.3.0") as older:
        result = compare(newest, [family], older=older)
    assert result.sides == ("Kafka 4.3.0", "Kafka 2.3.0")
    assert 0 < result.differing < result.tallies[0].inputs


def test_the_back_off_is_that_of_kafkas_class_for_every_usual_delay(newest: Leaders):
    """Both compute with floating point numbers, so one could be a millisecond off."""
    delays = [
        *range(130),
        1_599,
        1_600,
        1_601,
        30_000,
        60_000,
        63_999,
        64_000,
        64_001,
        2**31 - 1,
    ]
    steps = [
        Step(attrs.evolve(UNEVEN, max_delay=delay), memory=again)
        for delay in (*delays, *(60_000 * minutes for minutes in range(2, 31)))
        for again in (
            Memory(revoked_in_previous=True, num_successive_revoking_rebalances=times)
            for times in range(4)
        )
    ]
    (answers,) = newest.assign_all([steps])
    seen = set()
    for step, answer in zip(steps, answers):
        assert step.memory is not None
        real = read(answer, step.round.protocol)
        assert not differences(real, expected(perform_assignment(step.memory, step.round)))
        seen.add(real["memory: delay"])
    assert {1, 40, 1_600, 64_000, 60_000} <= seen


def test_the_command_prints_a_document_or_a_table(capsys, monkeypatch, misfits):
    monkeypatch.setattr(command, "families", lambda *_, **__: some("4.3.0", FEWER)[:2])
    assert cli.run(["conform", "connect", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert misfits(document) == [] and document["verdict"] == "agrees"
    assert cli.run(["conform", "connect"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("agrees  Connect's leader, of groupcheck and of Kafka 4.3.0")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["connect", "--members", "2"], "--members"),
        (["connect", "--live"], "--live"),
        (["connect", "--kafka", "1.0.0"], ", ".join(VERSIONS)),
        (["classic", "--side", "leader"], "--side"),
    ],
)
def test_bad_options_are_named(options, said, capsys):
    assert cli.run(["conform", *options]) == 2
    assert said in capsys.readouterr().err


def test_a_jvm_that_ends_is_an_outage_and_the_next_question_starts_another() -> None:
    with Leaders("4.3.0") as leaders:
        ends = (sys.executable, "-c", "import sys; sys.stdin.readline(); sys.exit('no memory')")
        leaders._jvm = Jvm(ends, 60.0, "it")
        with pytest.raises(OutageError, match=r"after 0 answers: no memory \(run it again\)"):
            list(leaders.assign_all([()] * 10))
        assert leaders._jvm is None
