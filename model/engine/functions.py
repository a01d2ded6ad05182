"""The functions of a protocol: what their signatures say, and what they may answer."""

from __future__ import annotations

import dis
import inspect
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from numbers import Number
from pathlib import Path
from types import CodeType
from typing import Any

from groupcheck.model.engine.errors import SpecError, shown


def brief(value: object) -> str:
    """A value that is not what it must be: its `repr` if that is short, otherwise its type."""
    text = shown(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"


def doc_of(function: Callable[..., Any]) -> str:
    """The docstring of a function, each paragraph on one line; empty if there is none."""
    paragraphs = re.split(r"\n\s*\n", inspect.getdoc(function) or "")
    return "\n".join(" ".join(p.split()) for p in paragraphs)


class AnswerError(Exception):
    """A function answered with something that it must not answer. The text continues a sentence:
    the caller adds the function's name and arguments.
    """


def fault(error: BaseException) -> str:
    """The fault of a function of the spec, in words: what it raised, and the file, the line and the
    statement from which that came.
    """
    if isinstance(error, AnswerError):
        return str(error)
    return " ".join(filter(None, (f"raised {type(error).__name__}: {error}", _place_of(error))))


def _place_of(error: BaseException) -> str:
    """`(in file.py, line 3: return 1 // n)`: the innermost line of a function that is neither the
    engine's nor a library's. Empty if there is none.
    """
    paths = sysconfig.get_paths()
    libraries = (paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    others = ("<", f"{Path(__file__).parent}/", *libraries)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(others):
            line = f": {frame.line}" if frame.line else ""
            return f"(in {Path(frame.filename).name}, line {frame.lineno}{line})"
    return ""


class OddError(Exception):
    """An outcome is not what it must be; the plain semantics says what is wrong with it."""


def _is_numpy_bool(cls: type) -> bool:
    """Compares the name, because a spec alone does not import numpy."""
    return cls.__module__ == "numpy" and cls.__name__ in ("bool", "bool_")


def truth(answer: Any) -> bool:
    """The answer of a predicate or guard: True or False, of Python or numpy, or a number. Raises
    `AnswerError` for everything else: None is false and a generator, a tuple or a function is true
    whatever the author meant.
    """
    if answer is True or answer is False:
        return answer
    if isinstance(answer, Number) or _is_numpy_bool(type(answer)):
        return bool(answer)
    if answer is None:
        raise AnswerError("gave None, not True or False (did you forget return?)")
    is_many = isinstance(answer, Iterable) and not isinstance(answer, str)
    hint = "all(...) or any(...)" if is_many else "bool(...)"
    raise AnswerError(f"gave a {type(answer).__name__}, not True or False (write {hint})")


def outcomes(given: Any) -> Iterator[Any]:
    """The outcomes in what a rule gave: an iterator (a generator), a list, or None for no outcome.
    Raises `AnswerError` for anything else, which was meant to be yielded; taking a tuple apart
    could turn one outcome into several.
    """
    if hasattr(given, "__next__"):
        given = yield from given
    elif isinstance(given, list):
        yield from given
        return
    if given is not None:
        raise AnswerError(f"returned {shown(given)} (a rule yields its outcomes: use yield)")


def gives_outcomes(call: Callable[..., Any]) -> bool:
    """Is it a generator function that returns nothing, so that its calls can be iterated as they
    are?
    """
    return inspect.isgeneratorfunction(call) and answers_nothing(call)


_RETURNS = {"RETURN_VALUE", "RETURN_CONST"}


def answers_nothing(function: Callable[..., Any]) -> bool:
    """Does a function return None wherever it returns?"""
    code = getattr(function, "__code__", None)
    return code is not None and _code_answers_nothing(code)


@lru_cache(maxsize=4096)  # specs of many scopes are made of the same functions
def _code_answers_nothing(code: CodeType) -> bool:
    steps = list(dis.get_instructions(code))
    returns = [pair for pair in pairwise(steps) if pair[1].opname in _RETURNS]
    return bool(returns) and all(_gives_none(*pair) for pair in returns)


def _gives_none(before: dis.Instruction, last: dis.Instruction) -> bool:
    if last.opname == "RETURN_CONST":  # Python 3.12 and 3.13
        return last.argval is None
    is_none = before.opname == "LOAD_CONST" and before.argval is None
    return is_none and last.opname == "RETURN_VALUE" and not last.is_jump_target


def parameters_of(function: Callable[..., Any], what: str) -> list[inspect.Parameter]:
    """The parameters of a function that serves as `what`. Raises `SpecError` for a function that
    has no name, or whose calls give no answer.
    """
    name = getattr(function, "__name__", None)
    if name is None:
        done = getattr(function, "name", "")  # by @rule, @invariant ...
        told = f"{done}, which is decorated already" if done else brief(function)
        raise SpecError(
            f"{what} is made of {told}",
            do=f"write a function with def, and decorate that{' once' if done else ''}",
        )
    is_generator = inspect.isgeneratorfunction(function)
    if (
        inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
        or (is_generator and what != "rule")
    ):
        problem = (
            "yields: a call gives a generator, which would always count as true"
            if is_generator
            else "is async: nobody awaits it"
        )
        raise SpecError(
            problem,
            where=f"{what} {name}",
            do="use return in place of yield"
            if is_generator
            else "write def in place of async def",
        )
    if what != "rule" and answers_nothing(function):
        raise SpecError("returns nothing", where=f"{what} {name}", do="did you forget return?")
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise SpecError(
            "its parameters are not known", where=f"{what} {name}", do="write a function with def"
        ) from None


def name_of(function: Callable[..., Any], given: Any, what: str) -> str:
    """The name of a rule or predicate: the function's own if none is given. Raises `SpecError` for
    one that no function could have: it stands in reports, and other parts may name it.
    """
    if given == "":
        return str(getattr(function, "__name__", ""))
    if not isinstance(given, str) or not given.isidentifier():
        raise SpecError(
            f"{shown(given)} cannot be a name",
            where=f"{what} {getattr(function, '__name__', '')}",
            do="use letters, digits and underscores, such as name=f'pass_{k}'",
        )
    return given
