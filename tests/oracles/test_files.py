"""Files of answers: written whole or not at all, and nothing is left behind."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import click
import pytest
from pyarrow.parquet import read_table

from groupcheck.model.engine import UserError
from groupcheck.oracles.quantities import OUTPUT
from groupcheck.oracles.show import parquet
from groupcheck.oracles.show.files import not_read, write


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


def test_a_table_takes_what_parquet_cannot_hold(tmp_path: Path) -> None:
    columns = {"text": "string", "some": "list", "counts": "map", "n": "int64"}
    row = {"text": "=a\ud800", "some": ["\udfff"], "counts": [("\ud800", 1)], "n": 10**30}
    parquet.write_table([row, {"text": "=1+1"}], columns, tmp_path / "table")
    told, plain = read_table(tmp_path / "table").to_pylist()
    assert told == {
        "text": "=a\\ud800", "some": ["\\udfff"], "counts": [("\\ud800", 1)], "n": None
    }  # fmt: skip
    assert plain == {"text": "=1+1", "some": None, "counts": None, "n": None}


def test_the_pipe_behind_a_descriptor_is_written_to() -> None:
    """As of `--html /dev/stdout | less` and `--html >(gzip)`."""
    there, here = os.pipe()
    write(Path(f"/dev/fd/{here}"), "all of it")
    os.close(here)
    with os.fdopen(there) as pipe:
        assert pipe.read() == "all of it"


@pytest.mark.parametrize("name", ["page", "./page", "link", "later"])
def test_two_outputs_with_one_file_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "page")
    (tmp_path / "later").symlink_to(tmp_path / "link")
    outputs = {"--html": tmp_path / "page", "--svg": None, "--junit": Path(f"{tmp_path}/{name}")}
    with pytest.raises(UserError, match=r"--junit: .*is also the file of --html"):
        not_read(outputs, [])
    not_read({"--html": Path(os.devnull), "--svg": Path(os.devnull)}, [])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("closed/new", "the directory .*closed is read-only"),
        ("closed/old", "the directory .*closed is read-only"),
        ("link", "the directory .*closed is read-only"),
        ("no/such", "there is no directory .*no to write to"),
        ("x" * 300, "File name too long"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "old").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "closed" / "old")
    allowed = {tmp_path, tmp_path / "link", tmp_path / "closed" / "old"}
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) in allowed)  # root may everything
    with pytest.raises(click.BadParameter, match=why):
        OUTPUT.convert(str(tmp_path / name), None, None)
