"""What a spec is, as a digest: a checkpoint belongs to one model at one scope, not to one that
merely has the same name.

Read are the functions that a spec names, all that they refer to, and so on: functions, classes with
their fields, defaults and bases, modules' attributes, closures, instances. Not read are foreign
packages (Python's own, and those installed beside the one of the spec), and memory, which differs
from run to run: what `functools.cache` has kept, and dicts, lists and sets whose names begin with
an underscore.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import inspect
import sys
import types
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.spec import Spec

_INSTALLED = {"site-packages", "dist-packages"}


class _Reader:
    """Feeds a digest with code: bytecode, constants, closures, and the functions and classes that
    they use, except foreign ones.
    """

    def __init__(self, spec: Spec) -> None:
        named = (*spec.rules, *spec.invariants, *spec.goals, *spec.ends, *spec.views)
        self._own = {
            "groupcheck",
            *((getattr(x.call, "__module__", None) or "").partition(".")[0] for x in named),
        }
        self.digest = hashlib.blake2b(digest_size=16)
        self._seen: set[int] = set()
        self._mentioned: set[tuple[int, int]] = set()  # modules and code
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
        elif isinstance(value, functools.partial):
            self.read((value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            self.read((value.__func__, value.__self__))
        elif isinstance(value, enum.Enum):
            self.note(repr(value))
            self.read(type(value))
        elif value is None or isinstance(value, (bool, int, float, complex, str, bytes, range)):
            self.note(repr(value))
        elif isinstance(value, np.ndarray):
            self.note("array", value.dtype.str, value.shape, value.tobytes().hex())
        else:
            self._instance(value)

    def _instance(self, value: Any) -> None:
        """Its class, and its fields; of a foreign one its text, unless that tells only where it
        lies in memory.
        """
        cls = type(value)
        self.note(cls.__qualname__)
        if self._is_foreign(cls):
            self.note("" if " at 0x" in repr(value) else repr(value))
        elif self._once(value):
            self.read(cls)
            slots = {
                name
                for base in cls.__mro__
                for name, member in vars(base).items()
                if inspect.ismemberdescriptor(member)
            }
            for name in sorted(
                {a.name for a in attrs.fields(cls)}
                if attrs.has(cls)
                else {*getattr(value, "__dict__", ()), *slots}
            ):
                if not isinstance(
                    inspect.getattr_static(cls, name, None), functools.cached_property
                ):
                    self._named(name, getattr(value, name, None))

    def _named(self, name: str, value: Any) -> None:
        """What a name stands for, unless that is memory."""
        if not (isinstance(value, (dict, list, set)) and name.startswith("_")):
            self.note(name)
            self.read(value)

    def _once(self, value: Any) -> bool:
        if id(value) in self._seen:
            return False
        self._seen.add(id(value))
        self._kept.append(value)
        return True

    def _is_foreign(self, value: Any) -> bool:
        # What a function's globals say: attrs shares one `__replace__` among all classes, and
        # renames it for each.
        module = (
            value.__globals__.get("__name__")
            if isinstance(value, types.FunctionType)
            else getattr(value, "__module__", None)
        )
        return self._is_foreign_name(module or "")

    def _is_foreign_name(self, module: str) -> bool:
        top = module.partition(".")[0]
        if top in self._own:
            return module.startswith("groupcheck.model.engine.")
        file = getattr(sys.modules.get(top), "__file__", None) or ""
        return top in sys.stdlib_module_names or not _INSTALLED.isdisjoint(Path(file).parts)

    def _code(self, code: types.CodeType) -> None:
        self.note(code.co_name, code.co_code.hex(), *code.co_names, *code.co_varnames)
        for constant in code.co_consts:
            self.read(constant)

    def _function(self, function: types.FunctionType) -> None:
        self.note("function", function.__code__.co_qualname)
        if not self._once(function) or self._is_foreign(function):
            return
        self._code(function.__code__)
        self.read((function.__defaults__, function.__kwdefaults__))
        for cell in function.__closure__ or ():
            self.read(cell.cell_contents)
        self._globals(function.__code__, function.__globals__)

    def _globals(self, code: types.CodeType, names: dict[str, Any]) -> None:
        for name in code.co_names:
            if isinstance(names.get(name), types.ModuleType):
                self._module(names[name], code)
            elif name in names:
                self._named(name, names[name])
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._globals(constant, names)

    def _module(self, module: types.ModuleType, code: types.CodeType) -> None:
        """What this code may take from a module: all of its names that the code mentions."""
        if (
            not self._is_foreign_name(module.__name__)
            and (id(module), id(code)) not in self._mentioned
        ):
            self._mentioned.add((id(module), id(code)))
            self._kept.append(code)
            self._globals(code, vars(module))

    def _class(self, cls: type) -> None:
        self.note("class", cls.__qualname__)
        if not self._once(cls) or self._is_foreign(cls):
            return
        for base in cls.__bases__:
            self._class(base)
        if attrs.has(cls):
            for a in attrs.fields(cls):
                self.note(a.name)
                self.read(a.default.factory if isinstance(a.default, attrs.Factory) else a.default)  # type: ignore[arg-type]
                self.read(a.converter)
        for name, member in sorted(vars(cls).items()):
            function = (
                member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            )
            if isinstance(function, types.FunctionType):
                if not function.__code__.co_filename.startswith("<"):
                    self.note(name)
                    self.read(function)
            elif isinstance(member, functools.cached_property):
                self._named(name, member.func)
            elif (
                not name.startswith("__")
                and not inspect.isdatadescriptor(member)
                and not issubclass(cls, enum.Enum)
            ):
                self._named(name, member)
        if issubclass(cls, enum.Enum):
            self.read({name: member.value for name, member in cls.__members__.items()})


def identity(spec: Spec) -> dict[str, str]:
    """Name, scope and a digest of everything that a search depends on: slots, rules, predicates,
    initial states.
    """
    reader = _Reader(spec)
    for name, slot in spec.slots.items():
        reader.note(name, slot.size)
        reader.read(slot.initial)
    for rule in spec.rules:
        reader.note(
            rule.name, rule.slots, rule.takes_me, rule.takes_scope, rule.labels, rule.urgent
        )
        reader.read(rule.call)
        if rule.guard:
            reader.note(rule.guard.slot)
            reader.read(rule.guard.call)
    for predicate in (*spec.invariants, *spec.goals, *spec.ends, *spec.views):
        of = (
            (predicate.slots, predicate.rules)
            if isinstance(predicate, StepInvariant)
            else (predicate.places,)
        )
        reader.note(type(predicate).__name__, predicate.name, *of)
        reader.read(predicate.call)
    for values in spec.initial:
        reader.read(dict(values))
    python = ".".join(map(str, sys.version_info[:2]))
    return {
        "spec": spec.name,
        "scope": repr(spec.scope),
        "model": reader.digest.hexdigest(),
        "python": python,
    }
