"""Packet captures of recorded runs, beside the request log that the broker wrote in the same run;
the same packets in other files, orders and pieces; and what is no Kafka.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from pcap_files import (
    COOKED,
    COOKED_2,
    DATA,
    LOOP,
    NULL,
    RAW,
    moved,
    pcap,
    pcapng,
    recorded,
)

from groupcheck.model.engine import UserError
from groupcheck.oracles.replay.report import ReplayReports, replay
from groupcheck.traces.captures.segments import ACK, SYN, Segment
from groupcheck.traces.captures.tcp_connections import (
    GROUP_APIS,
    MOST_CONNECTIONS,
    CapturedConnections,
)
from groupcheck.traces.captures.text import CaptureSummary, CaptureText
from groupcheck.traces.messages.apis import Api, read_request, request_bytes, response_bytes

RUNS = ("kill", "everything")
Exchange = dict[str, Any]


def text_of(raw: bytes) -> tuple[list[str], CaptureSummary]:
    text = CaptureText([io.BytesIO(raw)])
    lines = b"".join(iter(lambda: text.read1(1 << 16), b"")).decode().splitlines()
    return lines, text.summary()


def record(line: str) -> Exchange:
    found: Exchange = json.JSONDecoder().raw_decode(line, line.index("{"))[0]
    return found


def exchanges(raw: bytes) -> list[Exchange]:
    """Without what differs from one capture of the same exchange to the next."""
    return [
        {k: v for k, v in record(line).items() if k not in ("packets", "connection")}
        for line in text_of(raw)[0]
    ]


def logged(name: str) -> list[Exchange]:
    """The exchanges of group APIs in the broker's request log."""
    lines = gzip.decompress((DATA / f"{name}.requests.log.gz").read_bytes()).decode().splitlines()
    names = {api.log_name for api in GROUP_APIS.values()}
    found = map(record, lines)
    return [e for e in found if e["requestHeader"]["requestApiKeyName"] in names]


def told(tmp_path: Path, raw: bytes) -> ReplayReports:
    path = tmp_path / "some.pcap"
    path.write_bytes(raw)
    return replay([path])


def same(seen: Any, wrote: Any) -> bool:
    """Has the request log every field of the capture with the same value? Beginnings of messages
    have fewer fields.
    """
    if isinstance(seen, dict):
        return all(k in wrote and same(v, wrote[k]) for k, v in seen.items())
    if isinstance(seen, list):
        return len(seen) == len(wrote) and all(map(same, seen, wrote))
    return bool(seen == wrote)


# -- the same answer as the request log


@pytest.mark.parametrize("name", RUNS)
def test_every_exchange_of_the_request_log_is_seen_with_its_values(name: str) -> None:
    def key(e: Exchange) -> tuple[Any, ...]:
        ends = e["connection"].split("-")[:2]  # the broker numbers its connections
        return (*ends, e["requestHeader"]["correlationId"])

    raw = gzip.decompress((DATA / f"{name}.pcap.gz").read_bytes())
    lines, captured = text_of(raw)
    seen = {key(e): e for e in map(record, lines)}
    wrote = {key(e): e for e in logged(name)}
    assert seen.keys() == wrote.keys() and len(seen) == len(lines) > 50
    for k, e in seen.items():
        for part in ("request", "response"):
            assert same(e[part], wrote[k][part]), (k, e[part], wrote[k][part])
        for field in ("requestApiKeyName", "requestApiVersion", "clientId"):
            assert e["requestHeader"][field] == wrote[k]["requestHeader"][field]
    assert (captured.doubt, captured.within, captured.encrypted) == ("", None, 0)


