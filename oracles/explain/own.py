"""The objects that users write in files of their own and name as FILE.py:NAME: a spec, a function
that makes one, a whole variant, a promise, or a rule with a bug.

Importing a file runs its code, as `python FILE.py` does; its neighbours can be imported from it.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import attrs

from groupcheck.model.engine import Spec, UserError
from groupcheck.oracles.printable import printable
from groupcheck.oracles.processes.supervisor import tell

_NAMED = re.compile(r"(.+\.py):(\w+)", re.DOTALL)
TRUE, FALSE = ("true", "yes", "1"), ("false", "no", "0")


def is_own(text: object) -> bool:
    """Does a text name something in a file of the user's?"""
    return isinstance(text, str) and _NAMED.fullmatch(text) is not None


def file_of(text: object) -> Path | None:
    """The file of the user's in which a text such as FILE.py:NAME names something."""
    match = _NAMED.fullmatch(text) if isinstance(text, str) else None
    return None if match is None else Path(match[1])


def named(text: str, kinds: tuple[Any, ...], what: str) -> Any:
    """The object that FILE.py:NAME names. `what`: the kinds in words, for the error.

    Raises `UserError` for a file that cannot be read or imported, a name that is not in it, and
    something of another kind.
    """
    match = _NAMED.fullmatch(text)
    assert match
    file, name = match.groups()
    module = _imported(Path(file))
    if not hasattr(module, name):
        mine = [n for n, v in vars(module).items() if isinstance(v, kinds) and _is_of(module, n)]
        near = get_close_matches(name, mine, 1)
        there = f"did you mean {near[0]}?" if near else f"it has {', '.join(mine[:12])}"
        raise UserError(
            f"there is no {name}",
            where=printable(file),
            do=there if mine else f"define {what} there",
        )
    found = getattr(module, name)
    if not isinstance(found, kinds):
        raise UserError(
            f"{name} is of type {type(found).__name__}, not {what}", where=printable(file)
        )
    return found


def _is_of(module: ModuleType, name: str) -> bool:
    """Does the module itself define what has this name, for others to use?"""
    value = getattr(module, name)
    made = getattr(value, "func", value)  # attrs.frozen is a partial
    home = getattr(made, "__module__", None) if callable(value) else module.__name__
    return home == module.__name__ and not name.startswith("_")


def _imported(file: Path) -> ModuleType:
    """The module of a file, imported once."""
    where, path = printable(str(file)), file.resolve()
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(path):
            return module
    if not path.is_file():
        raise UserError("there is no such file", where=where, do="name it FILE.py:NAME")
    tell("runs", where)
    name = path.stem if path.stem.isidentifier() else f"own_{path.stem}"
    while name in sys.modules or name in sys.stdlib_module_names:
        name = f"own_{name}"
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        if isinstance(error, UserError):
            raise UserError(error.what, where=error.where or where, do=error.do) from None
        raise _failed("cannot be imported", where, path, error) from None
    return module


def _failed(what: str, where: str, file: Path, error: BaseException) -> UserError:
    """The error for code of the user's that raised, with the innermost line of its file."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(file)
    ]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    told = printable(f"{type(error).__name__}: {text}")[:300]
    return UserError(f"{what}: {told}", where=f"{where}, line {line}" if line else where)


def spec_of(
    text: str, make: Callable[..., Any], fields: Mapping[str, Any], settings: Mapping[str, str]
) -> tuple[Spec, dict[str, Any]]:
    """The spec that a function makes, and the arguments that it got. `fields` are arguments;
    `settings` are more of them, as text (`--set`). If its only parameter is annotated with an attrs
    class, they are the fields of that class.

    Raises `UserError` for an argument that the function does not take, does not get, or cannot
    read.
    """
    wanted, scope_type = _parameters(make)
    where = printable(text)
    for name in (*fields, *settings):
        if name not in wanted:
            near = ", ".join(wanted) or "nothing"
            raise UserError(
                f"it does not take {printable(name)}", where=where, do=f"it takes {near}"
            )
    given = dict(fields) | {
        name: parsed(name, value, wanted[name][0], where) for name, value in settings.items()
    }
    for name, (_, required) in wanted.items():
        if required and name not in given:
            raise UserError(f"{name} is not given", where=where, do=f"add --set {name}=VALUE")
    try:
        made = make(scope_type(**given)) if scope_type else make(**given)
    except UserError as error:
        raise UserError(error.what, where=error.where or where, do=error.do) from None
    except (Exception, SystemExit) as error:
        file = Path(inspect.getsourcefile(make) or "")
        raise _failed("the spec cannot be made", where, file, error) from None
    if not isinstance(made, Spec):
        raise UserError(f"it returns {type(made).__name__}, not Spec", where=where)
    return made, given


def _parameters(make: Callable[..., Any]) -> tuple[dict[str, tuple[str, bool]], type | None]:
    """The parameters of a function: name -> (type as text, is it required); and the attrs class
    whose fields these are, if they are not the function's own parameters.
    """
    own = [
        p for p in inspect.signature(make).parameters.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]  # fmt: skip
    if len(own) == 1 and attrs.has(scope_type := _class_of(own[0], make)):
        fields = attrs.fields(scope_type)
        return {
            f.name: (_text_of(f.type, f.default), f.default is attrs.NOTHING) for f in fields
        }, scope_type
    return {p.name: (_text_of(p.annotation, p.default), p.default is p.empty) for p in own}, None


def _class_of(p: inspect.Parameter, make: Callable[..., Any]) -> Any:
    if isinstance(p.annotation, str):
        return getattr(make, "__globals__", {}).get(p.annotation.strip("\"'"), object)
    return p.annotation


def _text_of(kind: Any, default: Any) -> str:
    """The type of a parameter as text: as it is annotated, else that of its default."""
    if kind not in (None, inspect.Parameter.empty):
        named = isinstance(kind, type) and not get_args(kind)
        return kind if isinstance(kind, str) else kind.__name__ if named else str(kind)
    nothing = default in (None, attrs.NOTHING, inspect.Parameter.empty)
    return "" if nothing else type(default).__name__


def parsed(name: str, text: str, kind: str, where: str, do: str = "") -> Any:
    """A setting as a value of a type. `kind`: the type as text, such as `int | None`; empty if it
    is not known: then a whole number is one, and anything else is a text. The elements of a
    `tuple[int, ...]` or `tuple[str, ...]` are separated by commas. Raises `UserError` for what does
    not fit.
    """
    if several := re.fullmatch(r"tuple\[(int|str), \.\.\.\]", kind):
        parts = text.split(",") if text else []
        return tuple(parsed(name, part.strip(), several[1], where, do) for part in parts)
    word, plain = text.lower(), "tuple" not in kind
    is_whole = re.fullmatch(r"-?[0-9]{1,15}", text) is not None
    if "None" in kind and word == "none":
        return None
    if "bool" in kind and word in (*TRUE, *FALSE):
        return word in TRUE
    if is_whole and plain and ("int" in kind or not kind):
        return int(text)
    if plain and ("str" in kind or not kind):
        return text
    raise UserError(
        f"{printable(text)[:40]!r} is not a valid value for {name}",
        where=where,
        do=do or f"it is annotated with {kind}",
    )
