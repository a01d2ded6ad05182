"""The replay against the model: what a run of the model prints is explained, and what no run prints
is not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from printed import printed_run

from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.generate.broker_lines import OLD_STYLES, STYLES, Style
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file

FAULTS = {
    "crash": 4,
    "close": 5,
    "session_timeout": 8,
    "rebalance_timeout": 5,
    "sync_timeout": 3,
    "append_failure": 2,
    "new_member_timeout": 2,
    "disconnect": 3,
    "poll_timeout": 3,
    "lose_response": 2,
    "delay_request": 1,
}


def small(members: int, **more: Any) -> Scope:
    """Long lives of small groups, without offsets: the coordinator's log does not show them."""
    return Scope(members=members, generations=60, records=0, autocommit=False, **more)


SCOPES = {
    "three members": small(3, faults={**FAULTS, "fail_over": 1}),
    "ids in one step": small(4, faults=FAULTS, two_step=False),
    "size cap": small(4, faults={**FAULTS, "fail_over": 1}, max_size=2),
}
NO_FAIL_OVER = small(3, faults=FAULTS)
SEEDS = range(4)
MORE_SEEDS = range(60)  # until enough of them show what a test needs
ENOUGH = 4
STEPS = 200
# The oldest and the newest words by day: those between differ from one of them in a line or two.
BY_NIGHT = [
    STYLES[0],
    *(pytest.param(s, marks=pytest.mark.night) for s in STYLES[1:-1]),
    STYLES[-1],
]


def name_of(style: Style) -> str:
    return style.name


def replayed(lines: Sequence[str], path: Path) -> GroupReport | None:
    file = path / "run.log"
    file.write_text("".join(line + "\n" for line in lines))
    groups = replay_file(str(file)).groups
    return groups[0] if groups else None


@pytest.mark.parametrize("style", BY_NIGHT, ids=name_of)
@pytest.mark.parametrize("scope", SCOPES)
def test_every_run_of_the_model_is_explained(scope: str, style: Style, tmp_path: Path) -> None:
    rounds = 0
    for seed in SEEDS:
        lines = printed_run(seed, style, SCOPES[scope], STEPS)
        if not lines:
            continue
        group = replayed(lines, tmp_path)
        assert group is not None
        assert group.unexplained_count == 0 and group.assumed_count == 0, (
            seed,
            group.unexplained,
            "\n".join(lines),
        )
        assert len(group.timeline.rounds) == sum("Preparing to rebalance" in line for line in lines)
        rounds += len(group.timeline.rounds)
    assert rounds > 20


@pytest.mark.parametrize("style", OLD_STYLES, ids=name_of)
@pytest.mark.parametrize("scope", ["three members", "ids in one step"])
def test_an_old_coordinator_tells_less_and_is_explained(
    scope: str, style: Style, tmp_path: Path
) -> None:
    faults = {
        name: n for name, n in FAULTS.items() if name != "sync_timeout"
    }  # there is no such timer before 3.0
    found = small(
        3,
        faults={**faults, "fail_over": 1},
        two_step=scope == "three members" and style.old != "1.1",
    )
    rounds = 0
    for seed in SEEDS:
        lines = printed_run(seed, style, found, STEPS)
        for part in (lines, lines[len(lines) // 2 :]):
            group = replayed(part, tmp_path) if part else None
            if group is not None:
                assert group.unexplained_count == 0 and group.assumed_count == 0, (
                    seed,
                    group.unexplained,
                    "\n".join(part),
                )
                rounds += len(group.timeline.rounds)
    assert rounds > 20


@pytest.mark.parametrize("style", BY_NIGHT, ids=name_of)
@pytest.mark.parametrize("scope", SCOPES)
def test_a_run_cut_at_any_place_is_explained(scope: str, style: Style, tmp_path: Path) -> None:
    for seed in SEEDS:
        lines = printed_run(seed, style, SCOPES[scope], STEPS)
        cut = random.Random(seed).randrange(len(lines)) if lines else 0
        group = replayed(lines[cut:], tmp_path) if lines[cut:] else None
        if group is not None:
            assert group.unexplained_count == 0 and group.assumed_count == 0, (
                seed,
                cut,
                group.unexplained,
                "\n".join(lines[cut:]),
            )


GENERATION = re.compile(
    r"(Stabilized group g generation |with old generation |for generation )(\d+)"
)


def runs_with(pattern: str, style: Style) -> Iterator[tuple[Sequence[str], int]]:
    """Runs with a line that matches (neither one of the first two of its kind nor the last), and
    the place of one such line.
    """
    found = 0
    for seed in MORE_SEEDS:
        lines = printed_run(seed, style, NO_FAIL_OVER, STEPS)
        places = [k for k, line in enumerate(lines) if re.search(pattern, line)][2:-1]
        if places:
            yield lines, random.Random(seed).choice(places)
            found += 1
        if found == ENOUGH:
            return
    raise AssertionError(f"only {found} runs have such a line")


@pytest.mark.parametrize("style", BY_NIGHT, ids=name_of)
@pytest.mark.parametrize("by", [1, 5])
def test_a_generation_that_is_changed_anywhere_is_noticed(
    style: Style, by: int, tmp_path: Path
) -> None:
    for lines, k in runs_with(GENERATION.pattern, style):
        changed = [*lines]
        changed[k] = GENERATION.sub(lambda m: m[1] + str(int(m[2]) + by), lines[k])
        group = replayed(changed, tmp_path)
        assert group is not None and group.verdict != "holds", (k, changed[k], "\n".join(lines))


@pytest.mark.parametrize("style", BY_NIGHT, ids=name_of)
@pytest.mark.parametrize("kind", ["Preparing to rebalance", "Stabilized group", "is now empty"])
def test_a_step_that_is_left_out_is_noticed(style: Style, kind: str, tmp_path: Path) -> None:
    for lines, k in runs_with(kind, style):
        group = replayed((*lines[:k], *lines[k + 1 :]), tmp_path)
        assert group is not None and group.verdict != "holds", (k, lines[k], "\n".join(lines))
