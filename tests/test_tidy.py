"""The house rules as a test: what ruff, mypy and import-linter cannot say. Each rule is also shown
to catch a planted offender.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = ("model", "invariants", "traces", "oracles")
LONGEST_FILE, LONGEST_FUNCTION, LONGEST_LINE = 500, 70, 100
VAGUE = {"core", "utils", "util", "common", "helper", "helpers", "manager", "base", "misc"}

# Spelt so that this file does not match itself.
MACHINE = re.compile(r"(?<![\w.}~])/(?:w[o]rk|r[o]ot|h[o]me|U[s]ers|t[m]p)/\w")
REGISTRY = re.compile(
    r"p[y]pi\.org|p[y]thonhosted|r[e]po1?\.maven|c[r]ates\.io|r[e]gistry\.npmjs|p[r]oxy\.golang|d[e]b\.debian"
)
LEFT_OVER = re.compile(
    r"\b(?:T[O]DO|F[I]XME|X{3}|H[A]CK)\b|\bassert T[r]ue\b|raise N[o]tImplementedError"
)
EXCUSE = re.compile(r"\b(?:s[k]ip|s[k]ipif|x[f]ail|import[o]rskip)\b")

Check = Callable[[PurePosixPath, str], Iterator[str]]


@lru_cache(1)
def parsed(text: str) -> ast.Module:
    """The same file is asked for by one check after the other."""
    return ast.parse(text)


@lru_cache(1)
def nodes(text: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(parsed(text)))


def functions(text: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in nodes(text) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def matches(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if found := pattern.search(line):
            yield f"line {number}: {found[0]}"


def long_file(path: PurePosixPath, text: str) -> Iterator[str]:
    if (length := len(text.splitlines())) >= LONGEST_FILE:
        yield f"{length} lines: two rooms in one?"


def long_line(path: PurePosixPath, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST_LINE:
            yield f"line {number}: {len(line)} columns"


def wide_prose(path: PurePosixPath, text: str) -> Iterator[str]:
    """Code, tables and lines with an address cannot be broken."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        is_prose = (
            not is_code and not line.startswith(("|", "    groupcheck ")) and "](" not in line
        )
        if is_prose and "://" not in line and len(line) > LONGEST_LINE:
            yield f"line {number}: {len(line)} columns"


