"""Dumps of __consumer_offsets, of a recorded broker and of records made up here (the texts of old
tools are those of DumpLogSegments.scala and GroupMetadataManager.scala of the versions named).
"""

from __future__ import annotations

import gzip
import json
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mutated_lines import CHANGES, INNOCENT

from groupcheck.oracles.replay.report import ReplayReports, replay
from groupcheck.traces.findings.report import FileReport, GroupReport
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parents[2] / "data" / "dumps"
RECORDED = {"kip848_held_back"}
"""A member of the recorded consumer group takes 20 s to give partitions up."""
DUMPS = sorted(DATA.glob("dump-*"))
WHOLE = [*DUMPS, DATA / "formatted-3.9.1.log.gz"]
"""What names leaders or shares; the older formatters print less."""


def group(path: Path, name: str = "classic") -> GroupReport:
    report = replay_file(str(path))
    assert (report.format, report.strange) == ("offsets-dump", 0), report.samples
    (found,) = [g for g in report.groups if g.group == name]
    return found


def kinds(g: GroupReport) -> list[str]:
    return [a.kind for a in g.anomalies]


def commit(at: int, offset: int | None, partition: int = 0, group: str = "g") -> str:
    key = {"type": "1", "data": {"group": group, "topic": "t", "partition": partition}}
    value = json.dumps({"version": "3", "data": {"offset": offset}})
    told = "<DELETE>" if offset is None else value
    return f"{entry(at)} key: {json.dumps(key)} payload: {told}"


def entry(at: int) -> str:
    return f"| offset: {at} CreateTime: {1_700_000_000_000 + 1000 * at} keySize: 6 valueSize: 24"


def generation(
    at: int, number: int | None, shares: dict[str, list[int]], protocol: str = "range"
) -> str:
    members = [
        {
            "memberId": id,
            "groupInstanceId": None,
            "clientId": id,
            "sessionTimeout": 6000,
            "rebalanceTimeout": 300_000,
            "assignment": {"assignedPartitions": [{"topic": "t", "partitions": numbers}]},
        }
        for id, numbers in shares.items()
    ]
    body = {"generation": number, "protocol": protocol, "leader": next(iter(shares), None)}
    value = json.dumps({"version": "3", "data": body | {"members": members}})
    told = "<DELETE>" if number is None else value
    return f'{entry(at)} key: {{"type":"2","data":{{"group":"g"}}}} payload: {told}'


def told(tmp_path: Path, *lines: str) -> ReplayReports:
    path = tmp_path / "dump.txt"
    path.write_text("\n".join(lines) + "\n")
    return replay([path])


def only(tmp_path: Path, *lines: str) -> GroupReport:
    ((found,),) = (r.groups for r in told(tmp_path, *lines))
    return found


def batch(first: int, last: int, transaction: bool = False, control: bool = False) -> str:
    return (
        f"baseOffset: {first} lastOffset: {last} count: {last - first + 1} producerId: 7"
        f" producerEpoch: 0 isTransactional: {str(transaction).lower()}"
        f" isControl: {str(control).lower()} position: 0 magic: 2 isvalid: true"
    )


# -- the recorded broker, as five versions of the tools show it


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name)
def test_every_version_of_the_tool_tells_the_same_rebalances(path: Path) -> None:
    g = group(path)
    rounds = [(r.from_generation, r.to_generation, r.outcome, r.size) for r in g.timeline.rounds]
    assert rounds == [
        (0, 1, "assigned", 1),
        (1, 2, "emptied", 0),
        (2, 3, "assigned", 1),
        (3, 4, "emptied", 0),
        (0, 1, "assigned", 1),
        (1, 2, "emptied", 0),
    ]
    assert kinds(g) == ["group_deleted", "offset_set_back", "offsets_removed"]
    assert g.verdict == "unknown" and not g.findings.went_back
    assert g.requests is not None
    owned = [(s.generation, s.partitions) for s in g.requests.spans.kept]
    assert {n for n, _ in owned} == {1, 3}
    assert {p for _, p in owned} == {("orders-0", "orders-1", "orders-2", "orders-3")}


