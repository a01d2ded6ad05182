"""Files of every kind give lines or a clear refusal, and never more than a little memory."""

from __future__ import annotations

import gzip
import os
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.model.engine import UserError
from groupcheck.traces.broker import replay as broker_replay
from groupcheck.traces.reading import ALTERED, LINE_CAP, Notes, unpacking
from groupcheck.traces.reading.lines import read_lines
from groupcheck.traces.reading.unpacking import open_log
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parents[2] / "data"
LINE = (
    "[2024-10-25 17:25:16,582] INFO [GroupCoordinator 3]: Stabilized group g generation 5"
    " (__consumer_offsets-7) with 3 members\n"
)


def read(path: Path, needles: tuple[bytes, ...] = ()) -> tuple[list[tuple[int, str]], Notes]:
    notes = Notes()
    with open_log(str(path)) as stream:
        return list(read_lines(stream, notes, needles)), notes


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(range(256)) * 50,
        b"PK\x03\x04zip",
        b"\xfd7zXZ\x00xz",
        b"\x1f\x8bnot gzip at all",
        b"\x1f\x8b",
    ],
    ids=["empty", "binary", "zip", "xz", "bad gzip", "cut gzip"],
)
def test_what_is_no_text_is_refused_with_a_reason(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "f.log"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"f\.log"):
        replay_file(str(path))


def test_a_missing_file_a_directory_and_an_impossible_name_are_refused(tmp_path: Path) -> None:
    for name in (str(tmp_path / "none"), str(tmp_path), "a\x00b"):
        with pytest.raises(UserError):
            replay_file(name)


@pytest.mark.parametrize("packed", [False, True])
def test_a_pipe_is_read_like_a_file(packed: bool) -> None:
    content = (LINE * 3).encode()
    out, into = os.pipe()
    try:
        os.write(into, gzip.compress(content) if packed else content)
    finally:
        os.close(into)
    try:
        lines, _ = read(Path(f"/dev/fd/{out}"))
    finally:
        os.close(out)
    assert [text for _, text in lines] == [LINE.rstrip()] * 3


def test_an_empty_gzip_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(UserError, match="empty"):
        replay_file(str(path))


def test_a_gzip_bomb_is_read_no_further_than_a_log_would_unpack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "MOST_UNPACKED", 1 << 20)
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress((LINE + "x" * (64 << 20)).encode()))
    report = replay_file(str(path))
    assert report.understood == 1 and any(
        "unpacks to far more than any log" in note for note in report.notes
    )
    monkeypatch.undo()
    assert not any("unpacks" in note for note in replay_file(str(path)).notes)


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x00"), max_size=50),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
)
def test_lines_come_out_as_they_are_plain_or_packed(lines: list[str], packed: bool) -> None:
    import io

    raw = ("\n".join(lines) + "\n").encode()
    notes = Notes()
    stream = (
        io.BufferedReader(gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(raw))))
        if packed
        else io.BufferedReader(io.BytesIO(raw))
    )  # type: ignore[type-var]
    found = list(read_lines(stream, notes))
    expected = [line.removeprefix("﻿") if k == 0 else line for k, line in enumerate(lines)]
    assert found == list(enumerate(expected, 1))
    assert notes.lines == len(lines)


def test_windows_and_unix_ends_and_a_missing_last_end_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "f.log"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\nc")
    assert read(path)[0] == [(1, "a"), (2, "b"), (3, "c")]


def test_utf_16_is_read(tmp_path: Path) -> None:
    path = tmp_path / "f.log"
    path.write_bytes((LINE * 3).encode("utf-16"))
    report = replay_file(str(path))
    assert (report.lines, report.understood) == (3, 3)


def test_bytes_that_are_no_utf_8_are_counted_not_fatal(tmp_path: Path) -> None:
    path = tmp_path / "f.log"
    path.write_bytes(b"caf\xe9\n" + LINE.encode())
    lines, notes = read(path)
    assert lines[0] == (1, "caf�") and notes.undecodable == 1


def test_a_line_beyond_the_cap_is_cut_and_the_next_ones_are_read(tmp_path: Path) -> None:
    path = tmp_path / "f.log"
    path.write_bytes(b"x" * (3 * LINE_CAP) + b"\n" + LINE.encode() + b"y" * (2 * LINE_CAP))
    lines, notes = read(path)
    assert notes.cut == 2
    assert len(lines[0][1]) == LINE_CAP and lines[1] == (2, LINE.rstrip("\n")) and notes.lines == 3


