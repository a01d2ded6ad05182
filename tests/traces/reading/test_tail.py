"""A log that is still written is read on through rotation, and nothing of it is read twice."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from groupcheck.traces.reading import LINE_CAP, TraceError, place_of
from groupcheck.traces.reading.tail import MARK, Growing, opened


class Log:
    """A file that a test writes, and the tail that reads it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tail: Growing | None = None

    def write(self, text: str) -> None:
        with self.path.open("ab") as out:
            out.write(text.encode())

    def follow(self, backwards: int | None = None) -> list[str]:
        self.tail = opened(str(self.path), backwards, {})
        return self.read()

    def read(self) -> list[str]:
        """All that has come; a rotation takes several turns."""
        assert self.tail is not None
        out = []
        for _ in range(4):
            out += self.tail.read(1 << 16)
        return [text.decode() for _, text in out]

    def said(self) -> str:
        assert self.tail is not None
        out = "; ".join(self.tail.notices)
        self.tail.notices.clear()
        return out

    def place(self, number: int) -> tuple[str, int]:
        assert self.tail is not None
        path, line = place_of(self.tail.parts, number)
        return path.rpartition("/")[2], line


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    one = Log(tmp_path / "server.log")
    yield one
    if one.tail is not None:
        one.tail.close()


def test_a_line_is_read_when_its_end_has_come(log: Log) -> None:
    log.write("a\nb")
    assert log.follow() == ["a"]
    log.write("c")
    assert log.read() == []
    log.write("d\ne\n")
    assert log.read() == ["bcd", "e"]
    log.write("rest")
    assert log.read() == []
    assert log.tail is not None
    assert log.tail.rest() == [(4, b"rest")]


def test_a_rotation_by_rename_loses_nothing_and_lines_are_found_under_the_new_names(
    log: Log,
) -> None:
    log.write("a\nb\n")
    assert log.follow() == ["a", "b"]
    log.write("c\nwithout an end")
    log.path.rename(log.path.with_name("server.log.1"))
    log.write("d\n")
    assert log.read() == ["c", "without an end", "d"]
    assert log.said() == f"was rotated after line 4, and is now {log.path}.1"
    assert [log.place(n) for n in (3, 5)] == [("server.log.1", 3), ("server.log", 1)]
    log.path.unlink()
    assert log.read() == []
    assert log.said() == "is gone; waiting for it"
    log.write("e\n")
    assert log.read() == ["e"]
    assert log.place(6) == ("server.log", 1)


@pytest.mark.parametrize("new", ["x\n", "more than was there before\n" * 9])
def test_a_truncation_is_noticed_whether_the_file_is_shorter_or_longer_then(
    log: Log, new: str
) -> None:
    log.write("a\nb\n")
    assert log.follow() == ["a", "b"]
    log.path.write_text(new)
    assert log.read() == new.splitlines()
    assert log.said() == "was truncated after line 2; read from its start"
    assert log.place(1) == (f"{log.path.name} (before it was truncated)", 1)
    assert log.place(3) == ("server.log", 1)


def test_a_file_that_comes_later_is_read_from_its_start(log: Log) -> None:
    assert log.follow(backwards=0) == []
    assert log.said() == "does not exist yet; waiting for it"
    log.write("a\n")
    assert log.read() == ["a"]
    assert log.said() == "is there"


@pytest.mark.parametrize(("backwards", "first"), [(0, 101), (1, 101), (18, 99), (10_000, 1)])
def test_of_a_long_file_the_end_is_read_with_the_numbers_of_its_lines(
    log: Log, backwards: int, first: int
) -> None:
    log.write("".join(f"line {k:03}\n" for k in range(1, 101)))
    assert log.follow(backwards) == [f"line {k:03}" for k in range(first, 101)]
    log.write("next\n")
    assert log.tail is not None
    assert log.tail.read(1 << 16) == [(101, b"next")]
    assert log.place(101) == ("server.log", 101)


def test_from_the_end_on_a_line_that_has_begun_is_read_whole(log: Log) -> None:
    log.write("a\nhalf")
    assert log.follow(0) == []
    log.write(" a line\n")
    assert log.read() == ["half a line"]


def test_an_older_file_that_is_named_too_is_not_read_again_when_it_gets_the_name(
    log: Log, tmp_path: Path
) -> None:
    older = tmp_path / "server.log.1"
    older.write_text("old\n")
    log.write("new\n" * MARK)
    known: dict[tuple[int, int], tuple[int, bytes]] = {}
    tails = [opened(str(path), None, known) for path in (log.path, older)]
    assert [len(t.read(1 << 16)) for t in tails] == [MARK, 1]
    log.path.replace(older)
    log.write("newest\n")
    read = [[text for _ in range(4) for _, text in t.read(1 << 16)] for t in tails]
    assert read == [[b"newest"], []]
    for tail in tails:
        tail.close()


REFUSED = {
    "is compressed": gzip.compress(b"a\n"),
    "is a zip archive": b"PK\x03\x04" + bytes(40),
    "is text in UTF-16": codecs.BOM_UTF16_LE + "a\n".encode("utf-16-le"),
    "is binary, not a text log": bytes(100),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_no_plain_text_is_refused_and_later_passed_over(log: Log, why: str) -> None:
    log.path.write_bytes(REFUSED[why])
    with pytest.raises(TraceError, match=why):
        log.follow()
    log.path.write_text("a\n")
    assert log.follow() == ["a"]
    log.path.unlink()
    log.path.write_bytes(REFUSED[why])
    assert log.read() == []
    assert f"{why}, which cannot be followed; waiting for another file" in log.said()
    log.path.unlink()
    log.write("b\n")
    assert log.read() == ["b"]


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="is a directory"):
        opened(str(tmp_path), None, {})


def test_a_line_without_an_end_takes_no_more_memory_than_a_cut_one(log: Log) -> None:
    log.write("a\n")
    assert log.follow() == ["a"]
    for _ in range(3):
        log.write("x" * LINE_CAP)
        for _ in range(LINE_CAP >> 16):
            assert log.tail is not None
            assert log.tail.read(1 << 16) == []
    log.write("\nb\n")
    lines = log.read()
    assert [len(line) for line in lines] == [LINE_CAP, 1]