def test_a_formatter_of_an_old_console_consumer_tells_generations_and_members() -> None:
    g = group(DATA / "formatted-2.8.2.log.gz")
    assert [r.to_generation for r in g.timeline.rounds] == [1, 2, 3, 4, 1, 2]
    assert g.timeline.counts["static_returns"] == 1
    assert {s.name: s.value_ms for s in g.findings.settings} == {
        "session.timeout.ms": 6000,
        "rebalance.timeout.ms": 300_000,
    }
    assert "generation_reset" not in kinds(g)


def test_json_tells_leader_static_member_and_when_the_join_phase_ended() -> None:
    g = group(DATA / "dump-4.3.0.log.gz")
    first = g.timeline.rounds[0]
    assert first.leader is not None and first.leader.startswith("c1-")
    assert first.joined_at is not None and first.assigned is not None
    assert first.joined_at.time == 1_795_400_547_869
    assert first.assigned.time == 1_795_400_547_879
    returned = [m for m in g.timeline.members.values() if m.gone == "replaced"]
    assert [m.instance for m in returned] == ["one"]


def test_a_kip_848_group_has_its_epochs_members_and_the_wait_for_a_revocation() -> None:
    g = group(DATA / "dump-4.3.0.log.gz", "modern")
    assert g.protocol == "consumer"
    assert [(r.to_generation, r.cause.value, r.outcome) for r in g.timeline.rounds] == [
        (1, "join", "assigned"),
        (2, "join", "assigned"),
        (3, "gone", "interrupted"),
        (4, "gone", "emptied"),
    ]
    second = g.timeline.rounds[1]
    assert second.started is not None and second.assigned is not None
    assert second.assigned.time is not None and second.started.time is not None
    assert second.assigned.time - second.started.time == 20_023
    assert g.requests is not None
    shares = [(s.generation, s.count) for s in g.requests.spans.kept]
    # While it revokes, the first member still has all four.
    assert shares == [(1, 4), (1, 4), (2, 2), (2, 2)]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.gz")), ids=lambda path: path.name)
def test_nothing_is_wrong_with_the_recorded_groups(path: Path) -> None:
    found = replay([path])
    told = {g.group: g.verdict for r in found for g in r.groups}
    assert told.pop("modern", None) != "violated"
    assert {*told.values()} <= {"unknown"}
    assert {c.cause.kind for a in found.answers for c in a.diagnosis.causes} <= RECORDED


# -- commits


def test_an_offset_that_goes_back_in_a_group_with_members_is_read_again(tmp_path: Path) -> None:
    found = told(
        tmp_path, generation(0, 1, {"a": [0]}), commit(1, 100), commit(2, 95), commit(3, 120)
    )
    (g,) = found[0].groups
    assert [(b.partition, b.was, b.committed) for b in g.findings.went_back] == [("t-0", 100, 95)]
    assert found.answers[0].health == "broken"
    assert found.answers[0].diagnosis.causes[0].cause.kind == "committed_offset_went_back"


def test_an_offset_that_is_set_back_without_members_accuses_nobody(tmp_path: Path) -> None:
    found = told(tmp_path, generation(0, 2, {}), commit(1, 100), commit(2, 95))
    assert kinds(found[0].groups[0]) == ["offset_set_back"]
    assert not found.answers[0].diagnosis.causes


def test_a_topic_that_was_made_anew_begins_again(tmp_path: Path) -> None:
    def of(at: int, offset: int, topic: str) -> str:
        return commit(at, offset).replace('{"offset"', f'{{"topicId": "{topic}", "offset"')

    g = only(tmp_path, generation(0, 1, {"a": [0]}), of(1, 100, "old"), of(2, 5, "new"))
    assert not g.findings.went_back
    g = only(tmp_path, generation(0, 1, {"a": [0]}), commit(1, 9), commit(2, None), commit(3, 5))
    assert not g.findings.went_back and kinds(g) == ["offsets_removed"]


