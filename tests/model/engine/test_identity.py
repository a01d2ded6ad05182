"""A model is told from another one by everything that its rules use, and is the same in
every run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import types

import pytest

from groupcheck.model.engine.fast.identity import identity

MODEL = """
import enum
import functools

import attrs
import numpy as np

from groupcheck.model.engine import Spec, goal, invariant, rule, single, step_invariant

import {settings}


class Limit:
    MOST = 50

    def __init__(self):
        self.least = 1

    @functools.cached_property
    def sum(self):
        return self.least + 1


class Weight:
    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n


class Wider(Limit):
    def allows(self, n):
        return n < self.MOST


class Mode(enum.Enum):
    PLAIN = "p"


@attrs.frozen
class Count:
    n: int = 0
    by: int = attrs.field(default=1, converter=int)
    seen: tuple = attrs.Factory(lambda: (7,))


weight = Weight(4)
limit, table, weights, _memory = Wider(), {{"step": 2}}, np.array([3, 4]), {{}}


def added(n, by, *, times=5):
    return n + by * times


added_one = functools.partial(added, by=6)


@functools.cache
def kept(n):
    return n


@rule
def inc(c):
    _memory[c] = True
    used = (limit.sum, kept(1), weights[0], weight.n, table["step"], Mode.PLAIN, {settings}.FLAG)
    if limit.allows(c.n) and all(used):
        yield Count(added_one(c.n))


@invariant
def good(c):
    return c.n < 100


@step_invariant("c", rules=("inc",))
def grows(before, after):
    return True


spec = Spec("count", {{"c": single(Count())}}, [inc], invariants=[good, grows])
"""


def model(monkeypatch, before="", after="", flag=True):
    """The spec of that module with one piece of text changed, and of a module beside it
    the flag.
    """
    name = "settings_of_a_model"
    settings = types.ModuleType(name)
    settings.FLAG = flag
    monkeypatch.setitem(sys.modules, name, settings)
    text = MODEL.format(settings=name)
    assert before in text
    module = types.ModuleType("a_model")
    exec(
        compile(text.replace(before, after, 1) if before else text, "a_model.py", "exec"),
        vars(module),
    )
    return module.spec


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("MOST = 50", "MOST = 51"),
        ("n < self.MOST", "n <= self.MOST"),
        ("self.least = 1", "self.least = 2"),
        ("self.least + 1", "self.least + 2"),
        ('PLAIN = "p"', 'PLAIN = "q"'),
        ("n: int = 0", "n: int = 3"),
        ("default=1", "default=2"),
        ("converter=int", "converter=abs"),
        ("(7,)", "(8,)"),
        ('"step": 2', '"step": 3'),
        ("[3, 4]", "[3, 5]"),
        ("Weight(4)", "Weight(5)"),
        ("times=5", "times=6"),
        ("by=6", "by=7"),
        ("kept(n):\n    return n", "kept(n):\n    return -n"),
        ("c.n < 100", "c.n < 99"),
        ('rules=("inc",)', "rules=()"),
        ("class Wider(Limit)", "class Wider(Limit, dict)"),
    ],
)
def test_a_change_anywhere_makes_another_model(monkeypatch, before, after):
    assert (
        identity(model(monkeypatch, before, after))["model"]
        != identity(model(monkeypatch))["model"]
    )


def test_a_setting_in_another_module_makes_another_model(monkeypatch):
    assert (
        identity(model(monkeypatch, flag=False))["model"] != identity(model(monkeypatch))["model"]
    )


def test_what_a_model_has_remembered_does_not(monkeypatch):
    spec = model(monkeypatch)
    before = identity(spec)
    for first in spec.rules[0].call(spec.slots["c"].initial):
        list(spec.rules[0].call(first))
    assert identity(spec) == before == identity(model(monkeypatch))


def test_every_run_gives_a_model_the_same_identity():
    code = (
        "from groupcheck.oracles.explain.subject import subject\n"
        "from groupcheck.model.engine.fast.identity import identity\n"
        "print(identity(subject('classic').spec))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