def length(f: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without those of the functions inside it, which are measured by
    themselves.
    """
    lines = set(range(f.lineno, (f.end_lineno or f.lineno) + 1))
    for inner in ast.walk(f):
        if inner is not f and isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            lines -= set(range(inner.lineno, (inner.end_lineno or inner.lineno) + 1))
    return len(lines)


def long_function(path: PurePosixPath, text: str) -> Iterator[str]:
    for f in functions(text):
        whole = (f.end_lineno or f.lineno) - f.lineno + 1
        if whole >= LONGEST_FUNCTION and length(f) >= LONGEST_FUNCTION:
            yield f"{f.name} has {length(f)} lines: two steps in one?"


def vague_name(path: PurePosixPath, text: str) -> Iterator[str]:
    for part in (*path.parent.parts, path.stem):
        if words := VAGUE & set(part.lower().split("_")):
            yield f"{part}: {min(words)} says nothing about what is inside"


def machine_path(path: PurePosixPath, text: str) -> Iterator[str]:
    yield from matches(MACHINE, text)
    yield from matches(REGISTRY, text)


def left_over(path: PurePosixPath, text: str) -> Iterator[str]:
    yield from matches(LEFT_OVER, text)


def bare_import(path: PurePosixPath, text: str) -> Iterator[str]:
    for node in nodes(text):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            if name.partition(".")[0] in FLOORS:
                yield f"line {node.lineno}: import groupcheck.{name}"


def no_docstring(path: PurePosixPath, text: str) -> Iterator[str]:
    if not ast.get_docstring(parsed(text)):
        yield "what is this file for?"


def logic_in_door(path: PurePosixPath, text: str) -> Iterator[str]:
    """An `__init__.py` holds a docstring, imports, dunder names and plain constants; late imports
    (PEP 562) are the one thing it may do.
    """
    if path.name != "__init__.py":
        return
    for node in parsed(text).body[1:]:
        typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        plain = all(
            isinstance(n, ast.Import | ast.ImportFrom) for n in (node.body if typing else [node])
        )
        named = isinstance(node, ast.Assign) and not any(
            isinstance(n, ast.Call) for n in ast.walk(node.value)
        )
        late = isinstance(node, ast.FunctionDef) and node.name in ("__getattr__", "__dir__")
        if not (plain or named or late):
            yield f"line {node.lineno}: logic in a door"


def claims(node: ast.AST, judges: set[str]) -> bool:
    """Does the code under `node` assert something, expect an error, or call one of the `judges`?"""
    for n in ast.walk(node):
        if isinstance(n, ast.Assert):
            return True
        if isinstance(n, ast.Call):
            called = (
                n.func.attr
                if isinstance(n.func, ast.Attribute)
                else n.func.id
                if isinstance(n.func, ast.Name)
                else ""
            )
            if called == "raises" or called in judges:
                return True
    return False


def claimless_test(path: PurePosixPath, text: str) -> Iterator[str]:
    """A test that can only fail by raising. Functions of the same file that assert count as judges,
    at one remove.
    """
    if path.parts[0] != "tests" or not path.name.startswith("test_"):
        return
    everything = list(functions(text))
    judges = {f.name for f in everything if not f.name.startswith("test_") and claims(f, set())}
    for f in everything:
        if f.name.startswith("test_") and not claims(f, judges):
            yield f"{f.name} claims nothing"


def excused_test(path: PurePosixPath, text: str) -> Iterator[str]:
    if path.parts[0] == "tests":
        for node in nodes(text):
            if isinstance(node, ast.Attribute) and EXCUSE.fullmatch(node.attr):
                yield f"line {node.lineno}: {node.attr} (make it pass, or mend what it shows)"


def package_of_tests(path: PurePosixPath, text: str) -> Iterator[str]:
    if path.parts[0] == "tests" and path.name == "__init__.py":
        yield "tests are no package"


OF_PYTHON: tuple[Check, ...] = (
    long_file,
    long_function,
    vague_name,
    bare_import,
    no_docstring,
    logic_in_door,
    claimless_test,
    excused_test,
    package_of_tests,
)
OF_JAVA: tuple[Check, ...] = (long_file, long_line)
OF_TEXT: tuple[Check, ...] = (machine_path, left_over)


def tracked() -> list[PurePosixPath]:
    """Every file that is or would be in a commit, symlinks included."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return sorted(
        {
            PurePosixPath(name)
            for name in listed.stdout.decode().split("\0")
            if name and (ROOT / name).is_symlink() | (ROOT / name).is_file()
        }
    )


def complaints(checks: tuple[Check, ...], path: PurePosixPath, text: str) -> list[str]:
    return [
        f"{path}: {check.__name__}: {problem}" for check in checks for problem in check(path, text)
    ]


def crooked_link(path: Path) -> str:
    """Why a symlink would not survive a clone into another place, or nothing."""
    target = path.readlink()
    if target.is_absolute():
        return f"{path.name} points to an absolute path"
    return "" if path.exists() else f"{path.name} points to nothing"


def test_every_python_file_keeps_the_house_rules():
    files = [p for p in tracked() if p.suffix == ".py"]
    assert len(files) > 20
    assert (
        "\n".join(c for p in files for c in complaints(OF_PYTHON, p, (ROOT / p).read_text("utf-8")))
        == ""
    )


def test_every_java_file_keeps_the_house_rules():
    files = [p for p in tracked() if p.suffix == ".java"]
    assert len(files) > 20
    assert (
        "\n".join(c for p in files for c in complaints(OF_JAVA, p, (ROOT / p).read_text("utf-8")))
        == ""
    )


def test_every_page_keeps_to_its_width():
    """The scoreboard is written by a run, and quotes what was seen."""
    pages = [p for p in tracked() if p.suffix == ".md" and p.stem != "scoreboard"]
    assert len(pages) > 20
    assert (
        "\n".join(
            c for p in pages for c in complaints((wide_prose,), p, (ROOT / p).read_text("utf-8"))
        )
        == ""
    )


def test_no_file_names_a_machine_a_registry_or_work_left_over():
    found = []
    for p in tracked():
        raw = (
            b""
            if (ROOT / p).is_symlink() or p.is_relative_to("tests/data")
            else (ROOT / p).read_bytes()
        )
        if b"\0" not in raw:
            found += complaints(OF_TEXT, p, raw.decode())
    assert "\n".join(found) == ""


def test_no_two_modules_of_tests_have_one_name():
    """pytest imports them by their names alone, and refuses the second one."""
    names = [p.name for p in tracked() if p.is_relative_to("tests") and p.name[:5] == "test_"]
    assert [name for name in names if names.count(name) > 1] == []


