"""The reasons and counts of rebalances that members tell are right from the first line on."""

from __future__ import annotations

from groupcheck.oracles.replay.stories import owned_rows
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.members.group_story import GroupStory

ID, OTHER = (f"c-{n}f1c0a4e-6a4b-4a6e-9d39-8a3b7a1b2c3d" for n in range(2))
LINE = "[2024-05-01 10:00:{at:02},000] INFO [Consumer clientId={client}, groupId=g] {text}"
CHANGED = (
    "Request joining group due to: cached metadata has changed from (version41: {}) to (42: {})"
)


def line(at: int, text: str, client: str = "c") -> str:
    return LINE.format(at=at, text=text, client=client)


def joined(at: int, n: int, id: str, client: str = "c") -> str:
    generation = f"Generation{{generationId={n}, memberId='{id}', protocol='range'}}"
    return line(at, f"Successfully joined group with generation {generation}", client)


def told(*lines: str) -> GroupStory:
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    (group,) = evidence.by_group()
    return group.story


def causes(story: GroupStory) -> list[str]:
    return [r.cause.value for r in story.timeline.rounds]


def test_the_reason_of_the_first_rebalance_is_told() -> None:
    asks = line(2, "(Re-)joining group")
    assert causes(told(line(1, CHANGED), asks, joined(3, 17, ID))) == ["metadata_change"]
    assert causes(told(asks, joined(3, 17, ID))) == ["not_told"]


def test_who_finds_another_rebalance_begun_did_not_begin_it() -> None:
    refused = "SyncGroup failed: The group began another rebalance. Need to re-join the group."
    asks = line(5, "(Re-)joining group")
    story = told(line(1, "(Re-)joining group"), joined(2, 7, ID), line(4, refused), asks)
    assert causes(story) == ["not_told", "not_told"]


def test_a_leave_counts_though_its_join_was_not_seen() -> None:
    leaves = (
        f"Member {ID} sending LeaveGroup request to coordinator b1:9092 (id: 2147483646 rack: null)"
        " due to consumer poll timeout has expired."
    )
    # The line is the client's own word for a poll that was late, and the reset says that it left.
    left = line(1, "Request joining group due to: consumer pro-actively leaving the group")
    story = told(
        line(1, leaves), left, line(3, "(Re-)joining group", "d"), joined(4, 8, OTHER, "d")
    )
    assert story.timeline.counts["left"] == 1 and causes(story) == ["leave"]
    assert story.timeline.rounds[0].causers == (ID,)
    long_ago = [left, line(40, "(Re-)joining group", "d"), joined(41, 8, OTHER, "d")]
    assert causes(told(line(1, leaves), *long_ago)) == ["not_told"]


def test_what_is_owned_when_the_log_ends_is_not_said_to_have_ended() -> None:
    given, last = line(4, "Adding newly assigned partitions: t-0"), line(9, "(Re-)joining group")
    gives = line(6, "Revoke previously assigned partitions t-0")
    (row,) = owned_rows(told(joined(3, 7, ID), given, last))
    assert row[3:5] == ("10:00:04.000", "end of log")
    (row,) = owned_rows(told(joined(3, 7, ID), given, gives, last))
    assert row[3:5] == ("10:00:04.000", "10:00:06.000")
