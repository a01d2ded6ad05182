"""Packet captures in several files, and IP packets in fragments: the exchanges are those of the
whole capture.
"""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from pcap_files import fragments, pcap, recorded
from test_captures import exchanges, text_of, told

from groupcheck.oracles.replay.report import replay
from groupcheck.traces.captures.segments import Fragments


@pytest.mark.parametrize("version", [4, 6])
def test_fragments_of_ip_packets_are_put_together_in_any_order(version: int) -> None:
    some, draw = recorded("kill"), random.Random(5)

    def split(packet: bytes, number: int) -> list[bytes]:
        parts = fragments(packet, number)
        return draw.sample([*parts, parts[0]], k=len(parts) + 1)

    raw = pcap(some, version=version, split=split)
    assert len(raw) > 1.3 * len(pcap(some, version=version))
    assert exchanges(raw) == exchanges(pcap(some, version=version))


def test_fragments_of_which_one_is_missing_are_bytes_that_are_missing() -> None:
    some = recorded("kill")
    lost = pcap(some, split=lambda packet, number: fragments(packet, number)[number == 60 :])
    lines, captured = text_of(lost)
    assert len(lines) < len(text_of(pcap(some))[0]) and captured.doubt


def test_fragments_that_wait_for_ever_are_bounded() -> None:
    waiting = Fragments()
    for number in range(20_000):
        key = (number.to_bytes(4, "big"),)
        assert waiting.take(0.0, key, 8 * (number % 9), True, bytes(800)) is None
    assert len(waiting._open) <= 256
    for at in range(0, 1 << 20, 8):
        waiting.take(0.0, (b"one",), at, True, bytes(8))
    assert len(waiting._open[(b"one",)].parts) <= 256


@pytest.mark.parametrize(
    "names",
    [
        ("run.pcap", "run.pcap1", "run.pcap2"),
        ("run.pcap0", "run.pcap1", "run.pcap2"),
        tuple(f"run_0000{k}_2026112110000{k}.pcap" for k in (1, 2, 3)),
        ("run-2026-11-21-10.pcap", "run-2026-11-21-11.pcap.gz", "run-2026-11-21-12.pcap"),
    ],
    ids=lambda names: names[0],
)
def test_the_files_of_one_capture_are_read_as_one(names: list[str], tmp_path: Path) -> None:
    """They are cut between a JoinGroup and its answer."""
    some = recorded("kill")
    (whole,) = told(tmp_path, pcap(some))
    ends = (0, 36, 90, len(some))
    for k, name in enumerate(names):
        raw = pcap(some[ends[k] : ends[k + 1]])
        (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
    (found,) = replay([tmp_path / name for name in reversed(names)])
    assert (found.understood, found.verdict) == (whole.understood, whole.verdict)
    assert found.groups[0].reason == whole.groups[0].reason
    assert any("in 3 files" in note for note in found.notes)


def test_captures_of_two_hosts_at_the_same_time_are_not_one(tmp_path: Path) -> None:
    for k in range(2):
        (tmp_path / f"run.pcap{k}").write_bytes(pcap(recorded("kill")))
    assert len(replay([tmp_path / "run.pcap0", tmp_path / "run.pcap1"])) == 2
