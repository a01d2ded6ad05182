"""What a spec is, as a digest: a checkpoint belongs to one model at one scope, not to one that merely has the same name."""

from __future__ import annotations

import enum
import hashlib
import sys
import types
from typing import Any

from groupcheck.model.engine.spec import Predicate, Rule, Spec, StepInvariant

_FOREIGN = {*sys.stdlib_module_names, "attr", "attrs", "numpy", "numba"}


class _Reader:
    """Feeds a digest with code: bytecode, constants, closures, and the functions and classes that they use, except foreign ones."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=16)
        self._seen: set[int] = set()
        self._kept: list[Any] = []  # so that an id is not used again

    def note(self, *texts: object) -> None:
        for text in texts:
            self.digest.update(str(text).encode() + b"\0")

    def read(self, value: Any) -> None:
        """Notes a value by its content."""
        if isinstance(value, (frozenset, set)):
            self.note("set", *sorted(repr(v) for v in value))
        elif isinstance(value, (tuple, list)):
            self.note(type(value).__name__, len(value))
            for v in value:
                self.read(v)
        elif isinstance(value, dict):
            self.note("dict", len(value))
            for k in sorted(value, key=repr):
                self.read(k)
                self.read(value[k])
        elif isinstance(value, types.CodeType):
            self._code(value)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif hasattr(value, "__wrapped__"):  # functools.cache and its kind
            self.read(value.__wrapped__)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, (Rule, Predicate, StepInvariant)):
            self.read(value.call)
        elif value is None or isinstance(value, (bool, int, float, str, bytes, enum.Enum)):
            self.note(repr(value))
        else:
            self.note(type(value).__qualname__, "" if " at 0x" in repr(value) else repr(value))

    def _once(self, value: Any) -> bool:
        if id(value) in self._seen:
            return False
        self._seen.add(id(value))
        self._kept.append(value)
        return True

    def _is_foreign(self, value: Any) -> bool:
        # What a function's globals say: attrs shares one `__replace__` among all classes, and renames it for each.
        module = (value.__globals__.get("__name__") if isinstance(value, types.FunctionType) else getattr(value, "__module__", None)) or ""
        return module.partition(".")[0] in _FOREIGN or module.startswith("groupcheck.model.engine.")

    def _code(self, code: types.CodeType) -> None:
        self.note(code.co_name, code.co_code.hex(), *code.co_names, *code.co_varnames)
        for constant in code.co_consts:
            self.read(constant)

    def _function(self, function: types.FunctionType) -> None:
        self.note("function", function.__code__.co_qualname)
        if not self._once(function) or self._is_foreign(function):
            return
        self._code(function.__code__)
        self.read(function.__defaults__)
        for cell in function.__closure__ or ():
            self.read(cell.cell_contents)
        self._globals(function.__code__, function.__globals__)

    def _globals(self, code: types.CodeType, names: dict[str, Any]) -> None:
        for name in code.co_names:
            value = names.get(name)
            is_memory = (
                isinstance(value, (dict, list, set)) and not name.isupper()
            )  # a cache, which differs from run to run; tables are constants
            if name in names and not is_memory and not isinstance(value, types.ModuleType):
                self.note(name)
                self.read(value)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._globals(constant, names)

    def _class(self, cls: type) -> None:
        self.note("class", cls.__qualname__)
        if not self._once(cls) or self._is_foreign(cls):
            return
        for name, member in sorted(vars(cls).items()):
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if isinstance(function, types.FunctionType) and not function.__code__.co_filename.startswith("<"):
                self.note(name)
                self.read(function)


def identity(spec: Spec) -> dict[str, str]:
    """Name, scope and a digest of everything that a search depends on: slots, rules, predicates, initial states."""
    reader = _Reader()
    for name, slot in spec.slots.items():
        reader.note(name, slot.size)
        reader.read(slot.initial)
    for rule in spec.rules:
        reader.note(rule.name, rule.slots, rule.takes_me, rule.takes_scope, rule.labels, rule.urgent)
        reader.read(rule.call)
        if rule.guard:
            reader.note(rule.guard.slot)
            reader.read(rule.guard.call)
    for predicate in (*spec.invariants, *spec.goals, *spec.ends, *spec.views):
        reader.note(predicate.name, predicate.slots if isinstance(predicate, StepInvariant) else predicate.places)
        reader.read(predicate.call)
    for values in spec.initial:
        reader.read(dict(values))
    python = ".".join(map(str, sys.version_info[:2]))
    return {"spec": spec.name, "scope": repr(spec.scope), "model": reader.digest.hexdigest(), "python": python}
