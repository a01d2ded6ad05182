"""A search in stages: plain Python answers what is small, and what is not goes on compiled from
where it stood.
"""

from __future__ import annotations

import signal
import sys

import pytest
from small_group import small_group
from two_phase_commit import two_phase_commit

from groupcheck.model.engine import Limits, UserError, compiler, staged
from groupcheck.model.engine.fast import explore as fast
from groupcheck.model.engine.fast.kernels import background, compiled
from groupcheck.model.engine.plain import plain_explore
from groupcheck.model.engine.symmetry import NO_SYMMETRY
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
    monkeypatch.setattr(compiled, "_compile", refuse)


def test_what_is_small_is_answered_without_a_kernel(nothing_compiled):
    spec = two_phase_commit(3)
    assert numbers(staged.explore(spec)) == numbers(plain_explore.explore(spec))


@pytest.mark.parametrize("enough", [0, 1_000, 5_000])
def test_what_is_larger_goes_on_compiled_and_calls_no_rule_again(monkeypatch, enough):
    monkeypatch.setattr(staged, "ENOUGH", enough)
    spec = small_group(3, 2, 2, 1, 1)
    assert numbers(staged.explore(spec)) == numbers(fast.explore(spec))


@pytest.mark.parametrize("enough", [0, 1_000, 5_000])
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
    monkeypatch.setattr(compiled, "_compile", None)
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


def test_one_process_compiles_a_unit_and_the_others_take_it(monkeypatch, tmp_path):
    """The lock is held while a unit is compiled; who waited for it looks into the cache again."""
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiled, "_loaded", {})
    objects = compiled._compile(compiled.GRAPH)
    file = compiled._file(compiled.GRAPH)
    reads = iter([None, objects])
    monkeypatch.setattr(compiled, "_read", lambda _: next(reads))
    monkeypatch.setattr(compiled, "_compile", None)
    assert compiled.load(compiled.GRAPH)
    assert file.with_suffix(".lock").exists()


def test_a_full_disk_leaves_no_empty_file(monkeypatch, tmp_path):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiled.np, "savez", full)
    compiled._write(tmp_path / "kernel.o", [("symbol", b"code")])
    assert list(tmp_path.iterdir()) == []
