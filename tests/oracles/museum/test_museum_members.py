"""A Java that is none, in the place of the one that runs the consumers of an old client."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.museum import members, network, stage
from groupcheck.oracles.museum.stage import Cast, Stage

Run = Callable[[str], None]


@pytest.fixture
def perform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Performs an empty path with one member, whose Java is the script that is given."""

    def performed(script: str) -> None:
        java = tmp_path / "java"
        java.write_text(f"#!{sys.executable}\nimport time\n{script}\n")
        java.chmod(0o755)
        monkeypatch.setattr(members.install, "java", lambda program: str(java))
        monkeypatch.setattr(members.install, "classpath", lambda version, say, program: "none")
        Stage(Cast({}, (0,), 1), "2.8.0", print).perform((), afterwards_s=0.0)

    return performed


def test_one_that_ends_at_once_is_told_of(perform: Run) -> None:
    with pytest.raises(UserError, match=r"2\.8\.0 died: no such option"):
        perform("raise SystemExit('no such option')")


@pytest.mark.parametrize("words", ["", "Java\\n\\nZ idle\\nZ assigned t-0\\n\\xff"])
def test_one_that_does_not_answer_gives_no_verdict(
    perform: Run, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setattr(stage, "BOOT_S", 1.0)
    with pytest.raises(OutageError, match=r"hung: no answer for 1 s"):
        perform(f"print('{words}', flush=True); time.sleep(60)")


def test_a_machine_without_a_loopback_gives_no_verdict(
    perform: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(network.socket, "create_connection", unreachable)
    with pytest.raises(OutageError, match=r"nobody can connect to 127\.0\.0\.1: Network is"):
        perform("time.sleep(60)")
