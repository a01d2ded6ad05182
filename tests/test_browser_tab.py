"""A browser tab has Python without compiled packages, threads or processes. Commands run here with
all of those blocked, on the platform's name that Python has there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SPEC = ROOT / "tests/examples/two_phase_commit.py"
BLOCKED = """
import sysconfig
sysconfig.get_config_vars()  # reads a file that is named after the platform
import sys
sys.platform = "emscripten"
for name in (
    "numpy", "numba", "llvmlite", "psutil", "zstandard", "compression", "markupsafe._speedups",
    "scipy", "z3", "pyarrow", "pandas", "yaml", "resource", "_multiprocessing", "_posixsubprocess",
):
    sys.modules[name] = None
import _thread
def none(*args, **named):
    raise RuntimeError("can't start new thread")
_thread.start_new_thread = _thread.start_joinable_thread = none
import json
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.show import meter
meter.PAGE.set(lambda text: None)  # a page hears how far a command is, and of its memory
codes = [cli.run(one) for one in json.loads(sys.argv[1])]
compiled = [m.__name__ for m in [*sys.modules.values()]
            if "site-packages" in (f := getattr(m, "__file__", None) or "") and f.endswith(".so")]
print(json.dumps([codes, compiled]))
"""


def run(*commands: list[str], cwd: Path) -> tuple[list[int], list[str], str, str]:
    """Exit codes, the compiled modules of packages that were imported, and what was printed."""
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, json.dumps(commands)],
        cwd=cwd, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    out, _, told = done.stdout.rstrip("\n").rpartition("\n")
    codes, compiled = json.loads(told)
    return codes, compiled, out, done.stderr


def test_logs_and_specs_are_answered_without_anything_compiled(tmp_path: Path) -> None:
    page, own = tmp_path / "page.html", f"{SPEC}:two_phase_commit"
    codes, compiled, out, err = run(
        ["replay", "sample:ghost-members", "--html", str(page)],
        ["check", own, "--set", "managers=3", "--engine", "plain"],
        ["explore", own, "--set", "managers=2", "--do", "goal committed; save walk.html; beside x"],
        ["check", "classic", "--members", "1", "--engine", "plain", "--json"],
        cwd=tmp_path,
    )
    assert (codes, compiled) == ([1, 0, 2, 0], []), err
    assert "committed is met after 6 steps" in out and "has nothing beside it" in err
    assert "<svg" in (tmp_path / "walk.html").read_text("utf-8")
    assert "broken" in out and "288 (1,145 transitions, 11 levels)" in out
    assert json.loads(out[out.rindex("\n{") :])["verdict"] == "holds"
    assert "<canvas" in page.read_text("utf-8")


def test_what_a_tab_cannot_do_is_said(tmp_path: Path) -> None:
    (tmp_path / "broker.log.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    codes, _, _, err = run(
        ["replay", "broker.log.zst"],
        ["check", "classic", "--members", "1", "--engine", "plain", "--max-memory", "1G"],
        cwd=tmp_path,
    )
    assert codes == [2, 2]
    zstd, memory = err.splitlines()[-2:]
    assert zstd.endswith("broker.log.zst: is packed with zstd (unpack it first (zstd -d))")
    assert "--max-memory: a browser tab does not tell how much memory is taken" in memory
