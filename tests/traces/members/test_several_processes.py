"""Two processes of one client id, and excerpts that stand one behind the other, are no single
member that came back.
"""

from __future__ import annotations

from member_lines import IDS, heard, joined, line, told

from groupcheck.oracles.replay.answers import Answer, answers
from groupcheck.oracles.replay.lives import followed_sentence
from groupcheck.oracles.replay.stories import member_sentences
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.members.group_story import GroupStory


def only(*lines: str) -> tuple[GroupStory, str]:
    """The story of a group of one member, and what is said of it."""
    story = told(*lines)
    ((_, sentence),) = member_sentences(story)
    return story, sentence


def test_two_ids_in_one_generation_are_two_members() -> None:
    story, sentence = only(joined(1, 7, IDS[0]), joined(2, 7, IDS[1]))
    assert f"several members write under this name ({IDS[0]}, {IDS[1]})" in sentence
    assert "came back" not in sentence and not story.timeline.counts["gone"]
    # An id that is lost is followed by another one in a later generation.
    story, sentence = only(joined(1, 7, IDS[0]), joined(2, 9, IDS[1]))
    assert "came back under 1 more id" in sentence and story.timeline.counts["gone"] == 1
    # A static member comes back into the generation that it was in.
    joins = [joined(k, 7, IDS[k]).replace("clientId", "instanceId=i, clientId") for k in (1, 2)]
    assert "several members" not in only(*joins)[1]
    (members,) = heard(*joins).members.of_groups().values()
    assert members.members == 1 and members.shared == ()


def test_excerpts_whose_times_go_back_own_nothing_as_one() -> None:
    given = line(2, "Adding newly assigned partitions: t-0")
    later = line(30, "Revoke previously assigned partitions t-0")
    first, again = joined(1, 7, IDS[0]), joined(1, 7, IDS[0])
    story, sentence = only(first, given, later, again)
    assert story.members[0].owned() == [] and "its lines go back in time" in sentence
    story, sentence = only(first, given, later)
    assert len(story.members[0].owned()) == 1 and "go back" not in sentence


def test_a_line_about_an_earlier_generation_tells_nothing_of_the_last_one() -> None:
    shares = ", ".join(f"{id}=Assignment(partitions=[t-{k}])" for k, id in enumerate(IDS))
    leads = f"Finished assignment for group at generation 7: {{{shares}}}"
    story, _ = only(joined(1, 7, IDS[0]), joined(20, 8, IDS[0]), line(2, leads))
    assert [r.size for r in story.timeline.rounds] == [3, None]


def answered(*lines: str) -> Answer:
    (answer,) = answers([], heard(*lines), shipped_knowledge())
    return answer


def synced(at: int, n: int, id: str) -> str:
    return joined(at, n, id).replace("joined group with", "synced group in")


def test_steps_of_members_with_one_name_are_not_told_as_those_of_one() -> None:
    asks = line(1, "(Re-)joining group")
    gives = [line(k, f"Revoke previously assigned partitions t-{k}") for k in (0, 6)]
    found = answered(
        gives[0], asks, joined(2, 7, IDS[0]), synced(3, 7, IDS[0]), joined(4, 7, IDS[1]), gives[1]
    )
    assert "One of the members called c joined" in found.reason
    (steps,) = (fact.text for fact in found.facts if fact.kind == "steps")
    assert steps.startswith("one of the members called c gives partitions back: t-0 (line 1); one")
    followed = followed_sentence(found.evidence.followed)
    assert "several members write as c" in followed and "of 1 member" not in followed
    alone = answered(gives[0], asks, joined(2, 7, IDS[0]), synced(3, 7, IDS[0]))
    assert alone.reason.startswith("c joined generation 7")


def test_what_follows_from_two_lines_of_one_member_is_not_claimed_of_several() -> None:
    begins = [
        joined(1, 7, IDS[0]),
        line(2, "Revoke previously assigned partitions t-0"),
    ]
    beats = [
        line(k, "Attempt to heartbeat failed since group is rebalancing") for k in range(3, 30, 3)
    ]
    held = {"stuck_in_callback", "late_join"}
    alone = answered(*begins, *beats).diagnosis.causes
    assert held & {found.cause.kind for found in alone}
    shared = answered(joined(0, 7, IDS[1]), *begins, *beats).diagnosis.causes
    assert not held & {found.cause.kind for found in shared}


