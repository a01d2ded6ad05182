"""Files of answers: written whole or not at all, and nothing is left behind."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import click
import pytest
from pyarrow.parquet import read_table

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line.option_types import OUTPUT
from groupcheck.oracles.show import files, parquet
from groupcheck.oracles.show.files import not_read, whole, write


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


def test_what_was_begun_is_taken_away_when_it_cannot_be_ended(tmp_path: Path) -> None:
    (tmp_path / "page").write_text("old")
    with pytest.raises(UserError, match="No space left"), whole(tmp_path / "page") as file:
        file.write(b"half")
        raise OSError(28, "No space left on device")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("page", "old")]


def test_a_new_file_has_the_rights_of_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "page").touch(0o640)
    write(tmp_path / "page", "new")
    assert (tmp_path / "page").stat().st_mode & 0o777 == 0o640


def test_what_utf_8_does_not_have_is_written_as_an_escape(tmp_path: Path) -> None:
    write(tmp_path / "page", "half \ud800, whole \U0001f600")
    assert (tmp_path / "page").read_text("utf-8") == "half \\ud800, whole \U0001f600"


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


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1", "link"])
def test_an_open_file_is_written_on_where_it_is(tmp_path: Path, name: str) -> None:
    """As of `--html /dev/stdout > file`: the file is not replaced, and what stands there stays."""
    if sys.platform != "linux":
        return
    (tmp_path / "link").symlink_to("/dev/stdout")
    program = (
        "import sys; from pathlib import Path; from groupcheck.oracles.show.files import write;"
        " print('before'); write(Path(sys.argv[1]), 'page\\n'); print('after')"
    )
    with (tmp_path / "file").open("w") as file:
        command = [sys.executable, "-c", program, name]
        subprocess.run(command, stdout=file, cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "file").read_text() == "before\npage\nafter\n"


def test_a_pipe_that_nobody_reads_is_waited_for_aloud(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, said = tmp_path / "pipe", threading.Event()
    os.mkfifo(pipe)
    monkeypatch.setattr(files, "say", lambda text: said.set())
    writer = threading.Thread(target=write, args=(pipe, "all of it"), daemon=True)
    writer.start()
    assert said.wait(30)
    assert pipe.read_text() == "all of it"
    writer.join(30)


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
        ("/proc/new", "the directory /proc takes no new file"),  # not even from root
        ("/dev/fd/999", "it is not open"),
        ("link", "the directory /proc takes no new file"),
        ("no/such", "there is no directory .*no to write to"),
        ("file/x", "there is no directory .*file to write to"),
        ("x" * 300, "File name too long"),
        ("circle", "Too many levels of symbolic links"),
        ("folder", "is a directory"),
        ("", "it is a folder"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    if sys.platform != "linux":
        return
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("/proc/new")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(click.BadParameter, match=why):
        OUTPUT.convert(name, None, None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["circle", "file", "folder", "link"]


def test_a_folder_that_others_own_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write everywhere, so the system's answer is made up here."""

    def closed(dir: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(tempfile, "TemporaryFile", closed)
    (tmp_path / "old").write_text("kept")
    for name in ("old", "new"):
        with pytest.raises(click.BadParameter, match=r"takes no new file \(Permission denied\)"):
            OUTPUT.convert(str(tmp_path / name), None, None)
