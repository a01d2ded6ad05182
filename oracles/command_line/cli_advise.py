"""The command that recommends settings: `advise`."""

from __future__ import annotations

from typing import Any

import click

from groupcheck.oracles.command_line.help_page import Command, examples
from groupcheck.oracles.command_line.option_types import (
    DURATION,
    PAIRED,
    POSITIVE,
    Number,
    json_option,
    keeps_runs,
    seed_option,
    settings_option,
    with_workers,
    writes,
)

COSTS = ("stopped", "paused", "moved")  # as in `simulate.uses.advice`; a test compares them
PROTOCOLS = (  # likewise
    *("eager", "cooperative", "eager-static", "cooperative-static"),
    *("consumer", "consumer-static"),
)
RATE = Number(min=0, max=10_000)


@click.command(
    cls=Command,
    short_help="Recommend protocol and timeouts for a described group.",
    epilog=examples(
        "groupcheck advise --members 20 --restart 40s --deploys-per-week 10",
        "groupcheck advise --members 20 --kafka 4.3.1",
        "groupcheck advise --now cooperative --set session_timeout_ms=20000",
        "groupcheck advise --members 12 --slow-message 6m --slow-per-week 20 --html advice.html",
        "groupcheck advise --set resume_ms=60000 --set loss=0.01 --json",
    ),
)
@click.option(
    "--members", type=POSITIVE, default=10, show_default=True, metavar="N", help="Members."
)
@click.option(
    "--partitions", type=POSITIVE, metavar="N", help="Partitions. Default: as many as members."
)
@click.option(
    "--restart",
    type=DURATION,
    default="30s",
    show_default=True,
    metavar="TIME",
    help="How long a process is away when it restarts, as in 40s or 2m.",
)
@click.option(
    "--slow-message",
    type=DURATION,
    default="0s",
    metavar="TIME",
    help="The longest that the application works between two polls.",
)
@click.option(
    "--deploys-per-week",
    "deploys",
    type=RATE,
    default=5.0,
    show_default=True,
    metavar="N",
    help="How often all members restart, one after the other.",
)
@click.option(
    "--bounces-per-week",
    "bounces",
    type=RATE,
    default=1.0,
    show_default=True,
    metavar="N",
    help="How often a process dies and is started again.",
)
@click.option(
    "--crashes-per-week",
    "crashes",
    type=RATE,
    default=0.2,
    show_default=True,
    metavar="N",
    help="How often a process dies and stays away.",
)
@click.option(
    "--outages-per-week",
    "outages",
    type=RATE,
    default=10.0,
    show_default=True,
    metavar="N",
    help="How often a member that works loses the coordinator for as long as --outage.",
)
@click.option(
    "--outage",
    type=DURATION,
    default="30s",
    show_default=True,
    metavar="TIME",
    help="How long that lasts. Default: request.timeout.ms, after which a client connects again.",
)
@click.option(
    "--slow-per-week",
    type=RATE,
    default=0.0,
    show_default=True,
    metavar="N",
    help="How often a message takes as long as --slow-message.",
)
@click.option(
    "--hangs-per-week",
    "hangs",
    type=RATE,
    default=0.0,
    show_default=True,
    metavar="N",
    help="How often an application stops polling for good, while its process lives.",
)
@click.option(
    "--kafka",
    metavar="VERSION",
    help="The version of the brokers, such as 4.3.1. From 4.0 on, group.protocol=consumer (KIP-848)"
    " is an alternative, too; if it is recommended, the answer says what it needs and which bugs of"
    " it the version has.",
)
@click.option(
    "--now",
    type=click.Choice(PROTOCOLS),
    help="The protocol that the group has now (`consumer`: KIP-848, with --kafka); its timeouts by"
    " --set, as in session_timeout_ms=20000. What you have now is then one of the alternatives."
    " Default, with a timeout: eager.",
)
@click.option(
    "--by",
    type=click.Choice(COSTS),
    default="stopped",
    show_default=True,
    help="What counts as cost: time in which partitions are stopped, time in which members pause"
    " that nothing happens to, or partitions that move.",
)
@click.option(
    "--replications",
    type=PAIRED,
    metavar="N",
    help="Runs of each event under each alternative, with the seeds from --seed on. Default: 8, and"
    " down to 3 for large groups.",
)
@seed_option()
@with_workers
@keeps_runs
@settings_option(
    "Change an assumption, or say a timeout that the group has now; see `list assumptions`."
    " Repeatable."
)
@json_option("Print one JSON document (groupcheck.advise/1).")
@writes("--plot", "Write a picture: FILE.png or FILE.svg.")
@writes("--html", "Write one page with picture and figures.")
def advise(**options: Any) -> int:
    """Which protocol and which timeouts a group should have, by simulations of its week: deploys,
    processes that die, outages, slow messages.

    Every alternative of protocol, session.timeout.ms and max.poll.interval.ms is simulated in every
    event, from the same seeds. The answer has the predicted cost of each, the recommended settings,
    and how often an event would have to happen for another recommendation.
    """
    from groupcheck.oracles.simulate.uses.advise_command import run

    return run(**options)
