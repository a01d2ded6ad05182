"""Generated logs: the parsers read every line of them, the replay tells the truth about them, and a
seed gives the same bytes.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import tracemalloc
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli, cli_logs
from groupcheck.oracles.generate import files
from groupcheck.oracles.generate.dialects import DIALECTS
from groupcheck.oracles.generate.files import Order, Written, generate
from groupcheck.oracles.generate.lives import BrokerStream, Pool
from groupcheck.oracles.generate.template import Filling, compiled, subscription
from groupcheck.oracles.processes import parallel
from groupcheck.oracles.replay.document import round_document
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.traces.replay import replay_file

CLASSIC = {name: dialect for name, dialect in DIALECTS.items() if not dialect.consumer}
REQUESTS = tuple(name for name, dialect in CLASSIC.items() if dialect.requests)
BROKERS = tuple(name for name in CLASSIC if name not in REQUESTS)
TELLS_SIZES = tuple(name for name in BROKERS if name not in ("scala-1.1", "scala-2.4"))
TELLS_CAUSES = tuple(name for name in BROKERS if name != "scala-1.1")


def truth(folder: Path, name: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The lines of a truth file by log and group."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in (folder / f"truth/{name}.jsonl").read_text().splitlines():
        one = json.loads(line)
        found[Path(one["file"]).name, one["group"]].append(one)
    return found


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Written]]:
    """Two groups in every dialect of a broker's log."""
    folder = tmp_path_factory.mktemp("brokers")
    return folder, generate(
        folder, Order(groups=12, size=1 << 20, files=6, dialects=BROKERS, runs=3, seed=3)
    )


def test_the_number_of_processes_changes_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "WORTH_S", 0.0)
    order = Order(groups=5, size=40_000, files=3, dialects=("requests",), runs=2, clients=True)
    found = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        generate(folder, order, workers=workers)
        every = [path for path in folder.rglob("*") if path.is_file()]
        found.append({path.relative_to(folder): path.read_bytes() for path in every})
        assert not files._pool.cache_info().currsize, "runs are kept in memory"
    assert found[0] == found[1] and len(found[0]) > 9


def test_every_line_is_understood_and_every_group_holds(
    brokers: tuple[Path, list[Written]],
) -> None:
    for one in brokers[1]:
        report = replay_file(str(one.path))
        assert (report.verdict, report.strange) == ("holds", 0), (one.dialect, report.reason)
        assert (report.understood, report.foreign, len(report.groups)) == (
            one.lines,
            one.others,
            one.groups,
        )
        assert one.others > 10 and {g.verdict for g in report.groups} == {"holds"}


def test_the_replay_tells_what_really_happened(brokers: tuple[Path, list[Written]]) -> None:
    """Every rebalance: its generations, its cause, who caused it, its size and its outcome."""
    folder, written = brokers
    happened, groups = truth(folder, "rebalances"), truth(folder, "groups")
    compared = 0
    for one in written:
        for g in replay_file(str(one.path)).groups:
            told = [printed(round_document(r)) for r in g.timeline.rounds]
            real = happened[one.path.name, g.group]
            assert [r["from_generation"] for r in told] == [r["from_generation"] for r in real]
            assert [r["to_generation"] for r in told] == [r["to_generation"] for r in real]
            if one.dialect in TELLS_CAUSES:
                assert [r["cause"] for r in told] == [r["cause"] for r in real]
                assert [r["members"] for r in told] == [r["members"] for r in real]
            ended = [(t, r) for t, r in zip(told, real, strict=True) if r["outcome"] != "lost"]
            if one.dialect in TELLS_SIZES:
                assert [t["size"] for t, _ in ended] == [r["size"] for _, r in ended]
            lost = [r["outcome"] == "lost" for r in told if r["to_generation"] is None]
            assert lost == [r["outcome"] == "lost" for r in real if r["to_generation"] is None]
            (group,) = groups[one.path.name, g.group]
            assert (group["verdict"], group["highest_generation"], group["rebalances"]) == (
                g.verdict,
                g.timeline.highest,
                len(told),
            )
            compared += len(told)
    assert compared > 500 and sum(len(rounds) for rounds in happened.values()) == compared


@pytest.mark.parametrize("dialect", REQUESTS)
def test_request_logs_are_judged_and_their_generations_are_the_true_ones(
    dialect: str, tmp_path: Path
) -> None:
    (one,) = generate(tmp_path, Order(groups=2, size=100_000, dialects=(dialect,), runs=1, seed=2))
    report = replay_file(str(one.path))
    assert (report.verdict, report.strange, report.understood, report.foreign) == (
        "holds",
        0,
        one.lines,
        one.others,
    )
    happened = truth(tmp_path, "rebalances")
    for g in report.groups:
        assert g.requests is not None
        real = [
            r["to_generation"]
            for r in happened[one.path.name, g.group]
            if r["outcome"] == "completed"
        ]
        assert [r.generation for r in g.requests.facts.generations] == real and len(real) > 3
        assert not [a for a in g.anomalies if a.kind == "committed_offset_went_back"]


