"""The command that serves the model's coordinator."""

from __future__ import annotations

from typing import Any

import click

from groupcheck.oracles.command_line.help_page import Command, examples, names_of
from groupcheck.oracles.command_line.option_types import (
    COUNT,
    DURATION,
    POSITIVE,
    SECONDS,
    topics_option,
    writes,
)


@click.command(
    cls=Command,
    short_help="Serve the model's coordinator, for your clients and their tests.",
    epilog=examples(
        "groupcheck coordinator --port 9092 --topic orders=6 --records 1000",
        "groupcheck coordinator --mutation commit_ignores_generation --topic orders=6",
        "groupcheck coordinator --nodes 2 --move 10 --loading 2s --log exchange.ndjson",
        "groupcheck coordinator --list",
    ),
)
@click.option(
    "--port",
    type=COUNT,
    default=0,
    show_default="any that is free",
    metavar="N",
    help="The port of the first node; the others have the next ones.",
)
@click.option(
    "--nodes",
    type=COUNT,
    default=1,
    show_default=True,
    metavar="N",
    help="How many brokers there are. The last one coordinates at first.",
)
@topics_option(
    "A topic with N partitions. Repeatable. Default: test=4. Another topic is made, with one"
    " partition, when a client asks for it."
)
@click.option(
    "--records",
    type=COUNT,
    default=0,
    show_default=True,
    metavar="N",
    help="How many records each partition of these topics has to begin with.",
)
@click.option(
    "--mutation",
    metavar="ID",
    shell_complete=names_of("mutations"),
    help="Serve a coordinator with this known bug; see --list.",
)
@click.option(
    "--min-session",
    "min_session_ms",
    type=DURATION,
    metavar="TIME",
    show_default="1ms; Kafka: 6s",
    help="The shortest session timeout that a member may ask for.",
)
@click.option(
    "--max-session",
    "max_session_ms",
    type=DURATION,
    metavar="TIME",
    show_default="30m, as Kafka",
    help="The longest one.",
)
@click.option(
    "--initial-delay",
    "delay_ms",
    type=DURATION,
    metavar="TIME",
    show_default="0ms; Kafka: 3s",
    help="How long an empty group waits for more members.",
)
@click.option(
    "--max-size",
    type=COUNT,
    metavar="N",
    show_default="15, the most there can be",
    help="How many members a group may have.",
)
@click.option(
    "--move",
    type=SECONDS,
    metavar="TIME",
    help="Move the groups to the next node again and again, after this time.",
)
@click.option(
    "--loading",
    "load_ms",
    type=DURATION,
    metavar="TIME",
    show_default="0ms",
    help="How long a node loads the groups that have moved to it.",
)
@click.option(
    "--seconds", type=SECONDS, metavar="TIME", help="End after this time. Default: with Ctrl-C."
)
@writes(
    "--log", "Write each request and each answer, one JSON object a line (groupcheck.served/1)."
)
@click.option(
    "--most-lines",
    type=POSITIVE,
    default=1_000_000,
    show_default=True,
    metavar="N",
    help="Write no more lines to --log.",
)
@click.option(
    "--list", "lists", is_flag=True, help="List the known bugs that it can be served with."
)
def coordinator(**options: Any) -> int:
    """Serve the coordinator of the model on the loopback, with brokers and topics around it: a mock
    that answers clients as Apache Kafka's coordinator does, rule by rule. The first line on stdout
    is the address for bootstrap.servers. Ctrl-C ends it, with a summary and exit code 0.

    It serves classic groups with dynamic and static members, eager or cooperative. With --mutation
    you see what your client makes of a broken coordinator.
    """
    from groupcheck.oracles.coordinator.command import run

    return run(**options)