def test_the_number_of_the_process_tells_two_of_one_name_apart() -> None:
    form = (
        "2024-05-01 10:00:{:02}.000  INFO {} --- [  g-0-C-1] o.a.k.c.c.i.ConsumerCoordinator : {}"
    )
    client = "[Consumer clientId=c, groupId=g] Successfully joined group with generation {}"
    lines = [form.format(k, pid, client.format(6 + k)) for k in (1, 2) for pid in (101, 102)]
    names = [name for name, _ in member_sentences(told(*lines))]
    assert names == ["c (process 101)", "c (process 102)"]
    (group,) = heard(*lines[::2]).by_group()
    assert [name for name, _ in member_sentences(group.story)] == ["c"]
    # A number is no name of its own.
    assert group.all()[0].process == "process 101" and group.all()[0].who == "c"


def test_a_member_that_was_in_the_group_before_is_not_said_to_have_joined_it() -> None:
    told_to = line(1, "Attempt to heartbeat failed since group is rebalancing")
    gives = line(2, "Revoke previously assigned partitions t-0")
    asks = line(3, "(Re-)joining group")
    unknown = line(2, "Attempt to heartbeat failed for since member id c-1 is not valid.")
    story, sentence = only(told_to, gives, asks, joined(4, 8, IDS[0]))
    assert f"was in the group as {IDS[0]}" in sentence and not story.timeline.counts["joined"]
    starts = line(1, "Subscribed to topic(s): t")
    for new in ([starts, asks], [told_to, gives, unknown, asks]):
        story, sentence = only(*new, joined(4, 8, IDS[0]))
        assert f"joined at 10:00:04.000 as {IDS[0]}" in sentence, new
        assert story.timeline.counts["joined"] == 1
    for open in ([asks], [gives.replace(" t-0", ""), asks]):  # it may join again, or be new
        story, sentence = only(*open, joined(4, 8, IDS[0]))
        assert f"is first seen in the group at 10:00:04.000 as {IDS[0]}" in sentence, open
        assert story.timeline.counts["joined"] == 0
    (first, _) = only(asks, joined(4, 1, IDS[0]))
    assert first.timeline.counts["joined"] == 1  # the group's first generation


def test_a_heartbeat_thread_is_no_heartbeat() -> None:
    """A member starts it before it has joined."""
    new = [
        line(1, "Executing onJoinPrepare with generation -1 and memberId "),
        line(1, "(Re-)joining group"),
        line(2, "Heartbeat thread started"),
        line(2, "Request joining group due to: need to re-join with the given member-id: c-1"),
        line(3, "Enabling heartbeat thread"),
    ]
    story, sentence = only(*new, joined(4, 8, IDS[0]))
    assert f"joined at 10:00:04.000 as {IDS[0]}" in sentence
    assert story.timeline.counts["joined"] == 1


def test_lines_of_another_library_are_no_steps_of_the_only_client() -> None:
    other = "2024-05-01 10:00:07,000 INFO kafka.coordinator (Re-)joining group g"
    ended = "2024-05-01 10:00:08,000 INFO kafka.coordinator Successfully joined group g"
    alone = told(line(1, "(Re-)joining group"), joined(4, 8, IDS[0]))
    both = told(line(1, "(Re-)joining group"), joined(4, 8, IDS[0]), other, ended)
    assert [len(m.rounds) for m in alone.members] == [1]
    assert [len(m.rounds) for m in both.members] == [1, 1]


def test_a_rebalance_that_two_members_tell_without_a_number_counts_once() -> None:
    form = (
        '{{"level":"INFO","timestamp":"2024-05-01T10:{}Z","logger":"kafkajs","message":"'
        '[ConsumerGroup] Consumer has joined the group","groupId":"g","memberId":"{}",'
        '"clientId":"{}","memberAssignment":{{"t":[{}]}}}}'
    )
    pair = [form.format("00:04.000", "a-1", "a", 0), form.format("00:04.120", "b-1", "b", 1)]
    assert len(told(*pair).members) == 2
    assert told(*pair).timeline.counts["rebalances"] == 1
    later = [pair[0], form.format("09:04.000", "b-1", "b", 1)]
    assert told(*later).timeline.counts["rebalances"] == 2
