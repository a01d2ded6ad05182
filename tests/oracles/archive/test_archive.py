"""An archive without Spark: rows equal to the one-process replay, news only, and no half or double
row whatever breaks off.
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
import reference
from archived import compared, in_process, table, tables

from groupcheck.model.engine import UserError
from groupcheck.oracles.archive import parts, task
from groupcheck.oracles.archive.command import progress_line
from groupcheck.oracles.archive.finding import dealt, find_sources
from groupcheck.oracles.archive.pipeline import Outcome, Progress, update
from groupcheck.oracles.archive.place import HIDDEN, Place
from groupcheck.oracles.archive.tables import TABLES, schema
from groupcheck.oracles.archive.task import Pack, Source, TaskFiles
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.spark.job import JobError
from groupcheck.traces import reading
from groupcheck.traces.replay import ReplayOptions

ROOT = Path(__file__).parents[3]
LINE = (
    "[2024-10-25 17:25:16,582] INFO [GroupCoordinator 3]:"
    " Stabilized group {} generation 5 (__consumer_offsets-7) with 3 members\n"
)


def run(archive: Path, *paths: Path) -> Outcome:
    return update(str(archive), paths, in_process(str(archive)))


def log(path: Path, group: str, lines: int = 1) -> Path:
    path.write_text(LINE.format(group) * lines)
    return path


def test_rows_are_those_of_the_one_process_replay(tmp_path: Path) -> None:
    logs = sorted(
        [
            *(ROOT / "tests/data/replay").iterdir(),
            *(ROOT / "tests/data/requests").glob("live-[sz]*.gz"),
        ]
    )
    outcome = run(tmp_path / "a", *logs)
    assert compared(tmp_path / "a", logs) >= 15 and outcome.new == len(logs)
    assert {row["kind"] for row in table(tmp_path / "a", "events")} >= {
        "RebalanceStarted",
        "Stabilized",
        "HEARTBEAT",
        "JOIN_GROUP",
    }


def test_a_second_run_adds_nothing_and_a_third_what_is_new(
    tmp_path: Path, misfits: Callable[[Any], list[str]]
) -> None:
    archive, logs = tmp_path / "a", tmp_path / "logs"
    logs.mkdir()
    log(logs / "1.log", "one")
    first = run(archive, logs)
    held, names = tables(archive), sorted(archive.rglob("*.parquet"))
    second = run(archive, logs)
    assert misfits(first.document()) == []
    assert (first.new, second.new, second.changed, second.rows) == (1, 0, 0, {})
    assert tables(archive) == held and sorted(archive.rglob("*.parquet")) == names
    assert second.worst() == first.worst()
    log(logs / "2.log", "two")
    assert run(archive, logs).new == 1
    assert [row["group"] for row in table(archive, "verdicts")] == ["one", "two"]


def test_the_rows_of_a_changed_file_vanish_and_its_neighbours_stay_even_if_their_logs_are_gone(
    tmp_path: Path,
) -> None:
    archive, logs = tmp_path / "a", tmp_path / "logs"
    logs.mkdir()
    for k in range(3):
        log(logs / f"{k}.log", f"group {k}".replace(" ", "-"))
    run(archive, logs)
    assert len(list((archive / "verdicts").glob("0*.parquet"))) == 1  # all three in one part
    (logs / "0.log").unlink()
    log(logs / "1.log", "another", 2)
    outcome = run(archive, logs)
    assert (outcome.new, outcome.changed) == (0, 1)
    assert [(row["group"], row["lines"]) for row in table(archive, "verdicts")] == [
        ("group-0", 1),
        ("another", 2),
        ("group-2", 1),
    ]
    assert {row["group"] for row in table(archive, "events")} == {"group-0", "another", "group-2"}
    assert len(table(archive, "files")) == 3
    assert run(archive, logs).changed == 0


class Killed(BaseException):
    """As SIGKILL: nothing is tidied up."""


def killed_after(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the driver die at its n-th change of the archive."""
    left = [n]

    def dying(act: Callable[..., None]) -> Callable[..., None]:
        def acted(*arguments: object) -> None:
            if not left[0]:
                raise Killed
            left[0] -= 1
            act(*arguments)

        return acted

    for name in ("move", "remove"):
        monkeypatch.setattr(Place, name, dying(getattr(Place, name)))


