"""What is said about excerpts of real problems (tests/data/incidents), against the causes that
their threads established.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from groupcheck.traces.causes.diagnosis import Diagnosis, diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog

FOLDER = Path(__file__).parents[2] / "data/incidents"
INDEX: dict[str, dict[str, Any]] = {
    one["id"]: one for one in json.loads((FOLDER / "index.json").read_text("utf-8"))
}
FOUND: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "found.toml").read_text("utf-8"))
# Nothing in the lines shows more than a running client.
SILENT = {"70"}
AWAITED: set[str] = set()


def diagnosed(name: str) -> list[Diagnosis]:
    lines = (FOLDER / f"{name}.log").read_text("utf-8", errors="replace").split("\n")
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    return [diagnose(group, shipped_knowledge()) for group in evidence.by_group()]


def causes(found: list[Diagnosis]) -> list[str]:
    return [f.cause.kind for d in found for f in d.causes]


@pytest.mark.parametrize("name", FOUND)
def test_an_excerpt_shows_what_the_table_says(name: str) -> None:
    found, table = diagnosed(name), FOUND[name]
    assert causes(found) == table["causes"]
    assert {*table.get("possible", [])} <= {f.cause.kind for d in found for f in d.candidates}


@pytest.mark.parametrize("name", sorted(INDEX.keys() - AWAITED))
def test_nothing_wrong_is_claimed(name: str) -> None:
    """A cause that can be told is named. Otherwise it is named or among the candidates, or nothing
    is claimed; what else is said is true, for the reason that the table gives.
    """
    found, established = diagnosed(name), INDEX[name]["class"]
    others = {*causes(found)} - {established}
    assert not others or FOUND[name].get("why"), others
    if INDEX[name]["can_be_told"] == "yes":
        assert established in causes(found)
    elif others:
        candidates = {f.cause.kind for d in found for f in d.candidates}
        assert established in candidates | {*causes(found)}


def test_the_table_holds_every_excerpt() -> None:
    assert FOUND.keys() | SILENT | AWAITED == INDEX.keys()


def test_a_possible_cause_is_not_stated_as_a_fact() -> None:
    for name in INDEX:
        for one in diagnosed(name):
            for candidate in one.candidates:
                assert candidate.text.startswith(("This may be", "If ")), candidate.text
                assert candidate.decide
