"""The options of the command line that bound a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from groupcheck.oracles.quantities import BUDGET, COUNT, SETTING


def scope_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which states there are: what bounds a run, and the mutation."""
    options = [
        click.option("--members", type=COUNT, metavar="N", help="Members that may join."),
        click.option("--partitions", type=COUNT, metavar="N", help="Partitions of the topic."),
        click.option(
            "--generations", type=COUNT, metavar="N", help="Generations after which the scope ends."
        ),
        click.option(
            "--fault",
            "faults",
            type=BUDGET,
            multiple=True,
            metavar="NAME=N",
            help="A fault that may happen N times; see `list faults`.",
        ),
        click.option("--any-faults", type=COUNT, metavar="N", help="Any N of all faults instead."),
        click.option("--assignor", metavar="NAME", help="See `list assignors`."),
        click.option(
            "--set",
            "settings",
            type=SETTING,
            multiple=True,
            metavar="NAME=VALUE",
            help="Any other field of the scope.",
        ),
        click.option(
            "--mutation",
            metavar="ID",
            help="A known bug to put in; see `list mutations`. Its own scope is the default.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function
