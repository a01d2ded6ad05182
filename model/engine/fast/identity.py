"""Which model and scope a kept search belongs to: a model is more than its name.

Two things tell a model from another one. The first is the source of each module that defines a
function of the spec, and of each module that these import, and so on. Packages from site-packages
and Python's own are left out; groupcheck itself is not. The second is the values that the functions
use and that no source shows: defaults, closures, and what the global names in the function stand
for when the search begins.

Rows are not kept from run to run under such an identity. Rules take the scope as a whole, so only a
run of the same scope could use the rows, and its verdict is known already. And an identity cannot
see all that a user's rule may read (a file, the time), so a run could answer for a model that has
changed. A checkpoint carries the same risk only where the user names it with `--resume`.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import os
import sys
import types
from collections.abc import Iterable, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from groupcheck.model.engine.errors import UserError, shown
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.symmetry import NO_SYMMETRY, Symmetry
from groupcheck.model.engine.values import is_remembered

_INSTALLED = {"site-packages", "dist-packages"}
_PLAIN = (bool, int, float, complex, str, bytes, range, type(None))
SYMMETRY = "symmetry"  # among the values of an identity
_NAMED = 3  # differences that an error names


def _digest(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


@frozen
class Identity:
    """A model at one scope, under one version of Python and of groupcheck."""

    # The name of the spec.
    spec: str
    # The `repr` of its scope.
    scope: str
    # The versions of Python (major and minor) and of groupcheck.
    python: str
    groupcheck: str
    # Module -> digest of its source.
    sources: dict[str, str] = field(factory=dict)
    # Part of the spec ("rule vote", "slot core") -> digest of the values that it uses.
    values: dict[str, str] = field(factory=dict)

    @property
    def model(self) -> str:
        """Digest of the model's sources and values."""
        return _digest(sorted(self.sources.items()), sorted(self.values.items()))

    def difference(self, ours: Identity) -> str:
        """The difference between this identity and ours, in words; empty if there is none."""
        for name, told in (
            ("spec", "model"),
            ("scope", "scope"),
            ("python", "version of Python"),
            ("groupcheck", "version of groupcheck"),
        ):
            was, now = getattr(self, name), getattr(ours, name)
            if was != now:
                return f"{told}: {was[:200]}, not {now[:200]}"
        if (SYMMETRY in self.values) != (SYMMETRY in ours.values):
            return "choice about symmetry (--no-symmetry belongs to both runs or to none)"
        for told, theirs, own in (
            ("the source differs of", self.sources, ours.sources),
            ("other defaults, closures or settings are used by", self.values, ours.values),
        ):
            names = sorted({name for name, _ in theirs.items() ^ own.items()})
            if names:
                more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
                return f"version of the model: {told} {', '.join(names[:_NAMED])[:200]}{more}"
        return ""


def identity(spec: Spec, symmetry: Symmetry = NO_SYMMETRY) -> Identity:
    """The identity of a spec, from the sources and values of this moment, and of the symmetry with
    which it is searched. Raises `UserError` where
    a function of the spec, or one that it uses, has no source file.
    """
    parts: dict[str, Any] = {
        f"{kind} {part.name}": part
        for kind in ("rule", "invariant", "goal", "end", "view", "constraint")
        for part in getattr(spec, f"{kind}s")
    }
    for refinement in spec.refinements:
        parts |= {f"view {p.name}": p for p in refinement.mapping.values()}
        parts |= {f"rule {r.name} of {refinement.name}": r for r in refinement.spec.rules}
    modules = [getattr(part.call, "__module__", None) or "" for part in parts.values()]
    values = _Values({"groupcheck", *(module.partition(".")[0] for module in modules)})
    told = {what: _digest(values.plain(part)) for what, part in parts.items()}
    told["fairness"] = _digest(spec.fair)
    told["scope"] = _digest(values.plain(spec.scope))
    told["refinements"] = _digest(
        [values.plain((r.spec.slots, r.spec.initial, r.spec.scope)) for r in spec.refinements]
    )
    told["deadlock"] = _digest(spec.deadlock)
    told["initial states"] = _digest(values.plain((spec.slots, spec.initial, list(parts))))
    if symmetry.groups:
        told[SYMMETRY] = _digest([(group.arrays, group.size) for group in symmetry.groups])
    python = ".".join(map(str, sys.version_info[:2]))
    version = sys.modules["groupcheck"].__version__
    sources = _sources(values.functions, values.own)
    return Identity(spec.name, shown(spec.scope), python, version, sources, told)


def _module_name(name: str) -> str:
    """A module's name. The program that was started has its own where another one imports it."""
    file = getattr(sys.modules.get(name), "__file__", None) or name
    return Path(file).stem if name == "__main__" else name


