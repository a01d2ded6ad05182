"""A counterexample as a test file: it follows the key and says which promise breaks at
which step.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from groupcheck import __version__
from groupcheck.model.engine import UserError
from groupcheck.oracles.explain.explanation import Explanation
from groupcheck.oracles.explain.own import file_of
from groupcheck.oracles.explain.subject import Subject
from groupcheck.oracles.printable import printable

if TYPE_CHECKING:
    from groupcheck.oracles.explain.answer import Answer

HEAD = '''"""Counterexamples of {title}, written by groupcheck {version}.

Each test follows a key to the step that breaks a promise. Once the promise is kept again, the test
fails: then turn it into groupcheck.check(...) of the same scope.
"""
'''
HEAD_OF_WALK = '''"""A walk through {title}, written by groupcheck {version}.

The test follows a key, and fails once a step is no longer possible, or a promise breaks on the way.
"""
'''
IMPORTS = "\nimport groupcheck\n"
IMPORTS_WITH_PLACE = """
from pathlib import Path

import groupcheck

HERE = f"{Path(__file__).resolve().parent}/"
"""
NAMES = ("mutation", "invariants")  # arguments in which FILE.py:NAME may stand

TEST = """

def test_{name}():
{comment}
    followed = groupcheck.follow(
        {variant},
        {key},
{arguments}    )
    assert followed.steps == (
{steps}    )
    assert {claim}
"""


def test_file(result: Answer, file: Path | None = None) -> str:
    """The text of the file, which will be `file` (None: one in the current folder). What is in
    files of the user's is named from there, so that the test finds it wherever pytest is started.
    Raises `UserError` for a spec without a name by which a test could find it.
    """
    return tests_of(result.subject, result.explanations, file)


def tests_of(about: Subject, told: Sequence[Explanation], file: Path | None = None) -> str:
    """A pytest file with one test for each explained path. A path on which no promise breaks is
    claimed to break none.
    """
    if about.variant is None and not about.origin:
        raise UserError(
            "a test file cannot name this spec",
            where=about.spec.name,
            do="write the spec to a file, and check FILE.py:NAME",
        )
    used: set[str] = set()
    folder = Path.cwd() if file is None else file.absolute().parent
    text = "".join(_test(about, one, _name(one, used), folder) for one in told)
    kind = HEAD if all(one.invariant for one in told) else HEAD_OF_WALK
    head = kind.format(title=_quiet(about.title), version=__version__)
    return head + (IMPORTS_WITH_PLACE if "HERE + " in text else IMPORTS) + text


def _test(about: Subject, told: Explanation, name: str, folder: Path) -> str:
    checked = about.variant.name if about.variant else about.origin
    given = arguments(about)
    return TEST.format(
        name=name,
        comment=_comment(f"{told.headline}. {told.prose}"),
        variant=_from(folder, checked),
        key=literal(told.key),
        arguments="".join(
            f"        {key}={_from(folder, value) if key in NAMES else literal(value)},\n"
            for key, value in given.items()
        ),
        steps="".join(
            f"        {literal((s.firing.name, s.firing.me, *s.firing.others))},\n"
            for s in told.path.steps
        ),
        claim=_claim(told),
    )


def _claim(told: Explanation) -> str:
    """What the test claims of the path."""
    steps = len(told.path.steps)
    if told.invariant:
        return f"followed.broken[{literal(told.invariant)}] == {steps}"
    return f"followed.met[{literal(told.goal)}] == {steps}" if told.goal else "not followed.broken"


def _from(folder: Path, named: Any) -> str:
    """One or several names as Python, with the path of FILE.py from a folder."""
    if isinstance(named, tuple):
        return "[" + ", ".join(_from(folder, one) for one in named) + "]"
    file = file_of(named)
    if file is None:
        return literal(named)
    path = os.path.relpath(file.resolve(), folder.resolve())
    return f"HERE + {literal(path + named.removeprefix(str(file)))}"


def arguments(about: Subject) -> dict[str, Any]:
    """The keyword arguments of `groupcheck.check` and `follow` that give this subject again: what
    differs from the scope's defaults.
    """
    given: dict[str, Any] = {"mutation": about.mutation.id} if about.mutation else {}
    if about.progress:
        given["progress"] = True
    if about.asked_invariants:
        given["invariants"] = about.asked_invariants
    if about.variant is None:
        return given | dict(about.arguments)
    scope = about.spec.scope
    for f in attrs.fields(type(scope)):
        value = getattr(scope, f.name)
        start = dict(about.mutation.scope).get(f.name, f.default) if about.mutation else f.default
        if value not in (None, start) and f.name != "faults":
            given[f.name] = value
    faults = dict(getattr(scope, "faults", ()))
    if faults or (
        about.mutation and "faults" in about.mutation.scope and "any_faults" not in given
    ):  # which would come back by itself
        given["faults"] = faults
    return given


def literal(value: Any) -> str:
    """A plain value as Python in printable ASCII, strings in double quotes; nothing in a string can
    end it.
    """
    if isinstance(value, str):
        escaped = value.encode("unicode_escape").decode()  # JSON would halve what lies above U+FFFF
        return '"' + escaped.replace('"', '\\"') + '"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
    assert value is None or isinstance(value, int)
    return repr(value)


def _name(told: Explanation, used: set[str]) -> str:
    verb = "breaks" if told.invariant else "is_met" if told.goal else "breaks_nothing"
    name = re.sub(r"\W+", "_", told.invariant or told.goal or "walk", flags=re.ASCII)
    name = f"{name}_{verb}"
    while name in used:
        name += "_too"
    used.add(name)
    return name


def _comment(text: str) -> str:
    return textwrap.fill(
        printable(text),
        96,
        initial_indent="    # ",
        subsequent_indent="    # ",
        break_on_hyphens=False,
    )


def _quiet(text: str) -> str:
    """A text that cannot end a docstring."""
    return printable(text).replace("\\", "/").replace('"', "'")