def test_a_torn_gzip_gives_what_it_holds_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "f.log.gz"
    packed = gzip.compress("".join(LINE.replace("5 (", f"{k} (") for k in range(20000)).encode())
    path.write_bytes(packed[: len(packed) // 2])
    report = replay_file(str(path))
    assert 0 < report.understood < 20000
    assert any("ends early" in note for note in report.notes)


PACKED = gzip.compress("".join(LINE.replace("5 (", f"{k} (") for k in range(3000)).encode())


@pytest.mark.parametrize(
    ("content", "torn", "beyond"),
    [
        (PACKED + b"junk", "", "4 bytes after the end of the gzip data are left out"),
        (PACKED + bytes(100_000), "", ""),
        (
            PACKED + b"no member, but long enough for one",
            "from line 3001 on if not before: its gzip data is corrupt",
            "",
        ),
        (PACKED + PACKED[:12], "ends early, after line 3000: its gzip data is cut off", ""),
        (PACKED[:-3], "ends early, after line 3000: its gzip data is cut off", ""),
        (
            PACKED[:-8] + bytes(8),
            "from line 3001 on if not before: its gzip data is corrupt (incorrect data check)",
            "",
        ),
    ],
    ids=[
        "junk",
        "padding",
        "a member's remains",
        "a member's beginning",
        "cut trailer",
        "wrong checksum",
    ],
)
def test_all_lines_before_damage_are_read_and_it_is_told(
    tmp_path: Path, content: bytes, torn: str, beyond: str
) -> None:
    path = tmp_path / "f.log.gz"
    path.write_bytes(content)
    lines, notes = read(path)
    assert [text for _, text in lines] == gzip.decompress(PACKED).decode().splitlines()
    assert torn in notes.torn and bool(torn) == bool(notes.torn) and notes.beyond == beyond


def test_members_with_padding_between_them_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "f.log.gz"
    path.write_bytes(PACKED + bytes(30) + PACKED)
    lines, notes = read(path)
    assert len(lines) == notes.lines == 6000 and not notes.torn


def test_no_line_is_lost_before_a_cut_and_none_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "f.log.gz"
    whole = gzip.decompress(PACKED)
    for at in range(100, len(PACKED) - 8, len(PACKED) // 20):
        path.write_bytes(PACKED[:at])
        unpacked = zlib.decompressobj(31).decompress(PACKED[:at])
        lines, notes = read(path)
        assert (
            whole.startswith(unpacked)
            and [text for _, text in lines]
            == unpacked[: unpacked.rfind(b"\n") + 1].decode().splitlines()
        )
        assert notes.lines == len(lines)


def test_what_unpacks_before_a_wrong_byte_is_read(tmp_path: Path) -> None:
    header, stored, of_no_kind = (
        gzip.compress(b"")[:10],
        b"\x00\x04\x00\xfb\xff" + b"x\ny\n",
        b"\x07" * 40,
    )
    path = tmp_path / "f.log.gz"
    path.write_bytes(header + stored + of_no_kind)
    lines, notes = read(path)
    assert (
        [text for _, text in lines] == ["x", "y"]
        and "its gzip data is corrupt" in notes.torn
        and notes.altered
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("replay/kafka41-console-group-scale.log", ("generation 9 with", "generation 8 with")),
        ("requests/live-zombie.log.gz", ('"errorCode":27', '"errorCode":0')),
    ],
)
def test_a_damaged_file_does_not_hold_and_accuses_no_broker_of_bytes_that_may_be_others(
    tmp_path: Path, name: str, line: tuple[str, str]
) -> None:
    source = DATA / name
    whole = (gzip.open if source.suffix == ".gz" else open)(source, "rt").read()
    wrong = whole.replace(*line)
    assert wrong != whole

    def verdict(content: bytes) -> tuple[str, str]:
        path = tmp_path / "f.log.gz"
        path.write_bytes(content)
        report = replay_file(str(path))
        return report.verdict, report.reason

    good, bad = gzip.compress(whole.encode()), gzip.compress(wrong.encode())
    assert (verdict(good)[0], verdict(bad)[0]) == ("holds", "violated")
    assert verdict(good + b"junk")[0] == "holds"
    for damaged in (good[:-1], good[:-8] + bytes(8)):
        told, why = verdict(damaged)
        assert told == "unknown" and "read is explained" in why
    assert verdict(bad[:-1])[0] == "violated"
    told, why = verdict(bad[:-8] + bytes(8))
    assert told == "unknown" and ALTERED in why


def test_lines_without_the_words_looked_for_are_only_counted(tmp_path: Path) -> None:
    path = tmp_path / "f.log"
    path.write_bytes(b"other\n" * 50_000 + LINE.encode() + b"other\n" * 50_000)
    lines, notes = read(path, (b"[GroupCoordinator ",))
    assert [n for n, _ in lines] == [50_001] and notes.lines == 100_001


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(rounds: int) -> int:
        path = tmp_path / f"{rounds}.log.gz"
        with gzip.open(path, "wt", compresslevel=1) as f:
            for k in range(rounds):
                f.write(
                    "[2024-10-25 17:25:16,582] INFO [GroupCoordinator 3]: Loading group metadata"
                    f" for g{k % 50} with generation {k}\n"
                )
                f.write("[2024-10-25 17:25:16,582] INFO something else (kafka.log.Log)\n" * 20)
        tracemalloc.start()
        replay_file(str(path))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(2000) < peak(200) + 3_000_000


def test_memory_is_bounded_however_many_members_and_rebalances_a_file_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_replay, "SWEEP_LINES", 300)
    monkeypatch.setattr(broker_replay, "NAMES_KEPT", 200)

    def peak(rounds: int) -> int:
        path = tmp_path / f"{rounds}.log"
        before = "[2024-10-25 17:25:16,582] INFO [GroupCoordinator 3]:"
        with path.open("w") as f:
            for k in range(rounds):
                member = f"m-{k:08x}-0000-0000-0000-000000000000"
                f.write(
                    f"{before} Dynamic Member with unknown member id joins group g in Stable state."
                    f" Created a new member id {member}"
                )
                f.write(" for this member and add to the group.\n")
                f.write(
                    f"{before} Preparing to rebalance group g in state PreparingRebalance with old"
                    f" generation {k} (__consumer_offsets-7)"
                )
                f.write(
                    f" (reason: Adding new member {member} with group instance id None; client"
                    " reason: x)\n"
                )
                f.write(
                    f"{before} Stabilized group g generation {k + 7} (__consumer_offsets-7) with"
                    " 999999 members\n"
                )
        tracemalloc.start()
        (group,) = replay_file(str(path)).groups
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(group.timeline.members) + group.timeline.members_dropped == rounds
        assert len(group.timeline.rounds) + group.timeline.rounds_dropped == rounds
        return most

    peak(10)
    assert peak(2000) < peak(400) + 1_000_000
