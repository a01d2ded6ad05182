"""The code of a finding gets at the assignor, whatever kind of callable it is."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import groupcheck
from groupcheck.model.assignors import round_robin
from groupcheck.oracles.assignment.against.naming import reached

SUITE = """
from functools import partial
import groupcheck

def only(first, group):
    return {m.id: [("t", 0)] if m.id == first else [] for m in group.members}

class Balancer:
    def assign(self, group):
        return only("A", group)

def closure():
    def assign(group):
        return only("A", group)
    return assign

mine = partial(only, "A")
test_function = groupcheck.assignor_contract(lambda group: only("A", group), examples=9)
test_closure = groupcheck.assignor_contract(closure(), examples=9)
test_bound = groupcheck.assignor_contract(Balancer().assign, examples=9)
test_partial = groupcheck.assignor_contract(mine, examples=9)
test_object = groupcheck.assignor_contract(partial(only, "A"), examples=9)
"""


def pasted(text):
    """The code of the failures in pytest's output, a program for each."""
    lines, programs = text.splitlines(), []
    for line in lines:
        code = line.removeprefix("    ")
        if code.startswith("from groupcheck.model.assignors import"):
            programs.append([])
        if programs and line.startswith("    "):
            programs[-1].append(code)
        elif line.strip() and programs and programs[-1]:
            programs.append([])
    return ["\n".join(program) for program in programs if program]


def test_pasted_code_runs_for_lambdas_closures_bound_methods_and_partials(tmp_path):
    (tmp_path / "test_mine.py").write_text(SUITE)
    told = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            "complete",
            tmp_path,
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=100,
    ).stdout
    programs = pasted(told)
    assert len(programs) >= 5
    for named in ("test_function", "test_closure", "test_bound", "mine", "test_object"):
        assert f"from test_mine import {named}\n" in told.replace("    from", "from")
    answers = subprocess.run(
        [sys.executable, "-c", "\n".join(programs)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=100,
    )
    assert answers.stderr == "" and answers.stdout.count("{'B': []}") >= 5


class Own:
    def assign(self, group):
        return round_robin(group)


OWN = Own()
METHOD = OWN.assign


def test_an_assignor_is_imported_by_a_name_of_its_own_or_of_a_variable():
    assert reached(round_robin) == (
        "from groupcheck.model.assignors.round_robin import round_robin\n",
        "round_robin",
    )
    assert reached(Own.assign)[1] == "Own.assign"
    assert reached(METHOD, __name__) == (f"from {__name__} import METHOD\n", "METHOD")


def test_of_an_assignor_that_no_module_names_it_is_said_what_it_is():
    inner = partial(lambda group: round_robin(group))
    lines, name = reached(inner, __name__)
    assert lines.endswith("assign = ...\n") and name == "assign"
    assert "a partial of " in lines and "<lambda>" in lines and "test_naming.py, line" in lines


def test_the_code_of_a_contract_within_a_function_says_so():
    import pytest

    contract = groupcheck.assignor_contract(lambda group: {}, like="range", examples=9)
    with pytest.raises(pytest.fail.Exception) as failed:
        contract("complete")
    assert "No module names the assignor" in str(failed.value)
