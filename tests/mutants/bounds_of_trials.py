"""A pytest plugin for trials, in which anything may happen. A test that takes much more processor
time than it took without a mutant ends the process by SIGXCPU: time on the processor, because other
load changes little of it. A process that takes much memory ends with exit code `TOO_LARGE`.

`MUTANTS_TIMES` names a file with the time of each test. The first run writes it; all later ones
read it and run the tests that take least first. `MUTANTS_UNTOUCHED` says how the names of compiled
kernels begin that the mutant leaves as they are: they are not compiled again.
"""

import json
import math
import os
import re
import resource
import threading
import time
from pathlib import Path

import pytest

TIMES = Path(os.environ["MUTANTS_TIMES"])
USUAL = json.loads(TIMES.read_text()) if TIMES.exists() else None
TAKEN: dict[str, float] = {}
FACTOR, MORE_S = 2, int(os.environ.get("MUTANTS_MORE_S", "20"))
MOST_PAGES, TOO_LARGE = (4 << 30) // resource.getpagesize(), 99


def watch_memory() -> None:
    while int(Path("/proc/self/statm").read_text().split()[1]) < MOST_PAGES:
        time.sleep(0.1)
    os._exit(TOO_LARGE)


def keep_untouched(beginning: str) -> None:
    """The name of a compiled kernel holds a digest of all their sources: gives what was compiled
    before the names of today.
    """
    from groupcheck.model.engine.fast.cache import cache_directory
    from groupcheck.model.engine.fast.kernels.compiled import PACKING, Unit, _file

    for old in [*cache_directory().glob(f"{beginning}*-*.o")]:
        found = re.match(r"search(\d+)(u?)-", old.name)
        new = _file(Unit(int(found[1]), bool(found[2])) if found else PACKING)
        assert new
        if not new.exists():
            os.link(old, new)


def pytest_configure(config: pytest.Config) -> None:
    config.option.late = True  # a judge has all cases, and not only those of the day
    threading.Thread(target=watch_memory, daemon=True).start()
    if beginning := os.environ.get("MUTANTS_UNTOUCHED"):
        keep_untouched(beginning)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (USUAL or {}).get(item.nodeid, 0))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    began = time.process_time()
    if USUAL is not None:
        limit = began + FACTOR * USUAL.get(item.nodeid, 0) + MORE_S
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), hard))
    result = yield
    TAKEN[item.nodeid] = time.process_time() - began
    return result


def pytest_sessionfinish() -> None:
    if USUAL is None:
        TIMES.write_text(json.dumps(TAKEN))
