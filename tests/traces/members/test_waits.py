"""A wait for an answer is over when anything shows that the answer came, whatever its wording."""

from __future__ import annotations

import pytest

from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.members.story import MemberStory

NATIVE = "%7|17000000{at:02}.000|{tag}|c#consumer-1| [thrd:main]: {text}"
CHANGED = 'Group "g" changed join state {} -> {} (state up)'
BEATS = NATIVE.format(at=40, tag="HEARTBEAT", text='Heartbeat for group "g" generation id 5')
JAVA = "2024-05-01 10:00:{at:02},000 INFO [app] [Consumer clientId=c, groupId=g] {text}"
LATER = JAVA.format(at=40, text="Discovered group coordinator b:9092 (id: 2147483646 rack: null)")


def told(*lines: str) -> MemberStory:
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate("\n".join(lines).split("\n"), 1)))
    (group,) = evidence.by_group()
    (m,) = group.story.members
    return m


def test_an_answer_ends_a_state_though_no_line_shows_the_next_one() -> None:
    waits = [
        NATIVE.format(at=1, tag="JOIN", text='Group "g": join with 1 subscribed topic(s)'),
        NATIVE.format(at=2, tag="CGRPJOINSTATE", text=CHANGED.format("wait-join", "wait-sync")),
    ]
    answered = NATIVE.format(
        at=3, tag="SYNCGROUP", text="SyncGroup response: Success (24 bytes of MemberState data)"
    )
    assert told(*waits, BEATS).standing() is not None
    assert told(*waits, answered, BEATS).standing() is None
    assert told(*waits, answered, *waits, BEATS).standing() is not None


@pytest.mark.parametrize(
    "answer",
    [
        "Attempt to join group failed due to fatal error: The group member's supported protocols"
        " are incompatible with those of existing members",
        "JoinGroup failed due to fatal error: The consumer group has reached its max size.",
    ],
)
def test_a_refusal_is_an_answer(answer: str) -> None:
    sent = JAVA.format(at=1, text="(Re-)joining group")
    m = told(sent, LATER)
    assert m.standing() is not None and m.open is not None and not m.open.answered
    m = told(sent, JAVA.format(at=2, text=answer), LATER)
    assert m.standing() is None and m.open is not None and m.open.answered


def test_an_assignment_ends_a_round_whose_answers_no_line_tells() -> None:
    sent = JAVA.format(at=1, text="(Re-)joining group")
    given = (
        "2024-05-01 10:00:05,000 INFO [c-StreamThread-1] o.a.k.s.p.internals.TaskManager -"
        " stream-thread [c-StreamThread-1] Handle new assignment with:\n\tNew active tasks: [0_1]"
    )
    sent = sent.replace("clientId=c,", "clientId=c-StreamThread-1-consumer,")
    later = LATER.replace("clientId=c,", "clientId=c-StreamThread-1-consumer,")
    assert told(sent, later).standing() is not None
    m = told(sent, given, later)
    assert m.standing() is None and m.open is None
    assert [r.took_ms for r in m.rounds] == [4000]
