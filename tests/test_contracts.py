"""Each import contract is broken on purpose, in a copy of the package: a contract that would let
its offender pass guards nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONTRACTS = {
    c["id"]: c["name"]
    for c in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
}

# contract: (file that offends, what it imports)
OFFENDERS = {
    "floors": ("model/engine/errors.py", "groupcheck.traces"),
    "model-floors": ("model/engine/verdict.py", "groupcheck.model.protocol"),
    "variants-apart": ("model/variants/planted_a.py", "groupcheck.model.variants.planted_b"),
    "invariants-apart": ("invariants/planted_a.py", "groupcheck.invariants.planted_b"),
    "invariants-pure": ("invariants/planted_b.py", "groupcheck.model.engine.fast.explore"),
    "models-do-not-search": ("model/variants/planted_b.py", "groupcheck.model.engine.fast.explore"),
    "judge-apart": ("model/engine/reference.py", "numpy"),
    "compiled-code-in-the-engine": ("oracles/planted_b.py", "numpy"),
    "nothing-compiled": ("oracles/show/planted_a.py", "psutil"),
    "mutations-for-the-doors": ("traces/story/planted_b.py", "groupcheck.model.mutations"),
    "terminal-at-the-door": ("traces/story/planted_a.py", "click"),
    "one-name": ("oracles/planted_a.py", "model"),
    "floors-of-traces": (
        "traces/broker/planted_a.py",
        "groupcheck.traces.requests.coordinator_steps",
    ),
    "assignments-apart": (
        "oracles/assignment/prove/planted_a.py",
        "groupcheck.oracles.assignment.against.offered",
    ),
    "doors-apart": ("oracles/museum/planted_c.py", "groupcheck.oracles.simulate.clock"),
    "command-line-first": ("oracles/check/planted_a.py", "groupcheck.oracles.command_line.streams"),
    "no-circles": ("model/engine/values.py", "groupcheck.model.engine.spec"),
}


def module(file: str) -> str:
    return "groupcheck." + file.removesuffix(".py").replace("/", ".")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What lint-imports says of a copy of the package with all offenders planted."""
    top = tmp_path_factory.mktemp("planted")
    shutil.copytree(
        ROOT / "src/groupcheck",
        top / "groupcheck",
        symlinks=False,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for file, imported in OFFENDERS.values():
        with (top / "groupcheck" / file).open("a") as f:
            f.write(f"\nimport {imported}\n")
    run = subprocess.run(
        [
            Path(sys.executable).with_name("lint-imports"),
            "--config",
            ROOT / "pyproject.toml",
            "--no-cache",
        ],
        cwd=top,
        env={**os.environ, "PYTHONPATH": str(top), "COLUMNS": "400"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 1 and "\nContracts: " in run.stdout, run.stdout + run.stderr
    return run.stdout


def test_every_contract_has_an_offender():
    assert set(OFFENDERS) == set(CONTRACTS)


@pytest.mark.parametrize("contract", OFFENDERS)
def test_a_contract_reports_its_offender(contract: str, report: str):
    file, imported = OFFENDERS[contract]
    name = CONTRACTS[contract]
    assert f"{name} BROKEN" in report
    section = report.split(f"\n{name}\n---", 1)[1].split("\n---", 1)[0]
    if contract == "no-circles":  # it names folders, those of the outermost circle first
        assert "No cycles are allowed in groupcheck" in section
    else:
        assert f"{module(file)} -> {imported} (l." in section
