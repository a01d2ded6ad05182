"""Records every scenario and replays its logs together: the causes must be the true one or what
follows from it. `make nightly` runs it; half a minute for each scenario.

    python tests/oracles/record/record_all.py [CLIENT] [SCENARIO...]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from groupcheck.oracles.record.scenarios import SCENARIOS

COMMAND = [sys.executable, "-c", "import sys; from groupcheck.oracles.cli import main; main()"]
NORMAL = {"join_restarts", "rolling_deploy", "new_group"}


def wrong(client: str, name: str, folder: Path) -> str:
    """What is wrong with the recording or with what is said about it; empty if nothing is."""
    record = ["record", "--scenario", name, "--client", client, "--out", str(folder)]
    done = subprocess.run([*COMMAND, *record], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"was not recorded: {done.stdout.splitlines()[:1]} {done.stderr.splitlines()[-1:]}"
    cause = json.loads((folder / f"{name}.truth.json").read_text())["cause"]
    replay = ["replay", *map(str, sorted(folder.glob("*.log"))), "--json"]
    said = subprocess.run([*COMMAND, *replay], capture_output=True, text=True, check=False)
    found = {c["kind"] for group in json.loads(said.stdout)["groups"] for c in group["causes"]}
    true = {cause["kind"], *cause["or"]} if cause else set()
    others = found - true - NORMAL
    return f"shows {', '.join(sorted(others))}" if others else ""


def main() -> None:
    client, *names = sys.argv[1:] or ["kafka-python"]
    failed = 0
    for name in names or SCENARIOS:
        with tempfile.TemporaryDirectory() as place:
            problem = wrong(client, name, Path(place))
        print(f"{name}: {problem or 'right'}", flush=True)
        failed += bool(problem)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
