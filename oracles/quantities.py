"""The types of the command line's options: counts, seconds, sizes, `NAME=N`, `NAME=VALUE`, addresses
and paths. Each says clearly why it refuses a value.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    Option = click.ParamType[Any]
else:  # older releases of click have no type argument
    Option = click.ParamType

DIGITS = 15  # more than any meaningful number has
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class Count(Option):
    """A whole number; the scope checks its range."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).replace("_", "").replace(",", "")
        if not re.fullmatch(r"-?[0-9]+", text):
            self.fail(f"{value!r} is not a whole number", param, ctx)
        if len(text) > DIGITS:
            self.fail(f"{value[:40]!r} is too large", param, ctx)
        return int(text)


class Seconds(Option):
    """A positive number of seconds."""

    name = "seconds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if (
            not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?|\.[0-9]{1,9}", str(value))
            or float(value) <= 0
        ):
            self.fail(f"{value!r} is not a number of seconds above 0", param, ctx)
        return float(value)


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


class Pair(Option):
    """`NAME=VALUE`."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not name or not equals:
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        return name, text


class Budget(Option):
    """`NAME=N`; a bare `NAME` means once."""

    name = "name=number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not name or (equals and not re.fullmatch(rf"-?[0-9]{{1,{DIGITS}}}", text)):
            self.fail(f"{value!r} is not NAME=N, where N is a whole number", param, ctx)
        return name, int(text) if equals else 1


class Text(Option):
    """An address. It must not be empty, as the shell makes it when a variable is not set."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value:
            self.fail("the value is empty", param, ctx)
        return str(value)


class File(click.Path):
    """A path. An empty one is refused: it would mean the current directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:
            self.fail("the value is empty", param, ctx)
        return super().convert(value, param, ctx)


COUNT, SECONDS, SIZE, SETTING, BUDGET, TEXT, FILE = (
    Count(),
    Seconds(),
    Size(),
    Pair(),
    Budget(),
    Text(),
    File(path_type=Path),
)


class Once(click.Command):
    """A command that refuses an option given twice, unless the option is repeatable. Otherwise the
    last value would win silently.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        seen: set[str] = set()
        for option in self.make_parser(ctx).parse_args(list(args))[2]:
            if isinstance(option, click.Option) and not option.multiple and not option.is_flag:
                if option.opts[0] in seen:
                    raise click.UsageError(f"{option.opts[0]} is given twice", ctx)
                seen.add(option.opts[0])
        return super().parse_args(ctx, args)
