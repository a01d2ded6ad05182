"""The command that answers a question about settings with a curve: `curve`."""

from __future__ import annotations

from typing import Any

import click

from groupcheck.oracles.command_line.help_page import Command, examples, names_of
from groupcheck.oracles.command_line.option_types import (
    POSITIVE,
    REPLICATIONS,
    json_option,
    keeps_runs,
    seed_option,
    settings_option,
    with_workers,
    writes,
)

# As in `simulate.uses`; a test compares them. Importing it would make --help slow.
CURVES = ("session-ratio", "rolling-restart", "initial-delay", "poll-interval")


@click.command(
    cls=Command,
    short_help="Answer a question about settings by simulations, as a curve.",
    epilog=examples(
        "groupcheck curve session-ratio --plot ratio.svg",
        "groupcheck curve rolling-restart --members 100 --replications 1",
        "groupcheck curve poll-interval --set stall_ms=120000 --json",
    ),
)
@click.argument("name", type=click.Choice(CURVES), metavar="CURVE")
@click.option(
    "--variant",
    default="classic",
    show_default=True,
    metavar="NAME",
    shell_complete=names_of("variants"),
    help="The protocol; rolling-restart compares classic with static_membership instead.",
)
@click.option("--members", type=POSITIVE, metavar="N", help="Members. Default: the question's.")
@click.option(
    "--partitions", type=POSITIVE, metavar="N", help="Partitions. Default: as many as members."
)
@click.option(
    "--at",
    "values",
    multiple=True,
    metavar="X",
    help="A value of the axis, in place of the question's; a time in ms, or as in 30s. Repeatable.",
)
@click.option(
    "--replications",
    type=REPLICATIONS,
    default=5,
    show_default=True,
    metavar="N",
    help="Runs of each point, with the seeds from --seed on.",
)
@seed_option()
@with_workers
@keeps_runs
@settings_option("Change an assumption; see `list assumptions`. Repeatable.")
@json_option("Print one JSON document (groupcheck.curve/1).")
@writes("--csv", "Write the figures as CSV.")
@writes("--parquet", "Write the figures as Parquet.")
@writes("--plot", "Write a picture: FILE.png or FILE.svg.")
@writes("--html", "Write one page with picture and figures.")
def curve(**options: Any) -> int:
    """A curve over one setting, predicted by simulations of the protocol: session-ratio (false
    expiries over session.timeout.ms / heartbeat.interval.ms), rolling-restart (partitions that move
    with dynamic and static members), initial-delay (a cold start over
    group.initial.rebalance.delay.ms), poll-interval (a slow message over max.poll.interval.ms).
    """
    from groupcheck.oracles.simulate.uses.command import run

    return run(**options)
