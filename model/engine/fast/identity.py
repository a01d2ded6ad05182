"""Which model and scope a kept search belongs to: a model is more than its name.

Two things tell a model from another one. The first is the source of each module that defines a
function of the spec, and of each module that these import, and so on. Packages from site-packages
and Python's own are left out; groupcheck itself is not. The second is the values that the functions
use and that no source shows: defaults, closures, and what the global names in the function stand
for when the search begins.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from attrs import field, frozen

from groupcheck.model.engine.errors import UserError, shown
from groupcheck.model.engine.spec import Spec

_INSTALLED = {"site-packages", "dist-packages"}
_PLAIN = (bool, int, float, complex, str, bytes, range, type(None))
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
        """What tells this identity from ours, in words; empty if nothing does."""
        for name, told in (
            ("spec", "model"),
            ("scope", "scope"),
            ("python", "version of Python"),
            ("groupcheck", "version of groupcheck"),
        ):
            was, now = getattr(self, name), getattr(ours, name)
            if was != now:
                return f"{told}: {was[:200]}, not {now[:200]}"
        for told, theirs, own in (
            ("the source differs of", self.sources, ours.sources),
            ("other defaults, closures or settings are used by", self.values, ours.values),
        ):
            names = sorted({name for name, _ in theirs.items() ^ own.items()})
            if names:
                more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
                return f"version of the model: {told} {', '.join(names[:_NAMED])[:200]}{more}"
        return ""


def identity(spec: Spec) -> Identity:
    """The identity of a spec, from the sources and values of this moment. Raises `UserError` where
    a function of the spec has no source file.
    """
    parts: dict[str, Any] = {
        f"{kind} {part.name}": part
        for kind in ("rule", "invariant", "goal", "end", "view")
        for part in getattr(spec, f"{kind}s")
    }
    values = _Values()
    told = {what: _digest(values.told(part)) for what, part in parts.items()}
    told["initial states"] = _digest(values.told((spec.slots, spec.initial, list(parts))))
    python = ".".join(map(str, sys.version_info[:2]))
    version = sys.modules["groupcheck"].__version__
    sources = _sources(values.functions)
    return Identity(spec.name, shown(spec.scope), python, version, sources, told)


# -- sources


def _sources(functions: Iterable[types.FunctionType]) -> dict[str, str]:
    """Module -> digest of its source, for the modules that define these functions and for all that
    they import. Raises `UserError` for a function without a source file.
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
        # The program that was started has its own name where another program imports it.
        name = file.stem if names["__name__"] == "__main__" else names["__name__"]
        left[name] = file, names.get("__package__") or ""
    own = {"groupcheck", *(name.partition(".")[0] for name in left)}
    found: dict[str, str] = {}
    looked_for = {*left}
    while left:
        name, (file, package) = left.popitem()
        source = file.read_bytes()
        found[name] = hashlib.blake2b(source, digest_size=16).hexdigest()
        for other in _imports(source, package) - looked_for:
            looked_for.add(other)
            module = _module(other, own)
            if module and module.origin and Path(module.origin).is_file():
                left[other] = Path(module.origin), module.parent or ""
    return dict(sorted(found.items()))


def _module(name: str, own: set[str]) -> ModuleSpec | None:
    """Where a module lies; None for one that is Python's own or that others installed, and where
    there is none. `own`: packages that count although they are installed.
    """
    top = name.partition(".")[0]
    try:
        package = importlib.util.find_spec(top)
        is_own = package and (top in own or not _is_foreign(top, package.origin))
        return importlib.util.find_spec(name) if is_own else None
    except (ImportError, ValueError):  # ValueError: it was made by hand
        return None


def _is_foreign(module: str, file: str | None) -> bool:
    """Is it Python's own or installed by others?"""
    is_installed = not _INSTALLED.isdisjoint(Path(file or "").parts)
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or (is_installed and top != "groupcheck")


