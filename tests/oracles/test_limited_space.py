"""The command line where address space is limited; `limited.py` has the whole range."""

import json
import re
import subprocess
import sys

import pytest

CODE = """
import resource, sys
from groupcheck.model.engine.fast.kernels.compiled import PACKING, Unit, load
from groupcheck.oracles.command_line.cli import run

for unit in (PACKING, Unit(1, True), Unit(2, True)):
    load(unit)  # as it is in a cache that somebody has used
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[1]) << 20),) * 2)
sys.exit(run(["check", "classic", "--members", "2", "--any-faults", "1", "--json", *sys.argv[2:]]))
"""


def check(mebibytes: int, *more: str) -> tuple[int, dict[str, object], str]:
    """Exit code, document and errors of a check with so much address space to spare."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(mebibytes), *more],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.parametrize(
    ("mebibytes", "more"),
    [
        (26, ()),
        pytest.param(36, (), marks=pytest.mark.night),
        pytest.param(48, (), marks=pytest.mark.night),
        (36, ("--workers", "2")),
        (36, ("--max-memory", "1G")),
    ],
)
def test_too_little_address_space_is_unknown_with_a_document_and_no_traceback(mebibytes, more):
    code, document, errors = check(mebibytes, "--any-faults", "2", *more)
    assert (code, document["verdict"], errors) == (3, "unknown", "")
    assert re.match(
        r"stopped: the limit on address space \(ulimit -v\) left no"
        r"|stopped at the limit of [\d,]+ bytes of memory \(four fifths of what the limit on its"
        r" address space \(ulimit -v\) had left\) in level \d+",
        document["reason"],
    )


def test_with_enough_address_space_the_counts_are_right():
    code, document, errors = check(400)
    assert (code, document["verdict"], errors) == (0, "holds", "")
    assert (document["states"], document["transitions"]) == (6_684, 19_072)
