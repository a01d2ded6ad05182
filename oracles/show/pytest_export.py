"""A counterexample as a test file: it follows the key and says which promise breaks at
which step.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from groupcheck import __version__
from groupcheck.model.engine import UserError
from groupcheck.oracles.explain.explanation import Explanation
from groupcheck.oracles.explain.subject import Subject
from groupcheck.oracles.printable import printable

if TYPE_CHECKING:
    from groupcheck.oracles.explain.answer import Answer

HEAD = '''"""Counterexamples of {title}, written by groupcheck {version}.

Each test follows a key to the step that breaks a promise. Once the promise is kept again, the test
fails: then turn it into groupcheck.check(...) of the same scope.
"""

import groupcheck
'''

TEST = """

def test_{name}():
{comment}
    followed = groupcheck.follow(
        {variant},
        {key},
{arguments}    )
    assert followed.steps == (
{steps}    )
    assert followed.broken[{invariant}] == {depth}
"""


def test_file(result: Answer) -> str:
    """The text of the file. Raises `UserError` for a spec without a name by which a test could find
    it.
    """
    about = result.subject
    if about.variant is None and not about.origin:
        raise UserError(
            "a test file cannot name this spec",
            where=about.spec.name,
            do="write the spec to a file, and check FILE.py:NAME",
        )
    used: set[str] = set()
    tests = [_test(about, told, _name(told, used)) for told in result.explanations]
    return HEAD.format(title=_quiet(about.title), version=__version__) + "".join(tests)


def _test(about: Subject, told: Explanation, name: str) -> str:
    return TEST.format(
        name=name,
        comment=_comment(f"{told.headline}. {told.prose}"),
        variant=literal(about.variant.name if about.variant else about.origin),
        key=literal(told.key),
        arguments="".join(
            f"        {key}={literal(value)},\n" for key, value in arguments(about).items()
        ),
        steps="".join(
            f"        {literal((s.firing.name, s.firing.me, *s.firing.others))},\n"
            for s in told.path.steps
        ),
        invariant=literal(told.invariant),
        depth=len(told.path.steps),
    )


def arguments(about: Subject) -> dict[str, Any]:
    """The keyword arguments of `groupcheck.check` and `follow` that give this subject again: what
    differs from the scope's defaults.
    """
    given: dict[str, Any] = {"mutation": about.mutation.id} if about.mutation else {}
    if about.progress:
        given["progress"] = True
    if about.own_invariants:
        given["invariants"] = about.own_invariants
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
    name = re.sub(r"\W+", "_", told.invariant, flags=re.ASCII) + "_breaks"
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
