"""The same frame around every line of a log is left out; frames that tell lines apart stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupcheck.traces.reading import Notes
from groupcheck.traces.reading.finding import find_logs
from groupcheck.traces.reading.framed import UNFRAMED, inside

LINE = "2024-05-01 10:00:00,123 INFO Member rdkaf"
REST = "ka-1 has failed"


def text(path: Path) -> tuple[list[str], tuple[str, ...]]:
    (source,) = find_logs([str(path)]).sources
    return [line for _, line in source.lines(Notes())], source.notes


def test_a_log_is_read_without_the_frame_of_its_lines(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text(f"app-1  | {LINE}\napp-1  | {REST}\napp-1  |\n")
    assert text(log) == ([LINE, REST, ""], (f"{log}: {UNFRAMED}",))
    log.write_text(f"app-1  | {LINE}\napp-2  | {REST}\n")
    lines, notes = text(log)
    assert lines == [f"app-1  | {LINE}", f"app-2  | {REST}"] and notes == ()


@pytest.mark.parametrize(
    ("framed", "lines"),
    [
        ("> > {}\n", [LINE, REST]),
        ("    {}\n", [LINE, REST]),
        ("[pod/a-1/app] {}\n", [LINE, REST]),
        ("2026-01-01T10:00:00.5Z stderr F {}\n", [LINE, REST]),
        # The driver's time stays where the program prints none.
        ("2026-01-01T10:00:00.5Z stderr F x {}\n", [f"x {LINE}", f"x {REST}"]),
    ],
)
def test_frames(framed: str, lines: list[str]) -> None:
    found = inside("".join(framed.format(one) for one in (LINE, REST)).encode())
    assert found is not None and found.decode().splitlines() == lines


def test_the_time_of_a_driver_stays_where_lines_have_none() -> None:
    time = "2026-01-01T10:00:00.5Z"
    record = json.dumps({"log": f"{REST}\n", "stream": "stdout", "time": time})
    assert inside(record.encode()) == f"{time} {REST}".encode()
    assert inside(f"{time} stdout F {REST}".encode()) == f"{time} {REST}".encode()


@pytest.mark.parametrize(
    "text",
    [
        "orders | t | 0 | 5\norders | t | 1 | 7\n",  # a table
        "error | it failed\nerror | again\n",  # a level
        '{"log": "a"}\n{"log": "b", "level": "INFO"}\n',  # a logger's own records
        "a\n b\n",
        "",
    ],
)
def test_what_is_no_frame_stays(text: str) -> None:
    assert inside(text.encode()) is None