def test_a_seed_gives_the_same_bytes_in_any_process_and_another_seed_others(tmp_path: Path) -> None:
    order = [
        "--groups",
        "3",
        "--size",
        "60K",
        "--files",
        "2",
        "--dialect",
        "scala-3.5",
        "--dialect",
        "java-4",
        "--runs",
        "2",
        "--gzip",
    ]
    for name, seed, hashes in (("a", "5", "1"), ("b", "5", "2"), ("c", "6", "1")):
        script = "from groupcheck.oracles.command_line.cli import main; main()"
        command = [
            sys.executable,
            "-c",
            script,
            "generate",
            "--out",
            str(tmp_path / name),
            "--seed",
            seed,
            *order,
        ]
        assert (
            subprocess.run(
                command, env={**os.environ, "PYTHONHASHSEED": hashes}, stdout=subprocess.DEVNULL
            ).returncode
            == 0
        )

    def content(name: str) -> dict[str, bytes]:
        return {
            str(p.relative_to(tmp_path / name)): p.read_bytes()
            for p in sorted((tmp_path / name).rglob("*"))
            if p.is_file()
        }

    assert content("a") == content("b") and content("a").keys() == content("c").keys()
    assert all(content("a")[name] != content("c")[name] for name in content("a"))
    assert gzip.decompress(content("a")["logs/broker-0001.log.gz"]).startswith(b"[2024-10-25 17:0")


def test_lines_of_many_groups_stand_in_order_of_time_and_mixed(tmp_path: Path) -> None:
    (one,) = generate(tmp_path, Order(groups=8, size=300_000, runs=2))
    lines = one.path.read_text().splitlines()
    assert [line[:25] for line in lines] == sorted(line[:25] for line in lines)
    groups = [line.split("group-")[1][:5] for line in lines if "group-" in line]
    assert len(set(groups)) == 8 and sum(a != b for a, b in pairwise(groups)) > 20


@pytest.mark.parametrize("size", [200_000, 2_000_000])
def test_the_size_is_about_what_was_asked_for_and_memory_does_not_grow_with_it(size: int) -> None:
    stream = BrokerStream(Pool(DIALECTS["java-3.8"], 0, 1), ["g1", "g2"], "s", 0.05, size)
    next(stream.lines(lambda truth: None))  # the run is made
    tracemalloc.start()
    written = sum(len(text) + 27 for _, text in stream.lines(lambda truth: None))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.8 * size < written < 1.25 * size and most < 400_000


def test_marks_are_filled_in() -> None:
    line = compiled('<:g:> <:m1:> <:n2:> "<:N-1:>" "<:N3:>" "<:O4:>" <:c5:> <:s-1:> <:s6:>')
    filled = Filling("G", ["a", "b"], generation=10, offset=100, connection=1000).line(line)
    assert filled == (
        "G b 12 -1 13 104 127.0.0.1:9092-127.0.0.1:11005-0-1005"
        f" {subscription(-1)} {subscription(16)}"
    )


def test_the_command_writes_what_it_says_and_refuses_what_it_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "generate",
        "--out",
        str(tmp_path / "x"),
        "--size",
        "20K",
        "--groups",
        "2",
        "--runs",
        "1",
        "--json",
    ]
    assert cli.run(command) == 0
    told = json.loads(capsys.readouterr().out)
    (file,) = told["files"]
    assert (
        told["schema"] == "groupcheck.generate/1"
        and Path(file["file"]).stat().st_size == file["bytes"] == told["bytes"]
    )
    assert (
        len(Path(file["file"]).read_text().splitlines()) == file["lines"] + file["lines_of_others"]
    )
    assert cli.run(command) == 2 and "is not empty" in capsys.readouterr().err
    for wrong in (
        ["--groups", "0"],
        ["--files", "3"],
        ["--size", "0"],
        ["--size", "9999999T"],
        ["--dialect", "java-9"],
        ["--runs", "-1"],
    ):
        assert cli.run([*command[:2], str(tmp_path / "y"), *command[3:], *wrong]) == 2
        assert not (tmp_path / "y").exists()
    assert cli.run(["generate", "--out", "/proc/x"]) == 2


@pytest.mark.parametrize("taken", ["logs", "truth", "others"])
def test_a_folder_that_holds_something_stays_as_it_is(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).mkdir()
    (tmp_path / taken / "mine").touch()
    with pytest.raises(UserError, match=f"{tmp_path} is not empty"):
        generate(tmp_path, Order())
    assert [path.name for path in tmp_path.iterdir()] == [taken]


def test_an_order_with_more_files_than_groups_is_refused() -> None:
    with pytest.raises(UserError, match="there are 3 files for 2 groups"):
        Order(groups=2, files=3)


def test_the_command_offers_every_dialect() -> None:
    assert set(cli_logs.DIALECTS) == set(DIALECTS)


@pytest.mark.parametrize("more", [(), ("--gzip",), ("--dialect", "requests", "--clients")])
def test_logs_that_do_not_fit_leave_nothing_behind(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    more: tuple[str, ...],
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it would keep half a module
    words = ["generate", "--groups", "1", "--size", "40K", "--runs", "1", *more, "--out"]
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, usual[1]))  # as on a disk that gets full
    try:
        assert cli.run([*words, str(tmp_path)]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert f"cannot write to {tmp_path}: File too large" in capsys.readouterr().err
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert cli.run([*words, str(tmp_path)]) == 0


def test_ctrl_c_leaves_no_half_of_an_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = files._write

    def write(folder: Path, order: Order, k: int, progress: Callable[[float], None]) -> Any:
        if k == 2:
            progress(0.5)
            raise KeyboardInterrupt
        return usual(folder, order, k, progress)

    monkeypatch.setattr(files, "_write", write)
    words = ["generate", "--groups", "3", "--files", "3", "--size", "40K", "--runs", "1"]
    words += ["--workers", "1", "--out"]
    assert cli.run([*words, str(tmp_path)]) == 3
    assert "interrupted: 2 of 3 logs were written, and none is kept" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []
