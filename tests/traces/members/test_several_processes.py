"""Two processes of one client id, and excerpts that stand one behind the other, are no single
member that came back.
"""

from __future__ import annotations

from groupcheck.oracles.replay.stories import member_sentences
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.members.group_story import GroupStory

IDS = tuple(f"c-{n}f1c0a4e-6a4b-4a6e-9d39-8a3b7a1b2c3d" for n in range(3))
LINE = "[2024-05-01 10:00:{at:02},000] INFO [Consumer clientId=c, groupId=g] {text}"


def joined(at: int, n: int, id: str) -> str:
    generation = f"Generation{{generationId={n}, memberId='{id}', protocol='range'}}"
    return LINE.format(at=at, text=f"Successfully joined group with generation {generation}")


def told(*lines: str) -> tuple[GroupStory, str]:
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    (group,) = evidence.by_group()
    ((_, sentence),) = member_sentences(group.story)
    return group.story, sentence


def test_two_ids_in_one_generation_are_two_members() -> None:
    story, sentence = told(joined(1, 7, IDS[0]), joined(2, 7, IDS[1]))
    assert f"several members write under this name ({IDS[0]}, {IDS[1]})" in sentence
    assert "came back" not in sentence and not story.timeline.counts["gone"]
    # An id that is lost is followed by another one in a later generation.
    story, sentence = told(joined(1, 7, IDS[0]), joined(2, 9, IDS[1]))
    assert "came back under 1 more id" in sentence and story.timeline.counts["gone"] == 1


def test_excerpts_whose_times_go_back_own_nothing_as_one() -> None:
    given = LINE.format(at=2, text="Adding newly assigned partitions: t-0")
    later = LINE.format(at=30, text="Revoke previously assigned partitions t-0")
    first, again = joined(1, 7, IDS[0]), joined(1, 7, IDS[0])
    story, sentence = told(first, given, later, again)
    assert story.members[0].owned() == [] and "its lines go back in time" in sentence
    story, sentence = told(first, given, later)
    assert len(story.members[0].owned()) == 1 and "go back" not in sentence


def test_a_line_about_an_earlier_generation_tells_nothing_of_the_last_one() -> None:
    shares = ", ".join(f"{id}=Assignment(partitions=[t-{k}])" for k, id in enumerate(IDS))
    leads = f"Finished assignment for group at generation 7: {{{shares}}}"
    story, _ = told(joined(1, 7, IDS[0]), joined(20, 8, IDS[0]), LINE.format(at=2, text=leads))
    assert [r.size for r in story.timeline.rounds] == [3, None]
