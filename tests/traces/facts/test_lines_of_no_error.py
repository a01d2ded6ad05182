"""Lines that look like errors, or like nothing, and are steps: they are told, and accuse nobody."""

from __future__ import annotations

import pytest

from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.facts.steps import steps_told

LIBRDKAFKA = "%7|1526545183.794|{what}|rdkafka#consumer-2| [thrd:main]: "


@pytest.mark.parametrize(
    ("lines", "group", "told"),
    [
        (
            (
                LIBRDKAFKA.format(what="UNASSIGN") + 'Group "g": unassign done in state up (join'
                " state wait-join): without new assignment: OffsetCommit done (__NO_OFFSET)",
                LIBRDKAFKA.format(what="COMMIT")
                + "OffsetCommit internal error: Local: No offset stored",
            ),
            "g",
            "rdkafka#consumer-2 holds no partitions and waits for the answer to its JoinGroup (join"
            ' state wait-join) (line 1); has nothing to commit (line 2). "No offset stored" is no'
            " error: nothing was read since the last commit. None of these steps is an error",
        ),
        (
            (
                "2023-05-20T00:05:13Z INFO kafka_scaler invalid offset found for topic t in group"
                " orders and partition 2, probably no offset is committed yet. Returning with lag"
                ' of 0 {"type": "ScaledObject", "namespace": "default"}',
            ),
            "orders",
            "KEDA's scaler finds no committed offset for t-2 (line 1). KEDA is no member of the"
            " group: it asks for its offsets, to count how many records wait. Where a new group has"
            " not committed yet, that is ordinary. None of these steps is an error",
        ),
        (
            (
                '2023-01-10T19:01:36Z ERROR kafka_scaler {"name": "s", "error": "error listing'
                " consumer group offsets: kafka server: Request was for a consumer group that is"
                ' not coordinated by this broker"}',
            ),
            "",
            "KEDA's scaler could not read the group's committed offsets: NOT_COORDINATOR (line 1)."
            " KEDA is no member of the group: it asks for its offsets, to count how many records"
            " wait. What it is refused says nothing of the members",
        ),
        (
            (
                "[2022-11-03 10:00:00,100] INFO [GroupCoordinator 2]: Static member with"
                " groupInstanceId=pod-0 and unknown member id joins group etl in Stable state."
                " Replacing previously mapped member pod-0-1f6b with this groupInstanceId.",
            ),
            "etl",
            "a static member comes back under a new member id, which takes the place of pod-0-1f6b"
            " (line 1). A static member (group.instance.id) that comes back within its session"
            " takes its old place, and the others go on (KIP-345). None of these steps is an error",
        ),
    ],
    ids=["librdkafka", "KEDA", "KEDA refused", "static"],
)
def test_such_lines_are_told_as_steps(lines: tuple[str, ...], group: str, told: str) -> None:
    said = [*ClientLog().statements(enumerate(lines, 1))]
    assert said[0].group == group
    assert [fact.text for fact in steps_told(said, True)] == [told]
