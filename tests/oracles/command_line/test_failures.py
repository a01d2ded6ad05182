"""What the system refuses: one line that says what, and an exit code that is no verdict."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from groupcheck.oracles.command_line.failures import failed


@pytest.mark.parametrize(
    ("error", "said", "code"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), "/x/y: Permission denied", 2),
        (OSError(errno.ELOOP, "Too many levels", b"/x/\xff"), "/x/\\udcff: Too many levels", 2),
        (
            FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"),
            "no folder for temporary files can be written to (set TMPDIR to one)",
            2,
        ),
        (
            OSError(errno.EIO, "Input/output error", "/x"),
            "the answer cannot be written, or the system refused a request:"
            " [Errno 5] Input/output error: '/x'",
            3,
        ),
        (
            PermissionError(errno.EPERM, "Operation not permitted"),
            "the answer cannot be written, or the system refused a request:"
            " [Errno 1] Operation not permitted",
            3,
        ),
    ],
)
def test_a_place_that_the_user_can_change_is_bad_input_and_the_rest_is_unknown(
    error: OSError, said: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failed(error, False, ()) == code
    assert capsys.readouterr().err == f"groupcheck: error: {said}\n"


def test_a_current_folder_that_is_gone_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    with pytest.raises(FileNotFoundError) as raised:
        os.getcwd()  # noqa: PTH109
    assert failed(raised.value, False, ()) == 2
    assert "the current folder is gone (change to one that is there)" in capsys.readouterr().err
