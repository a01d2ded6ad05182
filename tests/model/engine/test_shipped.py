"""Object code that comes with a wheel is loaded where it fits, and nowhere else."""

import json

import kernels
import pytest

from groupcheck.model.engine.fast.kernels import compiled, shipped

GRAPH = compiled.GRAPH


@pytest.fixture
def wheel(monkeypatch, tmp_path):
    """A folder with the kernels of graphs as a wheel brings them; the cache is empty."""
    objects = compiled._read(compiled._file(GRAPH))
    kernels.write(tmp_path / "shipped", {GRAPH.name: objects}, "generic")
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "shipped")
    monkeypatch.setattr(compiled, "_loaded", {})
    monkeypatch.setattr(compiled, "compile_unit", lambda unit: [*objects])
    shipped._manifest.cache_clear()
    return tmp_path / "shipped"


def test_a_unit_of_the_wheel_is_loaded_and_none_is_compiled(wheel, monkeypatch):
    monkeypatch.setattr(compiled, "compile_unit", None)
    assert compiled.is_ready(GRAPH) and not compiled.is_ready(compiled.PACKING)
    assert [*compiled.load(GRAPH)] == [*GRAPH.kernels]
    assert not compiled._file(GRAPH).exists()


def other(name, value):
    def change(wheel):
        file = wheel / shipped.MANIFEST
        file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))

    return change


def torn(wheel):
    file = wheel / "graph.o"
    file.write_bytes(file.read_bytes()[:-1] + b"?")


@pytest.mark.parametrize(
    "change",
    [
        other("sources", "00"),
        other("versions", {"numba": "0.1", "llvmlite": "0.1"}),
        other("system", "wasm32-wasi"),
        other("processor", "z80"),
        other("files", {"graph.o": "00"}),
        torn,
        lambda wheel: (wheel / "graph.o").unlink(),
        lambda wheel: (wheel / shipped.MANIFEST).write_text("{"),
    ],
)
def test_a_unit_that_does_not_fit_is_compiled_as_usual(wheel, change):
    change(wheel)
    assert not compiled.is_ready(GRAPH)
    assert compiled.load(GRAPH) and compiled._file(GRAPH).exists()


def test_a_processor_below_the_baseline_compiles(wheel, monkeypatch):
    monkeypatch.setitem(shipped.NEEDED, "generic", ("of a processor that is not there",))
    assert not compiled.is_ready(GRAPH)


def test_the_cache_comes_first(wheel, monkeypatch):
    compiled._write(compiled._file(GRAPH), compiled.compile_unit(GRAPH))
    monkeypatch.setattr(shipped, "read", None)
    assert compiled.load(GRAPH)