def test_an_aborted_transaction_commits_nothing_and_a_committed_one_at_its_end(
    tmp_path: Path,
) -> None:
    def run(end: str) -> GroupReport:
        return only(
            tmp_path,
            batch(0, 1),
            generation(0, 1, {"a": [0]}),
            commit(1, 100),
            batch(2, 2, transaction=True),
            commit(2, 500),
            batch(3, 3, transaction=True, control=True),
            f"{entry(3)} endTxnMarker: {end} coordinatorEpoch: 0",
            batch(4, 4),
            commit(4, 110),
        )

    assert not run("ABORT").findings.went_back
    (back,) = run("COMMIT").findings.went_back
    assert (back.was, back.committed) == (500, 110)


# -- generations


def test_a_plan_that_gives_a_partition_twice_is_named(tmp_path: Path) -> None:
    g = only(tmp_path, generation(0, 1, {"a": [0, 1], "b": [1]}))
    assert g.verdict == "violated" and "partition_assigned_twice" in kinds(g)
    assert "t-1" in g.reason and "line 1" in g.reason


def test_an_assignor_of_ones_own_may_give_a_partition_to_all(tmp_path: Path) -> None:
    g = only(tmp_path, generation(0, 1, {"a": [0, 1], "b": [0, 1]}, protocol="broadcast"))
    assert g.verdict == "unknown" and not kinds(g)


def test_a_generation_that_goes_back_is_named_only_if_no_record_is_missing(tmp_path: Path) -> None:
    high, low = generation(3, 9, {"a": [0]}), generation(4, 1, {"a": [0]})
    assert "generation_reset" in kinds(only(tmp_path, high, low))
    assert "generation_reset" not in kinds(
        only(tmp_path, high, generation(4, None, {}), generation(5, 1, {"a": [0]}))
    )
    assert "generation_reset" not in kinds(only(tmp_path, high, generation(9, 1, {"a": [0]})))


def test_members_that_come_and_go_without_rest_are_a_storm(tmp_path: Path) -> None:
    shares = [{"a": [0], f"b-{k}": [1]} for k in range(15)]
    g = only(tmp_path, *(generation(k, k + 1, share) for k, share in enumerate(shares)))
    assert "rebalance_storm" in kinds(g)
    assert g.timeline.counts["gone"] == 14


@pytest.mark.parametrize(
    ("topics", "apart"),
    [
        ({"a": ["t"], "b": ["u"]}, True),
        ({"a": ["t", "u"], "b": ["u"]}, False),
        ({"a": ["t"]}, False),
    ],
)
def test_members_that_have_no_topic_in_common_are_told(
    tmp_path: Path, topics: dict[str, list[str]], apart: bool
) -> None:
    line = generation(1, 3, {id: [k] for k, id in enumerate(topics)})
    for id, some in topics.items():
        line = line.replace(
            f'"memberId": "{id}",',
            f'"memberId": "{id}", "subscription": {{"topics": {json.dumps(some)}}},',
        )
    found = told(tmp_path, line)
    (answer,) = found.answers
    kinds_found = [a.kind for s in answer.seen for a in s.group.anomalies]
    assert ("subscriptions_apart" in kinds_found) is apart
    candidates = [f.cause.kind for f in answer.diagnosis.candidates]
    assert ("mixed_subscriptions" in candidates, answer.health != "calm") == (apart, apart)


# -- what is around records


def test_a_segment_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    lines = gzip.decompress((DATA / "dump-4.3.0.log.gz").read_bytes()).decode().splitlines()
    (report,) = told(tmp_path, *lines, *lines)
    assert "records left out" in " ".join(report.notes)
    once = group(DATA / "dump-4.3.0.log.gz")
    twice = next(g for g in report.groups if g.group == "classic")
    assert len(twice.timeline.rounds) == len(once.timeline.rounds)


def packed(*parts: int | str | bytes | None) -> bytes:
    """Numbers as int32, and texts and bytes with their lengths."""
    return b"".join(
        struct.pack(">i", p) if isinstance(p, int)
        else b"\xff\xff" if p is None
        else struct.pack(">h", len(p)) + p.encode() if isinstance(p, str)
        else struct.pack(">i", len(p)) + p
        for p in parts
    )  # fmt: skip


