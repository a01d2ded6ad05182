"""Groups that change between the classic protocol and KIP-848: recorded with a broker 4.3.0
(`rolling_upgrade` and `rolling_downgrade`), and the same with lines that no coordinator prints.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parents[2] / "data/replay"
UP = (DATA / "live-rolling_upgrade.log").read_text().splitlines(keepends=True)
DOWN = (DATA / "live-rolling_downgrade.log").read_text().splitlines(keepends=True)
CONVERTED, GOES_ON = "Converted the", "Bumped group epoch to 4"


def group(path: Path, lines: list[str]) -> GroupReport:
    path.write_text("".join(lines))
    (g,) = replay_file(str(path)).groups
    return g


def where(lines: list[str], text: str) -> int:
    return next(k for k, line in enumerate(lines) if text in line)


def notes(g: GroupReport) -> list[tuple[int, str]]:
    return [(a.line, a.text) for a in g.anomalies if a.kind == "protocol_changed"]


def test_a_rolling_upgrade_is_followed_and_the_conversion_is_named(tmp_path: Path) -> None:
    g = group(tmp_path / "x.log", UP)
    assert g.verdict == "holds" and "8 steps of members" in g.reason
    assert g.reason.endswith("1 conversion, by the model `migration`)")
    ((line, told),) = notes(g)
    assert line == where(UP, CONVERTED) + 1
    assert told == (
        "the group became a consumer group in generation 3, with members of the classic protocol:"
        " b-5fd50cda-af7e-41fc-a36a-f1e9bf18cfcb"
    )
    rounds = [(r.to_generation, r.size, r.outcome) for r in g.timeline.rounds]
    assert rounds[:3] == [(1, 1, "assigned"), (2, 2, "assigned"), (3, 1, "assigned")]
    assert rounds[3:6] == [(4, 2, "assigned"), (5, 1, "assigned"), (6, 2, "assigned")]
    assert g.timeline.counts["joined"] == 4


def test_a_rolling_downgrade_is_followed_and_the_conversion_is_named(tmp_path: Path) -> None:
    g = group(tmp_path / "x.log", DOWN)
    assert g.verdict == "holds" and "17 steps of members" in g.reason
    ((line, told),) = notes(g)
    assert line == where(DOWN, CONVERTED) + 1
    assert told.startswith("the group became a classic group at epoch 6, with members of the")
    assert [r.to_generation for r in g.timeline.rounds] == [2, 3, 4, 5, 6, 7, 8]
    assert g.timeline.causes["downgrade"] == 1
    assert g.timeline.counts["joined"] == 4


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("epoch to 4 ", "epoch to 5 ", "epoch 5 follows the conversion in line"),
        ("epoch to 4 ", "epoch to 3 ", "epoch 3 follows the conversion in line"),
    ],
)
def test_an_epoch_that_does_not_go_on_from_the_generation_is_not_explained(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    k = where(UP, GOES_ON)
    g = group(tmp_path / "x.log", [*UP[:k], UP[k].replace(old, new)])
    (line,) = g.unexplained
    assert line.line == k + 1 and line.why.startswith(why)


def test_a_generation_that_is_not_the_epoch_of_before_is_not_explained(tmp_path: Path) -> None:
    k = where(DOWN, "(reason: Downgrade group")
    wrong = DOWN[k].replace("old generation 6", "old generation 5")
    g = group(tmp_path / "x.log", [*DOWN[:k], wrong, DOWN[k + 1]])
    (line,) = g.unexplained
    assert line.line == k + 1 and line.possible == "generation 6"


def test_a_group_with_a_member_of_the_consumer_protocol_stays_what_it_is(tmp_path: Path) -> None:
    k, leaves = where(DOWN, CONVERTED), where(DOWN, "pUod6cRaTsWtnr3YzLA83Q left the")
    g = group(tmp_path / "x.log", [*DOWN[:leaves], DOWN[k]])
    (line,) = g.unexplained
    assert "pUod6cRaTsWtnr3YzLA83Q still uses the consumer protocol" in line.why


def test_a_group_without_members_is_not_converted(tmp_path: Path) -> None:
    k = where(UP, CONVERTED)
    empty = UP[k].replace(
        "[GroupId g1] Converted the classic group to a consumer group.",
        "Group g1 with generation 4 is now empty.",
    )
    g = group(tmp_path / "x.log", [*UP[:k], empty, UP[k]])
    assert any("the group is Empty" in line.why for line in g.unexplained)


def test_a_classic_member_that_joins_again_keeps_what_it_has(tmp_path: Path) -> None:
    """So another one cannot be given that."""
    k = where(DOWN, "aiJ6WjB5TvOKjdfMshMFpw joins the consumer group using the classic protocol")
    again = where(DOWN[k + 1 :], "aiJ6WjB5TvOKjdfMshMFpw joins the consumer group") + k + 1
    takes = where(DOWN[again:], "pUod6cRaTsWtnr3YzLA83Q new assignment state") + again
    lines = DOWN[:takes]
    given = DOWN[takes].replace(
        "assignedPartitions=[", "assignedPartitions=[J8e1rSVTT1eHVpvD81gKQQ-2@4, "
    )
    assert group(tmp_path / "x.log", [*lines, DOWN[takes]]).unexplained == ()
    g = group(tmp_path / "x.log", [*lines, given])
    assert g.unexplained


def test_nothing_is_known_of_a_change_that_no_line_tells(tmp_path: Path) -> None:
    g = group(tmp_path / "x.log", [line for line in UP if CONVERTED not in line])
    assert g.verdict == "unknown"
    assert g.reason == "the group has used both protocols, and no line tells when it changed"
