"""The cases of tests that run at night because of what they cost, chosen by measurement.

    pytest --cost FILE tests     # writes the CPU seconds of each test
    python tests/late.py FILE    # writes late.txt: what runs at night from now on

A test function with many cases has SECONDS of CPU by day: the cheapest of its cases run, as many as
fit, and at least one, and those that cost less than LITTLE. The rest is in late.txt and runs with
`pytest --night`. A case that was never measured runs by day.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

LATE = Path(__file__).with_suffix(".txt")
# The ids of all tests that were collected, before some are left out.
COLLECTED = pytest.StashKey[frozenset[str]]()
SECONDS = 1.2
LITTLE = 0.05
# What nothing else in the day shows may take longer.
LONGER = {
    "tests/test_docs_outputs.py::test_the_page_quotes_what_its_commands_print": 25.0,
    "tests/model/variants/test_variant_contract.py"
    "::test_the_cover_scopes_fire_every_outcome_and_meet_every_goal": 12.0,
    "tests/model/variants/test_combinations.py"
    "::test_two_features_keep_the_promises_of_both_and_have_words_for_each_step": 12.0,
    "tests/mutations/test_mutations.py"
    "::test_a_mutation_falls_to_the_invariant_that_it_names_and_to_no_other": 10.0,
}


class Costs:
    """A plugin that appends the CPU seconds of each test to a file: of the process, and of children
    that it has waited for.
    """

    def __init__(self, file: str) -> None:
        self.file = file

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = spent()
        done = yield
        line = json.dumps([item.nodeid, round(spent() - before, 3)]) + "\n"
        # One write: several processes append to the file.
        to = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(to, line.encode())
        os.close(to)
        return done  # type: ignore[no-any-return]


def spent() -> float:
    """The CPU seconds of this process and of the children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def late() -> frozenset[str]:
    """The ids of the cases that run at night."""
    return frozenset(LATE.read_text("utf-8").splitlines())


def chosen(costs: Mapping[str, float]) -> list[str]:
    """Of all cases with their costs, those that run at night, in order."""
    by_function = defaultdict(list)
    for case, seconds in costs.items():
        by_function[case.partition("[")[0]].append((seconds, case))
    found = []
    for function, cases in by_function.items():
        left = LONGER.get(function, SECONDS)
        for k, (seconds, case) in enumerate(sorted(cases)):
            left -= seconds
            if k and left < 0 and seconds >= LITTLE:
                found.append(case)
    return sorted(found)


def measured(lines: Iterable[str]) -> dict[str, float]:
    """What `Costs` wrote, by the id of the test."""
    return dict(json.loads(line) for line in lines)


if __name__ == "__main__":
    costs = measured(Path(sys.argv[1]).read_text("utf-8").splitlines())
    known = late() if LATE.exists() else frozenset()
    # What was not measured this time, because it runs at night, stays there.
    found = sorted({*chosen(costs), *(known - costs.keys())})
    LATE.write_text("".join(f"{case}\n" for case in found), "utf-8")
    every, saved = sum(costs.values()), sum(costs.get(case, 0) for case in found)
    print(f"{len(found):,} cases run at night: {saved:.0f} s less of {every:.0f} s measured")