@pytest.mark.parametrize("lock", sorted(p.name for p in ROOT.glob("requirements*.txt")))
def test_the_lock_has_a_hash_for_every_version_and_no_address(lock: str):
    entries = (ROOT / lock).read_text().replace("\\\n", " ").splitlines()
    assert len(entries) > 10
    assert [
        e
        for e in entries
        if not re.match(r"[\w-]+==[\w.]+ .*--hash=sha256:[0-9a-f]{64}", e) or "//" in e
    ] == []


def test_symlinks_are_relative_and_lead_somewhere():
    links = [ROOT / p for p in tracked() if (ROOT / p).is_symlink()]
    assert {link.name for link in links} >= set(FLOORS)
    assert [why for link in links if (why := crooked_link(link))] == []


NESTED = "def f():\n def g():\n"


def lines(indent: int, fewer: int) -> str:
    """The body of a function, shorter by some lines than the longest one."""
    return (" " * indent + "x = 1\n") * (LONGEST_FUNCTION - fewer)


@pytest.mark.parametrize(
    ("check", "path", "offender", "innocent"),
    [
        (long_file, "model/a.py", "x = 1\n" * LONGEST_FILE, "x = 1\n" * (LONGEST_FILE - 1)),
        (long_function, "model/a.py", "def f():\n" + lines(1, 1), "def f():\n" + lines(1, 2)),
        (long_function, "model/a.py", NESTED + lines(2, 1), NESTED + lines(2, 2) + lines(1, 9)),
        (long_line, "a/B.java", "x" * (LONGEST_LINE + 1), "x" * LONGEST_LINE + "\n"),
        (wide_prose, "a.md", "w " * 51, "w " * 50 + "\n```\n" + "x" * 101 + "\n```"),
        (vague_name, "model/lock_utils.py", "", None),
        (vague_name, "model/core/lock.py", "", None),
        (machine_path, "README.md", "see /t" "mp/x", "see a/tmp/x and {x}/tmp/y"),
        (machine_path, "a.txt", "https://py" "pi.org/simple", "https://kafka.apache.org"),
        (left_over, "model/a.py", "# TO" "DO: later", "# todo list"),
        (left_over, "tests/test_a.py", "assert Tr" "ue", "assert True_enough"),
        (bare_import, "model/a.py", "from model.engine import Spec",
         "from groupcheck.model.engine import Spec"),
        (bare_import, "model/a.py", "import traces", "from . import traces"),
        (no_docstring, "model/a.py", "x = 1", '"""Why."""'),
        (logic_in_door, "model/__init__.py", '"""D."""\nfor x in (): pass',
         '"""D."""\nfrom a import b\n__all__ = ["b"]'),
        (logic_in_door, "model/__init__.py", '"""D."""\nx = f()', '"""D."""\n__version__ = "1"'),
        (logic_in_door, "model/__init__.py", '"""D."""\nif TYPE_CHECKING: x = 1',
         '"""D."""\nif TYPE_CHECKING:\n    from a import b'),
        (claimless_test, "tests/test_a.py", "def test_x():\n    f()",
         "def test_x():\n    assert f()"),
        (claimless_test, "tests/test_a.py", "def test_x():\n    g()\ndef g():\n    pass",
         "def test_x():\n    g()\ndef g():\n    assert h"),
        (claimless_test, "tests/test_a.py", "def test_x():\n    with suppress(E): f()",
         "def test_x():\n    with pytest.raises(E): f()"),
        (excused_test, "tests/test_a.py", "@pytest.mark.xf" "ail\ndef test_x(): pass",
         "@pytest.mark.slow\ndef test_x(): pass"),
        (excused_test, "tests/test_a.py", "pytest.importor" "skip('z3')", "itertools.islice(a, b)"),
        (package_of_tests, "tests/model/__init__.py", "", None),
    ],
)  # fmt: skip
def test_each_rule_catches_its_offender(
    check: Check, path: str, offender: str, innocent: str | None
):
    assert list(check(PurePosixPath(path), offender))
    assert innocent is None or list(check(PurePosixPath(path), innocent)) == []


def test_a_link_out_of_the_checkout_or_to_nothing_is_found(tmp_path: Path):
    (tmp_path / "there").mkdir()
    for name, target in (
        ("good", Path("there")),
        ("absolute", tmp_path / "there"),
        ("dangling", Path("nowhere")),
    ):
        (tmp_path / name).symlink_to(target)
    assert [bool(crooked_link(tmp_path / name)) for name in ("good", "absolute", "dangling")] == [
        False,
        True,
        True,
    ]
