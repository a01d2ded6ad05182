"""Records of a coordinator that were wrapped when they were pasted are read as printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.oracles.replay.report import replay
from groupcheck.traces.reading.wrapped import joined_again

LOGGER = "(kafka.coordinator.group.GroupCoordinator)"
PREPARING = (
    "[2020-02-19 08:04:07,092] INFO [GroupCoordinator 1]: Preparing to rebalance group tracks in"
    " state PreparingRebalance with old generation 320 (__consumer_offsets-25) (reason:"
    " removing member rdkafka-f0ed5a76-c05a-4bb5-9e12-8c5100dc21f5 on heartbeat expiration)"
    f" {LOGGER}"
)
MEMBER = (
    "[2020-02-19 08:04:07,094] INFO [GroupCoordinator 1]: Member"
    f" c-3dd8a9dd-b5da-4496-b206-f157aae3b90d in group tracks has failed,"
    f" removing it from the group {LOGGER}"
)
CLIENT = "[2020-02-19 08:04:08,092] INFO [Consumer clientId=c, groupId=g] (Re-)joining group"


def wrapped(line: str, width: int) -> list[str]:
    return [line[k : k + width] for k in range(0, len(line), width)]


def joined(*lines: str) -> list[str]:
    return joined_again("\n".join(lines).encode()).decode().split("\n")


@pytest.mark.parametrize("width", range(80, 180))
def test_a_record_that_a_terminal_wrapped_is_one_line_again(width: int) -> None:
    one, two = wrapped(PREPARING, width), wrapped(MEMBER, width)
    found = joined(*one, *two, CLIENT)
    assert [line for line in found if line] == [PREPARING, MEMBER, CLIENT]
    assert found.index(MEMBER) == len(one) and len(found) == len(one) + len(two) + 1


def test_a_record_that_an_editor_wrapped_has_its_blanks_again() -> None:
    place = PREPARING.index(" in state")
    assert joined(PREPARING[:place], PREPARING[place + 1 :], "x")[0] == PREPARING


@pytest.mark.parametrize(
    "lines",
    [
        [PREPARING, MEMBER, CLIENT],
        [PREPARING[:150], CLIENT],
        [PREPARING[:150], "", PREPARING[150:]],
        [PREPARING[:150], "text of somebody", "more text"],
        [CLIENT[:60], CLIENT[60:]],
    ],
)
def test_nothing_else_is_joined(lines: list[str]) -> None:
    assert joined(*lines) == lines


def test_a_wrapped_expiry_is_told(tmp_path: Path) -> None:
    path = tmp_path / "one.log"
    path.write_text("\n".join(wrapped(PREPARING, 203)), "utf-8")
    (answer,) = replay([path]).answers
    assert [f.cause.kind for f in answer.diagnosis.causes] == ["session_expired_broker"]
    assert answer.seen and answer.seen[0].group.group == "tracks"
