"""Which cases of tests run at night alone, and that each of them exists."""

import pytest
from late import SECONDS, chosen, late


def test_the_cheapest_cases_of_a_function_run_by_day_as_far_as_its_seconds_go() -> None:
    costs = {"a.py::f[1]": SECONDS, "a.py::f[2]": 0.1, "a.py::f[3]": 0.2, "a.py::g": 90.0}
    assert chosen(costs) == ["a.py::f[1]"]
    assert chosen({"a.py::f[1]": 90.0, "a.py::f[2]": 91.0}) == ["a.py::f[2]"]


@pytest.mark.night
def test_every_case_that_runs_at_night_exists(request: pytest.FixtureRequest) -> None:
    """Those of renamed tests would run by day again, unseen."""
    every = {item.nodeid for item in request.session.items}
    files = {case.partition("::")[0] for case in every}
    assert [x for x in sorted(late() - every) if x.partition("::")[0] in files] == []
