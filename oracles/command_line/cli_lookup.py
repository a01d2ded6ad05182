"""Small commands that answer one question: `offsets-partition`, `connect-rounds`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from groupcheck.oracles.command_line.help_page import Command, examples
from groupcheck.oracles.command_line.option_types import DURATION, POSITIVE, json_option, writes


@click.command(
    "offsets-partition",
    cls=Command,
    short_help="Show which partition of __consumer_offsets keeps a group.",
    epilog=examples(
        "groupcheck offsets-partition orders",
        "groupcheck offsets-partition orders payments --partitions 100 --json",
    ),
)
@click.argument("groups", nargs=-1, required=True, metavar="GROUP...")
@click.option(
    "--partitions",
    type=POSITIVE,
    default=50,
    show_default=True,
    metavar="N",
    help="Partitions of __consumer_offsets (offsets.topic.num.partitions when it was created).",
)
@json_option("Print one JSON document (groupcheck.offsets-partition/1).")
def offsets_partition(groups: Sequence[str], partitions: int, as_json: bool) -> int:
    """Show which partition of __consumer_offsets keeps each group: the group's coordinator is the
    leader of that partition (kafka-topics.sh --describe --topic __consumer_offsets). It is
    Utils.abs(hash of the group's id) mod N; Utils.abs gives 0 for -2^31, which has no absolute
    value.
    """
    from groupcheck.oracles.show.offsets_partition import run

    return run(groups, partitions, as_json)


@click.command(
    "connect-rounds",
    cls=Command,
    short_help="Play rounds of Kafka Connect's workers: reports, answers, delays.",
    epilog=examples(
        "groupcheck connect-rounds",
        "groupcheck connect-rounds --worker A=t0,t1 --worker B=t2 --round 0s=A --round 5m=A",
    ),
)
@click.option(
    "--worker",
    "workers",
    multiple=True,
    metavar="NAME=TASKS",
    show_default="C1=P0,P3 C2=P1 C3=P2",
    help="A worker and what it runs before; the first one leads. Repeatable.",
)
@click.option(
    "--round",
    "rounds",
    multiple=True,
    metavar="TIME=WORKERS",
    show_default="0s=C1,C3 120s=C1,C2,C3 300s=C1,C2,C3",
    help="A round: when it is, and who joins. Who is missing loses its tasks. Repeatable.",
)
@click.option(
    "--delay",
    "delay_ms",
    type=DURATION,
    default="5m",
    show_default=True,
    metavar="TIME",
    help="scheduled.rebalance.max.delay.ms.",
)
@json_option("Print one JSON document (groupcheck.connect-rounds/1).")
@writes("--svg", "Draw the rounds as a swim-lane.")
def connect_rounds(
    workers: Sequence[str],
    rounds: Sequence[str],
    delay_ms: float,
    as_json: bool,
    svg: Path | None,
) -> int:
    """Play rounds of Kafka Connect's workers (KIP-415): what every JoinGroup reports, what each
    answer assigns and revokes, and in how many ms to join again. The default is the KIP's example:
    a worker dies, and comes back while its task waits for it.
    """
    from groupcheck.oracles.connect.played import run

    return run(workers, rounds, delay_ms, as_json, svg)
