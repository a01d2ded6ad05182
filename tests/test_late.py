"""Which cases of tests run at night alone, and that each of them exists."""

import pytest
from late import COLLECTED, SECONDS, chosen, late


def test_the_cheapest_cases_of_a_function_run_by_day_as_far_as_its_seconds_go() -> None:
    costs = {"a.py::f[1]": SECONDS, "a.py::f[2]": 0.1, "a.py::f[3]": 0.2, "a.py::g": 90.0}
    assert chosen(costs) == ["a.py::f[1]"]
    assert chosen({"a.py::f[1]": 90.0, "a.py::f[2]": 91.0}) == ["a.py::f[2]"]


def test_every_case_that_runs_at_night_exists(pytestconfig: pytest.Config) -> None:
    """Those of renamed tests would run by day again, unseen. By day the file of each is looked at,
    and its cases where that file is collected, too.
    """
    every = pytestconfig.stash[COLLECTED]
    collected = {case.partition("::")[0] for case in every}
    root = pytestconfig.rootpath
    files = {case.partition("::")[0] for case in late()}
    assert [file for file in sorted(files) if not (root / file).is_file()] == []
    assert [x for x in sorted(late() - every) if x.partition("::")[0] in collected] == []
