"""The benchmark's own parts: its tables hold the protocol, its targets can be missed, its Promela
says what the assignor says.
"""

from __future__ import annotations

from pathlib import Path

import cliffs
import numpy as np
import promela
import pytest
import tables
from report import Row, Section, text
from small_group import Scope, small_group

from groupcheck.model.engine import Spec, reference


def searched(file: Path) -> tuple[int, int]:
    """States and transitions that the C loop would find in a table file, by the obvious search."""
    raw = file.read_bytes()
    n, _, initial = np.frombuffer(raw, "<u8", 3).tolist()
    heads = np.frombuffer(raw, "<u8", 6 * n, 24).reshape(n, 6).tolist()
    at = 24 + 48 * n
    cells = []
    for *_, count in heads:
        cells.append(np.frombuffer(raw, "<u4", count, at).tolist())
        at += 4 * count
    words = np.frombuffer(raw, "<u8", -1, at).tolist()
    seen, queue, moved = {initial}, [initial], 0
    for state in queue:
        for (shift, width, shift_2, width_2, keep, _), table in zip(heads, cells):
            first, second = state >> shift & (1 << width) - 1, state >> shift_2 & (1 << width_2) - 1
            cell = table[first << width_2 | second]
            for k in range(cell >> 8, (cell >> 8) + (cell & 255)):
                moved += 1
                after = state & keep | words[k]
                if after not in seen:
                    seen.add(after)
                    queue.append(after)
    return len(seen), moved


def test_the_tables_hold_the_same_states_and_transitions_as_the_rules(tmp_path: Path):
    spec, record = small_group(2, 1, 2, 1, 0), tables.Record()
    verdict = reference.explore(record.listening(spec))
    tables.write(tmp_path / "tables", spec, record)
    assert searched(tmp_path / "tables") == (verdict.states, verdict.transitions)


def test_a_spec_with_urgent_rules_gets_no_tables():
    spec = small_group(1, 1, 1, 0, 0)
    import attrs

    hasty = attrs.evolve(spec, rules=tuple(attrs.evolve(r, urgent=True) for r in spec.rules))
    with pytest.raises(ValueError, match="urgent"):
        tables.Record().listening(hasty)


@pytest.mark.parametrize("roster", [(0,), (2,), (0, 1), (0, 2), (0, 1, 2)])
def test_the_promela_model_assigns_like_the_small_group(roster: tuple[int, ...]):
    assert tuple(promela.shares(4, 3, roster)) == Scope(3, 4, 1, 0, 0).assignment(roster)


def test_the_promela_model_has_one_step_for_every_outcome_of_a_rule_that_spin_must_choose_from():
    spec: Spec = small_group(3, 3, 3, 1, 1)
    steps = promela.Group(3, 3, 3, 1, 1).text().count("d_step")
    alone = {"complete_join", "join_timeout"}
    each = sum(3 if r.name == "poll" else 1 for r in spec.rules if r.name not in alone)
    assert steps == len(alone) + 3 * each


def test_a_figure_on_the_wrong_side_of_its_target_is_shown_as_missed():
    rows = [
        Row("slow", 1.8, "x C loop", (1.7, 1.9), target=("<=", 1.7)),
        Row("ahead", 2.5, "times", target=(">=", 2.0)),
        Row("free", 9.0, "s"),
    ]
    assert [r.met for r in rows] == [False, True, None]
    assert [word for word in text(Section("t", rows)).split() if word in ("reached", "MISSED")] == [
        "MISSED",
        "reached",
    ]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("puzzle", (2, 3)),
        ("lanes", (3, 4)),
        ("jugs", (3, 4, 5, 2)),
        ("watched", (4, 3)),
        ("counter", (50,)),
        ("clock", (9,)),
    ],
)
def test_protocols_that_tables_do_not_serve_are_searched_alike_by_hand(name, sizes):
    spec = cliffs.SPECS[name](*sizes)
    verdict = reference.explore(spec)
    assert verdict.verdict == "holds"
    assert cliffs.plain(spec) == (verdict.states, verdict.transitions)
    if name in cliffs.BY_HAND:
        assert cliffs.alone(spec) == (verdict.states, verdict.transitions)
