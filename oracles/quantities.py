"""The types of the command line's options that click does not have: sizes, durations, `NAME=N`,
`NAME=VALUE`, and files to write.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    Option = click.ParamType[Any]
else:  # older releases of click have no type argument
    Option = click.ParamType

MS = {"ms": 1.0, "s": 1_000.0, "m": 60_000.0, "h": 3_600_000.0}
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class Size(Option):
    """Bytes, in units of 1,024: `1500000`, `512M`, `1.5G`, `2GiB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(
            r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([KMGT]?)(?:I?B)?", str(value).upper()
        )
        size = int(float(match[1]) * UNITS[match[2]]) if match else 0
        if size < 1:
            self.fail(f"{value!r} is not a size such as 512M or 4G", param, ctx)
        return size


class Duration(Option):
    """Milliseconds, written with a unit: `500ms`, `30s`, `1.5m`, `2h`."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(ms|s|m|h)", str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a duration such as 500ms, 30s, 2m or 1h", param, ctx)
        return float(match[1]) * MS[match[2]]


class Pair(Option):
    """`NAME=VALUE`."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        name, equals, text = str(value).partition("=")
        if not name or not equals:
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        return name, text


class Budget(Option):
    """`NAME=N`; a bare `NAME` means once."""

    name = "name=number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        name, equals, text = str(value).partition("=")
        try:
            return name, int(text) if equals else 1
        except ValueError:
            self.fail(f"{value!r} is not NAME=N, where N is a whole number", param, ctx)


class Output(click.Path):
    """A file to write. One that cannot be written is refused before a long run, not after it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        try:
            is_ordinary = path.is_file() or not path.exists()
        except OSError as error:
            self.fail(f"cannot write {path}: {error.strerror}", param, ctx)
        folder = Path(os.path.realpath(path)).parent
        if is_ordinary and not os.access(folder, os.W_OK):  # a new file replaces the old one
            if folder.is_dir():
                self.fail(f"cannot write {path}: the directory {folder} is read-only", param, ctx)
            self.fail(f"there is no directory {path.parent} to write to", param, ctx)
        return path


COUNT, POSITIVE = click.INT, click.IntRange(min=1)
SECONDS = click.FloatRange(min=0, min_open=True)
SIZE, SETTING, BUDGET, DURATION = Size(), Pair(), Budget(), Duration()
PATH = click.Path(path_type=Path)
OUTPUT = Output(dir_okay=False, writable=True)