@functools.lru_cache(1024)
def _imports(source: bytes, package: str) -> frozenset[str]:
    """What a source may import: the names in its import statements, except those for types alone.
    A name may be that of a module or of something in it.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # compiled code
        return frozenset()
    nodes = [*ast.walk(tree)]
    conditions = [node for node in nodes if isinstance(node, ast.If)]
    for_types = {x for c in conditions if "TYPE_CHECKING" in ast.dump(c.test) for x in c.body}
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node not in for_types:
            parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
            module = ".".join([*(parents if node.level else ()), *filter(None, [node.module])])
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return frozenset(names - {""})


# -- values


class _Values:
    """Values as plain data whose `repr` is the same in every process."""

    def __init__(self) -> None:
        # The functions met: those of the spec, and those that they hold in closures and defaults.
        self.functions: list[types.FunctionType] = []
        # Functions and instances met, by id, with their numbers.
        self._met: dict[int, tuple[int, Any]] = {}

    def told(self, value: Any) -> Any:
        """The content of a value."""
        if isinstance(value, (set, frozenset)):
            return "set", sorted(repr(self.told(v)) for v in sorted(value, key=repr))
        if isinstance(value, dict):
            return "dict", sorted(repr((self.told(k), self.told(v))) for k, v in value.items())
        if isinstance(value, (tuple, list)):
            return type(value).__name__, [self.told(v) for v in value]
        if type(value) in _PLAIN:
            return value
        if isinstance(value, (type, types.ModuleType)):
            return getattr(value, "__module__", ""), value.__name__
        if isinstance(value, types.MethodType):
            return self.told((value.__func__, value.__self__))
        if hasattr(value, "__wrapped__") and not isinstance(value, types.FunctionType):
            return self.told(value.__wrapped__)  # functools.cache and its kind
        if id(value) in self._met:
            return "met before", self._met[id(value)][0]
        self._met[id(value)] = len(self._met), value
        if isinstance(value, types.FunctionType):
            return self._function(value)
        return self._instance(value)

    def _function(self, function: types.FunctionType) -> Any:
        """Where it stands, and the values that it uses and its source does not show."""
        self.functions.append(function)
        names, known = _names_in(function.__code__), function.__globals__
        # Other names are those that pytest puts into functions with assertions.
        used = {name: known[name] for name in sorted(names & known.keys()) if name.isidentifier()}
        for module in [v for v in used.values() if isinstance(v, types.ModuleType)]:
            if not _is_foreign(module.__name__, getattr(module, "__file__", None)):
                there = vars(module)
                used.update(
                    {f"{module.__name__}.{n}": there[n] for n in sorted(names & there.keys())}
                )
        settings = {name: _setting(name, value) for name, value in used.items()}
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        held = (function.__defaults__, function.__kwdefaults__, cells, settings)
        return _place(function), self.told(held)

    def _instance(self, value: Any) -> Any:
        """Its class and its fields, as for a copy."""
        try:
            reduced = value.__reduce_ex__(2)
        except Exception:  # it cannot be copied
            reduced = ""
        fields = reduced if isinstance(reduced, str) else self.told(reduced[1:])
        return self.told(type(value)), fields


def _setting(name: str, value: Any) -> Any:
    """A global value if it is plain data; of a function its place, of other values their class.
    Dicts, lists and sets whose names begin with an underscore hold what differs from run to run.
    """
    value = inspect.unwrap(value)
    if isinstance(value, types.FunctionType):
        return _place(value)
    is_memory = name.startswith("_") and isinstance(value, (dict, list, set))
    return type(value) if is_memory or " at 0x" in shown(value) else value


def _place(function: types.FunctionType) -> tuple[str, int]:
    return function.__qualname__, function.__code__.co_firstlineno


def _names_in(code: types.CodeType) -> set[str]:
    """All names that a function's code mentions, in inner functions too."""
    inner = [_names_in(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*inner)
