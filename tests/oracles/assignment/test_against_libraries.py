"""Other people's assignors: the known findings come out again, each minimal, named with the
version, and with code that shows it.
"""

from __future__ import annotations

import ast
from importlib import metadata

import pytest
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from groupcheck.oracles.assignment.against.command import finding_words, library_of
from groupcheck.oracles.assignment.against.finding import circumstances
from groupcheck.oracles.assignment.against.promise_questions import (
    answer_of,
    answer_shown,
    asked_of,
    breaks,
)
from groupcheck.oracles.assignment.against.reducing import smaller_by_two
from groupcheck.oracles.assignment.against.searches import findings

EXAMPLES = 120
LIBRARIES = ("kafka-python", "aiokafka")


@pytest.fixture(scope="module")
def found():
    return {name: findings(library_of(name), EXAMPLES) for name in LIBRARIES}


def of(found, library, assignor, promise):
    return [f for f in found[library].findings if (f.assignor, f.promise) == (assignor, promise)]


def run(code, capsys):
    exec(code, {})
    return capsys.readouterr().out


def test_round_robin_of_kafka_python_throws_where_subscriptions_differ(found, capsys):
    finding, idle = of(found, "kafka-python", "roundrobin", "answers")
    assert idle.circumstances == ("a member subscribes to nothing",)
    assert finding.words.startswith("KeyError: (None, '")
    assert [m.topics for m in finding.group.members] == [{"u"}, {"t"}] and dict(
        finding.group.topics
    ) == {"t": 1, "u": 1}
    with pytest.raises(KeyError):
        run(finding.code, capsys)


@pytest.mark.parametrize(
    ("assignor", "promise"), [("range", "balanced in topics"), ("roundrobin", "level")]
)
def test_kafka_python_drops_members_where_static_and_dynamic_ones_mix(
    found, capsys, assignor, promise
):
    (finding,) = of(found, "kafka-python", assignor, promise)
    assert finding.circumstances == ("static and dynamic members mix",)
    assert [m.instance is None for m in finding.group.members] == [True, False, True] and dict(
        finding.group.topics
    ) == {"t": 3}
    assert finding.answer["A"] == [] and "A []" in run(finding.code, capsys)


@pytest.mark.parametrize("library", LIBRARIES)
def test_sticky_gives_a_partition_to_a_member_that_does_not_subscribe_on_an_older_claim(
    found, capsys, library
):
    (finding,) = of(found, library, "sticky", "valid")
    assert finding.words == "A gets t-0, but does not subscribe to t"
    assert "a claim is of an older generation" in finding.circumstances
    assert len(finding.group.members) == 3 and dict(finding.group.topics) == {"t": 1, "u": 1}
    assert "A [('t', [0])]" in run(finding.code, capsys)


@pytest.mark.parametrize("library", LIBRARIES)
def test_sticky_moves_more_than_needed(found, library):
    equal, different = of(found, library, "sticky", "fewest moves")
    assert different.circumstances == ("subscriptions differ",) and equal.circumstances == (
        "nobody subscribes to a topic",
    )
    for finding in (different, equal):
        assert finding.words.startswith("2 partitions move (") and finding.words.endswith(
            ") where 1 would do"
        )
    assert (
        not different.kafka.keeps and equal.kafka.keeps
    )  # where subscriptions differ, Kafka's own moves as many
    assert different.informs and not equal.informs


def test_a_cooperative_member_of_kafka_python_does_not_tell_its_generation(found, capsys):
    (finding,) = of(found, "kafka-python", "cooperative-sticky", "claims are told")
    assert (
        finding.words == "a member that was assigned t-0 in generation 1 claims it of generation -1"
    )
    assert "generation=-1" in run(finding.code, capsys)
    (handed,) = of(found, "kafka-python", "cooperative-sticky", "handed over")
    assert "whose claim is newer" in handed.words


def test_sticky_of_aiokafka_keeps_its_state_on_the_class(found, capsys, monkeypatch):
    for name in ("member_assignment", "generation"):  # which the code changes for the whole process
        monkeypatch.setattr(StickyPartitionAssignor, name, getattr(StickyPartitionAssignor, name))
    (finding,) = of(found, "aiokafka", "sticky", "claims are one's own")
    assert (
        finding.words
        == "a new consumer claims t-0, which another one of the same process was assigned"
    )
    assert "TopicPartition(topic='t', partition=0)" in run(finding.code, capsys)
    assert of(found, "kafka-python", "sticky", "claims are one's own") == []


def test_what_is_right_is_not_found(found):
    assert {f.assignor for f in found["aiokafka"].findings} == {"sticky"}
    assert {f.promise for f in found["kafka-python"].findings if f.assignor == "range"} == {
        "balanced in topics",
        "in any order",
    }
    assert found["kafka-python"].exit_code == found["aiokafka"].exit_code == 1


@pytest.mark.parametrize("library", LIBRARIES)
def test_nothing_can_be_left_out_of_an_example_nor_any_two_things(found, library):
    for finding in found[library].findings:
        if finding.group is None:
            continue
        offered = next(o for o in library_of(library).assignors if o.name == finding.assignor)
        asked = next(a for a in asked_of(offered, beyond=True) if a.promise == finding.promise)
        for less in smaller_by_two(finding.group):
            broken = breaks(asked, offered.like, less, answer_of(offered, less))
            assert not broken or not circumstances(less) <= set(finding.circumstances), less


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_code_of_every_finding_shows_it_again(found, capsys, library, monkeypatch):
    for name in (
        "member_assignment",
        "generation",
    ):  # which aiokafka's code changes for the whole process
        monkeypatch.setattr(StickyPartitionAssignor, name, getattr(StickyPartitionAssignor, name))
    for finding in found[library].findings:
        try:
            told = run(finding.code, capsys)
        except Exception as thrown:
            assert finding.answer == {"throws": f"{type(thrown).__name__}: {thrown}"}
            continue
        if finding.group is None:
            assert "generation=" in told
            continue
        answer = {
            line.partition(" ")[0]: ast.literal_eval(line.partition(" ")[2])
            for line in told.splitlines()
        }
        assert {
            m: [f"{topic}-{p}" for topic, numbers in given for p in sorted(numbers)]
            for m, given in answer.items()
        } == (answer_shown(finding.rounds[-1][1]) if finding.rounds else finding.answer)


def test_beside_a_finding_stands_what_kafkas_own_assignor_does(found):
    (dropped,) = of(found, "kafka-python", "range", "balanced in topics")
    assert (
        "Kafka's own range keeps it here: {'A': ['t-1'], 'B': ['t-0'], 'C': ['t-2']}"
        in finding_words(dropped)
    )
    (stale,) = of(found, "kafka-python", "sticky", "valid")
    assert "Kafka's own sticky breaks it here, too" in finding_words(stale)
    (untold,) = of(found, "kafka-python", "cooperative-sticky", "claims are told")
    assert untold.kafka is None and "Kafka's own" not in finding_words(untold)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_finding_names_the_version_and_the_same_question_has_the_same_answer(found, library):
    version = metadata.version(library)
    assert {f.version for f in found[library].findings} == {version}
    assert f"of {library} {version}, " in finding_words(found[library].findings[0])
    again = findings(library_of(library), 8).document()
    assert again == findings(library_of(library), 8).document() and again["version"] == version
    assert again["findings"]
