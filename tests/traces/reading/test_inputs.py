"""What people give to `replay` becomes logs: folders, archives, packed files, standard input."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.model.engine import UserError
from groupcheck.oracles.replay.report import replay
from groupcheck.traces.reading import Notes, finding, source, unpacking
from groupcheck.traces.reading.finding import LogsFound, find_logs
from groupcheck.traces.replay import replay_log

LINE = (
    "[2024-10-25 17:25:16,582] INFO [GroupCoordinator 3]: Stabilized group g generation 5"
    " (__consumer_offsets-7) with 3 members\n"
)
LOG = (LINE * 3).encode()
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": lambda content: bz2.compress(content, 1),
    "xz": lzma.compress,
    "zst": zstandard.compress,
}


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            told = tarfile.TarInfo(name)
            told.size = len(content)
            archive.addfile(told, io.BytesIO(content))
    return out.getvalue()


def of(path: Path, content: bytes, name: str = "f") -> LogsFound:
    (path / name).write_bytes(content)
    return find_logs([str(path / name)])


def told(there: LogsFound) -> dict[str, int]:
    """The logs with the numbers of their lines."""
    counts = {}
    for one in there.sources:
        notes = Notes()
        for _ in one.lines(notes):
            pass
        counts[one.name] = notes.lines
    return counts


@pytest.mark.parametrize("kind", PACK)
def test_packed_files_of_each_kind_are_read_also_in_several_members(
    tmp_path: Path, kind: str
) -> None:
    (one,) = of(tmp_path, PACK[kind](LOG) + PACK[kind](LOG)).sources
    (report,) = replay_log(one)
    assert (report.lines, report.understood, report.notes) == (6, 6, ())


@pytest.mark.parametrize("kind", PACK)
def test_a_cut_file_of_each_kind_is_read_as_far_as_it_unpacks(tmp_path: Path, kind: str) -> None:
    many = "".join(LINE.replace("5 (", f"{k} (") for k in range(40_000)).encode()
    packed = PACK[kind](many)
    (tmp_path / "f").write_bytes(packed[: len(packed) * 9 // 10])
    notes = Notes()
    (one,) = find_logs([str(tmp_path / "f")]).sources
    lines = [text for _, text in one.lines(notes)]
    assert 1000 < len(lines) < 40_000
    assert lines == many.decode().splitlines()[: len(lines)]
    assert "data is cut off" in notes.torn


@pytest.mark.parametrize("kind", PACK)
def test_a_bomb_of_each_kind_is_read_no_further_than_a_log_would_unpack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    (one,) = of(tmp_path, PACK[kind](LOG + b"x" * (32 << 20))).sources
    monkeypatch.setattr(unpacking, "MOST_UNPACKED", 1 << 20)
    (report,) = replay_log(one)
    assert report.understood == 3 and any("unpacks to far more" in note for note in report.notes)


def test_damage_of_each_kind_is_told(tmp_path: Path) -> None:
    for kind, pack in PACK.items():
        packed = bytearray(pack("".join(f"{k * k} {k}\n" for k in range(30_000)).encode()))
        for at in range(len(packed) // 2, len(packed) // 2 + 50):
            packed[at] ^= 0x5A
        (tmp_path / "f").write_bytes(packed)
        notes = Notes()
        try:
            for _ in find_logs([str(tmp_path / "f")]).sources[0].lines(notes):
                pass
        except UserError as e:
            notes.torn = str(e)
        assert "damaged" in notes.torn, kind


@pytest.mark.parametrize("pack", [None, *PACK])
@pytest.mark.parametrize("archive", [zipped, tarred])
def test_standard_input_is_read_whatever_it_holds(
    archive: Callable[[dict[str, bytes]], bytes], pack: str | None
) -> None:
    for content, name in ((LOG, "-"), (archive({"a.log": LOG}), "-/a.log")):
        given = PACK[pack](content) if pack else content
        there = find_logs(["-"], io.BytesIO(given))
        assert told(there) == {name: 3}
        assert told(there) == {name: 3}, "it can be read twice"


def test_standard_input_is_kept_only_as_far_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(source, "MOST_KEPT", 100)
    with pytest.raises(UserError, match="too large"):
        find_logs(["-"], io.BytesIO(LOG))


def test_the_members_of_archives_are_files_of_their_own_and_others_are_counted(
    tmp_path: Path,
) -> None:
    members = {
        "a.log": LOG,
        "b/c.log.gz": gzip.compress(LOG * 2),
        "b/.hidden": LOG,
        "__MACOSX/a.log": LOG,
        "classes.bin": bytes(range(256)) * 9,
        "nothing": b"",
    }
    for content in (zipped(members), tarred(members), tarred(members, "w:gz")):
        there = of(tmp_path, content)
        assert {name.removeprefix(f"{tmp_path}/f/"): n for name, n in told(there).items()} == {
            "a.log": 3,
            "b/c.log.gz": 6,
        }
        assert there.notes == ["files passed over: 1 binary, 1 empty, 2 hidden"]
        assert there.refused == []


def test_no_more_logs_are_taken_than_can_be_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "MOST_MEMBERS", 5)
    inner = zipped({f"{k}.txt": LOG for k in range(4)})
    there = of(tmp_path, zipped({f"{k}.zip": inner for k in range(4)}))
    assert len(there.sources) == 5 and "the rest of it is left out" in str(there.refused[0][1])


def test_an_archive_in_an_archive_is_read_and_no_deeper_one(tmp_path: Path) -> None:
    inner = tarred({"x.log": LOG}, "w:xz")
    deep = zipped({"i.tar.xz": inner, "a.log": LOG, "two.zip": zipped({"i.tar.xz": inner})})
    there = of(tmp_path, deep)
    names = [s.name.removeprefix(f"{tmp_path}/f/") for s in there.sources]
    assert names == ["i.tar.xz/x.log", "a.log"]
    ((name, why),) = there.refused
    assert name.endswith("two.zip/i.tar.xz") and "in an archive in an archive" in why.what


def test_a_locked_or_damaged_member_does_not_lose_the_others(tmp_path: Path) -> None:
    content = bytearray(zipped({"a.log": LOG, "b.log": LINE.encode() * 50, "c.log": LOG}))
    at = content.index(b"b.log") + 8
    content[at : at + 20] = bytes(20)
    there = of(tmp_path, bytes(content))
    assert [n.rpartition("/")[2] for n in told(there)] == ["a.log", "c.log"]
    assert [(n.rpartition("/")[2], "damaged" in str(e)) for n, e in there.refused] == [
        ("b.log", True)
    ]


def test_a_cut_archive_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    many = "".join(LINE.replace("5 (", f"{k} (") for k in range(40_000)).encode()
    whole = tarred({"a.log": LOG, "b.log": many, "c.log": LOG}, "w:gz")
    there = of(tmp_path, whole[: len(whole) // 2])
    assert [s.name.rpartition("/")[2] for s in there.sources] == ["a.log", "b.log"]
    (report,) = replay_log(there.sources[1])
    assert 1000 < report.understood < 40_000 and report.verdict == "unknown"
    assert any("only as far as it is not damaged" in note for note in report.notes)
    assert str(there.refused[0][1]).partition(" (")[0].endswith("is cut off")


TWO = tarred({"a.log": LOG, "b.log": LOG})
SECOND = 1024  # where the header of its second member begins


def sized(size: str) -> bytes:
    """An archive with a member of which a header of pax says that it has that size."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        told = tarfile.TarInfo("b.log")
        told.pax_headers = {"size": size}
        archive.addfile(told)
    return TWO[:SECOND] + out.getvalue()


def named(length: int) -> bytes:
    """An archive with a member whose name is as long as that."""
    long = tarfile.TarInfo("././@LongLink")
    long.size, long.type = length, tarfile.GNUTYPE_LONGNAME
    return TWO[:SECOND] + long.tobuf(tarfile.GNU_FORMAT) + b"n" * length + TWO[SECOND:]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (TWO[: SECOND + 9] + b"x" + TWO[SECOND + 10 :], "the header of a member is none"),
        (TWO[: SECOND + 99], "the header of a member is none"),
        (sized("-1024"), "a member has less than no bytes"),
        (sized(str(1 << 70)), "unexpected end of data"),  # which tarfile would look for, for ever
        (named(2 << 20), "the headers of a member have over 1,048,576 bytes"),
    ],
)
def test_a_tar_archive_is_read_up_to_a_wrong_header_and_says_so(
    tmp_path: Path, content: bytes, why: str
) -> None:
    there = of(tmp_path, content, "x.tar")
    assert next(iter(told(there))) == str(tmp_path / "x.tar" / "a.log")
    assert why in str(there.refused[-1][1])


def test_a_folder_is_read_with_all_folders_in_it(tmp_path: Path) -> None:
    for name, content in {
        "one/server.log": LOG,
        "one/two/server.log": LOG * 2,
        ".git/server.log": LOG,
        "one/logs.zip": zipped({"x.log": LOG}),
        "picture": bytes(range(256)) * 9,
        "none.log": b"",
        "damaged.log.gz": b"\x1f\x8bnot gzip",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "one" / "loop").symlink_to(tmp_path)
    there = find_logs([str(tmp_path), str(tmp_path / "one" / "server.log")])
    names = [s.name.removeprefix(f"{tmp_path}/") for s in there.sources]
    assert names == ["one/logs.zip/x.log", "one/server.log", "one/two/server.log"]
    assert there.notes == ["files passed over: 1 binary, 1 empty"]
    assert [name.removeprefix(f"{tmp_path}/") for name, _ in there.refused] == ["damaged.log.gz"]


def test_a_file_in_a_folder_that_one_may_not_enter_is_refused_like_any_other(
    tmp_path: Path, ordinary_user: Callable[[], AbstractContextManager[None]]
) -> None:
    (tmp_path / "a.log").write_bytes(LOG)
    (tmp_path / "closed").mkdir(mode=0o000)
    with ordinary_user():
        there = find_logs([str(tmp_path / "a.log"), str(tmp_path / "closed" / "b.log")])
    assert list(told(there)) == [str(tmp_path / "a.log")]
    assert "b.log: cannot be read: Permission denied" in str(there.refused[0][1])


def test_a_folder_for_temporary_files_is_needed_for_copies_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(**_: object) -> None:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(source.tempfile, "TemporaryDirectory", none)
    assert len(of(tmp_path, gzip.compress(LOG)).sources) == 1
    with pytest.raises(UserError, match=r"a\.log: has to be copied .*No usable .*set TMPDIR"):
        of(tmp_path, zipped({"a.log": LOG}))


def test_nothing_to_read_is_an_error_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file to read"):
        find_logs([str(tmp_path)])
    with pytest.raises(UserError, match="No such file"):
        find_logs([str(tmp_path / "none")])
    with pytest.raises(UserError, match="empty"):
        find_logs(["-"], io.BytesIO(b""))
    assert len(find_logs(["-", "-"], io.BytesIO(LOG)).sources) == 1


ANY = st.binary(max_size=300)
PACKED = st.sampled_from(
    [
        *(pack(LOG * 20) for pack in PACK.values()),
        zipped({"a.log": LOG, "b.zip": zipped({"c": LOG})}),
        tarred({"a.log": LOG}),
        tarred({"a.log": LOG}, "w:gz"),
        LOG,
        LOG.decode().encode("utf-16"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(PACKED, st.integers(0, 2000), ANY, st.integers(0, 2000))
def test_no_content_is_more_than_a_refusal(whole: bytes, at: int, some: bytes, cut: int) -> None:
    content = whole[:at] + some + whole[at + len(some) :]
    content = content[: max(1, len(content) - cut)] if cut % 3 == 0 else content
    try:
        there = find_logs(["-"], io.BytesIO(content))
    except UserError:
        return
    for one in there.sources:
        try:
            reports = replay_log(one)
        except UserError:
            continue
        assert all(r.lines <= content.count(b"\n") + 1 + 1000 for r in reports)


NAMES = ["server.log", "server.log.1", "server.log.2.gz", "app.2024-10-25.log", "a.zip", "b", ".c"]
BITS = st.sampled_from(
    [
        LINE,
        LINE.replace("17:25", "17:27"),
        LINE.replace("[2024-10-25 17:25:16,582]", "Oct 25 17:25:16"),
        LINE.replace(" g ", " h ")[:70] + "\n",
        LINE.replace("INFO", "**INFO**"),
        "\tat a.b.C(D.java:1)\n",
        "[2024-10-25 17:25:17,000] DEBUG Completed request:{}\n",
        "\x00\xff\n",
        "x" * 3000,
    ]
)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(NAMES),
        st.tuples(st.lists(BITS, max_size=12), st.sampled_from(["", *PACK, "zip"])),
        max_size=5,
    )
)
def test_any_folder_gives_an_answer_or_one_error(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, tuple[list[str], str]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    for name, (bits, pack) in files.items():
        content = "".join(bits).encode("latin-1")
        content = zipped({"in.log": content}) if pack == "zip" else content
        (folder / name).write_bytes(PACK[pack](content) if pack in PACK else content)
    try:
        together = replay([folder])
    except UserError:
        return
    assert together.verdict in ("holds", "unknown", "violated")
    assert together.document()["lines"] == sum(r.lines for r in together)
    assert sum(part.lines for r in together for part in r.files) >= together.document()["lines"]