def consistent(held: dict[str, list[dict[str, object]]]) -> None:
    """No row twice; what is in `verdicts` and `files` has its rows everywhere else."""
    files = [str(row["file"]) for row in held["files"]]
    verdicts = [(row["file"], row["group"], row["coordinator"]) for row in held["verdicts"]]
    assert len(files) == len(set(files)) and len(verdicts) == len(set(verdicts))
    for name in ("events", "rebalances"):
        there = {row["file"] for row in held[name]}
        assert set(files) <= there and {file for file, _, _ in verdicts} <= there
        places = [
            (row["file"], row.get("line", row.get("number")), row["group"]) for row in held[name]
        ]
        assert len(places) == len(set(places))


def test_a_driver_killed_at_any_change_of_a_commit_leaves_no_half_row_and_no_double_one(
    tmp_path: Path,
) -> None:
    """Three logs are in the archive; one of them changes, one is new: every place where the driver
    can die is tried.
    """
    logs = tmp_path / "logs"
    logs.mkdir()
    for k in range(3):
        log(logs / f"{k}.log", f"g{k}")
    run(tmp_path / "before", logs)
    log(logs / "1.log", "g1", 3)
    log(logs / "3.log", "g3")
    shutil.copytree(tmp_path / "before", tmp_path / "after")
    run(tmp_path / "after", logs)
    expected = tables(tmp_path / "after")
    died = 0
    for n in range(100):
        archive = tmp_path / f"killed-{n}"
        shutil.copytree(tmp_path / "before", archive)
        with pytest.MonkeyPatch.context() as patch:
            killed_after(n, patch)
            try:
                run(archive, logs)
            except Killed:
                died += 1
            else:
                break
        consistent(tables(archive))
        run(archive, logs)
        assert tables(archive) == expected, n
        assert not list((archive / "_unfinished").iterdir())
    assert died >= 15


def test_a_hostile_file_spoils_only_its_own_row(tmp_path: Path) -> None:
    archive, logs = tmp_path / "a", tmp_path / "logs"
    logs.mkdir()
    good, noise = log(logs / "m-good.log", "good", 5), random.Random(0)
    packed = gzip.compress(
        noise.randbytes(50_000).hex().encode() + LINE.format("torn").encode() * 500
    )
    (logs / "binary.log").write_bytes(bytes(range(32)) * 500)
    (logs / "torn.log.gz").write_bytes(packed[: len(packed) - 20])
    (logs / "bad.log.gz").write_bytes(b"\x1f\x8b" + noise.randbytes(500))
    (logs / "empty.log").touch()
    (logs / "dangling.log").symlink_to(logs / "nowhere")
    os.mkfifo(logs / "pipe.log")
    half = (
        '{"message": "[GroupCoordinator 1]:'
        ' Stabilized group \\ud800 generation 5 (__consumer_offsets-7) with 3 members"}'
    )
    (logs / "half.log").write_text(half + "\n")
    strange = [
        "new\nline.log",
        "\x1b[31mred.log",
        "quo'te\".log",
        "*?[x].log",
        os.fsdecode(b"not-utf8-\xff.log"),
        "ü 汉.log",
    ]
    for name in strange:
        log(logs / name, "strange")
    outcome = run(archive, logs)
    rows = {row["file"]: row for row in table(archive, "files")}
    assert len(rows) == len(list(logs.iterdir()))
    whole = sorted(p for p in logs.iterdir() if p.name != "pipe.log")
    assert compared(archive, whole) >= len(strange) + 2
    assert (
        rows[str(good)]["error"] is None and "is binary" in rows[str(logs / "binary.log")]["error"]
    )
    assert (
        "pipe" in rows[str(logs / "pipe.log")]["error"]
        and "cannot be read" in rows[str(logs / "dangling.log")]["error"]
    )
    assert any("ends early" in note for note in rows[str(logs / "torn.log.gz")]["notes"])
    assert outcome.worst()[0] == "unknown" and run(archive, logs).new == 0


def test_what_could_not_be_read_is_replayed_when_it_can(tmp_path: Path) -> None:
    (tmp_path / "1.log").symlink_to(tmp_path / "later.txt")
    assert run(tmp_path / "a", tmp_path / "1.log").worst()[0] == "unknown"
    assert run(tmp_path / "a", tmp_path / "1.log").changed == 0
    os.utime(log(tmp_path / "later.txt", "g"), (0, 0))
    manifest = tmp_path / "a/_manifest.json"  # as if it had been there, with other rights
    manifest.write_text(
        manifest.read_text().replace('"size": 0', f'"size": {len(LINE.format("g"))}')
    )
    assert run(tmp_path / "a", tmp_path / "1.log").changed == 1
    assert [row["error"] for row in table(tmp_path / "a", "files")] == [None]


