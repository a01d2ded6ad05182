"""A user's assignor, as a Python function or as a class of a client library.

A function takes a `Group` and returns what each member gets:

    def mine(group: Group) -> Mapping[str, Iterable[tuple[str, int]]]      # or {"A": {"t": [0, 1]}}

`groupcheck.model.assignors` says what is in a `Group`. A class is one of kafka-python's or
aiokafka's, or is derived from one, such as their AbstractPartitionAssignor; it is asked as the
library's leader asks it. In place of a class, an object of it can be named (it is copied for each
member), or a function without arguments that makes one.

`--against my_package.assignors:mine` imports the module, which runs its code; modules of the
current folder are found.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from attrs import evolve

from groupcheck.model.assignors import Group
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.against.libraries import aiokafka, kafka_python
from groupcheck.oracles.assignment.against.naming import reached
from groupcheck.oracles.assignment.against.offered import (
    Library,
    OfferedAssignor,
    assigned,
    group_code,
)
from groupcheck.oracles.assignment.promises import ASSIGNORS
from groupcheck.oracles.assignment.validity import Assigned
from groupcheck.oracles.processes.supervisor import tell

Function = Callable[[Group], Any]
SIGNATURE = "def assign(group: Group) -> dict[str, list[tuple[str, int]]]"
CLASSES = {"kafka.coordinator.assignors": kafka_python, "aiokafka.coordinator.assignors": aiokafka}


def imported(name: str) -> Function:
    """The function of `module:function`. Raises `UserError` if there is none."""
    module, _, path = name.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    tell("runs", module)
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # whatever somebody's module raises
        raise UserError(
            f"cannot import it: {type(error).__name__}: {error}",
            where=f"--against {name}",
            do=f"name it {Path(module).stem if module.endswith('.py') else 'module'}:function",
        ) from None
    if not callable(found) and _client_of(found) is None:
        raise UserError(f"{path} is no function", where=f"--against {name}")
    return found  # type: ignore[no-any-return]


def library(
    name: str, assignor: Function | type, like: str | None, near: str | None = None
) -> Library:
    """One assignor; its name shows where it is (`module:function`). If `like` is left out, a class
    is like the assignor of Kafka that has the class's own `name`, if there is one. `near`: a module
    that may name it.
    """
    module, _, path = name.partition(":")
    one = _made_by(name, assignor)
    client = _client_of(one)
    if client is None:
        return _of_function(name, assignor, like, near)
    if isinstance(one, type):
        _must_need_no_arguments(name, one)
    own = getattr(one, "name", None)
    like = like or (own if own in ASSIGNORS else None)
    asked = one if isinstance(one, type) else assignor
    offered = client.offered(asked, path, like, near or module or None)
    return Library(name, "", (evolve(offered, ask_again=True),), client.quietly)


def _client_of(assignor: Any) -> ModuleType | None:
    """The adapter of the library that the class, or the class of the object, belongs to."""
    one = assignor if isinstance(assignor, type) else type(assignor)
    for base in one.__mro__:
        for package, client in CLASSES.items():
            if base.__module__.startswith(f"{package}."):
                return client
    return None


def _made_by(name: str, assignor: Any) -> Any:
    """What a function without arguments makes; else the thing itself. Raises `UserError` if the
    function fails.
    """
    if isinstance(assignor, type) or not inspect.isroutine(assignor):
        return assignor
    try:
        if inspect.signature(assignor).parameters:
            return assignor
    except ValueError:  # a builtin, whose signature nobody knows
        return assignor
    try:
        return assignor()
    except Exception as error:  # whatever somebody's function raises
        raise UserError(
            f"makes no assignor: {type(error).__name__}: {error}",
            where=name,
            do="return an object of an assignor's class",
        ) from None


def _must_need_no_arguments(name: str, assignor: type) -> None:
    """Raises `UserError` for a class of which no object can be made without arguments."""
    try:
        inspect.signature(assignor).bind()
    except TypeError as error:
        raise UserError(
            f"no object of this class can be made without arguments: {error}",
            where=name,
            do="name a function without arguments that makes one (def make(): return"
            f" {assignor.__name__}(...)), or an object",
        ) from None
    except ValueError:  # a builtin, whose signature nobody knows
        return


def _must_take_a_group(name: str, function: Function | type) -> None:
    """Raises `UserError` for what cannot be called with a group, and for a class that is none of
    these libraries': the mistake is in how it was named, not in what it answers.
    """
    problem = "is a class, and not derived from an assignor of kafka-python or aiokafka"
    if not isinstance(function, type):
        try:
            inspect.signature(function).bind(None)
            return
        except TypeError as error:
            problem = f"cannot be called with a group alone: {error}"
        except ValueError:  # a builtin, whose signature nobody knows
            return
    raise UserError(problem, where=name, do=f"write {SIGNATURE}")


def _of_function(name: str, function: Function, like: str | None, near: str | None) -> Library:
    _must_take_a_group(name, function)
    module, _, path = name.partition(":")

    def solve(group: Group) -> Assigned:
        return assigned(function(group))

    def code(*groups: Group) -> str:
        lines, named = reached(function, near)
        if near is None and path:
            lines, named = f"from {module} import {path.partition('.')[0]}\n", path
        asked = "".join(f"print({named}({group_code(group)}))\n" for group in groups)
        return f"from groupcheck.model.assignors import Group, Member\n{lines}\n{asked}"

    return Library(name, "", (OfferedAssignor(path or name, like, solve, code, ask_again=True),))