def undecoded(at: int, key: bytes, value: bytes, lost: str = "\ufffd") -> str:
    """A record with its batch as --print-data-log prints them. `lost`: what the console prints for
    bytes that are no text.
    """
    texts = [raw.decode(errors="replace").replace("\ufffd", lost) for raw in (key, value)]
    sizes = f"keySize: {len(key)} valueSize: {len(value)}"
    place = f"| offset: {at} CreateTime: {1_700_000_000_000 + 1000 * at}"
    return f"{batch(at, at)}\n{place} {sizes} key: {texts[0]} payload: {texts[1]}"


def undecoded_commit(at: int, offset: int, lost: str) -> str:
    told = struct.pack(">hqi", 3, offset, -1) + packed("") + struct.pack(">q", 1_700_000_000_000)
    return undecoded(at, b"\0\1" + packed("g", "t", 0), told, lost)


def undecoded_generation(at: int, number: int, shares: dict[str, list[int]], lost: str) -> str:
    members = b""
    for id, numbers in shares.items():
        share = struct.pack(">hi", 0, 1) + packed("t", len(numbers), *numbers, -1)
        members += packed(id, None, id, "/10.1.2.3", 300_000, 45_000, b"\0\xff\x80", share)
    told = b"\0\3" + packed("consumer", number, "range", next(iter(shares)))
    told += struct.pack(">q", 1_700_000_000_000) + packed(len(shares)) + members
    return undecoded(at, b"\0\2" + packed("g"), told, lost)


@pytest.mark.parametrize("lost", ["\ufffd", "?"])
def test_a_dump_that_was_not_decoded_is_decoded_as_far_as_its_bytes_are_there(
    lost: str, tmp_path: Path
) -> None:
    shares = [{"m-a": [0, 1]}, {"m-a": [0], "m-b": [1]}]
    g = only(
        tmp_path,
        undecoded_generation(0, 1, shares[0], lost),
        undecoded_generation(1, 2, shares[1], lost),
        undecoded_commit(2, 100, lost),
        undecoded_commit(3, 64, lost),
    )
    assert [(r.to_generation, r.size) for r in g.timeline.rounds] == [(1, 1), (2, 2)]
    assert "committed_offset_went_back" in kinds(g)
    assert g.requests is not None
    assert {(s.member, s.partitions) for s in g.requests.spans.kept} == {
        ("m-a", ("t-0", "t-1")),
        ("m-a", ("t-0",)),
        ("m-b", ("t-1",)),
    }


@pytest.mark.parametrize("offset", [63, 128, 200, 0x8F3C])
def test_an_offset_of_which_bytes_are_lost_is_not_guessed(offset: int, tmp_path: Path) -> None:
    lines = [undecoded_commit(n, value, "?") for n, value in enumerate((300 << 8, offset))]
    (report,) = told(tmp_path, *lines)
    assert not [a for g in report.groups for a in g.anomalies]
    assert "dump with --offsets-decoder" in " ".join((report.reason, *report.notes))


def test_a_dump_of_bytes_that_are_no_record_says_how_to_make_one(tmp_path: Path) -> None:
    raw = f"{entry(0)} key: \x00\x01\x00\x01g\x00\x01t\x00 payload: \x00\x03\x00\x00"
    (report,) = told(tmp_path, batch(0, 0), raw)
    assert (report.format, report.groups) == ("offsets-dump", ())
    assert "--offsets-decoder" in report.reason


OLD: dict[str, Any] = {
    # 0.9 to 2.3
    "offset: 4 position: 80 CreateTime: 1700000000000 isvalid: true payloadsize: 19 magic: 1"
    " compresscodec: NONE crc: 1 keysize: 20 key: offset::g:1:t-x:3 payload: 17:meta": (
        "g:1",
        "t-x-3",
        17,
    ),
    "| offset: 4 CreateTime: 1700000000000 keysize: 20 valuesize: 9 sequence: 1 headerKeys: []"
    " key: offset_commit::group=g,partition=t-x-3 payload: offset=17,metadata=m": (
        "g",
        "t-x-3",
        17,
    ),
    "[g,a,t-x,3]::[OffsetMetadata[17,NO_METADATA],CommitTime 1700000000000,ExpirationTime 9]": (
        "g,a",
        "t-x-3",
        17,
    ),
}


