"""The command that asks what a rebalance costs: `simulate`."""

from __future__ import annotations

from typing import Any

import click

from groupcheck.oracles.command_line.cli_scope import with_option
from groupcheck.oracles.command_line.help_page import Command, examples, names_of
from groupcheck.oracles.command_line.option_types import (
    POSITIVE,
    REPLICATIONS,
    SECONDS,
    json_option,
    keeps_runs,
    seed_option,
    settings_option,
    with_workers,
    writes,
)

# As in `simulate.scenarios`; a test compares them. Importing it would make --help slow.
SCENARIOS = (
    "scale-out",
    "late-join",
    "scale-in",
    "crash",
    "sick-host",
    "slow-message",
    "outage",
    "steady",
    "rolling-restart",
    "bounce",
    "cold-start",
    "partitions-added",
)


@click.command(
    cls=Command,
    short_help="Simulate what a rebalance costs: pauses, lag, requests, side by side.",
    epilog=examples(
        "groupcheck simulate --members 300",
        "groupcheck simulate --compare classic,cooperative,consumer,async_server --replications 8",
        "groupcheck simulate --scenario sick-host --compare classic,async_server --json",
        "groupcheck simulate --scenario crash --compare classic,cooperative --html crash.html",
    ),
)
@click.argument("variant", required=False, shell_complete=names_of("variants"))
@with_option
@click.option(
    "--compare",
    "compared",
    metavar="A,B",
    help="Several variants side by side, from the same seed; the first is what the others are"
    " compared with.",
)
@click.option(
    "--scenario",
    type=click.Choice(SCENARIOS),
    default="scale-out",
    show_default=True,
    help="What happens to the group.",
)
@click.option(
    "--members",
    type=POSITIVE,
    default=100,
    show_default=True,
    metavar="N",
    help="Members that the group has at most (up to 100,000).",
)
@click.option(
    "--partitions",
    type=POSITIVE,
    metavar="N",
    help="Partitions of its one topic, up to 100,000. Default: as many as members.",
)
@click.option(
    "--replications",
    type=REPLICATIONS,
    metavar="N",
    help="Runs of each variant, with the seeds from --seed on. More than one gives 95 % t"
    " intervals. Default: 5 with --compare, otherwise 1.",
)
@seed_option()
@click.option(
    "--seconds",
    type=SECONDS,
    metavar="S",
    help="Virtual time after which a run ends, if the group does not rest before. Default: 1,800,"
    " or longer if the scenario is.",
)
@with_workers
@keeps_runs
@click.option("--whole", is_flag=True, help="Run for all of --seconds, even if the group rests.")
@settings_option(
    "Change an assumption; see `list assumptions`. Distributions are written as"
    " lognormal:MEDIAN,SIGMA, exponential:MEAN, uniform:LEAST,MOST or constant:VALUE. Repeatable."
)
@click.option(
    "--sensitivity",
    "moves",
    is_flag=True,
    help="How the ratio of the longest pauses of two variants moves with each assumption, over as"
    " many runs as they are compared with.",
)
@json_option("Print one JSON document (groupcheck.simulate/1).")
@writes("--csv", "Write all figures as CSV.")
@writes("--parquet", "Write all figures as Parquet.")
@writes("--plot", "Write a picture: FILE.png or FILE.svg.")
@writes("--html", "Write one page with picture and figures.")
def simulate(**options: Any) -> int:
    """What a rebalance costs: how long members pause, what piles up, until when, and with how many
    requests. VARIANT is classic by default.

    The rules of the model run under a clock, in groups of thousands. How long everything takes is
    an assumption that you can change; the answer lists all of them.
    """
    from groupcheck.oracles.simulate.command import run

    return run(**options)
