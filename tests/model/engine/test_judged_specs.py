"""Every engine answers what the judge answers, on random specs that use everything the language can
say; `make nightly` has 3,000.
"""

import pytest
from judged import disagreements

SPECS = 80


@pytest.mark.parametrize(
    "first",
    [pytest.param(k, marks=[pytest.mark.night] * (k >= 1_000)) for k in range(0, 10_000, 1_000)],
)
def test_engines_agree_with_a_judge_that_was_written_from_the_documentation(first):
    assert list(disagreements(first, SPECS // 10)) == []
