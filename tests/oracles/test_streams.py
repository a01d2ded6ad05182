"""What the program is connected to may be closed, full, or not know every character: that never costs the exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCALE = Path(__file__).parent.parent / "data" / "replay" / "kafka41-console-group-scale.log"
PROGRAM = (sys.executable, "-m", "groupcheck")


def shell(after: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`groupcheck replay SCALE` with what a shell would write after it."""
    command = '"$@" ' + after
    whole = ["/bin/sh", "-c", command, "sh", *PROGRAM, "replay", str(SCALE)]
    return subprocess.run(whole, capture_output=True, encoding="utf-8", env={**os.environ, **environment}, timeout=60, check=False)


def test_a_reader_that_goes_away_leaves_no_verdict_of_violated():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run([*PROGRAM, "replay", str(SCALE), "--json"], stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    finally:
        os.close(writing)
    assert ended.returncode == 3
    assert ended.stderr == b""


def test_a_closed_output_keeps_the_exit_code():
    assert shell(">&-").returncode == 0
    ended = shell("2>&-")
    assert ended.returncode == 0 and ended.stdout.startswith("holds")


def test_a_full_disk_is_one_line_and_no_verdict():
    if sys.platform != "linux":  # only Linux has the device
        return
    ended = shell("> /dev/full")
    assert ended.returncode == 3
    assert "No space left" in ended.stderr and ended.stderr.count("\n") == 1 and "mistake of groupcheck" not in ended.stderr


def test_an_output_that_knows_only_ascii_gets_ascii():
    ended = shell("", PYTHONIOENCODING="ascii")
    assert ended.returncode == 0
    assert ended.stdout.isascii() and "----" in ended.stdout