@pytest.mark.parametrize("name", RUNS)
def test_the_answer_is_that_of_the_request_log(name: str) -> None:
    def summary(found: ReplayReports) -> Any:
        (report,) = found
        return found.health, [
            (
                g.group,
                g.protocol,
                g.verdict,
                g.reason,
                [(r.to_generation, r.outcome, r.size, r.cause) for r in g.timeline.rounds],
                sorted((m.id, m.gone) for m in g.timeline.members.values()),
                sorted(a.kind for a in g.anomalies),
                g.requests and g.requests.facts.requests,
                [(b.partition, b.committed, b.was) for b in g.findings.went_back],
            )
            for g in report.groups
        ]

    seen, wrote = (replay([DATA / f"{name}{end}"]) for end in (".pcap.gz", ".requests.log.gz"))
    assert seen[0].format == "packet-capture" and wrote[0].format == "request-log"
    assert summary(seen) == summary(wrote)


def test_the_killed_member_and_the_cause_are_named_and_the_broker_is_right() -> None:
    found = replay([DATA / "kill.pcap.gz"])
    assert found.verdict == "holds"
    assert "b sends nothing any more" in str(found)


def test_an_impossible_answer_in_a_capture_is_named(tmp_path: Path) -> None:
    """A heartbeat of a member in a stable group is told that it is no member."""
    some = recorded("kill")
    lines, _ = text_of(pcap(some))
    beats = [
        e for e in map(record, lines) if e["requestHeader"]["requestApiKeyName"] == "HEARTBEAT"
    ]
    wrong = beats[5]
    assert wrong["response"]["errorCode"] == 0
    at = wrong["packets"][1] - 1
    data = bytearray(some[at].data)
    data[-3:-1] = struct.pack(">h", 25)
    some[at] = evolve(some[at], data=bytes(data))
    found = told(tmp_path, pcap(some))
    assert found.verdict == "violated"
    assert "25 UNKNOWN_MEMBER_ID" in found[0].reason


# -- the same packets in other files


FILES: dict[str, Callable[[list[Segment]], bytes]] = {
    "big endian": lambda some: pcap(some, ">"),
    "nanoseconds": lambda some: pcap(some, nano=True),
    "big endian nanoseconds": lambda some: pcap(some, ">", nano=True),
    "pcapng": pcapng,
    "pcapng big endian": lambda some: pcapng(some, ">"),
    "pcapng nanoseconds": lambda some: pcapng(some, nano=True),
    "VLAN": lambda some: pcap(some, vlans=2),
    "cooked": lambda some: pcap(some, link=COOKED),
    "cooked 2": lambda some: pcap(some, link=COOKED_2),
    "loopback": lambda some: pcap(some, link=NULL),
    "loopback of BSD": lambda some: pcap(some, link=LOOP),
    "raw IP": lambda some: pcap(some, link=RAW),
    "IPv6": lambda some: pcap(some, version=6),
    "IPv6 in VLAN": lambda some: pcap(some, version=6, vlans=1),
}


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_and_link_shows_the_same_exchanges(name: str) -> None:
    some = recorded("kill")
    assert exchanges(FILES[name](some)) == exchanges(pcap(some))


def test_connections_of_ipv6_are_named_by_their_addresses() -> None:
    lines, _ = text_of(pcap(recorded("kill"), version=6))
    assert record(lines[0])["connection"].startswith("[::127.0.0.1]:")


def test_packed_captures_and_those_in_archives_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("some.pcap", pcap(recorded("kill")))
        archive.write(DATA / "everything.pcap.gz", "other.pcap.gz")
    found = replay([tmp_path / "all.zip"])
    assert sorted(g.group for r in found for g in r.groups) == ["classic", "g1", "modern"]


def test_a_capture_may_come_through_a_pipe() -> None:
    reading, writing = os.pipe()
    os.write(writing, pcap(recorded("kill")[:40]))  # less than a pipe holds
    os.close(writing)
    (report,) = replay([f"/dev/fd/{reading}"])
    os.close(reading)
    assert report.format == "packet-capture" and report.understood == 4


# -- the same packets in other pieces


def pieces(some: list[Segment], size: int) -> list[list[Segment]]:
    """Each segment in pieces of that many bytes."""
    return [
        [
            evolve(s, sequence=(s.sequence + at) % (1 << 32), data=s.data[at : at + size])
            for at in range(0, max(len(s.data), 1), size)
        ]
        for s in some
    ]


