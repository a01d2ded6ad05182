"""Coordinator lines that were wrapped when they were pasted, and names that somebody masked."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pytest

from groupcheck.oracles.replay.report import ReplayReports, replay
from groupcheck.traces.clients.who import shown_name
from groupcheck.traces.reading import Piece

ID = "c-7f1c0a4e-6a4b-4a6e-9d39-8a3b7a1b2c3d"
BEGINS = (
    "[2020-02-19 08:04:07,092] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state"
    f" PreparingRebalance with old generation 320 (__consumer_offsets-25) (reason: removing member"
    f" {ID} on heartbeat expiration) (kafka.coordinator.group.GroupCoordinator)"
)
FAILED = (
    "[2020-02-19 08:04:07,094] INFO [GroupCoordinator 1]: Member {id} in group {group} has failed,"
    " removing it from the group (kafka.coordinator.group.GroupCoordinator)"
)


def read(text: str, folder: Path) -> ReplayReports:
    path = folder / "server.log"
    path.write_text(text, encoding="utf-8")
    return replay([path])


@pytest.mark.parametrize(
    "broken",
    [
        BEGINS.replace("c-7f1c", "c-7f1\nc"),  # inside of the id
        BEGINS.replace("c-7f1c", "c\n-7f1c"),
        BEGINS.replace("heartbeat", "heart\nbeat"),
        BEGINS.replace(" on heart", "\non heart"),  # an editor breaks at a blank
        BEGINS.replace("GroupCoordinator)", "GroupCoordi\nnator)"),
        BEGINS.replace("c-7f1c", "c-7f1\nc").replace("Coordinator)", "Coordi\nnator)"),
    ],
)
def test_a_wrapped_line_is_read_as_one(broken: str, tmp_path: Path) -> None:
    found = read(broken + "\n", tmp_path)
    (report,) = found[0].groups
    (round,) = report.timeline.rounds
    assert (round.cause.value, round.causers) == ("session_expired", (ID,))
    assert found[0].strange == 0
    (answer,) = found.answers
    assert ID in answer.diagnosis.causes[0].text


def test_a_record_behind_a_cut_line_is_no_rest_of_it(tmp_path: Path) -> None:
    """Nothing is made up of a line that ends early and the next record."""
    cut = BEGINS[: BEGINS.index(ID) + 5]
    found = read(f"{cut}\n{FAILED.format(id=ID, group='g')}\n", tmp_path)
    assert found[0].strange == 1
    assert all(
        r.cause.value != "session_expired" for g in found[0].groups for r in g.timeline.rounds
    )


def test_a_log_is_read_once_more_however_many_lines_are_strange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, counts, opens = 0, [], Piece.opened

    def counted(piece: Piece) -> BinaryIO:
        nonlocal opened
        opened += 1
        return opens(piece)

    monkeypatch.setattr(Piece, "opened", counted)
    for lines in (1, 40):
        opened = 0
        strange = "INFO [GroupCoordinator 1]: Something that no version says\n" * lines
        found = read(strange + BEGINS.replace("c-7f1c", "c-7f1\nc") + "\n", tmp_path)
        assert found[0].strange == lines and found[0].groups[0].timeline.rounds[0].causers == (ID,)
        counts.append(opened)
    assert counts[0] == counts[1]


@pytest.mark.parametrize("mask", ["***", "<redacted>", "[REDACTED]", "xxxx-xxx-xx"])
def test_masks_are_nobodys_names(mask: str, tmp_path: Path) -> None:
    lines = (
        BEGINS.replace("group g ", f"group {mask} ").replace(ID, mask),
        FAILED.format(id=mask, group=mask),
        FAILED.format(id=mask, group=mask).replace(f"group {mask}", f"group{mask}"),
    )
    found = read("\n".join(lines) + "\n", tmp_path)
    assert found[0].groups == () and found[0].strange == 0
    (answer,) = found.answers
    assert answer.group == ""
    assert "a member" in answer.diagnosis.causes[0].text
    # A mask in the reason alone hides who it was, and not the rebalance.
    found = read(BEGINS.replace(ID, mask) + "\n", tmp_path)
    (round,) = found[0].groups[0].timeline.rounds
    assert (round.cause.value, round.causers) == ("session_expired", ())


@pytest.mark.parametrize("name", ["hidden", "removed", "Masked"])
def test_a_word_without_brackets_is_a_name(name: str, tmp_path: Path) -> None:
    lines = BEGINS.replace("group g ", f"group {name} "), FAILED.format(id=ID, group=name)
    (group,) = read("\n".join(lines) + "\n", tmp_path)[0].groups
    assert group.group == name
    assert shown_name(name) == name
