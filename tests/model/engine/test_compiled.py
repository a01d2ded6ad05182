"""Object code in the cache: loaded when it is whole and ours, compiled anew otherwise, never
trusted from elsewhere.
"""

import subprocess
import sys

import pytest
from small_group import small_group

from groupcheck.model.engine.fast import explore
from groupcheck.model.engine.fast.kernels import compiled, intrinsics, processor

OBJECTS = [("first", b"\x7fELF one"), ("second", b"two\n")]


def test_what_is_written_is_read_again(tmp_path):
    compiled._write(tmp_path / "x.o", OBJECTS)
    assert compiled._read(tmp_path / "x.o") == OBJECTS


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[:-1],
        lambda b: b[:30],
        lambda b: b"",
        lambda b: b.replace(b"ELF one", b"ELF 0ne"),
        lambda b: b"x" + b,
    ],
)
def test_a_torn_or_foreign_file_is_not_loaded(tmp_path, damage):
    file = tmp_path / "x.o"
    compiled._write(file, OBJECTS)
    file.write_bytes(damage(file.read_bytes()))
    assert compiled._read(file) is None


def test_a_directory_that_cannot_be_made_costs_the_cache_not_the_run(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert compiled._file(compiled.PACKING) is None
    assert explore.explore(small_group(1, 1, 1, 0, 0)).states > 1


@pytest.mark.parametrize("changed", ["SOURCES_AT_START", "llvmlite"])
def test_code_of_another_source_or_compiler_has_another_name(monkeypatch, changed):
    before = compiled._file(compiled.PACKING)
    monkeypatch.setattr(compiled, "_dependencies", compiled._dependencies.__wrapped__)
    if changed == "llvmlite":
        monkeypatch.setattr(compiled.llvmlite, "__version__", "0.0.0")
    else:
        monkeypatch.setattr(compiled, changed, b"another source")
    assert compiled._file(compiled.PACKING) != before


@pytest.mark.parametrize("told", [{}, {"NUMBA_CPU_NAME": "generic"}])
def test_code_for_any_processor_has_one_name_everywhere(monkeypatch, told):
    names = set()
    monkeypatch.setattr(compiled, "_dependencies", compiled._dependencies.__wrapped__)
    for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    for host in ("skylake", "znver4"):
        monkeypatch.setattr(processor.llvm, "get_host_cpu_name", lambda host=host: host)
        names.add(compiled._file(compiled.PACKING))
        assert intrinsics._has_quick_pext() is ("+bmi2" in processor.features().split(","))
    assert len(names) == (1 if told else 2)
    assert bool(told) is (processor.features() == "")


def test_a_run_with_compiled_code_at_hand_does_not_import_numba(monkeypatch):
    monkeypatch.setattr(
        compiled, "_loaded", {}
    )  # so that what an earlier test compiled without a cache is written
    explore.explore(small_group(1, 1, 1, 0, 0))
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from small_group import small_group\n"
        "from groupcheck.model.engine import Limits\n"
        "assert not {'numpy', 'llvmlite'} & {*sys.modules}, 'a spec alone needs no numpy'\n"
        "from groupcheck.model.engine.fast.explore import explore\n"
        "assert explore(small_group(1, 1, 1, 0, 0)).states > 1\n"
        "assert 'numba' not in sys.modules\n"
    )
    assert compiled.is_ready(compiled.Unit(1))
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)
