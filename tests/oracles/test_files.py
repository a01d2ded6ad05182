"""Files of answers: what cannot be written is refused before the run, by the same rules as it is
written by, and nothing is left behind.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.show import files, parquet
from groupcheck.oracles.show.files import writable, write


def refused(path: Path, words: str, *, table: bool = False) -> None:
    with pytest.raises(UserError, match=words) as raised:
        writable(path, "--html", table=table)
    assert str(raised.value).startswith("--html: ")


def test_names_that_the_system_refuses_are_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_text("")
    refused(tmp_path / "loop", "symbolic links")
    refused(tmp_path / ("x" * 300), "too long")
    refused(tmp_path / "file" / "x", "there is no directory")
    with pytest.raises(UserError, match="symbolic links"):
        write(tmp_path / "loop", "text")


def test_a_file_whose_folder_takes_no_new_ones_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written beside, and then put in its place: to be able to write the file itself is not
    enough.
    """

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "page").write_text("old")
    writable(tmp_path / "page", "--html")
    monkeypatch.setattr(files.Path, "touch", refuse)
    refused(tmp_path / "page", "Permission denied")


def test_a_pipe_is_opened_once_and_gets_everything(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    asked = threading.Thread(target=writable, args=(pipe, "--html"), daemon=True)
    asked.start()
    asked.join(30)
    assert not asked.is_alive(), "it waits for a reader"
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    writable(pipe, "--html")
    write(pipe, "all of it")
    reader.join(30)
    assert got == ["all of it"] and pipe.is_fifo()


def test_a_table_needs_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "is not an ordinary file", table=True)


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
