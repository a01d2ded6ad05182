"""`groupcheck.assignor_contract` of the assignor classes of kafka-python and aiokafka, and of
classes derived from them.
"""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor as OfAiokafka
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AioRange
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as AioRoundRobin
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import (
    StickyPartitionAssignor as StickyOfKafkaPython,
)
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

import groupcheck
from groupcheck.oracles.assignment.against.command import library_of

test_range_of_aiokafka = groupcheck.assignor_contract(AioRange, examples=25)
test_round_robin_of_aiokafka = groupcheck.assignor_contract(AioRoundRobin, examples=25)


def promises(contract):
    (mark,) = contract.pytestmark
    return mark.args[1]


def failure(contract, promise):
    with pytest.raises(pytest.fail.Exception) as failed:
        contract(promise)
    return str(failed.value)


def test_what_kafka_pythons_range_gets_wrong_is_found_with_code_that_shows_it(capsys):
    told = failure(
        groupcheck.assignor_contract(RangePartitionAssignor, examples=60), "balanced in topics"
    )
    assert "where static and dynamic members mix" in told
    code = told[told.index("    from collections import") :]
    exec("\n".join(line[4:] for line in code.splitlines()), {})
    assert "A []" in capsys.readouterr().out


def test_a_class_makes_the_promises_of_kafkas_assignor_of_its_name():
    range_, coop = (
        promises(groupcheck.assignor_contract(cls))
        for cls in (RangePartitionAssignor, CooperativeStickyAssignor)
    )
    assert "balanced in topics" in range_ and "handed over" not in range_
    assert "handed over" in coop and "sequence" in coop
    assert "level" in promises(groupcheck.assignor_contract(AioRange, like="roundrobin"))


@pytest.mark.parametrize(
    ("assignor", "promise", "words"),
    [
        (CooperativeStickyAssignor, "claims are told", "claims it of generation -1"),
        (StickyPartitionAssignor, "claims are one's own", "another one of the same process was"),
    ],
)
def test_what_a_member_claims_is_a_promise_of_a_class_that_reads_claims(assignor, promise, words):
    contract = groupcheck.assignor_contract(assignor, examples=10)
    assert words in " ".join(failure(contract, promise).split())
    assert promise not in promises(groupcheck.assignor_contract(AioRange))


class Mine(AbstractPartitionAssignor):
    """As a user of kafka-python writes one."""

    name = "mine"

    def assign(self, cluster, members):
        return self.pick(members)

    def pick(self, members):
        raise KeyError("no rack")

    def metadata(self, topics):
        return ConsumerProtocolSubscription(0, list(topics), b"")

    def on_assignment(self, assignment, generation):
        pass


class MineForAiokafka(OfAiokafka):
    """As a user of aiokafka writes one; it gives what `assign` of a client never does."""

    name = "mine"

    @classmethod
    def assign(cls, cluster, members):
        return {member: [("t", 0)] for member in members}

    @classmethod
    def metadata(cls, topics):
        return ConsumerProtocolMemberMetadata(0, list(topics), b"")

    @classmethod
    def on_assignment(cls, assignment):
        pass


def test_a_class_with_a_name_of_its_own_makes_the_promises_that_all_make():
    contract = groupcheck.assignor_contract(Mine, examples=5)
    assert promises(contract) == ["answers", "valid", "complete", "the same again"]
    told = failure(contract, "answers")
    assert told.index("in assign\n") < told.index("in pick\n") and "kafka_python.py" not in told
    assert "KeyError: 'no rack'" in told


class NeverAssigns(StickyOfKafkaPython):
    """What its members claim is right, but it never assigns anything."""

    def assign(self, cluster, members):
        raise KeyError("no rack")


def test_claims_are_not_green_either_for_a_class_that_never_assigns():
    contract = groupcheck.assignor_contract(NeverAssigns, examples=5)
    for promise in promises(contract):
        assert "KeyError: 'no rack'" in failure(contract, promise)


def test_a_class_that_gives_something_else_than_its_client_expects_is_told_so():
    contract = groupcheck.assignor_contract(MineForAiokafka, examples=5)
    told = " ".join(failure(contract, "answers").split())
    assert "WrongAnswer: not an assignment for each member: {'A': [('t', 0)]}" in told


def test_assign_against_takes_a_class_by_its_name():
    (offered,) = library_of("aiokafka.coordinator.assignors.range:RangePartitionAssignor").assignors
    assert (offered.name, offered.like) == ("RangePartitionAssignor", "range")


def test_a_librarys_logger_is_quiet_only_while_the_library_is_asked():
    log = logging.getLogger("aiokafka")
    before = log.level
    with library_of("aiokafka").open():
        assert log.level > logging.CRITICAL
    assert log.level == before


def test_a_function_is_asked_where_neither_library_is_installed():
    code = """
import sys
sys.modules["kafka"] = sys.modules["aiokafka"] = None
import groupcheck
from groupcheck.model.assignors import range_
groupcheck.assignor_contract(range_, like="range", examples=3)("valid")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_assignor_that_is_neither_a_function_nor_a_class_is_refused():
    with pytest.raises(groupcheck.UserError, match="or an assignor class of kafka-python"):
        groupcheck.assignor_contract(Mine())