def test_segments_out_of_order_and_sent_again_change_nothing() -> None:
    some, draw = recorded("kill"), random.Random(3)
    mixed = [
        piece
        for parts in pieces(some, 20)
        for again in [[p for p in parts if draw.random() < 0.3]]
        for piece in draw.sample([*parts, *again], k=len(parts) + len(again))
    ]
    assert exchanges(pcap(mixed)) == exchanges(pcap(some))


def test_sequence_numbers_may_wrap_around() -> None:
    some = recorded("kill")
    first = {(s.source, s.target): s.sequence for s in reversed(some)}
    wrapped = [moved(s, -first[s.source, s.target] - 30) for s in some]
    assert exchanges(pcap(wrapped)) == exchanges(pcap(some))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_message_may_come_in_any_number_of_packets(size: int) -> None:
    some = recorded("kill")
    cut = [piece for parts in pieces(some, size) for piece in parts]
    assert exchanges(pcap(cut)) == exchanges(pcap(some))


def accuses(found: ReplayReports) -> bool:
    """A verdict against the broker, or a cause; where too little is shown for both."""
    causes = any(a.diagnosis.causes for a in found.answers)
    return found.verdict == "violated" or (found.verdict == "unknown" and causes)


@pytest.mark.parametrize("missing", [0.01, 0.05, 0.3])
def test_packets_that_are_missing_accuse_nobody(missing: float, tmp_path: Path) -> None:
    for seed in range(3):
        draw = random.Random(seed)
        some = [s for s in recorded("kill") if draw.random() >= missing or not s.data]
        found = told(tmp_path, pcap(some))
        assert not accuses(found)
        if missing > 0.01:
            assert "connections are missing" in " ".join(found[0].notes)


@pytest.mark.parametrize("first", [20, 60, 100, 150])
def test_a_capture_that_begins_later_accuses_nobody(first: int, tmp_path: Path) -> None:
    found = told(tmp_path, pcap(recorded("kill")[first:]))
    assert found.verdict != "violated"
    assert found[0].understood > 5


def test_a_capture_of_one_members_host_accuses_nobody(tmp_path: Path) -> None:
    some = recorded("kill")
    ports = {
        e["clientId"]: int(connection.rpartition(":")[2])
        for line in text_of(pcap(some))[0]
        for e, connection in [(record(line)["requestHeader"], record(line)["connection"])]
    }
    assert sorted(ports) == ["a", "b", "c"]
    for port in ports.values():
        found = told(tmp_path, pcap(s for s in some if port in (s.source[1], s.target[1])))
        assert not accuses(found)
        assert "2 other members" in found[0].reason
        (g,) = found[0].groups
        assert not g.unexplained and not g.findings.unowned and not g.findings.absences


@pytest.mark.parametrize("most", [64, 96, 200])
def test_packets_that_are_cut_accuse_nobody(most: int, tmp_path: Path) -> None:
    try:
        found = told(tmp_path, pcap(recorded("kill"), most=most))
    except UserError as e:
        assert "without requests" in e.what
    else:
        assert not accuses(found)


# -- what cannot be read


def connection(*parts: tuple[bool, bytes]) -> list[Segment]:
    """The segments of a connection; each part says whether the server sends it."""
    ends = ((b"\x0a\0\0\1", 40_000), (b"\x0a\0\0\2", 9093))
    out = [
        Segment(1, 1e12, *ends, 0, SYN, b"", 0),
        Segment(1, 1e12, *ends[::-1], 0, SYN | ACK, b"", 0),
    ]
    at = [1, 1]
    for k, (server, data) in enumerate(parts):
        sides = ends[::-1] if server else ends
        out.append(Segment(1, 1e12 + k, *sides, at[server], ACK, data, 0))
        at[server] += len(data)
    return out


def test_tls_is_named_with_what_to_use(tmp_path: Path) -> None:
    hello = b"\x16\x03\x01\x00\x05" + bytes(5)
    with pytest.raises(UserError) as e:
        told(tmp_path, pcap(connection((False, hello), (True, hello))))
    assert "encrypted" in e.value.what and "request log" in e.value.do
    found = told(tmp_path, pcap([*recorded("kill"), *connection((False, hello))]))
    assert "1 of 4 connections are encrypted" in " ".join(found[0].notes)
    assert not accuses(found)


