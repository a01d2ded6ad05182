"""`conform consumer` notices every mistake of tests/mutants/mistakes_of_consumer_groups.toml in the
rules of the model's coordinator, and with `--side member` each of mistakes_of_java_members.toml in
those of Java's member; `conform streams` notices each of mistakes_of_streams_groups.toml, and
`conform share_partition` each of mistakes_of_share_partitions.toml. Each is put into fresh copies
of the modules that have the rules.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from groupcheck.oracles.kafka.driver import shared

ROOT = Path(__file__).parents[3]
PROTOCOL = "groupcheck.model.protocol"
PACKAGES = (
    *(f"{PROTOCOL}.{name}" for name in ("consumer", "streams", "share_partition")),
    "groupcheck.oracles.consumer",
)
CATALOGUE = ROOT / "tests" / "mutants" / "mistakes_of_consumer_groups.toml"
MISTAKES: list[dict[str, str]] = tomllib.loads(CATALOGUE.read_text("utf-8"))["mistake"]
OF_MEMBERS = CATALOGUE.with_name("mistakes_of_java_members.toml")
MEMBERS: list[dict[str, str]] = tomllib.loads(OF_MEMBERS.read_text("utf-8"))["mistake"]
OF_STREAMS = CATALOGUE.with_name("mistakes_of_streams_groups.toml")
STREAMS: list[dict[str, str]] = tomllib.loads(OF_STREAMS.read_text("utf-8"))["mistake"]
OF_PARTITIONS = CATALOGUE.with_name("mistakes_of_share_partitions.toml")
PARTITIONS: list[dict[str, Any]] = tomllib.loads(OF_PARTITIONS.read_text("utf-8"))["mistake"]
# Family -> how many of its rows are asked: the shortest schedules find nearly every mistake.
ASKED = {
    "full group": 218,
    "static member": 1_200,
    "new partition": 247,
    "one member": 2_000,
    "offsets": 600,
    "offsets of one member": 3_000,
    "late commits": 2_000,
    "commits late by epochs": 1_000,
    "two transactions": 3_000,
    "expiry": 6_000,
    "expiry beside transactions": 6_000,
    "expiry and a static member": 3_000,
    "interval": 400,
    "topics in an interval": 1_000,
    "two members": 3_000,
    "wide member": 2_000,
    "range": 3_000,
    "patterns": 3_600,
    "named assignors": 600,
    "expressions": 4_000,
    "expressions of two members": 1_500,
    "expressions of one topic": 3_000,
    "expressions over a load": 2_000,
}
# The same for members.
ASKED_OF_MEMBERS = {"no listener": 400, "listener": 4_000, "listener of two topics": 3_000}
KAFKA = "4.3.1"
QUICK = 10  # every so many mistakes are tried by day


@contextmanager
def mistaken(mistake: Mapping[str, str]) -> Iterator[ModuleType]:
    """The door's families, made of modules one of which has the mistake."""
    path = ROOT / "model" / "protocol" / mistake["file"]
    source = path.read_text("utf-8")
    assert source.count(mistake["old"]) == 1, f"{mistake['about']}: write it anew"
    wrong = source.replace(mistake["old"], mistake["new"])
    healthy = {name: m for name, m in sys.modules.items() if name.startswith(PACKAGES)}
    for name in healthy:
        del sys.modules[name]
    try:
        sys.meta_path.insert(0, Wrong(f"{PROTOCOL}.{path.parent.name}.{path.stem}", wrong))
        yield importlib.import_module("groupcheck.oracles.consumer.families")
    finally:
        del sys.meta_path[0]
        for name in [name for name in sys.modules if name.startswith(PACKAGES)]:
            del sys.modules[name]
        sys.modules.update(healthy)


class Wrong:
    """Finds one module, with this source."""

    def __init__(self, name: str, source: str) -> None:
        self.name, self.source = name, source

    def find_spec(self, name: str, *_: object) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_loader(name, self)

    def create_module(self, spec: object) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.source, self.name, "exec"), vars(module))


