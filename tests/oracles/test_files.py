"""Files of answers: written whole or not at all, and nothing is left behind."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.show import parquet
from groupcheck.oracles.show.files import write


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    write(pipe, "all of it")
    reader.join(30)
    assert got == ["all of it"] and pipe.is_fifo()


@pytest.mark.parametrize("name", ["x" * 300, "file/x", "folder"])
def test_a_name_that_cannot_be_written_is_an_error_and_leaves_nothing(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="cannot write"):
        write(tmp_path / name, "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "kept"


def test_what_was_begun_is_taken_away_when_it_cannot_be_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, *_: object, **__: object) -> int:
        with self.open("w") as file:
            file.write("half")
        raise OSError(28, "No space left on device")

    (tmp_path / "page").write_text("old")
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(UserError, match="No space left"):
        write(tmp_path / "page", "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("page", "old")]


def test_a_link_to_a_table_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    parquet.write_table([{"n": 1}], {"n": "int64"}, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]
