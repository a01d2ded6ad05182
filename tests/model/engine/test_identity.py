"""A kept search belongs to one model: to its sources, to the values that its functions use, to its
scope and to the versions. It is the same model in every process.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import attrs
import pytest

from groupcheck.model.engine import CheckpointError, Limits, Spec, UserError, rule, single
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.fast.identity import identity

SETTINGS = """
FLAG = True
LIMITS = {"most": 50}
"""

HELPERS = """
import functools

from groupcheck.model.engine import remembered

from . import settings
from .settings import LIMITS


@functools.cache
def kept(n):
    return n


@remembered
def allows(n):
    return settings.FLAG and n < LIMITS["most"]
"""

MODEL = """
import functools

import attrs

from groupcheck.model.engine import Spec, goal, invariant, rule, single, step_invariant

from . import settings
from .helpers import allows, kept


@attrs.frozen
class Count:
    n: int = 0


class Weight:
    def __init__(self, n):
        self.n = n


_memory = {}
STEP = 1


def step():
    return STEP


def adding(by, weight):
    @rule
    def inc(c, scope):
        def next_one(n, times=1):
            assert n >= 0
            return n + by * times * STEP

        _memory[c] = kept(c.n)
        if settings.FLAG and allows(c.n) and c.n < scope and weight.n and step():
            yield Count(next_one(c.n))

    return inc


@invariant
def good(c):
    assert c is not None
    return c.n < 100


class Bounded:
    def __init__(self, most):
        self.most = most

    def bounded(self, c):
        return c.n < self.most


def negated(test, by):
    @functools.wraps(test)
    def wrapper(c):
        return not test(c) or by

    return wrapper


def low(c):
    return False


def grows(before, after):
    return True


def made(scope=3, by=1, weight=1, rules=("inc",), initial=0, most=100, negation=0):
    return Spec(
        "count",
        {"c": single(Count(initial))},
        [adding(by, Weight(weight))],
        scope,
        [
            good,
            step_invariant("c", rules=rules)(grows),
            invariant(Bounded(most).bounded),
            invariant(negated(low, negation)),
        ],
    )
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Imports the package `counting`, with one piece of text in one of its files replaced."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def imported(file="model", before="", after=""):
        (tmp_path / "counting").mkdir(exist_ok=True)
        texts = {"__init__": "", "settings": SETTINGS, "helpers": HELPERS, "model": MODEL}
        assert before in texts[file]
        for name, text in texts.items():
            changed = text.replace(before, after, 1) if name == file and before else text
            (tmp_path / "counting" / f"{name}.py").write_text(changed)
            monkeypatch.delitem(sys.modules, f"counting.{name}", raising=False)
        monkeypatch.delitem(sys.modules, "counting", raising=False)
        importlib.invalidate_caches()
        return importlib.import_module("counting.model")

    return imported


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("model", "c.n < 100", "c.n < 99"),
        ("model", "n: int = 0", "n: int = 3"),
        ("helpers", "return n", "return -n"),
        ("helpers", "<", "<="),
        ("settings", "50", "51"),
    ],
)
def test_a_change_of_any_source_makes_another_model(model, file, before, after):
    first = identity(model().made())
    other = identity(model(file, before, after).made())
    assert first.model != other.model
    assert f"the source differs of counting.{file}" in first.difference(other)


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"scope": 4}, "scope: 3, not 4"),
        ({"by": 2}, "used by rule inc"),
        ({"weight": 2}, "used by rule inc"),
        ({"rules": ()}, "used by invariant grows"),
        ({"initial": 1}, "used by initial states"),
        ({"most": 99}, "used by invariant bounded"),
        ({"negation": 1}, "used by invariant low"),
    ],
)
def test_a_value_that_no_source_shows_makes_another_model(model, changed, difference):
    made = model().made
    assert identity(made()).difference(identity(made())) == ""
    assert difference in identity(made()).difference(identity(made(**changed)))


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [("settings", "FLAG", False), ("model", "STEP", 2), ("model", "step", lambda: 2)],
)
def test_a_setting_changed_at_run_time_makes_another_model(model, monkeypatch, module, name, value):
    spec = model().made()
    before = identity(spec)
    monkeypatch.setattr(sys.modules[f"counting.{module}"], name, value)
    after = identity(spec)
    assert before.values["rule inc"] != after.values["rule inc"]
    assert before.difference(after).startswith("version of the model: ")