def noticed(mistake: Mapping[str, str]) -> bool:
    """Does some row differ?"""
    driver = shared(KAFKA)
    with mistaken(mistake) as found:
        exploring = importlib.import_module("groupcheck.oracles.consumer.exploring")
        rows = importlib.import_module("groupcheck.oracles.consumer.rows")
        there = {family.name: family for family in found.EVERY}
        named = mistake.get("family")
        for name, most in ASKED.items() if named is None else [(named, ASKED[named])]:
            asked = rows.ConsumerRows(found.spec_of(there[name], KAFKA))
            if any(row.same is None for row in exploring.explore(asked, driver, most)):
                return True
    return False


def noticed_in_members(mistake: Mapping[str, str]) -> bool:
    """Does some row of a member differ?"""
    driver = shared(KAFKA)
    with mistaken(mistake):
        found = importlib.import_module("groupcheck.oracles.consumer.member.families")
        there = {family.name: family for family in found.EVERY}
        for name, most in ASKED_OF_MEMBERS.items():
            asked = found.rows_of(there[name], KAFKA)
            if any(row.differs for row in found.explore(asked, driver, most)):
                return True
    return False


def noticed_in_streams(mistake: Mapping[str, str]) -> bool:
    """Does some row of streams groups differ, of the family that the mistake names?"""
    kafka = mistake.get("kafka", KAFKA)
    with mistaken(mistake):
        found = importlib.import_module("groupcheck.oracles.consumer.streams.families")
        exploring = importlib.import_module("groupcheck.oracles.consumer.exploring")
        rows = importlib.import_module("groupcheck.oracles.consumer.streams.rows")
        (family,) = (f for f in found.EVERY if f.name == mistake["family"])
        asked = rows.StreamsRows(found.spec_of(family, kafka))
        explored = exploring.explore(asked, shared(kafka), family.most)
        return any(row.same is None for row in explored)


def noticed_in_partitions(mistake: Mapping[str, Any]) -> bool:
    """Does some row of a share partition differ, of the family that the mistake names? Some need
    longer schedules, so more `rows`, than the command executes.
    """
    with mistaken(mistake):
        found = importlib.import_module("groupcheck.oracles.consumer.share_partition.families")
        rows = importlib.import_module("groupcheck.oracles.consumer.share_partition.rows")
        leaders = importlib.import_module("groupcheck.oracles.consumer.share_partition.leaders")
        (family,) = (f for f in found.EVERY if f.name == mistake["family"])
        most = mistake.get("rows", family.most)
        asked = rows.LeaderRows(found.spec_of(family, KAFKA))
        with leaders.Leaders(KAFKA) as leader:
            return any(row.differs for row in found.explore(asked, leader, most))


def by_night(mistakes: list[dict[str, Any]]) -> list[Any]:
    return [
        pytest.param(m, id=m["about"], marks=[pytest.mark.night] * bool(k % QUICK))
        for k, m in enumerate(mistakes)
    ]


@pytest.mark.parametrize("mistake", by_night(MISTAKES))
def test_conform_notices_a_mistake_in_a_rule(mistake: dict[str, str]) -> None:
    assert noticed(mistake)


@pytest.mark.parametrize("mistake", by_night(MEMBERS))
def test_conform_notices_a_mistake_in_a_rule_of_members(mistake: dict[str, str]) -> None:
    assert noticed_in_members(mistake)


@pytest.mark.parametrize("mistake", by_night(STREAMS))
def test_conform_notices_a_mistake_in_a_rule_of_streams_groups(mistake: dict[str, str]) -> None:
    assert noticed_in_streams(mistake)


@pytest.mark.parametrize("mistake", by_night(PARTITIONS))
def test_conform_notices_a_mistake_in_a_rule_of_share_partitions(mistake: dict[str, Any]) -> None:
    assert noticed_in_partitions(mistake)


def test_every_mistake_fits_its_rule() -> None:
    for mistake in (*MISTAKES, *MEMBERS, *STREAMS, *PARTITIONS):
        path = ROOT / "model" / "protocol" / mistake["file"]
        source = path.read_text("utf-8")
        assert source.count(mistake["old"]) == 1, mistake["about"]
        compile(source.replace(mistake["old"], mistake["new"]), mistake["file"], "exec")