def _is_foreign(module: str, file: str | None, own: set[str]) -> bool:
    """Is it Python's own or installed by others? `own`: packages that count although they are
    installed. A module with the name of one of Python's own may be the user's.
    """
    top = module.partition(".")[0]
    is_installed, is_elsewhere = _whereabouts(file or "")
    is_of_python = top in sys.stdlib_module_names and not is_elsewhere
    return top not in own and (is_installed or is_of_python)


@functools.lru_cache(1024)
def _whereabouts(file: str) -> tuple[bool, bool]:
    """Is a file among the installed packages, and is it a file outside Python's own folder?"""
    path = Path(file)
    is_elsewhere = path.is_file() and Path(os.__file__).parent not in path.parents
    return not _INSTALLED.isdisjoint(path.parts), is_elsewhere


# -- sources


def digest_of_sources(functions: Iterable[types.FunctionType]) -> str:
    """Digest of the modules that define these functions and of all that they import; of installed
    packages only those of the functions. Raises `UserError` for one without a source file.
    """
    every = [*functions]
    own = {"groupcheck", *(one.__module__.partition(".")[0] for one in every)}
    return _digest(sorted(_sources(every, own).items()))


def _sources(functions: Iterable[types.FunctionType], own: set[str]) -> dict[str, str]:
    """Module -> digest of its source, for the modules that define these functions, for all that
    they import, and for the packages around them. Raises `UserError` for a function without a
    source file.
    """
    left: dict[str, tuple[Path, str]] = {}  # module -> its file, and its package
    for function in functions:
        names = function.__globals__
        file = Path(function.__code__.co_filename)
        if str(file) != names.get("__file__") or not file.is_file():
            raise UserError(
                "has no source file, so a search of its model cannot be resumed",
                where=f"function {function.__qualname__}",
                do="write the model to a file and import it, or keep no checkpoint or store",
            )
        left[_module_name(names["__name__"])] = file, names.get("__package__") or ""
    found: dict[str, str] = {}
    looked_for = {*left}
    while left:
        name, (file, package) = left.popitem()
        source = file.read_bytes()
        found[name] = hashlib.blake2b(source, digest_size=16).hexdigest()
        # What surrounds groupcheck's own modules only says what users may import.
        around = {name.rpartition(".")[0]} if not name.startswith("groupcheck.") else {""}
        for other in (_imports(source, package) | around) - looked_for - {""}:
            looked_for.add(other)
            module = _module(other, own)
            if module and module.origin and Path(module.origin).is_file():
                left[other] = Path(module.origin), module.parent or ""
    return dict(sorted(found.items()))


def _module(name: str, own: set[str]) -> ModuleSpec | None:
    """The file of a module; None for a foreign one, or if it has no file."""
    top = name.partition(".")[0]
    try:
        package = importlib.util.find_spec(top)
        is_own = package and not _is_foreign(top, package.origin, own)
        return importlib.util.find_spec(name) if is_own else None
    except (ImportError, ValueError):  # ValueError: it was made by hand
        return None


