"""kafka-python before 3: assignors are classes, members a mapping, and a message encodes itself as
long as somebody holds it. Stand-ins have these properties of 2.0 to 2.3.
"""

from __future__ import annotations

import json
import sys
import weakref
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest

from groupcheck.model.assignors import Group, Member
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.against.libraries import callables, kafka_python
from groupcheck.oracles.assignment.validity import Assigned

GROUP = Group({"t": 3, "u": 1}, [Member("A", {"t", "u"}, instance="i-1"), Member("B", {"t"})])
EXPECTED = {"A": {("t", 0), ("t", 1), ("u", 0)}, "B": {("t", 2)}}


class Struct:
    """A message whose `encode` refers to it weakly."""

    names: tuple[str, ...] = ()

    def __init__(self, *values: Any) -> None:
        me: Any = weakref.ref(self)
        self.__dict__ |= dict(zip(self.names, values, strict=True))
        self.encode = lambda: json.dumps([getattr(me(), n) for n in me().names[:2]]).encode()

    @classmethod
    def decode(cls, sent: bytes) -> Struct:
        return cls(*json.loads(sent), b"")


class Metadata(Struct):
    names = "version", "subscription", "user_data"


class Metadata3(Struct):
    names = "version", "topics", "user_data"


class Assignment(Struct):
    names = "version", "assignment", "user_data"


class Subscription:
    def __init__(self, metadata: Any, instance: str | None) -> None:
        self.topics, self.group_instance_id = metadata.topics, instance


def module(name: str, **known: Any) -> ModuleType:
    made = ModuleType(name)
    made.__spec__ = ModuleSpec(name, None)
    vars(made).update(known)
    return made


@pytest.fixture(params=["2.0", "2.3"])
def assignor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type:
    """A range assignor of this version."""
    later = request.param == "2.3"
    metadata: type[Struct] = Metadata3 if later else Metadata
    suffix = "_v0" if later else ""
    names = {
        f"ConsumerProtocolMemberMetadata{suffix}": metadata,
        f"ConsumerProtocolMemberAssignment{suffix}": Assignment,
    }
    known = "kafka.coordinator.protocol"
    monkeypatch.setitem(sys.modules, known, module(known, **names))
    told = "kafka.coordinator.subscription"
    seen = module(told, Subscription=Subscription) if later else None
    monkeypatch.setitem(sys.modules, told, seen)

    class Range:
        name = "range"

        def __init__(self, needed: Any = None) -> None:
            pass

        @classmethod
        def metadata(cls, topics: list[str]) -> Struct:
            return metadata(0, topics, b"")

        @classmethod
        def assign(cls, cluster: Any, members: Any) -> dict[str, Assignment]:
            given: dict[str, list[tuple[str, list[int]]]] = {m: [] for m in members}
            for topic in sorted(cluster.topics()):
                readers = sorted(m for m, told in members.items() if topic in read(told))
                rest = sorted(cluster.partitions_for_topic(topic))
                for k, m in enumerate(readers):
                    count = -(-len(rest) // (len(readers) - k))
                    given[m].append((topic, rest[:count]))
                    rest = rest[count:]
            return {m: Assignment(0, some, b"") for m, some in given.items()}

    def read(told: Any) -> list[str]:
        if later:
            assert told.group_instance_id in (None, "i-1")
        return list(told.topics if later else told.subscription)

    Range.__module__ = "kafka.coordinator.assignors.range"
    return Range


def solved(offered: Any) -> Assigned:
    found: dict[str, Any] = offered.solve(GROUP)
    return {m: set(given) for m, given in found.items()}


def test_classes_objects_and_functions_that_make_one_are_asked(assignor: type) -> None:
    def make() -> Any:
        return assignor(3)

    for asked in (assignor, assignor(), make):
        offered = kafka_python.offered(asked, "range", "range")
        assert solved(offered) == EXPECTED
        assert "kafka.coordinator.protocol import" in offered.code(GROUP)


def test_the_leader_sees_instances_from_2_3_on(assignor: type) -> None:
    offered = kafka_python.offered(assignor, "range", "range")
    later = sys.modules["kafka.coordinator.subscription"] is not None
    assert offered.reads_instances == later
    assert ("'i-1'" in offered.code(GROUP)) == later


def test_a_class_that_needs_arguments_is_told_as_such(assignor: type) -> None:
    class Needs(assignor):  # type: ignore[misc, valid-type]
        def __init__(self, weight: int) -> None:
            super().__init__(weight)

    def make() -> Any:
        return Needs(3)

    with pytest.raises(UserError, match=r"without arguments: missing.*'weight'") as raised:
        callables.library("mine:Needs", Needs, None)
    assert "name a function without arguments that makes one" in str(raised.value)
    for one in (make, Needs(3)):
        (offered,) = callables.library("mine:one", one, None).assignors
        assert (offered.name, offered.like) == ("one", "range")
        assert solved(offered) == EXPECTED


def test_a_function_that_fails_to_make_one_is_told() -> None:
    def make() -> Any:
        raise RuntimeError("no weight")

    with pytest.raises(UserError, match="makes no assignor: RuntimeError: no weight"):
        callables.library("mine:make", make, None)
