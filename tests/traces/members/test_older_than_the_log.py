"""A log that begins in the middle: what happened before its first line is not zero, and what lasts
behind its last line has not ended.
"""

from __future__ import annotations

from member_lines import IDS, causes, joined, line, told

from groupcheck.oracles.replay.stories import member_sentences, owned_rows
from groupcheck.traces.story.events import RebalanceCause


def leaves(at: int, id: str) -> list[str]:
    why = "consumer poll timeout has expired"
    sends = f"Member {id} sending LeaveGroup request to coordinator b:9092 (id: 7 rack: null)"
    resets = "Request joining group due to: consumer pro-actively leaving the group"
    return [line(at, f"{sends} due to {why}."), line(at, resets)]


def test_a_leave_counts_though_the_join_was_before_the_log() -> None:
    others = [line(3, "(Re-)joining group", "d"), joined(4, 7, IDS[1], "d")]
    story = told(*leaves(1, IDS[0]), *others)
    assert story.timeline.counts["left"] == 1 and story.timeline.counts["joined"] == 0
    (round,) = story.timeline.rounds
    assert (round.cause, round.causers) == (RebalanceCause.LEAVE, (IDS[0],))
    ((_, sentence), _) = member_sentences(story)
    assert sentence.startswith(f"was in the group as {IDS[0]}")
    # It asks to join again and has no new id yet: that does not undo the leave.
    story = told(*leaves(1, IDS[0]), *others, line(9, "(Re-)joining group"))
    assert story.timeline.counts["left"] == 1
    # A consumer that never was a member resets its generation when it is closed, too.
    assert not told(*leaves(1, IDS[0])[1:], *others).timeline.counts["left"]
    # A leave minutes before began a rebalance that these lines do not show.
    late = [s.replace("10:00", "10:09") for s in others]
    assert causes(*leaves(1, IDS[0]), *late) == [RebalanceCause.NOT_TOLD]
    long_ago = [line(40, "(Re-)joining group", "d"), joined(41, 8, IDS[1], "d")]
    assert causes(*leaves(1, IDS[0]), *long_ago) == [RebalanceCause.NOT_TOLD]


def test_the_first_rebalance_has_the_reason_that_its_member_says() -> None:
    joins = line(3, "(Re-)joining group"), joined(4, 7, IDS[0])
    changed = "cached metadata has changed from (version4: {}) at the beginning of the rebalance"
    asks = line(2, f"Request joining group due to: {changed} to (version5: {{}})")
    assert causes(asks, *joins) == [RebalanceCause.METADATA_CHANGE]
    assert causes(*joins) == [RebalanceCause.NOT_TOLD]
    rebalances = line(2, "Request joining group due to: group is already rebalancing")
    assert causes(rebalances, *joins) == [RebalanceCause.NOT_TOLD]
    # A log that shows the start of its consumer begins with its first join.
    starts = line(1, "Subscribed to topic(s): t")
    assert causes(starts, *joins) == [RebalanceCause.JOIN]


def test_a_member_that_is_told_of_a_rebalance_did_not_begin_it() -> None:
    text = (
        "7|2016-09-15 09:12:54.956|rdkafka#c|JOINGROUP| JoinGroup response: GenerationId 76,"
        f" Protocol range, LeaderId x, my MemberId {IDS[0]}, 0 members in group: (no error)",
        '7|2016-09-15 09:12:55.058|rdkafka#c|GRPSYNC| Group "g": synchronization failed:'
        " {error}: rejoining",
        '7|2016-09-15 09:12:55.059|rdkafka#c|JOIN| Group "g": join with 1 subscribed topic(s)',
    )
    for error, cause in (
        ("Broker: Group rebalance in progress", RebalanceCause.NOT_TOLD),
        ("Broker: Unknown member", RebalanceCause.MEMBER_REJOIN),
    ):
        assert causes(*(s.replace("{error}", error) for s in text))[-1] == cause
    refused = "SyncGroup failed: The group began another rebalance. Need to re-join the group."
    asks = line(1, "(Re-)joining group"), line(5, "(Re-)joining group")
    java = causes(asks[0], joined(2, 7, IDS[0]), line(4, refused), asks[1])
    assert java == [RebalanceCause.NOT_TOLD] * 2


def test_what_is_owned_when_the_log_ends_is_not_said_to_have_ended() -> None:
    given, last = line(4, "Adding newly assigned partitions: t-0"), line(9, "(Re-)joining group")
    gives = line(6, "Revoke previously assigned partitions t-0")
    (row,) = owned_rows(told(joined(3, 7, IDS[0]), given, last))
    assert row[3:5] == ("10:00:04.000", "end of log")
    (row,) = owned_rows(told(joined(3, 7, IDS[0]), given, gives, last))
    assert row[3:5] == ("10:00:04.000", "10:00:06.000")


def test_it_owned_nothing_from_what_it_gave_up_first() -> None:
    """What it had before is not in the log, and the line that gives it up tells of it."""
    gives = line(2, "Revoke previously assigned partitions t-0, t-1")
    takes = line(7, "Adding newly assigned partitions: t-0")
    asks = line(3, "(Re-)joining group")
    ((_, sentence),) = member_sentences(told(gives, asks, joined(6, 7, IDS[0]), takes))
    assert "owned nothing for 5.0 s" in sentence
    ((_, sentence),) = member_sentences(told(asks, joined(6, 7, IDS[0]), takes))
    assert "owned nothing" not in sentence


def test_a_fenced_member_owns_nothing_any_more() -> None:
    takes = line(4, "Adding newly assigned partitions: t-0")
    fenced = line(
        6,
        "Attempt to heartbeat with Generation{generationId=7, memberId='i-1', protocol='range'} and"
        " group instance id Optional[i] failed due to The broker rejected this static consumer"
        " since another consumer with the same group.instance.id has registered with a different"
        " member.id., resetting generation",
    )
    (row,) = owned_rows(told(joined(3, 7, IDS[0]), takes, fenced, line(9, "Closing")))
    assert row[3:5] == ("10:00:04.000", "10:00:06.000")


def test_who_leaves_before_its_first_join_is_answered_was_no_member() -> None:
    starts, asks = line(0, "Subscribed to topic(s): t"), line(1, "(Re-)joining group")
    given = f"Request joining group due to: need to re-join with the given member-id: {IDS[0]}"
    story = told(starts, asks, line(2, given), *leaves(9, IDS[0]))
    assert not story.timeline.counts["left"]
    # Older versions print no id when they join.
    old = line(2, "Successfully joined group with generation 5")
    story = told(starts, asks, old, *leaves(9, IDS[0]))
    assert story.timeline.counts["left"] == 1 and not story.timeline.counts["joined"]
    ((_, sentence),) = member_sentences(story)
    assert sentence.startswith(f"was in the group as {IDS[0]}; generation 5; left")
