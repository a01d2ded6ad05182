"""Progress: one line, an estimate only where the levels shrink, and silence where
nobody watches.
"""

from __future__ import annotations

from itertools import accumulate

import pytest

from groupcheck.model.engine import Limits, Progress
from groupcheck.oracles.conform import command as rows
from groupcheck.oracles.conform.member import command as members
from groupcheck.oracles.show.meter import Estimate, PartsLeft, line, meter


def glance(states: int, level: int, seconds: float = 1.0, **more: object) -> Progress:
    return Progress(states, states * 3, level, 100, seconds, 64 * 2**20, **more)  # type: ignore[arg-type]


def after(levels: list[int]) -> tuple[Estimate, Progress]:
    """An estimate that has seen these many new states in each level, one glance a level."""
    estimate = Estimate()
    for level, states in enumerate(accumulate(levels), 1):
        seen = glance(states, level)
        estimate.see(level, states)
    return estimate, seen


def test_growing_levels_give_no_estimate():
    estimate, seen = after([1, 10, 100, 1000, 2000, 3000])
    assert estimate.seconds_left(seen.seconds) is None


def test_shrinking_levels_are_continued_as_a_falling_series():
    estimate, seen = after([1000, 4000, 2000, 1000, 500, 0])
    assert estimate.seconds_left(seen.seconds) == pytest.approx(500 / 8500)


def test_a_run_in_parts_says_which_it_is_and_what_is_left_of_it():
    levels, left = [1000, 4000, 2000, 1000, 500, 250], PartsLeft()
    told = [left(1, 2, k, n, k) for k, n in enumerate(accumulate(levels), 1)]
    assert told[:4] == ["  scope 1 of 2"] * 4 and told[-1] == "  scope 1 of 2  nearly done"
    again = [left(2, 2, 6 + k, 8750 + n, 60 * k) for k, n in enumerate(accumulate(levels), 1)]
    assert again[-1] == "  scope 2 of 2  about 10 s left"
    assert "scope" not in PartsLeft()(1, 1, 1, 5, 1.0)


@pytest.mark.parametrize(
    ("words", "more"),
    [(rows.meter(), {}), (members.meter(), {"rows": 9000})],
    ids=["rows", "members"],
)
def test_conform_by_rows_says_how_much_is_left(words, more):
    counts = (rows if not more else members).Counts(**more)
    for level, n in enumerate(accumulate([1000, 4000, 2000, 1000, 500, 250]), 1):
        counts.level, counts.executed = level, n
        told = words(counts, 1, 1, 60.0 * level)
    assert told.endswith("  360 s  about 10 s left"), told


def test_the_line_names_what_a_reader_wants_to_know():
    assert (
        line(glance(2_000_000, 7, 2.0), Limits(), None)
        == "2,000,000 states  1,000,000 states/s  level 7  frontier 100  64 MiB  2 s"
    )
    assert line(glance(10, 1), Limits(), 12.4).endswith("about 12 s left")
    assert line(glance(10, 1), Limits(states=40), None).endswith("25% of --max-states")
    assert line(glance(10, 1), Limits(seconds=4), None).endswith("25% of --max-seconds")


def test_the_first_compilation_says_so():
    assert line(glance(0, 0, 0.0, compiling=True), Limits(), None).startswith("compiling")


def test_without_a_terminal_there_is_no_meter(capsys):
    with meter(Limits()) as progress:
        assert progress is None
    assert capsys.readouterr().err == ""


def test_on_a_terminal_the_line_is_shown(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with meter(Limits()) as progress:
        assert progress is not None
        progress(glance(12345, 3))
    shown = capsys.readouterr()
    assert shown.out == ""
