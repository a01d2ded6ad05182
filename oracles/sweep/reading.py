"""A sweep file, TOML or YAML, as plain data: read strictly, within bounds, never executed, and
never with a traceback.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.printable import printable
from groupcheck.traces.shipped import located

LARGEST = 64 << 10  # bytes of a file; the time to read hostile ones grows with the square
DEEPEST = 16  # levels of nesting
YAML = (".yaml", ".yml")
SURROGATE = re.compile("[\ud800-\udfff]")  # YAML can write one without the other


def read_sweep(path: Path) -> dict[str, Any]:
    """The file's one table, of texts, numbers, truth values, lists and tables alone. `.yaml` and
    `.yml` are YAML, anything else is TOML.

    Raises `UserError` for what cannot be read, is too large or too deep, repeats a key, or (YAML)
    uses aliases or tags.
    """
    where = printable(str(path))
    text = _text(path, where)
    try:
        value = _yaml(text, where) if path.suffix.lower() in YAML else tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"not TOML: {printable(str(error))[:200]}", where=where) from None
    except RecursionError:
        raise UserError("nested too deeply", where=where) from None
    except (
        ValueError
    ):  # Python refuses to read an integer of thousands of digits, YAML a date that is none
        raise UserError("a number or a date that is none", where=where) from None
    if not isinstance(value, dict):
        raise UserError("holds no table", where=where, do="see docs/sweep.md")
    _must_be_plain(value, where, DEEPEST)
    return value


def _text(path: Path, where: str) -> str:
    try:
        with located(path).open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}", where=where
        ) from None
    if len(data) > LARGEST:
        raise UserError(
            f"more than {LARGEST >> 10} KiB",
            where=where,
            do="a sweep is grown from few lines; see docs/sweep.md",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"not UTF-8: byte {error.start} is 0x{data[error.start]:02x}", where=where
        ) from None


def _yaml(text: str, where: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise UserError(
            "PyYAML is not installed",
            where=where,
            do="pip install 'groupcheck[sweep]', or write TOML",
        ) from None

    class Strict(yaml.SafeLoader):  # type: ignore[misc,unused-ignore]
        """Values only; an alias would let a small file grow without end, a repeated key hide what
        was meant.
        """

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.composer.ComposerError(
                    None, None, "aliases are not read", self.peek_event().start_mark
                )
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise yaml.constructor.ConstructorError(
                        None, None, "a key is no text", key.start_mark
                    )
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value[:40]!r} is given twice", key.start_mark
                    )
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader=Strict)
    except yaml.MarkedYAMLError as error:
        at = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(
            f"not YAML as it is read here: {printable(str(error.problem))[:200]}", where=where + at
        ) from None
    except yaml.YAMLError as error:
        raise UserError(
            f"not YAML: {printable(str(error).splitlines()[0])[:200]}", where=where
        ) from None


def _must_be_plain(value: Any, where: str, depth: int) -> None:
    if not depth:
        raise UserError(f"nested more than {DEEPEST} levels deep", where=where)
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise UserError(f"the key {str(key)[:40]!r} is no text", where=where)
            _must_be_plain(key, where, depth - 1)
            _must_be_plain(inner, where, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            _must_be_plain(inner, where, depth - 1)
    elif isinstance(value, str) and SURROGATE.search(value):
        raise UserError(f"{printable(value)[:60]!r} holds half a character", where=where)
    elif not isinstance(value, str | bool | int | float):
        kind = "null" if value is None else type(value).__name__
        raise UserError(
            f"a value of kind {printable(kind)} is not read",
            where=where,
            do='write "none" for nothing',
        )