def test_progress_says_how_far_a_run_is() -> None:
    assert (
        progress_line(Progress(1200, 40, 10, 30 << 20), 12)
        == "1,200 new or changed logs  30 MiB  12 of 40 tasks  30%"
    )
    assert progress_line(Progress(), 0) == "0 new or changed logs  0 MiB  0 of 0 tasks"


def test_a_log_with_lines_of_two_kinds_has_one_row_and_the_groups_of_both(tmp_path: Path) -> None:
    lines = log(tmp_path / "one", "other", 3).read_bytes()
    requests = gzip.decompress((ROOT / "tests/data/requests" / "live-zombie.log.gz").read_bytes())
    (tmp_path / "both.log").write_bytes(lines + requests + lines)
    run(tmp_path / "a", tmp_path / "both.log")
    (row,) = table(tmp_path / "a", "files")
    assert (row["format"], row["groups"]) == ("request-log", 2)
    assert {r["group"] for r in table(tmp_path / "a", "verdicts")} == {"g1", "other"}


def test_a_mistake_in_the_middle_of_a_replay_spoils_only_its_own_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for k in range(4):
        log(tmp_path / f"{k}.log", f"g{k}", 3)
    sound = task.replay_log

    def broken(source: reading.Source, asked: ReplayOptions) -> object:
        reports = sound(source, asked)
        if source.name.endswith("2.log"):
            raise ZeroDivisionError("what nobody thought of")
        return reports

    monkeypatch.setattr(task, "replay_log", broken)
    run(tmp_path / "a", *tmp_path.glob("*.log"))
    assert [row["group"] for row in table(tmp_path / "a", "verdicts")] == ["g0", "g1", "g3"]
    assert {row["group"] for row in table(tmp_path / "a", "events")} == {"g0", "g1", "g3"}
    errors = [row["error"] for row in table(tmp_path / "a", "files")]
    assert [e is None for e in errors] == [True, True, False, True] and "ZeroDivisionError" in str(
        errors[2]
    )


def test_where_tasks_die_the_file_to_blame_is_found(tmp_path: Path) -> None:
    for k in range(9):
        log(tmp_path / f"{k}.log", f"g{k}")
    archive = tmp_path / "a"

    def dying(packs: Sequence[Pack]) -> list[TaskFiles]:
        if any(source.path.endswith("6.log") for pack in packs for source in pack.sources):
            raise JobError("Python worker exited unexpectedly")
        return in_process(str(archive))(packs)

    update(str(archive), sorted(tmp_path.glob("*.log")), dying)
    assert [row["group"] for row in table(archive, "verdicts")] == [
        f"g{k}" for k in range(9) if k != 6
    ]
    assert [row["file"] for row in table(archive, "files") if row["error"]] == [
        str(tmp_path / "6.log")
    ]


def test_one_run_at_a_time(tmp_path: Path) -> None:
    log(tmp_path / "1.log", "g")
    archive = tmp_path / "a"

    def second(packs: Sequence[Pack]) -> list[TaskFiles]:
        run(archive, tmp_path / "1.log")
        return []

    with pytest.raises(UserError, match="another run writes"):
        update(str(archive), [tmp_path / "1.log"], second)


@pytest.mark.parametrize(
    "uri", ["nothing://there", "file:///proc/archive", "/dev/null/archive", "{}/1.log"]
)
def test_a_place_that_cannot_be_written_is_refused(uri: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no place for an archive|cannot write"):
        update(uri.format(tmp_path), [log(tmp_path / "1.log", "g")], in_process(uri))


def test_a_manifest_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for content in (
        "no json",
        '{"schema": "other/1"}',
        '{"schema": "groupcheck.archive/1", "files": 3}',
    ):
        (tmp_path / "a/_manifest.json").write_text(content)
        with pytest.raises(UserError, match=r"_manifest\.json"):
            run(tmp_path / "a", log(tmp_path / "1.log", "g"))


def test_paths_without_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "none"):
        with pytest.raises(UserError, match=r"holds no file|does not exist"):
            run(tmp_path / "a", path)


