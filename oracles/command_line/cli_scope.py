"""The options of the command line that choose what is explored."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import click

from groupcheck.oracles.command_line.help_page import names_of
from groupcheck.oracles.command_line.option_types import (
    BUDGET,
    COUNT,
    POSITIVE,
    Options,
    all_of,
    settings_option,
)

BASE = "classic"


def names_option(what: str, help: str) -> Options:
    """`--invariant` or `--goal`, as `what` says, which may be repeated."""
    return click.option(
        f"--{what}",
        f"{what}s",
        multiple=True,
        metavar="NAME",
        shell_complete=names_of(f"{what}s"),
        help=f"{help} Repeatable.",
    )


def with_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--with`: the variant has these features, too, so its name lists them."""

    @wraps(function)
    def composed(*, features: tuple[str, ...], **options: Any) -> Any:
        if features:
            options["variant"] = with_features(options["variant"] or BASE, features)
        return function(**options)

    return click.option(
        "--with",
        "features",
        multiple=True,
        metavar="FEATURE,...",
        shell_complete=names_of("features"),
        help="The classic group with these features, too, such as static,cooperative; see `list"
        " features`. VARIANT may name them itself: classic+static. Repeatable.",
    )(composed)


def with_features(variant: str, features: Iterable[str]) -> str:
    """The name of the variant with these features, which may stand in lists with commas. Raises
    `UserError` for a protocol of the user's own.
    """
    if ".py" in variant:
        from groupcheck.model.engine.errors import UserError
        from groupcheck.oracles.printable import printable

        raise UserError(
            "takes no features: those are of the classic group",
            where=printable(variant),
            do="leave --with out",
        )
    from groupcheck.model.variants import load  # only where somebody asks for features

    names = (name.strip() for listed in features for name in listed.split(","))
    return load("+".join((variant, *filter(None, names)))).name


def scope_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose the scope and the mutation."""
    options: list[Options] = [
        click.option("--members", type=COUNT, metavar="N", help="Members that may join."),
        click.option("--partitions", type=COUNT, metavar="N", help="Partitions of the topic."),
        click.option("--generations", type=COUNT, metavar="N", help="Last generation to explore."),
        click.option(
            "--fault",
            "faults",
            type=BUDGET,
            multiple=True,
            metavar="NAME=N",
            shell_complete=names_of("faults"),
            help="Let this fault happen up to N times; see `list faults`. Repeatable.",
        ),
        click.option(
            "--any-faults", type=COUNT, metavar="N", help="Let any N faults happen, of all kinds."
        ),
        click.option(
            "--assignor",
            metavar="NAME",
            shell_complete=names_of("assignors"),
            help="How partitions are assigned; see `list assignors`.",
        ),
        settings_option("Set any other field of the scope. Repeatable."),
        click.option(
            "--mutation",
            metavar="ID",
            shell_complete=names_of("mutations"),
            help="Put in a known bug; see `list mutations`. The scope defaults to the smallest one"
            " that shows it. FILE.py:NAME is a rule of your own, in the place of the one of its"
            " name.",
        ),
    ]
    return all_of(*options)(function)


def bound_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that bound a search, or leave a check out."""
    options = [
        click.option(
            "--constraint",
            "constraints",
            multiple=True,
            metavar="FILE.py:NAME",
            help="Do not go on from states in which this @constraint of your own is false; they are"
            " checked. Repeatable.",
        ),
        click.option(
            "--max-depth",
            type=POSITIVE,
            metavar="N",
            help="Stop (unknown) after paths of N steps, if there are longer ones to new states.",
        ),
        click.option(
            "--walks",
            is_flag=True,
            help="Go random walks in place of a search, until nothing new has come for long: for"
            " what is too large to explore.",
        ),
        click.option(
            "--random-walks",
            type=POSITIVE,
            metavar="N",
            help="Go N random walks.",
        ),
        click.option(
            "--walk-length",
            type=POSITIVE,
            metavar="L",
            help="The most steps of a random walk. Default: 100.",
        ),
        click.option(
            "--seed",
            type=COUNT,
            metavar="S",
            help="Another seed gives other random walks. Default: 0.",
        ),
    ]
    function = no_deadlock_option(function)
    return all_of(*options)(function)


def progress_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--progress`."""
    return click.option(
        "--progress",
        is_flag=True,
        help="Judge the promises about progress: what has to happen in the end"
        " (docs/howto/progress.md). Of a variant these alone.",
    )(function)


def no_deadlock_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--no-deadlock`."""
    return click.option(
        "--no-deadlock",
        is_flag=True,
        help="A state in which nothing can happen is no violation.",
    )(function)
