"""The rotated files of one process are one log, and files of different processes are not."""

from __future__ import annotations

import gzip
import io
import itertools
from pathlib import Path
from typing import Any

import pytest

from groupcheck.oracles.replay.report import ReplayReports, replay
from groupcheck.traces.reading import Notes, place_of
from groupcheck.traces.reading.finding import LogsFound, find_logs
from groupcheck.traces.reading.rotation import LEAST_COMMON

DATA = Path(__file__).parents[2] / "data" / "replay"
WHOLE = (DATA / "kafka41-console-group-scale.log").read_text().splitlines(keepends=True)
STORM = gzip.decompress((DATA / "msk-kafkago-rebalance-storm.log.gz").read_bytes())


def write(folder: Path, **files: str) -> list[str]:
    """Files by name; `__` stands for a dot, `_` for a dash."""
    for name, text in files.items():
        path = folder / name.replace("__", ".").replace("_", "-")
        content = text.encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return [str(p) for p in sorted(folder.iterdir())]


def names(there: LogsFound) -> list[list[str]]:
    return [[p.name.rpartition("/")[2] for p in s.pieces] for s in there.sources]


def texts(there: LogsFound) -> list[list[str]]:
    return [[text for _, text in s.lines(Notes())] for s in there.sources]


def timed(*seconds: int, word: str = "line") -> str:
    return "".join(
        f"[2024-10-25 17:{s // 60:02}:{s % 60:02},000] INFO {word} {s}\n" for s in seconds
    )


def without_files(told: Any) -> Any:
    """A document without the names of files."""
    if isinstance(told, dict):
        return {k: without_files(v) for k, v in told.items() if k not in ("file", "files")}
    return [without_files(one) for one in told] if isinstance(told, list) else told


@pytest.mark.parametrize("log", [WHOLE, STORM.decode().splitlines(True)], ids=["console", "storm"])
def test_rotated_files_in_any_order_give_what_they_give_through_a_pipe(
    tmp_path: Path, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts = [0, len(log) // 3, len(log) // 2, len(log)]
    parts = ["".join(log[a:b]) for a, b in itertools.pairwise(cuts)]
    files = dict(zip(("server__log__2__gz", "server__log__1", "server__log"), parts, strict=True))
    paths = write(tmp_path, **files)
    piped = io.TextIOWrapper(io.BytesIO("".join(log).encode()))
    monkeypatch.setattr("sys.stdin", piped)
    expected = without_files(replay(["-"]).document())
    for order in itertools.permutations(paths):
        together = replay(order)
        (report,) = together
        parts_of = [(p.path.rpartition("/")[2], p.first_line, p.lines) for p in report.files]
        assert parts_of == [
            ("server.log.2.gz", 1, cuts[1]),
            ("server.log.1", cuts[1] + 1, cuts[2] - cuts[1]),
            ("server.log", cuts[2] + 1, cuts[3] - cuts[2]),
        ]
        assert without_files(together.document()) == expected


def test_the_rebalance_over_the_cut_is_one(tmp_path: Path) -> None:
    whole = replay([write(tmp_path, whole__log="".join(WHOLE))[0]])
    folder = tmp_path / "cut"
    folder.mkdir()
    middle = next(k for k, line in enumerate(WHOLE) if "Preparing to rebalance" in line) + 1
    paths = write(folder, s__log="".join(WHOLE[middle:]), s__log__1="".join(WHOLE[:middle]))
    cut = replay(paths)
    told, expected = ([g["rebalances"] for g in r.document()["groups"]] for r in (cut, whole))
    assert told == expected and expected[0]
    apart = [g.timeline.rounds for path in paths for g in replay([path])[0].groups]
    assert apart != [g.timeline.rounds for g in whole[0].groups], "by themselves they say less"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("server__log__1", "server__log"),
        ("server__log__2__gz", "server__log__1__gz"),
        ("server__log__2025_02_24_16", "server__log__2025_02_24_17"),
        ("server__log__2025_02_24_16", "server__log"),
        ("app_2025_02_24__log", "app_2025_02_25__log"),
        ("app__2025_02_24__1__log__gz", "app__2025_02_24__2__log__gz"),
        ("app_1__log__gz", "app__log"),
        ("messages_20250224", "messages"),
        ("server__log__1", "server__log__2"),
        ("messages__1", "messages"),
        ("messages__2__gz", "messages__gz"),
        ("0__log__20250224_123456__gz", "0__log"),
        ("2025_02_24__log", "2025_02_25__log"),
    ],
)
@pytest.mark.parametrize("dated", [True, False])
def test_names_of_rotated_files(tmp_path: Path, older: str, newer: str, dated: bool) -> None:
    one, two = timed(1, 2, 3), timed(4, 5, 6)
    if not dated:
        if newer == "server__log__2":
            return
        one, two = one[25:].replace("[2024-10-25", ""), "x\n" + two.replace("[2024-10-25", "")
    paths = write(tmp_path, **{older: one, newer: two})
    for order in (paths, paths[::-1]):
        assert texts(find_logs(order)) == [(one + two).splitlines()]


