"""Outputs that show little, and those of other tools, are read as far as they go."""

from __future__ import annotations

import pytest

from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.steps import steps_told
from groupcheck.traces.group_tables.outputs import Outputs
from groupcheck.traces.group_tables.table_log import Watching

MEMBER = "c-1-11111111-1111-1111-1111-111111111111"
SHARE = "$ bin/kafka-share-groups.sh --bootstrap-server b:9092 --describe --group s\n"
SHARE_OFFSETS = """\
GROUP  TOPIC   PARTITION  START-OFFSET  LAG
s      orders  0          4             12
s      orders  1          -             -
"""
SHARE_MEMBERS = """\
GROUP  CONSUMER-ID             HOST        CLIENT-ID  #PARTITIONS  ASSIGNMENT
s      abcabcabcabcabcabcabca  /127.0.0.1  c-1        1            orders:0
s      abcabcabcabcabcabcabcb  /127.0.0.1  c-2        3            orders:0,1,2
"""
STREAMS = "$ bin/kafka-streams-groups.sh --bootstrap-server b:9092 --describe --group app"
STREAMS_OFFSETS = f"""\
{STREAMS} --verbose
GROUP  TOPIC   PARTITION  CURRENT-OFFSET  LEADER-EPOCH  LOG-END-OFFSET  OFFSET-LAG
app    orders  0          5               0             50              45
app    orders  1          7               0             7               0
"""
STREAMS_MEMBERS = f"""\
{STREAMS} --members --verbose
GROUP  TARGET-ASSIGNMENT-EPOCH  TOPOLOGY-EPOCH  MEMBER  MEMBER-PROTOCOL  MEMBER-EPOCH  PROCESS  CLIENT-ID  ASSIGNMENTS
app    3                        0               m-1     streams          3             p-1      app-1      ACTIVE: 0:[0,1]; STANDBY: 1:[0]; TARGET-ACTIVE: 0:[0,1];
app    3                        0               m-2     streams          3             p-2      app-2      STANDBY: 0:[0];
"""  # noqa: E501
RHOAS = f"""\
Consumer group ID: g

  ACTIVE MEMBERS: 1    PARTITIONS WITH LAG: 2    UNASSIGNED PARTITIONS: 0

  PARTITION   CURRENT OFFSET   LOG END OFFSET   OFFSET LAG   CONSUMER ID   HOST
 ----------- ---------------- ---------------- ------------ ------------- ----------
  0           10               15               5            {MEMBER}      10.0.0.1
  1           10               14               4            {MEMBER}      10.0.0.1
"""
MEMBERS = f"""\
GROUP  CONSUMER-ID  HOST       CLIENT-ID  #PARTITIONS
g      {MEMBER}     /10.0.0.1  c-1        2
g      {MEMBER[:-1]}2     /10.0.0.2  c-2        0
"""


def said(text: str) -> list[Statement]:
    return Watching().read(Outputs(), enumerate(text.splitlines(), 1))


def told(text: str) -> tuple[str, str]:
    """The group, and what is told of it."""
    evidence = Evidence()
    evidence.add_all(iter(said(text)))
    (group,) = evidence.by_group()
    return group.group, " ".join(f.text for f in steps_told(group.all(), True))


@pytest.mark.parametrize(
    ("text", "group", "words"),
    [
        (SHARE_OFFSETS, "s", "partitions of the share group in the output: 2, of which it has begun"
         " to read: 1 (start offsets: orders-0 at 4), records that wait: 12"),
        (SHARE + SHARE_MEMBERS, "s", "members in the output: 2, partitions that they have: 4"),
        (RHOAS, "g", "in the output: 2, with an owner: 2 (owners: 1), records that wait: 9"),
        (MEMBERS, "g", "partitions that they have: 2, members without a partition: 1"),
        ("Consumer group 'g' has no active members.", "g", "the group has no members at the"),
    ],
)  # fmt: skip
def test_what_an_output_shows_is_told(text: str, group: str, words: str) -> None:
    assert told(text)[0] == group
    assert words in told(text)[1]
    assert "is an error" not in told(text)[1]


def test_members_of_a_share_group_own_nothing_and_are_not_compared() -> None:
    assert {s.kind for s in said(SHARE + SHARE_MEMBERS)} == {"described"}
    classic = SHARE.replace("share", "consumer") + SHARE_MEMBERS
    assert "shares_uneven" in {s.kind for s in said(classic)}


def test_the_start_of_a_share_partition_is_not_the_start_of_a_log() -> None:
    (one,) = said(SHARE_OFFSETS.replace(" LAG", "").replace(" 12\n", "\n").replace("-\n", "\n"))
    assert (one.fields["partitions"], one.fields["begun"], "lag" in one.fields) == (2, 1, False)


def test_the_offsets_of_a_streams_group_are_read() -> None:
    group, text = told(STREAMS_OFFSETS)
    assert group == "app" and "partitions in the output: 2, records that wait: 45" in text


def test_rows_of_members_of_a_streams_group_are_read_with_their_tasks() -> None:
    outputs = [*Outputs().read(enumerate(STREAMS_MEMBERS.splitlines(), 1))]
    assert [[row.name("member") for row in o.rows] for o in outputs] == [["m-1", "m-2"]]
    (first, last) = outputs[0].rows
    assert first.name("tasks").startswith("ACTIVE: 0:[0,1]")
    assert last.name("tasks").startswith("STANDBY")
    assert (first.number("topology_epoch"), first.number("member_epoch")) == (0, 3)
