"""A search in stages: plain Python answers what is small, and what is not goes on compiled from
where it stood.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from small_group import small_group
from two_phase_commit import two_phase_commit

from groupcheck.model.engine import (
    Limits,
    RuleError,
    Spec,
    UserError,
    compiler,
    constraint,
    end,
    infinitely_often,
    rule,
    single,
    staged,
    weak,
)
from groupcheck.model.engine.fast import explore as fast
from groupcheck.model.engine.fast import segments
from groupcheck.model.engine.fast.kernels import background, compiled
from groupcheck.model.engine.plain import plain_explore
from groupcheck.model.engine.resident import resident_bytes
from groupcheck.model.engine.symmetry import NO_SYMMETRY
from groupcheck.model.engine.verdict import Verdict
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.variants import load

NUMBERS = ("verdict", "reason", "states", "transitions", "depth", "rule_calls", "rules", "goals")


def numbers(verdict):
    return [getattr(verdict, name) for name in NUMBERS]


@pytest.fixture
def nothing_compiled(monkeypatch):
    """No kernel is there, and none can be compiled in this process."""

    def refuse(unit):
        raise AssertionError(f"{unit.name} is compiled in this process")

    monkeypatch.setattr(compiled, "_loaded", {})
    monkeypatch.setattr(compiled, "_read", lambda file: None)
    monkeypatch.setattr(compiled, "compile_unit", refuse)


@rule
def turn(colour):
    yield {"green": "yellow", "yellow": "red", "red": "green"}[colour]


@infinitely_often
def is_red(colour):
    return colour == "red"


def test_what_is_small_is_answered_without_a_kernel(nothing_compiled):
    spec = two_phase_commit(3)
    assert numbers(staged.explore(spec)) == numbers(plain_explore.explore(spec))


def test_what_is_small_needs_none_for_progress_or_symmetry_or_memory_either(nothing_compiled):
    light = Spec("light", {"colour": single("green")}, [turn], progress=[is_red], fair=[weak(turn)])
    assert staged.explore(light, liveness=True).progress == {"is_red": "holds"}
    spec = load("classic").spec(Scope(members=3, generations=1))
    verdict = staged.explore(spec, Limits(memory=1 << 40), symmetry=True, required=True)
    assert numbers(verdict) == numbers(plain_explore.explore(spec))
    assert verdict.symmetry.reason.startswith(plain_explore.STORES_EVERY_STATE)


def test_who_looks_at_a_search_sees_the_same_states_in_each_stage(nothing_compiled, monkeypatch):
    seen = []
    whole = {"look": lambda search: seen.append({*search.seen(("core", "client"))})}
    spec = load("classic").spec(Scope(members=2, generations=1))
    staged.explore(spec, **whole, symmetry=True)
    monkeypatch.setattr(compiler, "missing", lambda: "numba")
    staged.explore(spec, **whole)
    monkeypatch.undo()  # with kernels
    fast.explore(spec, **whole)
    assert seen[0] == seen[1] == seen[2] and len(seen[0]) > 50


def test_a_checkpoint_of_what_is_small_is_written_without_one(nothing_compiled, tmp_path):
    verdict = staged.explore(two_phase_commit(3), checkpoint=tmp_path / "kept")
    assert numbers(verdict) == numbers(plain_explore.explore(two_phase_commit(3)))


@pytest.mark.parametrize("states", [1, 100, 1_000])
def test_a_search_that_a_limit_ends_in_plain_python_goes_on_from_its_checkpoint(tmp_path, states):
    spec = small_group(3, 2, 2, 1, 1)
    stopped = staged.explore(spec, Limits(states=states), checkpoint=tmp_path / "kept")
    assert stopped.reason.startswith("stopped at the limit") and not stopped.unsaved
    found = staged.explore(spec, checkpoint=tmp_path / "kept", resume=tmp_path / "kept")
    assert numbers(found) == numbers(fast.explore(spec))


def test_a_search_with_a_checkpoint_is_taken_over_between_two_levels(monkeypatch, tmp_path):
    monkeypatch.setattr(staged, "ENOUGH", 1_000)
    spec = small_group(3, 2, 2, 1, 1)
    stopped = staged.explore(spec, Limits(states=3_000), checkpoint=tmp_path / "kept")
    assert stopped.verdict == "unknown"
    found = staged.explore(spec, resume=tmp_path / "kept")
    assert numbers(found) == numbers(fast.explore(spec))


def test_a_checkpoint_that_cannot_be_written_costs_no_answer_of_plain_python(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(segments, "_to_disk", full)
    verdict = staged.explore(two_phase_commit(3), checkpoint=tmp_path / "kept")
    assert verdict.verdict == "holds" and "No space left" in str(verdict.unsaved)


def test_where_plain_python_takes_half_of_the_memory_kernels_take_over(monkeypatch):
    """They are compiled in another process; this one waits for them."""
    monkeypatch.setattr(staged, "ENOUGH", 100)
    spec = small_group(3, 1, 1, 1, 0)
    leaves = staged.Stages(NO_SYMMETRY, Limits(memory=resident_bytes())).leaves
    monkeypatch.setattr(staged.Stages, "_is_compiled", lambda self, search: False)
    left = plain_explore.explore_until(spec, leaves=leaves)
    assert isinstance(left, plain_explore.PlainRun)


@pytest.mark.parametrize(
    ("limits", "begins"),
    [
        (Limits(memory=1 << 40), True),
        (Limits(memory=1 << 20), False),
        (Limits(memory=1 << 20, memory_of="of its container"), True),
    ],
)
def test_where_a_limit_that_is_asked_for_is_tight_kernels_begin(limits, begins):
    """What plain Python takes does not all come back."""
    leaves = staged.Stages(NO_SYMMETRY, limits).leaves
    left = plain_explore.explore_until(small_group(3, 1, 1, 1, 0), leaves=leaves)
    assert begins == (isinstance(left, Verdict) or left.search.findings.depth > 0)


@pytest.mark.parametrize("enough", [0, 1, 1_000, 5_000])
def test_what_is_larger_goes_on_compiled_and_calls_no_rule_again(monkeypatch, enough):
    monkeypatch.setattr(staged, "ENOUGH", enough)
    spec = small_group(3, 2, 2, 1, 1)
    assert numbers(staged.explore(spec)) == numbers(fast.explore(spec))


@pytest.mark.parametrize("enough", [0, 1, 1_000, 5_000])
def test_where_symmetry_is_worth_while_it_goes_on_with_one_state_of_each_orbit(monkeypatch, enough):
    monkeypatch.setattr(staged, "ENOUGH", enough)
    spec = load("classic").spec(Scope(members=3))
    verdict = staged.explore(spec, symmetry=None)
    assert numbers(verdict) == numbers(fast.explore(spec)) and verdict.symmetry.used


def test_plain_python_goes_on_until_kernels_are_compiled(nothing_compiled, monkeypatch):
    started: list[Compiling] = []

    class Compiling:
        has_ended = False

        def __init__(self, units) -> None:
            self.units = units
            started.append(self)

    monkeypatch.setattr(staged, "ENOUGH", 100)
    monkeypatch.setattr(staged, "BETWEEN", 0.0)
    monkeypatch.setattr(background, "_running", {})
    monkeypatch.setattr(background, "Background", Compiling)
    spec = small_group(3, 1, 1, 1, 0)
    assert numbers(staged.explore(spec)) == numbers(plain_explore.explore(spec))
    (units,) = {one.units for one in started}
    search, packing, wider = units
    assert packing == compiled.PACKING and (wider.words, wider.urgent) == (
        search.words + 1,
        search.urgent,
    )


def test_what_another_process_has_compiled_is_loaded(monkeypatch, tmp_path):
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiled, "_loaded", {})
    heard: list[tuple[object, bool]] = []
    monkeypatch.setattr(compiled.compiling, "listener", lambda *told: heard.append(told))
    assert background.can_compile([compiled.GRAPH]) and not compiled.is_ready(compiled.GRAPH)
    process = background.Background([compiled.GRAPH])
    assert process._process.wait(timeout=120) == 0 and process.has_ended
    assert heard == [(tmp_path / "cache", True)]
    monkeypatch.setattr(compiled, "compile_unit", None)
    assert compiled.load(compiled.GRAPH)


def test_without_a_folder_that_keeps_kernels_they_are_compiled_here(monkeypatch):
    monkeypatch.setattr(staged, "ENOUGH", 100)
    monkeypatch.setattr(compiled, "_file", lambda unit: None)
    spec = small_group(3, 1, 1, 1, 0)
    found = plain_explore.explore_until(spec, leaves=staged.Stages(NO_SYMMETRY).leaves)
    assert isinstance(found, plain_explore.PlainRun) and found.search.transitions < 1_000


def test_without_a_compiler_plain_python_answers_and_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(staged, "ENOUGH", 0)
    verdict = staged.explore(two_phase_commit(3))
    assert verdict.verdict == "holds" and verdict.notes == compiler.notes()
    with pytest.raises(UserError, match="numba is not installed"):
        staged.explore(two_phase_commit(3), checkpoint="folder")


def test_an_interrupt_in_plain_python_keeps_what_was_found(monkeypatch):
    spec = two_phase_commit(3)

    def interrupt(search, is_between):
        if search.transitions > 100:
            signal.raise_signal(signal.SIGINT)
        return False

    verdict = plain_explore.explore_until(spec, leaves=interrupt)
    assert verdict.verdict == "unknown" and verdict.reason.startswith("interrupted in level")
    assert 0 < verdict.states < plain_explore.explore(spec).states


def test_memory_ends_a_search_in_plain_python(monkeypatch):
    monkeypatch.setattr(plain_explore, "BETWEEN", 0.0)
    verdict = plain_explore.explore(two_phase_commit(3), Limits(memory=1))
    assert verdict.verdict == "unknown" and "memory" in verdict.reason


def test_what_plain_python_found_is_told_if_memory_runs_out_when_it_is_taken_over(monkeypatch):
    def no_memory(run, resumed):
        raise MemoryError

    monkeypatch.setattr(staged, "ENOUGH", 100)
    monkeypatch.setattr(fast.Run, "begin", no_memory)
    verdict = staged.explore(two_phase_commit(3))
    assert verdict.verdict == "unknown" and "memory for the search" in verdict.reason
    assert 0 < verdict.states < plain_explore.explore(two_phase_commit(3)).states


def test_an_interrupt_ends_a_search_that_is_about_to_be_left():
    def interrupt(progress):
        raise KeyboardInterrupt

    found = plain_explore.explore_until(
        two_phase_commit(3),
        progress=interrupt,
        leaves=lambda search, is_between: is_between and search.findings.depth > 0,
    )
    assert isinstance(found, Verdict) and found.reason == "interrupted in level 2"


def test_seconds_are_counted_after_each_state_of_plain_python(monkeypatch):
    """A rule of a spec may take seconds for each state."""
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    verdict = plain_explore.explore(two_phase_commit(3), Limits(seconds=10))
    assert verdict.reason.startswith("stopped at the limit of 10 seconds")
    assert verdict.states < 100


@rule
def right(x):
    yield x + 1


@rule
def up(y):
    yield y + 1


@constraint
def near(x, y):
    return x + y < 100


def grid(**more):
    return Spec("grid", {"x": single(0), "y": single(0)}, [right, up], deadlock=False, **more)


def test_border_states_of_a_level_that_a_limit_cuts_off_are_no_states_of_the_scope():
    whole = plain_explore.explore(grid(constraints=[near]))
    found = plain_explore.explore(grid(constraints=[near]), Limits(states=whole.states + 1))
    assert (whole.border, found.verdict) == (101, "unknown")
    assert found.states == whole.states and 0 < found.border < whole.border


@constraint
def not_there(x, y):
    return x + y < 100 and 1 // (x - 3) <= 1


@end
def no_end(x):
    return 1 // (x - 3) > 1


@rule
def until_three(x):
    if x < 3:
        yield x + 1


@pytest.mark.parametrize(
    "spec",
    [
        grid(constraints=[not_there]),
        Spec("ending", {"x": single(0)}, [until_three], ends=[no_end]),
    ],
)
def test_an_end_or_constraint_at_fault_comes_with_a_key_in_plain_python_too(spec):
    errors = []
    for explore in (fast.explore, plain_explore.explore):
        with pytest.raises(RuleError) as caught:
            explore(spec)
        errors.append(str(caught.value))
    assert errors[0] == errors[1] and "key gc1-" in errors[0]


def test_the_reason_for_no_symmetry_is_one_with_and_without_a_compiler(monkeypatch):
    spec = two_phase_commit(3)
    for more in ({"symmetry": None}, {"symmetry": None, "liveness": True}, {}):
        with monkeypatch.context() as here:
            compiled_too = staged.explore(spec, **more).symmetry
            here.setitem(sys.modules, "numba", None)
            assert staged.explore(spec, **more).symmetry == compiled_too


def test_a_process_that_the_system_refuses_counts_as_one_that_failed(monkeypatch):
    def refuse(*_, **__):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(background.subprocess, "Popen", refuse)
    assert background.Background([compiled.GRAPH]).has_ended


@pytest.mark.parametrize(
    ("chosen", "goes_on"),
    [
        ({}, True),
        ({"CI": "false"}, True),
        ({"CI": "true"}, False),
        ({"PYTEST_CURRENT_TEST": "test_group.py"}, False),
        ({"CI": "true", background.VARIABLE: "1"}, True),
        ({background.VARIABLE: "0"}, False),
    ],
)
def test_what_compiles_may_outlive_a_program_but_no_job_of_ci_and_no_test(
    monkeypatch, chosen, goes_on
):
    for name in ("CI", "PYTEST_VERSION", "PYTEST_CURRENT_TEST", background.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    assert background.outlives() == goes_on


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_second_search_waits_for_the_process_of_the_first_which_may_outlive_both(goes_on):
    """Python warns, and fails under `-W error`, where a process is forgotten while it runs."""
    given = (
        "from groupcheck.model.engine.fast.kernels import background, compiled\n"
        "background.Background.__init__ = lambda self, units: setattr(self, '_process',"
        " background.subprocess.Popen(['sleep', '60'], stdin=-3, stdout=-3, stderr=-3))\n"
        "units = (compiled.GRAPH,)\n"
        "started = background.in_background(units)\n"
        "assert background.in_background(units) is started\n"
        "print(started._process.pid)\n"
    )
    environment = {**os.environ, background.VARIABLE: str(int(goes_on))}
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", given],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    pid = int(ended.stdout)
    assert psutil.pid_exists(pid) == goes_on
    if goes_on:
        os.kill(pid, signal.SIGKILL)


def test_what_compiles_ends_by_itself(monkeypatch):
    monkeypatch.setattr(background, "load", lambda unit: time.sleep(60))
    monkeypatch.setattr(background, "LONGEST_S", 1)
    pid = os.fork()
    if pid == 0:
        os.setsid()  # or it would make the session of the tests give way to all others
        background.main(["1:1:search"])
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGALRM


def test_the_process_that_compiles_imports_nothing_of_the_users(monkeypatch, tmp_path):
    """Neither from the folder in which it runs, nor from that of a spec, which is on the path."""
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "queue.py").write_text("raise SystemExit(1)")
    (tmp_path / "attrs.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert background.Background([])._process.wait(timeout=120) == 0


def test_one_process_compiles_a_unit_and_the_others_take_it(monkeypatch, tmp_path):
    """The lock is held while a unit is compiled; who waited for it looks into the cache again."""
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiled, "_loaded", {})
    objects = compiled.compile_unit(compiled.GRAPH)
    file = compiled._file(compiled.GRAPH)
    reads = iter([None, objects])
    monkeypatch.setattr(compiled, "_read", lambda _: next(reads))
    monkeypatch.setattr(compiled, "compile_unit", None)
    assert compiled.load(compiled.GRAPH)
    assert file.with_suffix(".lock").exists()


def test_a_full_disk_leaves_no_empty_file(monkeypatch, tmp_path):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiled.np, "savez", full)
    compiled._write(tmp_path / "kernel.o", [("symbol", b"code")])
    assert list(tmp_path.iterdir()) == []


def test_a_small_check_loads_neither_the_compiler_nor_what_reads_logs():
    """They take as long as the rest of it."""
    code = (
        "import sys; from groupcheck.oracles.command_line.cli import run\n"
        "run(['check', 'classic', '--members', '1', '--generations', '1'])\n"
        "unused = {'numpy', 'llvmlite', 'groupcheck.traces.findings'}\n"
        "sys.exit(str(unused & sys.modules.keys() or ''))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stderr.strip() == "" and ended.stdout.startswith("holds")