def test_what_is_no_kafka_is_refused_with_a_reason(tmp_path: Path) -> None:
    web = connection((False, b"GET / HTTP/1.1\r\n\r\n"), (True, b"HTTP/1.1 200 OK\r\n\r\n"))
    for some in (web, connection(), []):
        with pytest.raises(UserError) as e:
            told(tmp_path, pcap(some))
        assert "without requests of group APIs" in e.value.what


# -- every API of groups


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize("api", GROUP_APIS.values(), ids=lambda api: api.name)
def test_the_newest_version_of_every_message_is_decoded(api: Api) -> None:
    asked = request_bytes(api, api.newest, 5, "me", {"memberId": "m"})
    answer = response_bytes(api, api.newest, 5, {"throttleTimeMs": 7})
    other = frame(struct.pack(">hhih", 3, 5, 77, 2) + b"me" + bytes(50))
    first = frame(struct.pack(">i", 77) + bytes(900))
    some = connection((False, other + asked), (True, first + answer))
    (line,), captured = text_of(pcap(some))
    found = record(line)
    assert found["requestHeader"]["requestApiKeyName"] == api.log_name
    assert found["request"].get("memberId", "m") == "m"
    assert found["request"].keys() == read_request(asked[4:]).values.keys()
    assert found["response"]["throttleTimeMs"] == 7 and not captured.doubt


def test_a_version_that_is_not_known_is_counted() -> None:
    head = struct.pack(">hhih", 12, 29, 5, 2) + b"me" + bytes(30)
    lines, captured = text_of(pcap(connection((False, frame(head)))))
    assert not lines
    assert any("1 requests HEARTBEAT 29" in note for note in captured.notes)


# -- hostile input


def test_damaged_captures_are_read_as_far_as_they_go_or_refused(tmp_path: Path) -> None:
    draw = random.Random(11)
    for make in (pcap, pcapng):
        whole = make(recorded("kill"))
        for _ in range(25):
            raw = bytearray(whole)
            for _ in range(draw.randrange(1, 6)):
                at = draw.randrange(len(raw))
                raw[at : at + 4] = draw.choice((b"\xff\xff\xff\xff", bytes(4), draw.randbytes(4)))
            if draw.random() < 0.3:
                del raw[draw.randrange(len(raw)) :]
            lines, _ = text_of(bytes(raw))
            assert all(record(line) for line in lines)
            with suppress(UserError):
                told(tmp_path, bytes(raw))


@pytest.mark.parametrize(
    "size", [0, -1, 1 << 31, (1 << 31) - 1, 5, 100 << 20], ids=lambda size: f"size {size}"
)
def test_lengths_that_lie_take_no_memory(size: int) -> None:
    head = struct.pack(">hhih", 11, 5, 1, 2) + b"me"
    liar = struct.pack(">I", size & 0xFFFFFFFF) + head + b"\0\xff" * 50
    lines, _ = text_of(pcap(connection((False, liar), (True, liar))))
    assert lines == []


def test_the_number_of_connections_is_bounded() -> None:
    many = CapturedConnections()
    for k in range(MOST_CONNECTIONS + 50):
        ends = (k.to_bytes(4, "big"), 1), (b"\x0a\0\0\2", 9092)
        assert not list(many.take(Segment(k, 1e12, *ends, 0, SYN, b"", 0)))
    assert len(many._open) == MOST_CONNECTIONS


def test_segments_that_wait_for_ever_are_bounded() -> None:
    many = CapturedConnections()
    ends = (b"\x0a\0\0\1", 40_000), (b"\x0a\0\0\2", 9092)
    list(many.take(Segment(1, 1e12, *ends, 0, SYN, b"", 0)))
    for k in range(2500):
        list(many.take(Segment(k, 1e12, *ends, 10 + 1000 * k, ACK, bytes(900), 0)))
    (one,) = many._open.values()
    assert one.buffered_bytes() < 2 << 20
    assert many.tally.torn == 1