def test_the_archive_itself_is_not_taken_for_logs_and_a_file_counts_once(tmp_path: Path) -> None:
    log(tmp_path / "1.log", "g")
    for _ in range(2):
        outcome = run(tmp_path / "a", tmp_path, tmp_path / "1.log", tmp_path / "." / "1.log")
        assert list(outcome.known) == [str(tmp_path / "1.log")]


def test_large_files_have_a_pack_of_their_own_and_small_ones_share(tmp_path: Path) -> None:
    sources = [Source(f"small-{k:03}", 100_000, 0) for k in range(100)] + [
        Source("large", 900 << 20, 0),
        Source("packed.gz", 40 << 20, 0),
    ]
    packs = dealt(sources, 7)
    assert [[s.path for s in pack.sources] for pack in packs[:2]] == [["large"], ["packed.gz"]]
    assert sorted(s.path for pack in packs for s in pack.sources) == sorted(s.path for s in sources)
    assert (
        len({pack.part for pack in packs}) == len(packs)
        and max(len(pack.sources) for pack in packs[2:]) > 50
    )
    assert len(dealt(sources[:100], 1)) > 20  # work for many


def test_rows_are_written_as_they_come_not_gathered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "ROWS_KEPT", 1000)
    run(tmp_path / "a", log(tmp_path / "long.log", "g", 5500))
    (part,) = (tmp_path / "a/events").glob("0*.parquet")
    told = parquet.ParquetFile(part).metadata
    assert [told.row_group(k).num_rows for k in range(told.num_row_groups)] == [1000] * 5 + [500]


def test_a_part_that_is_written_again_keeps_every_row_of_a_long_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "ROWS_KEPT", 100)
    logs = [
        log(tmp_path / "long.log", "long", 350),
        log(tmp_path / "short.log", "short", 1),
    ]  # in one pack, and so in one part
    run(tmp_path / "a", *logs)
    log(logs[1], "short", 2)
    assert run(tmp_path / "a", *logs).changed == 1
    events = table(tmp_path / "a", "events")
    assert sorted(row["line"] for row in events if row["group"] == "long") == [*range(1, 351)]
    assert sorted(row["line"] for row in events if row["group"] == "short") == [1, 2]


def test_what_parquet_cannot_hold_is_written_in_another_way(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    place.prepare([HIDDEN])
    with parts.PartWriter(place, "p") as out:
        out.add("events", {"file": "f", "line": 2**70, "group": "\ud800", "generation": 7})
    (row,) = parquet.read_table(tmp_path / out.written["events"]).to_pylist()
    assert (row["line"], row["group"], row["generation"]) == (None, "\\ud800", 7)


def test_the_reference_describes_every_column() -> None:
    document = reference.archive_tables()
    for name, columns in TABLES.items():
        section = document.partition(f"## {name}\n")[2].partition("\n## ")[0]
        rows = [
            tuple(cell.strip() for cell in line.strip("|").split("|"))
            for line in section.splitlines()
            if line.startswith("| `")
        ]
        assert rows == [
            (f"`{c.name}`", reference.cell(c.type), c.unit, c.meaning) for c in columns
        ], name
        assert [str(field.type) for field in schema(name)] == [_arrow(c.type) for c in columns]


def _arrow(type: str) -> str:
    """Arrow's own spelling of a documented type."""
    return type.replace("list<string>", "list<item: string>").replace(
        "list<struct", "list<item: struct"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--spark", "local[2]"], "add --out URI"),
        (["--out", "a"], "needs --spark"),
        (["--spark", "nowhere", "--out", "a"], "not a Spark master"),
        (["--spark", "local[2]", "--out", "a", "--group", "g"], "--group"),
        (["--spark", "local[2]", "--out", "a", "--html", "x.html"], "--html"),
        (["--spark", "local[2]", "--out", "a", "nothing.log"], "does not exist"),
        (["--spark", "local[2]", "--out", "/proc/a"], "cannot write to /proc/a"),
    ],
)
def test_what_cannot_be_is_said_in_one_line_before_anything_starts(
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    log(tmp_path / "1.log", "g")
    assert cli.run(["replay", "1.log", *options]) == 2
    told = capsys.readouterr().err
    assert (
        said in told
        and told.count("\n") == 1
        and sorted(p.name for p in tmp_path.iterdir()) == ["1.log"]
    )


def test_a_sample_is_a_source_like_any_file():
    (source,) = find_sources(["sample:zombie"], None)
    assert source.size == Path(source.path).stat().st_size > 0
    with pytest.raises(UserError, match="sample:zombi: there is no such sample"):
        find_sources(["sample:zombi"], None)
