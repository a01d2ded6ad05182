"""Calm is a claim: it is not made where a rebalance took long, whoever tells of it, and it is made
where what was refused succeeded soon afterwards.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from groupcheck.oracles.replay.markdown import markdown
from groupcheck.oracles.replay.page import page
from groupcheck.oracles.replay.report import ReplayReports, replay

FILE = Path(__file__).parents[1] / "data/replay/long_rebalances.toml"
LONG: dict[str, str] = tomllib.loads(FILE.read_text("utf-8"))


def replayed(folder: Path, text: str) -> ReplayReports:
    path = folder / "one.log"
    path.write_text(text, "utf-8")
    return replay([path])


def in_a_moment(text: str) -> str:
    """The same lines, with two seconds for the rebalance."""
    text = re.sub(r"(?<=10:00:)(4[5-9]|5\d)", lambda m: f"{int(m[1]) - 43:02}", text)
    return text.replace("170000004", "170000000").replace('"duration":45', '"duration":2')


@pytest.mark.parametrize("name", LONG)
def test_a_long_rebalance_is_not_calm_and_a_short_one_is(tmp_path: Path, name: str) -> None:
    (slow,) = replayed(tmp_path, LONG[name]).answers
    assert slow.health == "unknown" and re.search(r"\b45", slow.reason), slow.reason
    (quick,) = replayed(tmp_path, in_a_moment(LONG[name])).answers
    assert quick.health == "calm", quick.reason


REFUSED = """\
10:00:00,100 INFO [Consumer clientId=c-1, groupId=g] (Re-)joining group
10:00:00,300 DEBUG [Consumer clientId=c-1, groupId=g] JoinGroup failed: Coordinator b1:9092 (id: 2147483646 rack: null) is loading the group.
10:00:00,400 INFO [Consumer clientId=c-1, groupId=g] (Re-)joining group
"""  # noqa: E501
JOINED = """\
10:00:03,400 INFO [Consumer clientId=c-1, groupId=g] Successfully joined group with generation Generation{generationId=5, memberId='c-1-aa', protocol='range'}
10:00:03,450 INFO [Consumer clientId=c-1, groupId=g] Adding newly assigned partitions: orders-0
"""  # noqa: E501


def test_what_was_overcome_is_told_so_everywhere(tmp_path: Path) -> None:
    found = replayed(tmp_path, REFUSED + JOINED)
    (answer,) = found.answers
    assert answer.health == "calm"
    (cause,) = answer.diagnosis.causes
    assert "overcome: c-1 joined 3100 ms later (line 4)" in cause.text
    assert "  overcome  The coordinator of g" in str(found)
    assert "**Overcome (certain):**" in markdown(found, found.answers)
    assert "<b>certain, overcome</b>" in page(found, found.answers)
    told = found.document()["groups"][0]["causes"][0]
    assert (told["overcome"]["line"], told["severity"]) == (4, "calm")


def test_the_last_join_is_the_last_one(tmp_path: Path) -> None:
    words = str(replayed(tmp_path, REFUSED))
    assert "its last JoinGroup at 10:00:00.400 has no answer" in words


GIVEN = """\
10:00:00,100 INFO [Consumer clientId=c-1, groupId=g] Successfully joined group with generation Generation{{generationId={n}, memberId='c-1-aa', protocol='range'}}
10:00:00,200 INFO [Consumer clientId=c-1, groupId=g] Adding newly assigned partitions: orders-0
{more}
"""  # noqa: E501
RESET = (
    "10:00:00,300 INFO [Consumer clientId=c-1, groupId=g] Resetting offset for partition orders-0"
    " to position FetchPosition{offset=0, offsetEpoch=Optional.empty}"
)
MISSING = (
    "10:00:00,300 INFO [Consumer clientId=c-1, groupId=g] Found no committed offset for partition"
    " orders-0"
)
DEAD = (
    "10:00:00,300 INFO [Consumer clientId=c-1, groupId=g] Marking the coordinator b1:9092"
    " (id: 2147483647 rack: null) dead"
)
FOUND = (
    "\n10:00:00,400 INFO [Consumer clientId=c-1, groupId=g] Discovered group coordinator b1:9092"
    " (id: 2147483646 rack: null)"
)
TOLD = (
    "10:00:00,300 INFO [Consumer clientId=c-1, groupId=g] Attempt to heartbeat failed since group"
    " is rebalancing"
)
AGAIN = (
    "\n10:00:00,400 INFO [Consumer clientId=c-1, groupId=g] Adding newly assigned partitions:"
    " orders-1"
)
FENCED = "10:00:00,300 INFO [Consumer clientId=c-1, groupId=g] The member is fenced: {}"


@pytest.mark.parametrize(
    ("generation", "more", "health"),
    [
        (2, RESET, "calm"),
        (46, "", "calm"),
        (46, RESET, "unknown"),
        (46, MISSING, "unknown"),
        (2, DEAD, "unknown"),
        (2, DEAD + FOUND, "calm"),
        (2, TOLD, "unknown"),
        (2, TOLD + AGAIN, "calm"),
        (2, FENCED.format("ERROR_OF_TOMORROW"), "unknown"),
        (2, FENCED.format("no").replace("is fenced", "is not fenced"), "calm"),
    ],
)
def test_a_group_that_may_have_lost_something_is_not_called_calm(
    tmp_path: Path, generation: int, more: str, health: str
) -> None:
    (answer,) = replayed(tmp_path, GIVEN.format(n=generation, more=more)).answers
    assert answer.health == health, answer.reason


JOINS = """\
10:00:0{n},100 INFO [Consumer clientId=c-{n}, groupId=g] Successfully joined group with generation Generation{{generationId={n}, memberId='c-{n}-aa', protocol='range'}}
10:00:0{n},200 INFO [Consumer clientId=c-{n}, groupId=g] Adding newly assigned partitions: orders-{n}
"""  # noqa: E501


def test_several_members_are_not_said_to_have_joined_the_generation_of_the_first(
    tmp_path: Path,
) -> None:
    (answer,) = replayed(tmp_path, JOINS.format(n=4)).answers
    assert answer.reason == "c-4 joined generation 4 and was given its share: an ordinary join."
    (answer,) = replayed(tmp_path, JOINS.format(n=4) + JOINS.format(n=5)).answers
    assert "joined and were given their shares" in answer.reason and "4" not in answer.reason[10:]


SHARE = """\
[2026-05-20 14:00:02,118] INFO [GroupCoordinator id=2] [GroupId jobs] Member vT3cX0yBQk2mJ3sM0a1rZg joins the share group using the share protocol. (org.apache.kafka.coordinator.group.GroupMetadataManager)
[2026-05-20 14:07:49,530] INFO [GroupCoordinator id=2] [GroupId jobs] Member 9kLmE2rXT7mFq1v0b3YxCw fenced from the group because the member session expired. (org.apache.kafka.coordinator.group.GroupMetadataManager)
"""  # noqa: E501


def test_a_share_group_has_its_own_settings(tmp_path: Path) -> None:
    (answer,) = replayed(tmp_path, SHARE).answers
    (cause,) = answer.diagnosis.causes
    assert "group.share.session.timeout.ms" in cause.cause.settings
    (answer,) = replayed(tmp_path, SHARE.replace("share", "consumer")).answers
    (cause,) = answer.diagnosis.causes
    assert "group.consumer.session.timeout.ms" in cause.cause.settings
