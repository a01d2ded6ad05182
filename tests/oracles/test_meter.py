"""Progress: one line, an estimate only where the levels shrink, and silence where
nobody watches.
"""

from __future__ import annotations

from itertools import accumulate

import pytest

from groupcheck.model.engine import Limits, Progress
from groupcheck.oracles.show.meter import Estimate, line, meter


def glance(states: int, level: int, seconds: float = 1.0, **more: object) -> Progress:
    return Progress(states, states * 3, level, 100, seconds, 64 * 2**20, **more)  # type: ignore[arg-type]


def after(levels: list[int]) -> tuple[Estimate, Progress]:
    """An estimate that has seen these many new states in each level, one glance a level."""
    estimate = Estimate()
    for level, states in enumerate(accumulate(levels), 1):
        seen = glance(states, level)
        estimate.see(seen)
    return estimate, seen


def test_growing_levels_give_no_estimate():
    estimate, seen = after([1, 10, 100, 1000, 2000, 3000])
    assert estimate.seconds_left(seen) is None


def test_shrinking_levels_are_continued_as_a_falling_series():
    estimate, seen = after([1000, 4000, 2000, 1000, 500, 0])
    assert estimate.seconds_left(seen) == pytest.approx(500 / 8500)


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
