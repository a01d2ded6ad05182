"""The types of the command line's options that click does not have: sizes, durations, `NAME=N`,
`NAME=VALUE`, and files to write; and the options that many commands have.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groupcheck.oracles.quantities import (
    MOST_REPLICATIONS,
    MOST_SECONDS,
    MOST_WORKERS,
    bytes_of,
    time_of,
)

if TYPE_CHECKING:
    Option = click.ParamType[Any]
else:  # older releases of click have no type argument
    Option = click.ParamType


Options = Callable[[Callable[..., Any]], Callable[..., Any]]  # a decorator that adds options


class Size(Option):
    """Bytes, in units of 1,024: `1500000`, `512M`, `1.5G`, `2GiB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return bytes_of(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Duration(Option):
    """Milliseconds, written with a unit: `500ms`, `30s`, `1.5m`, `2h`."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        try:
            found = time_of(value)
        except ValueError:
            found = math.inf
        if found > MOST_SECONDS * 1000:
            self.fail(f"{value!r} is not a duration such as 500ms, 30s, 2m or 1h", param, ctx)
        return found


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


class Number(click.FloatRange):
    """A number, in a range if there is one; `nan`, which is outside of none, and `inf` are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


class Seconds(Number):
    """Seconds, as a number or with a unit: `90`, `90s`, `1.5m`, `500ms`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            number = time_of(value, "s")
        except ValueError:
            self.fail(f"{value!r} is no time: a number of seconds, or 90s, 2m, 1h", param, ctx)
        # `nan` and `inf` are refused by the words in which they were given.
        return super().convert(number if math.isfinite(number) else value, param, ctx)


class Input(click.Path):
    """A file to read, which no output of the same command replaces (`help_page.Command`)."""


class Output(click.Path):
    """A file to write. One that cannot be written is refused before a long run, not after it. With
    `allow_dash` a lone `-` stays a text.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from groupcheck.oracles.show.files import is_replaced, target

        text = os.fspath(super().convert(value, param, ctx))
        if self.allow_dash and text == "-":
            return text
        path = Path(str(text))
        try:
            folder = target(path).parent if is_replaced(path) else None
        except OSError as error:
            self.fail(f"cannot write {path}: {error.strerror}", param, ctx)
        if folder is not None:  # a new file replaces the old one
            self._admit(folder, path, param, ctx)
        elif path.is_dir() or not path.exists():
            why = "is a folder" if path.is_dir() else "is not open"
            self.fail(f"cannot write {path}: it {why}", param, ctx)
        return path

    def _admit(
        self, folder: Path, path: Path, param: click.Parameter | None, ctx: click.Context | None
    ) -> None:
        """Fails unless the folder takes a new file, which is tried: rights alone do not tell."""
        if not folder.is_dir():
            self.fail(f"there is no directory {path.parent} to write to", param, ctx)
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            why = f"the directory {folder} takes no new file ({error.strerror})"
            self.fail(f"cannot write {path}: {why}", param, ctx)


COUNT, POSITIVE, NUMBER = click.INT, click.IntRange(min=1), Number()
SECONDS = Seconds(min=0, max=MOST_SECONDS, min_open=True)
REPLICATIONS = click.IntRange(1, MOST_REPLICATIONS)
PAIRED = click.IntRange(2, MOST_REPLICATIONS)  # fewer have no interval
WORKERS = click.IntRange(1, MOST_WORKERS)
SIZE, SETTING, BUDGET, DURATION = Size(), Pair(), Budget(), Duration()
PATH, INPUT = click.Path(path_type=Path), Input(path_type=Path)
OUTPUT = Output(dir_okay=False, writable=True)
OUTPUT_OR_STDOUT = Output(dir_okay=False, writable=True, allow_dash=True)


def all_of(*options: Options) -> Options:
    """Several options as one decorator, in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def writes(*names: str) -> Options:
    """An option that names a file to write. `names`: of the option, and its help last."""
    return click.option(*names[:-1], type=OUTPUT, metavar="FILE", help=names[-1])


def json_option(help: str) -> Options:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help=help)


def settings_option(help: str) -> Options:
    """`--set`, which may be repeated."""
    return click.option(
        "--set", "settings", type=SETTING, multiple=True, metavar="NAME=VALUE", help=help
    )


def topics_option(help: str) -> Options:
    """`--topic`, which may be repeated."""
    return click.option(
        "--topic", "topics", type=BUDGET, multiple=True, metavar="NAME=N", help=help
    )


def seed_option(help: str = "The first seed.") -> Options:
    """`--seed`, by default 0."""
    return click.option("--seed", type=COUNT, default=0, show_default=True, metavar="N", help=help)


with_workers = click.option(
    "--workers",
    type=WORKERS,
    metavar="N",
    help="Processes for independent runs, which change no figure. Default: all cores.",
)
"""For commands that do the same to many."""

keeps_runs = click.option(
    "--resume",
    type=Input(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep each run that is done in FILE, and take from it those that are there: the same"
    " command goes on where it was stopped.",
)
"""For commands that simulate, too."""
