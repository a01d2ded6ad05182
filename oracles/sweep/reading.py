"""A sweep file, TOML or YAML, as plain data. Nothing in it is executed, and whatever is wrong with
it is a `UserError`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.printable import printable
from groupcheck.traces.sample_files import resolve_sample

LARGEST = 64 << 10  # bytes of a file; the time to read hostile ones grows with the square
YAML = (".yaml", ".yml")
FORMATS = "a sweep file is TOML, or YAML if its name ends in .yaml or .yml; see docs/sweep.md"
TEXT = "tag:yaml.org,2002:str"
HALF = re.compile(r"\\u[dD][89a-fA-F]")  # half a character, which no file can hold


def read_sweep(path: Path) -> Any:
    """The content of the file: `.yaml` and `.yml` are YAML, anything else is TOML.

    Raises `UserError` for a file that cannot be read, is too large or nested too deeply, repeats a
    key, or (YAML) uses aliases or tags.
    """
    where = printable(str(path))
    is_yaml = path.suffix.lower() in YAML
    try:
        with resolve_sample(path).open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise UserError(
                f"more than {LARGEST >> 10} KiB",
                where=where,
                do="use lists instead of repeating grids; see docs/sweep.md",
            )
        text = data.decode("utf-8-sig")
        return _yaml(text, where) if is_yaml else tomllib.loads(text)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", where=where) from None
    except UnicodeDecodeError as error:
        what = f"not UTF-8 at byte {error.start}"
        raise UserError(what, where=where, do=FORMATS) from None
    except RecursionError:
        raise UserError("nested too deeply", where=where) from None
    except ValueError as error:  # also a number of thousands of digits
        raise UserError(
            f"cannot be read as {'YAML' if is_yaml else 'TOML'}: {printable(str(error))[:200]}",
            where=where,
            do=FORMATS,
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

    if HALF.search(text):
        raise UserError("holds half a character, such as \\ud800", where=where)

    class Strict(yaml.SafeLoader):  # type: ignore[misc,unused-ignore]
        """Refuses aliases, which let a small file grow without end; tags, which make of a value
        what no key takes, or nothing at all; and repeated keys, of which YAML would take the last.
        """

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            tagged = getattr(event, "tag", None) is not None
            if tagged or isinstance(event, yaml.AliasEvent):
                problem = f"{'tags' if tagged else 'aliases'} are not read"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            for key, _ in node.value:
                problem = "a key is not text" if key.tag != TEXT else ""
                if not problem and key.value in seen:
                    problem = f"the key {key.value[:40]!r} is given twice"
                if problem:
                    raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader=Strict)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = f", line {mark.line + 1}" if mark else ""
        raise UserError(f"not YAML: {printable(problem)[:200]}", where=where + line) from None