@functools.lru_cache(1024)
def _imports(source: bytes, package: str) -> frozenset[str]:
    """The imports of a source: the names in its import statements, except those for types alone.
    A name may be that of a module or of something in it.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # compiled code
        return frozenset()
    nodes = [*ast.walk(tree)]
    conditions = [node for node in nodes if isinstance(node, ast.If)]
    tests = {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
    for_types = {x for c in conditions if ast.unparse(c.test) in tests for x in c.body}
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node not in for_types:
            parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
            module = ".".join([*(parents if node.level else ()), *filter(None, [node.module])])
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


# -- values


@define
class _Values:
    """Values as plain data, digests among it, whose `repr` is the same in every process."""

    # Packages that count although they are installed.
    own: set[str]
    # The functions met, except foreign ones.
    functions: list[types.FunctionType] = field(factory=list)
    # Functions, classes and instances met, by id, with their numbers.
    _met: dict[int, tuple[int, Any]] = field(factory=dict)

    def plain(self, value: Any) -> Any:
        """The content of a value."""
        if type(value) in _PLAIN:
            return value
        if isinstance(value, (set, frozenset)):
            # Digests, because a text within a text within a text grows by its escapes.
            return "set", sorted(_digest(self.plain(v)) for v in sorted(value, key=repr))
        if type(value) in (dict, types.MappingProxyType):
            return "dict", sorted(_digest(self.plain(k), self.plain(v)) for k, v in value.items())
        if type(value) in (tuple, list):
            return type(value).__name__, [self.plain(v) for v in value]
        if isinstance(value, types.ModuleType):
            return "module", _module_name(value.__name__)
        if isinstance(value, types.MethodType):
            return self.plain((value.__func__, value.__self__))
        if hasattr(value, "__wrapped__") and (
            not isinstance(value, (types.FunctionType, type)) or is_remembered(value)
        ):
            return self.plain(value.__wrapped__)  # functools.cache and its kind
        if id(value) in self._met:
            return "met before", self._met[id(value)][0]
        self._met[id(value)] = len(self._met), value
        if isinstance(value, types.FunctionType):
            return self._function(value)
        return self._class(value) if isinstance(value, type) else self._instance(value)

    def _is_foreign(self, module: str) -> bool:
        """Is it foreign, or the engine's, which its sources tell in full?"""
        file = getattr(sys.modules.get(module.partition(".")[0]), "__file__", None)
        is_engine = module.startswith("groupcheck.model.engine.")
        return is_engine or _is_foreign(module, file, self.own)

    def _function(self, function: types.FunctionType) -> Any:
        """The place of a function, and the values that it uses and its source does not show."""
        module = function.__globals__.get("__name__") or ""
        cells = [_content(cell) for cell in function.__closure__ or ()]
        held: list[Any] = [function.__defaults__, function.__kwdefaults__, cells]
        if not self._is_foreign(module):
            self.functions.append(function)
            held.append(self._used(_names_in(function.__code__), function.__globals__, set()))
        code = function.__code__
        # Two lambdas may stand in one line.
        columns = [*code.co_positions()] if code.co_name == "<lambda>" else []
        place = _module_name(module), code.co_qualname, code.co_firstlineno, columns
        return place, self.plain(held)

    def _used(self, names: set[str], known: dict[str, Any], met: set[str]) -> dict[str, Any]:
        """The values that the names in a function's code stand for, in its module and in those that
        it names. `met`: modules that were looked at.
        """
        # Other names are those that pytest puts into functions with assertions.
        there = {name: known[name] for name in sorted(names & known.keys()) if name.isidentifier()}
        used = _lasting(there)
        for module in [v for v in there.values() if isinstance(v, types.ModuleType)]:
            if not self._is_foreign(module.__name__) and module.__name__ not in met:
                met.add(module.__name__)
                more = self._used(names, vars(module), met)
                used.update({f"{module.__name__}.{name}": value for name, value in more.items()})
        return used

    def _class(self, cls: type) -> Any:
        """Its name, and unless it is foreign its bases and attributes, fields' defaults too."""
        name = _module_name(cls.__module__), cls.__qualname__
        if self._is_foreign(cls.__module__):
            return name
        fields = {"__attrs_attrs__": "converter", "__dataclass_fields__": "default_factory"}
        held: dict[str, Any] = {"bases": cls.__bases__}
        for at, member in sorted(_lasting(vars(cls)).items()):
            inner = _function_in(member)
            if at in fields:
                every = member.values() if isinstance(member, dict) else member
                held[at] = [(f.name, f.default, getattr(f, fields[at])) for f in every]
            elif isinstance(inner, types.FunctionType):
                if not inspect.unwrap(inner).__code__.co_filename.startswith("<"):  # generated
                    held[at] = inner
            elif not at.startswith("__") and not inspect.isdatadescriptor(member):
                held[at] = inner
        return name, self.plain(held)

    def _instance(self, value: Any) -> Any:
        """Its class and its fields, as for a copy."""
        try:
            reduced = value.__reduce_ex__(2)
        except Exception:  # it cannot be copied
            reduced = ""
        if isinstance(reduced, str):
            return self.plain(type(value)), reduced
        made, state, *items = (*reduced[1:], None)[:4] if len(reduced) > 1 else ((), None)
        states = state if isinstance(state, tuple) else (state,)
        kept = [_lasting(s, type(value)) if isinstance(s, dict) else s for s in states]
        held = made, kept, [list(i) for i in items if i is not None]
        return self.plain(type(value)), self.plain(held)


def _function_in(member: Any) -> Any:
    """The function of a class's method or property; other attributes as they are."""
    if isinstance(member, functools.cached_property):
        return member.func
    if isinstance(member, property):
        return member.fget
    return member.__func__ if isinstance(member, (staticmethod, classmethod)) else member


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing was assigned to the name
        return "nothing"


def _lasting(names: Mapping[str, Any], cls: type | None = None) -> dict[str, Any]:
    """Names with their values, without memory, which differs from run to run: dicts, lists and sets
    whose names begin with an underscore, and the cached properties of an instance of `cls`.
    """
    return {
        name: value
        for name, value in names.items()
        if not (str(name).startswith("_") and isinstance(value, (dict, list, set)))
        and not (cls and isinstance(getattr(cls, str(name), None), functools.cached_property))
    }


def _names_in(code: types.CodeType) -> set[str]:
    """All names that a function's code mentions, in inner functions too."""
    inner = [_names_in(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*inner)
