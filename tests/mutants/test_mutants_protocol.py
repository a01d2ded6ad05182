"""Mistakes in the protocol: the catalogues fit the rules as they are, and the hard ones are noticed
beside Kafka's own code.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from forks import mutated
from judges import SMALL, behaviour
from mistakes import (
    CATALOGUES,
    COORDINATOR,
    GROUPS,
    HERE,
    MEMBER,
    PROTOCOL,
    TOKEN,
    Mistake,
    StaleMistake,
    equivalents,
    mistakes,
    written,
)
from protocol import (
    ROWS,
    Bench,
    Results,
    Tried,
    bench,
    chosen,
    known_results,
    verdict_of,
)
from targets import ROOT
from trial import tracked

CLIENT = "classic/client.py"
HARD = (
    "the sync timer never fires",
    "offsets never go backwards",
    "connections that wait survive a fail-over",
)


@pytest.fixture(scope="session")
def found() -> list[Mistake]:
    return mistakes(ROOT)


def test_every_entry_fits_the_rules_as_they_are_and_has_a_name_of_its_own(found: list[Mistake]):
    assert len({m.name for m in found}) == len(found)
    for side, least in ((COORDINATOR, 120), (MEMBER, 80), (GROUPS, 60)):
        assert sum(m.side == side and m.kind != TOKEN for m in found) >= least
    assert all(m.diff and m.source != (ROOT / PROTOCOL / m.file).read_text() for m in found)
    known = equivalents(HERE / "equivalent_in_protocol.toml")
    assert known.keys() <= {m.name for m in found} and all(known.values())


def test_an_entry_whose_text_is_gone_says_so():
    entry = {"about": "a riddle", "kind": "guard", "file": "link.py", "old": "?!", "new": ""}
    with pytest.raises(StaleMistake, match=r"'a riddle': its old text stands 0 times in link\.py"):
        written(ROOT, COORDINATOR, CATALOGUES[COORDINATOR], entry)


def test_a_sample_has_all_files_and_is_the_same_for_the_same_seed(found: list[Mistake]):
    one, again, other = (chosen(found, 60, seed, "", "", False) for seed in (1, 1, 2))
    assert [m.name for m in one] == [m.name for m in again] != [m.name for m in other]
    files = {m.file for m in found}
    assert {m.file for m in one[: len(files)]} == files
    of_client = [m.kind for m in chosen(found, 300, 1, "", "", False) if m.file == CLIENT]
    assert {*of_client} == {m.kind for m in found if m.file == CLIENT}


def test_what_is_known_of_a_sample_is_shown_and_nobody_is_asked(
    found: list[Mistake], tmp_path: Path
):
    results = Results(tmp_path / "results.jsonl", ROOT, SMALL)
    one, other = (m for m in found if m.name in HARD[:2])
    judges = ("conform", "check")
    for mistake, judge in ((one, "conform"), (one, "check"), (other, "check")):
        results.add(mistake, judge, {"verdict": "killed", "by": "why", "seconds": 1})
    known = known_results([one, other], judges, Results(tmp_path / "results.jsonl", ROOT, SMALL))
    assert [t.mistake.name for t in known] == [one.name]


QUIET = {"check": "survived", "tests": "survived"}


def tried(**told: str) -> Tried:
    mistake = Mistake("m", COORDINATOR, "guard", "link.py", (), "")
    return Tried(mistake, {judge: {"verdict": said, "by": "why"} for judge, said in told.items()})


@pytest.mark.parametrize(
    ("told", "became"),
    [
        ({"conform": "killed", "tests": "survived"}, "killed"),
        ({"conform": "unknown"}, "killed"),
        ({"conform": "timed out"}, "killed"),
        ({"conform": "survived", "tests": "killed", ROWS: "killed"}, "survived"),
        ({"conform": "survived", ROWS: "survived", **QUIET}, "equivalent"),
        ({"conform": "survived", ROWS: "survived", **QUIET, "tests": "killed"}, "survived"),
        ({"conform": "survived", ROWS: "survived", **QUIET, "check": "killed"}, "survived"),
        ({"conform": "-", "tests": "killed"}, "-"),
    ],
)
def test_only_kafkas_own_code_kills_and_equal_rows_excuse(told: dict[str, str], became: str):
    assert verdict_of(tried(**told), {}) == became


def test_a_survivor_in_the_list_is_an_equivalent():
    assert verdict_of(tried(conform="survived", **{ROWS: "killed"}), {"m": "why"}) == "equivalent"


@pytest.fixture(scope="module")
def court() -> Bench:
    with bench(ROOT, SMALL) as made:
        yield made


def test_the_copy_has_the_documents_that_the_tests_of_the_protocol_read(court: Bench):
    assert [n for n in tracked(ROOT) if not os.path.lexists(court.place / n)] == []


@pytest.mark.night
@pytest.mark.parametrize("name", HARD)
def test_a_hard_mistake_is_noticed_beside_kafkas_own_coordinator(
    name: str, found: list[Mistake], court: Bench
):
    (mistake,) = (m for m in found if m.name == name)
    told = court.judged(mistake, "conform")
    assert told["verdict"] in ("killed", "unknown"), told


@pytest.mark.parametrize(
    ("steps", "same"),
    [
        ([(0, b"a", 1), (1, b"b", 2), (2, b"a", 3), (3, b"b", 2)], True),  # remembers more
        ([(0, b"a", 1), (1, b"b", 2), (2, b"a", 3), (3, b"c", 2)], False),  # another third answer
        ([(0, b"a", 1), (1, b"b", 2), (2, b"a", 3)], False),  # an answer less
        ([(0, b"a", 1), (1, b"b", 0), (1, b"c", 0)], False),  # an answer more
    ],
)
def test_behaviour_is_what_can_be_seen_from_outside(steps: list[Any], same: bool):
    twice = behaviour(2, [(0, b"a", 1), (1, b"b", 0)])
    states = 1 + max(after for _, _, after in steps)
    assert (behaviour(states, steps) == twice) is same


def test_the_copy_is_mended_after_each_trial(tmp_path: Path):
    (tmp_path / "a.py").write_text("good")
    with pytest.raises(KeyError), mutated(tmp_path, "a.py", "bad"):
        raise KeyError((tmp_path / "a.py").read_text())
    assert (tmp_path / "a.py").read_text() == "good"
