"""What all tests need."""

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from late import COLLECTED, Costs
from late import late as late_cases
from xdist.scheduler import LoadFileScheduling

os.environ["GROUPCHECK_CHECK_BOUNDS"] = "1"  # before the engine is imported: see bounds.py

settings.register_profile(
    "nightly", deadline=None, derandomize=False
)  # `make nightly`: schedules by the thousand, other ones every time
settings.register_profile("steady", deadline=None, derandomize=True)
# `make mutants-engine`: the first failure is enough, however large.
settings.register_profile(
    "mutants",
    deadline=None,
    derandomize=True,
    report_multiple_bugs=False,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("steady")  # --hypothesis-profile comes after it
NOBODY = 65_534
OF_TERMINALS = (
    "COLUMNS",
    "FORCE_COLOR",
    "NO_COLOR",
    "PY_COLORS",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
)
OF_PYTEST = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")
OF_CI = ("GITHUB_ACTIONS",)  # which makes commands print annotations
GROWTH_MIB = 300
AFTER_COLLECTION = pytest.StashKey[int]()
# Files that run in one process, because each would start the same JVMs.
TOGETHER = {
    "Spark": ("oracles/spark/", "test_archive_on_spark.py", "test_sweep_spark.py"),
    "four versions of Kafka": ("oracles/consumer/",),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write anew what tests compare: transcripts, cover scopes, depths of known bugs",
    )

    parser.addoption(
        "--night", action="store_true", help="also the tests that run in `make nightly` alone"
    )

    parser.addoption(
        "--late",
        action="store_true",
        help="also the cases of late.txt, but no other test of the night",
    )

    parser.addoption("--cost", metavar="FILE", help="append each test's CPU seconds: see late.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[COLLECTED] = frozenset(item.nodeid for item in items)
    if not (config.getoption("--late") or config.getoption("--rewrite")):
        late = late_cases()
        for item in items:
            if item.nodeid in late:
                item.add_marker(pytest.mark.night)
    if not config.getoption("--night"):
        by_day: list[pytest.Item] = []
        left: list[pytest.Item] = []
        for item in items:
            (left if item.get_closest_marker("night") else by_day).append(item)
        config.hook.pytest_deselected(items=left)
        items[:] = by_day


def pytest_configure(config: pytest.Config) -> None:
    """Ctrl-C is heard also where whoever started the tests ignores it (a job in the background of a
    script does): children inherit that.
    """
    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if file := config.getoption("--cost"):
        config.pluginmanager.register(Costs(file))


def pytest_collection_finish() -> None:
    """Ten thousand tests and all modules stay to the end: the collector need not look at them again
    and again, which took a sixth of the time. New cycles are looked for less often.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(trylast=True)  # what a test has patched is as it was
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """A check leaves tables of some 25 MB in a cycle of few objects, which the collector does not
    know to be large: without this a process of tests had 6 GB at its end.
    """
    from groupcheck.model.engine.resident import resident_bytes  # not before the variable is set

    if resident_bytes() >> 20 > item.config.stash.get(AFTER_COLLECTION, 0) + GROWTH_MIB:
        gc.collect()
        item.config.stash[AFTER_COLLECTION] = resident_bytes() >> 20


class OneJvm(LoadFileScheduling):  # type: ignore[misc]
    """`--dist loadfile`, and all files that start the same JVMs in one process."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        alike = (what for what, parts in TOGETHER.items() if any(part in file for part in parts))
        return next(alike, file)


@pytest.hookimpl(optionalhook=True)  # there is none with `-p no:xdist`
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    return OneJvm(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """What somebody wants of pytest and of the terminal goes for this run, not for the programs
    that tests start and read.
    """
    for name in (*OF_TERMINALS, *OF_PYTEST, *OF_CI):
        os.environ.pop(name, None)
    if not hasattr(session.config, "workerinput"):  # before xdist starts its workers
        compile_kernels()


@pytest.fixture
def ordinary_user(tmp_path: Path) -> Callable[[], AbstractContextManager[None]]:
    """A block in which rights bind: they do not bind root, who becomes another user meanwhile. What
    it needs has to be imported before.
    """

    @contextlib.contextmanager
    def block() -> Iterator[None]:
        user = os.geteuid()
        if user:
            yield
            return
        for folder in (tmp_path, *tmp_path.parents):  # pytest's are root's alone
            if folder.stat().st_mode & 0o005 != 0o005:
                folder.chmod(folder.stat().st_mode | 0o055)
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(user)

    return block


def compile_kernels() -> None:
    """Compiles what most tests need, where it is not in the cache yet, on all cores. A process that
    finds no kernels announces that it compiles them, which no test of an output expects.
    """
    from groupcheck.model.engine.fast.kernels.compiled import GRAPH, PACKING, Unit, is_ready, load

    units = (Unit(1), Unit(1, True), Unit(2, True), Unit(3, True), PACKING, GRAPH)
    missing = [unit for unit in units if not is_ready(unit)]
    fork = multiprocessing.get_context("fork")  # which pickles nothing: two modules are `conftest`
    compiling = [fork.Process(target=load, args=(unit,)) for unit in missing]
    for process in compiling:
        process.start()
    for process in compiling:
        process.join()