@pytest.mark.parametrize("line", OLD)
def test_the_texts_of_old_tools_name_group_partition_and_offset(line: str, tmp_path: Path) -> None:
    name, partition, offset = OLD[line]
    later = line.replace("17,", "11,").replace(" 17:", " 11:")
    later = later.replace("offset: 4", "offset: 5").replace("e 1700", "e 1701")
    (report,) = told(tmp_path, line, later)
    (g,) = report.groups
    assert g.group == name
    (back,) = [a for a in g.anomalies if a.kind == "offset_set_back"]
    assert f"of {partition} was set back from {offset} to 11" in back.text


def test_a_group_of_0_9_is_told_by_its_text(tmp_path: Path) -> None:
    value = (
        '{"protocolType":"consumer","protocol":"range","generationId":3,'
        '"assignment":"{a-1=[t-0, t-1],b-2=[t-2]:ff00}"}'
    )
    line = (
        f'offset: 0 position: 0 isvalid: true keysize: 9 key: {{"metadata":"g"}} payload: {value}'
    )
    g = only(tmp_path, line)
    assert [(r.to_generation, r.size) for r in g.timeline.rounds] == [(3, 2)]
    assert sorted(g.timeline.members) == ["a-1", "b-2"]


BEFORE_1_0 = (
    "offset: {} position: 80 CreateTime: {} isvalid: true payloadsize: 90 magic: 1"
    " compresscodec: NONE crc: 1 keysize: 5 key: metadata::g:1 payload: {}"
)


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "beginnings cut off"])
def test_a_group_of_0_10_is_told_by_its_text(tmp_path: Path, cut: bool) -> None:
    values = ["consumer:range:3:{a-1=[t-0, t-1],b-2=[t-2]}", "consumer:null:4:{}"]
    lines = [BEFORE_1_0.format(i, 1700000000000 + i, value) for i, value in enumerate(values)]
    g = only(tmp_path, *(line[line.index("key: ") :] if cut else line for line in lines))
    assert g.group == "g:1"
    assert [(r.to_generation, r.size) for r in g.timeline.rounds] == [(3, 2), (4, 0)]
    assert sorted(g.timeline.members) == ["a-1", "b-2"]


def test_a_damaged_group_of_0_10_is_counted(tmp_path: Path) -> None:
    (report,) = told(tmp_path, BEFORE_1_0.format(0, 1700000000000, "consumer:range"))
    assert (report.groups, report.strange) == ((), 1)


# -- hostile input


def mutated(draw: random.Random) -> Iterator[tuple[str, bytes]]:
    for path in sorted(DATA.glob("*.gz")):
        lines = gzip.decompress(path.read_bytes()).splitlines()
        for change in CHANGES:
            yield change.__name__, b"\n".join(change(lines, draw)) + b"\n"


def test_mutated_dumps_neither_crash_nor_accuse(tmp_path: Path) -> None:
    innocent = {change.__name__ for change in INNOCENT}
    path = tmp_path / "dump.txt"
    for name, text in mutated(random.Random(7)):
        path.write_bytes(text)
        found = replay([path])
        if name in innocent:
            assert found.verdict != "violated", name
            some = {c.cause.kind for a in found.answers for c in a.diagnosis.causes}
            assert some <= RECORDED, name


@pytest.mark.parametrize(
    "value",
    [
        '{"version":"3","data":{"generation":"x"}}',
        '{"version":"3","data":{"generation":1,"members":[1]}}',
        '{"version":"3","data":[]}',
        '{"version":"3","data":{"generation":99999999999999999999999}}',
        "[" * 100_000,
        '{"version":"3","data":{"generation":1,"members":[{"assignment":{"assignedPartitions":'
        '[{"partitions":["x"]}]}}]}}',
    ],
)
def test_values_of_the_wrong_kind_are_counted_as_not_understood(value: str, tmp_path: Path) -> None:
    line = f'{entry(0)} key: {{"type":"2","data":{{"group":"g"}}}} payload: {value}'
    report: FileReport
    (report,) = told(tmp_path, line)
    assert report.strange == 1 and not report.groups
