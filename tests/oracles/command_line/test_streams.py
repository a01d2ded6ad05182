"""What the program is connected to may be closed, full, or not know every character: no answer that
cannot be written is a verdict, and nothing else costs the exit code.
"""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

SCALE = Path(__file__).parents[2] / "data" / "replay" / "kafka41-console-group-scale.log"
PROGRAM = (sys.executable, "-m", "groupcheck")
SMALL = ("check", "classic", "--members", "1", "--generations", "1")  # an answer that comes soon


def shell(
    after: str, arguments: Sequence[str] = SMALL, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`groupcheck` with these arguments, and with what a shell would write after it."""
    command = '"$@" ' + after
    whole = ["/bin/sh", "-c", command, "sh", *PROGRAM, *arguments]
    return subprocess.run(
        whole,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )


def test_a_reader_that_goes_away_leaves_no_verdict_of_violated():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [*PROGRAM, *SMALL, "--json"],
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)
    assert ended.returncode == 3
    assert ended.stderr == b""


def test_an_answer_for_a_closed_output_is_no_verdict():
    ended = shell(">&-")
    assert ended.returncode == 3 and "the answer cannot be written" in ended.stderr
    assert shell(">&- 2>&- <&-").returncode == 3  # pipes do not take their numbers
    ended = shell("2>&-")
    assert ended.returncode == 0 and ended.stdout.startswith("holds  classic")


def test_a_full_disk_is_one_line_and_no_verdict():
    if sys.platform != "linux":  # only Linux has the device
        return
    ended = shell("> /dev/full")
    assert ended.returncode == 3
    assert (
        "No space left" in ended.stderr
        and ended.stderr.count("\n") == 1
        and "bug in groupcheck" not in ended.stderr
    )


def limited(most: int, file: Path, *arguments: object, **environment: str) -> tuple[int, str]:
    """The exit code and stderr of a program whose output goes to a file that takes no more than
    `most` bytes, as on a disk that is nearly full. No bytecode is written: Python would keep the
    beginning of a module that did not fit, and every later start would fail at it.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    with file.open("wb") as out:
        ended = subprocess.run(
            [*PROGRAM, *map(str, arguments)],
            stdout=out,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
            timeout=60,
            check=False,
            preexec_fn=limit,
        )
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [
        ("list variants --json", "1"),
        ("list variants --json", ""),
        ("check classic --mutation leader_forgotten --json", "1"),
        ("simulate --members 2 --json", "1"),
        ("--help", "1"),
    ],
)
def test_an_answer_that_is_cut_is_no_verdict(tmp_path: Path, command: str, unbuffered: str):
    file = tmp_path / "answer"
    code, said = limited(1000, file, *command.split(), PYTHONUNBUFFERED=unbuffered)
    assert (code, file.stat().st_size) == (3, 1000)
    wrong = "error: the answer cannot be written to standard output: File too large\n"
    assert said == f"groupcheck: {wrong}"


def test_a_script_for_the_shell_that_is_cut_is_told_too(tmp_path: Path):
    code, said = limited(100, tmp_path / "script", _GROUPCHECK_COMPLETE="bash_source")
    assert code == 3 and "cannot be written to standard output" in said


def test_a_reader_that_is_slow_gets_all_of_an_output_that_does_not_block():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    command = [*PROGRAM, "list", "causes", "--json"]
    with subprocess.Popen(command, stdout=writing, stderr=subprocess.PIPE) as program:
        os.close(writing)
        select.select([reading], [], [], 60)
        with os.fdopen(reading, "rb") as pipe:
            told = pipe.read()
        assert program.wait(60) == 0
    assert len(told) > 1 << 16  # more than a pipe takes
    assert json.loads(told)


def exit_code(*arguments: object, stdout: int = subprocess.DEVNULL, stderr: int) -> int:
    """Of the program; its streams hold back what is written, as they do by themselves."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(
        command, stdout=stdout, stderr=stderr, env=environment, timeout=60, check=False
    ).returncode


def ends_with_its_own_code(stderr: int, page: Path) -> None:
    assert exit_code("check", "clasic", stderr=stderr) == 2
    assert exit_code("check", "--membres", stderr=stderr) == 2
    assert exit_code(stderr=stderr) == 2
    assert exit_code(*SMALL, "--html", page, stderr=stderr) == 0
    assert exit_code("check", "classic", "--max-states", 3, stderr=stderr) == 3
    assert page.read_text().endswith("</html>")


def test_errors_that_nobody_reads_keep_the_exit_code(tmp_path: Path):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ends_with_its_own_code(writing, tmp_path / "page.html")
    finally:
        os.close(writing)


def test_errors_that_nothing_can_take_keep_the_exit_code(tmp_path: Path):
    if sys.platform != "linux":
        return
    with Path("/dev/full").open("wb") as full:
        ends_with_its_own_code(full.fileno(), tmp_path / "page.html")
        assert exit_code("list", "variants", stdout=full.fileno(), stderr=full.fileno()) == 3


def test_an_output_that_knows_only_ascii_gets_ascii():
    ended = shell("", ("replay", str(SCALE)), PYTHONIOENCODING="ascii")
    assert ended.returncode == 0
    assert ended.stdout.isascii() and "----" in ended.stdout