@pytest.mark.parametrize(
    "files",
    [
        {"broker_1__log": timed(1, 2), "broker_2__log": timed(3, 4)},
        {"kafka_0": timed(1, 2), "kafka_1": timed(3, 4)},
        {"host_10__0__0__1": timed(1, 2), "host_10__0__0__2": timed(3, 4)},
        {"a__log": timed(1, 2), "b__log__1": timed(3, 4)},
        {"server__log": timed(1, 9), "server__log__1": timed(2, 5, word="other")},
        {"server__log": timed(1, 9), "server__log__1": timed(1, 10, word="other")},
    ],
    ids=["numbered processes", "pods", "addresses", "other names", "overlap", "the same beginning"],
)
def test_files_of_different_processes_stay_apart(tmp_path: Path, files: dict[str, str]) -> None:
    paths = write(tmp_path, **files)
    assert [len(n) for n in names(find_logs(paths))] == [1, 1]
    assert len({s.name for s in find_logs(paths).sources}) == 2


def test_files_of_one_name_in_two_folders_stay_apart(tmp_path: Path) -> None:
    for name, seconds in (("one", (1, 3)), ("two", (2, 4))):
        (tmp_path / name).mkdir()
        older, newer = (timed(k) for k in seconds)
        write(tmp_path / name, server__log=newer, server__log__1=older)
    there = find_logs([str(tmp_path)])
    assert names(there) == [["server.log.1", "server.log"]] * 2
    assert [s.name.split("/")[-2] for s in there.sources] == ["one", "two"]


def test_lines_that_two_files_share_are_read_once(tmp_path: Path) -> None:
    first, second = timed(*range(40)), timed(*range(30, 60))
    paths = write(tmp_path, server__log__1=first, server__log=second)
    there = find_logs(paths)
    assert texts(there) == [timed(*range(60)).splitlines()]
    (report,) = replay(paths)
    assert [(p.first_line, p.lines, p.left_out) for p in report.files] == [(1, 40, 0), (41, 20, 10)]
    assert place_of(report.files, 41) == (str(tmp_path / "server.log"), 11)
    assert place_of(report.files, 40) == (str(tmp_path / "server.log.1"), 40)


@pytest.mark.parametrize("part", [range(40), range(10, 30), range(20, 40)])
def test_a_copy_of_a_part_is_left_out_and_that_is_said(tmp_path: Path, part: range) -> None:
    paths = write(tmp_path, server__log__1=timed(*range(40)), server__log=timed(*part))
    there = find_logs(paths)
    assert texts(there) == [timed(*range(40)).splitlines()]
    (report,) = replay(paths)
    assert any("is left out" in note for note in report.notes)


def test_a_short_repetition_without_times_is_no_copy(tmp_path: Path) -> None:
    retry = "retrying\n"
    paths = write(tmp_path, a__log__1="x\n" + retry * 3, a__log=retry * 3 + "y\n")
    assert len(texts(find_logs(paths))[0]) == 8
    many = "".join(f"line {k}\n" for k in range(LEAST_COMMON))
    paths = write(tmp_path, a__log__1="x\n" + many, a__log=many + "y\n")
    assert len(texts(find_logs(paths))[0]) == LEAST_COMMON + 2


def test_long_files_are_compared_over_blocks(tmp_path: Path) -> None:
    def lines(a: int, b: int) -> str:
        return "".join(
            f"[2024-10-25 {k // 3600:02}:{k // 60 % 60:02}:{k % 60:02},000] INFO {'x' * 90} {k}\n"
            for k in range(a, b)
        )

    paths = write(tmp_path, s__log__1=lines(0, 6000), s__log=lines(2000, 9000))
    assert texts(find_logs(paths)) == [lines(0, 9000).splitlines()]
    paths = write(tmp_path, s__log__1=lines(0, 6000), s__log=lines(2000, 5000) + lines(6000, 6001))
    assert len(texts(find_logs(paths))) == 2, "the copy differs far behind its beginning"


def test_a_file_that_cannot_be_read_does_not_lose_the_others(
    tmp_path: Path,
) -> None:
    paths = write(tmp_path, server__log="".join(WHOLE))
    together = replay([*paths, str(tmp_path / "none.log")])
    assert isinstance(together, ReplayReports)
    assert [(r.format, r.verdict) for r in together] == [
        ("broker-java", "holds"),
        ("unreadable", "unknown"),
    ]
    assert replay(paths).exit_code == 0 and together.exit_code == 3
    assert together.fails_on(["broken"]) == 3
    assert together[1].reason.startswith("cannot be read: No such")


def test_how_far_files_are_read_is_told(tmp_path: Path) -> None:
    text = "".join(WHOLE)
    paths = write(tmp_path, server__log=text, other__log__gz=text)
    seen: dict[str, tuple[int, int]] = {}

    def watch(name: str, read: int, size: int) -> None:
        assert 0 <= read <= size
        seen[name] = (read, size)

    replay(paths, watch=watch)
    sizes = {path: Path(path).stat().st_size for path in paths}
    assert seen == {path: (size, size) for path, size in sizes.items()}


def test_a_file_that_is_gone_before_it_is_read_does_not_lose_the_others(tmp_path: Path) -> None:
    paths = write(tmp_path, a__log="".join(WHOLE), b__log="".join(WHOLE))

    def watch(name: str, read: int, size: int) -> None:
        if name.endswith("a.log"):
            (tmp_path / "b.log").unlink(missing_ok=True)

    assert {(r.path[-5:], r.format) for r in replay(paths, watch=watch)} == {
        ("a.log", "broker-java"),
        ("b.log", "unreadable"),
    }