LIMIT = "int(os.environ['LIMIT'])"
CLASS_WITH = "class Held:\n    def __repr__(self):\n        return 'Held'\n"


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("x = LIMIT\ndef f():\n    return x", "f()"),
        ("x = LIMIT\n@functools.cache\ndef f():\n    return x", "f()"),
        ("def f(n=LIMIT):\n    return n\ndef g():\n    return f()", "g()"),
        ("def made(n):\n    return lambda: n\nf = made(LIMIT)", "f()"),
        ("f = (lambda: 1) if LIMIT == 1 else (lambda: 2)", "f()"),
        ("f = functools.partial(max, LIMIT)", "f(0)"),
        ("x = {'most': LIMIT, 'f': lambda: 0}", "x['most']"),
        ("x = collections.deque([LIMIT])", "x[0]"),
        ("x = types.MappingProxyType({'most': LIMIT})", "x['most']"),
        ("class Held:\n    def __init__(self, n):\n        self.n = n\nx = Held(LIMIT)", "x.n"),
        (f"{CLASS_WITH}    n = LIMIT\nx = Held()", "x.n"),
        (f"{CLASS_WITH}class Own(Held):\n    pass\nHeld.n = LIMIT", "Own.n"),
        (f"most = LIMIT\n{CLASS_WITH}    def n(self):\n        return most\nx = Held()", "x.n()"),
        (f"most = LIMIT\n{CLASS_WITH}    n = property(lambda self: most)\nx = Held()", "x.n"),
        ("@attrs.frozen\nclass Held:\n    n: int = LIMIT", "Held().n"),
        ("@dataclasses.dataclass\nclass Held:\n    n: int = LIMIT", "Held().n"),
        ("class Held(enum.Enum):\n    N = LIMIT", "Held.N.value"),
        (
            "def g(n): return n()\nif LIMIT == 1: import first as h\nelse: import second as h",
            "h.n()",
        ),
        ("import package.settings", "package.settings.x"),
        ("@attrs.frozen\nclass Scope:\n    n: int = attrs.field(default=LIMIT, repr=False)", "3"),
    ],
)
def test_a_value_of_the_environment_makes_another_model(tmp_path, monkeypatch, made, used):
    """However the rule comes to it, in a process of its own."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "settings.py").write_text(f"import os\nx = {LIMIT}\n")
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text("def n(): return 2\n")
    scope = "Scope()" if "class Scope" in made else "3"
    (tmp_path / "environed.py").write_text(
        "import collections, dataclasses, enum, functools, os, types\nimport attrs\n"
        "from groupcheck.model.engine import Spec, rule, single\n"
        f"{made.replace('LIMIT', LIMIT)}\n\n\n@rule\ndef inc(c, scope):\n"
        f"    if c < {used}:\n        yield c + 1\n\n\n"
        f"def made():\n    return Spec('count', {{'c': single(0)}}, [inc], {scope})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for limit in ("1", "1", "2"):
        monkeypatch.setenv("LIMIT", limit)
        for name in ("environed", "first", "second", "package", "package.settings"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        found.append(identity(importlib.import_module("environed").made()))
    assert found[0].difference(found[1]) == ""
    assert "version of the model: " in found[0].difference(found[2])


@pytest.mark.parametrize(
    ("text", "used", "file"),
    [
        (
            "import typing\nif not typing.TYPE_CHECKING:\n    from helping import f",
            "f()",
            "helping",
        ),
        ("from profile import f", "f()", "profile"),  # the name of one of Python's own
        ("import importlib\nh = importlib.import_module('helping')", "h.f()", "helping"),
        ("import helping\nx = helping.Held()", "x.f()", "helping"),
        ("import helped.helping as h", "h.f()", "helped/__init__"),
    ],
)
def test_a_change_of_any_module_however_imported(tmp_path, monkeypatch, text, used, file):
    (tmp_path / "helped").mkdir()
    for name in ("helped/__init__", "helped/helping", file):
        (tmp_path / f"{name}.py").write_text(
            "def f(): return 1\nclass Held:\n  def f(s): return 1\n"
        )
    (tmp_path / "importing.py").write_text(
        "from groupcheck.model.engine import Spec, rule, single\n"
        f"{text}\n\n\n@rule\ndef inc(c):\n    if c < {used}:\n        yield c + 1\n\n\n"
        "def made():\n    return Spec('count', {'c': single(0)}, [inc])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("importing", "helping", "profile", "helped", "helped.helping"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    spec = importlib.import_module("importing").made()
    before = identity(spec)
    (tmp_path / f"{file}.py").write_text((tmp_path / f"{file}.py").read_text() + "# changed\n")
    assert "the source differs of" in before.difference(identity(spec))
    for name in ("importing", "helping", "profile", "helped", "helped.helping"):
        sys.modules.pop(name, None)


def test_what_a_model_has_remembered_does_not(model):
    spec = model().made()
    before = identity(spec)
    for first in spec.rules[0].call(spec.slots["c"].initial, 3):
        list(spec.rules[0].call(first, 3))
    assert identity(spec) == before == identity(model().made())


def test_each_version_is_part_of_it(model):
    ours = identity(model().made())
    assert "version of Python: 2.7, not 3." in attrs.evolve(ours, python="2.7").difference(ours)
    assert "version of groupcheck: 0" in attrs.evolve(ours, groupcheck="0").difference(ours)


def test_the_sources_of_groupcheck_count_and_those_of_other_packages_do_not(model):
    sources = identity(model().made()).sources
    assert {"counting.model", "counting.helpers", "counting.settings"} < sources.keys()
    assert "groupcheck.model.engine.rule" in sources
    assert not {name for name in sources if name.startswith(("attr", "functools"))}


def test_a_checkpoint_of_other_sources_is_refused_by_the_name_of_the_module(model, tmp_path):
    explore(model().made(), Limits(states=1), checkpoint=tmp_path / "kept")
    with pytest.raises(CheckpointError, match=r"version of the model: .*counting\.helpers"):
        explore(model("helpers", "<", "<=").made(), resume=tmp_path / "kept")
    assert explore(model().made(), resume=tmp_path / "kept").states == 4


def test_a_model_without_a_source_file_keeps_no_checkpoint(tmp_path):
    names = {"rule": rule}
    exec("@rule\ndef inc(n):\n    if n < 3:\n        yield n + 1\n", names)
    spec = Spec("count", {"n": single(0)}, [names["inc"]])
    with pytest.raises(UserError, match=r"function inc: has no source file.*write the model"):
        explore(spec, checkpoint=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
    assert explore(spec).states == 4


PROGRAM = """
from groupcheck.model.engine.fast.identity import identity
from {module} import {made}
print(identity({made}(2, 2, 2, 0, 0) if "{made}" == "small_group" else {made}("classic").spec))
"""


@pytest.mark.parametrize(
    ("module", "made"),
    [("small_group", "small_group"), ("groupcheck.oracles.explain.subject", "subject")],
)
def test_every_process_gives_a_model_the_same_identity(module, made):
    """Also under another hash seed, and where pytest has rewritten the assertions of the model."""
    said = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM.format(module=module, made=made)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_assertions_that_pytest_rewrites_make_no_other_model(tmp_path):
    (tmp_path / "test_counting.py").write_text(MODEL.replace("from .", "from counting_"))
    (tmp_path / "counting_.py").write_text("")
    (tmp_path / "counting_helpers.py").write_text("def allows(n): return True\ndef kept(n): pass")
    text = (tmp_path / "test_counting.py").read_text().replace("from counting_ import", "import")
    shown = "\n\ndef test_it():\n    from groupcheck.model.engine.fast.identity import identity\n"
    shown += "    print('told', identity(made()).model)\n"
    (tmp_path / "test_counting.py").write_text(text + shown)
    (tmp_path / "settings.py").write_text(SETTINGS)
    run = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    rewritten = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"], **run
    )
    plain = subprocess.run([sys.executable, "-c", "import test_counting as t; t.test_it()"], **run)
    assert plain.stdout.split()[1] in rewritten.stdout
