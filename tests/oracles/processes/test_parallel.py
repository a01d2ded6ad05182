"""Tasks in several processes: one that takes its process with it is answered in another way."""

from __future__ import annotations

import os

import pytest

from groupcheck.model.engine import OutageError
from groupcheck.oracles.processes import parallel


def _ends_at_two(number: int) -> int:
    if number == 2:
        os._exit(1)
    return 10 * number


@pytest.fixture(autouse=True)
def worth(monkeypatch: pytest.MonkeyPatch) -> None:
    """More processes are started at once."""
    monkeypatch.setattr(parallel, "WORTH_S", 0.0)


def test_where_a_process_is_lost_another_one_goes_on() -> None:
    tasks = [0, 2, 1, 2, 3, 2, 4]
    found = dict(parallel.results(_ends_at_two, tasks, 2, lost=lambda number: -number))
    assert [found[k] for k in range(len(tasks))] == [0, -2, 10, -2, 30, -2, 40]


def test_without_an_answer_for_it_that_is_an_error() -> None:
    with pytest.raises(OutageError, match="has ended"):
        list(parallel.results(_ends_at_two, [0, 1, 2, 3], 2))
