"""The commands that read and write logs: `replay` and `generate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from groupcheck.oracles.command_line.help_page import Command, examples, names_of
from groupcheck.oracles.command_line.option_types import (
    COUNT,
    INPUT,
    OUTPUT_OR_STDOUT,
    PAIRED,
    PATH,
    POSITIVE,
    SECONDS,
    SIZE,
    json_option,
    seed_option,
    settings_option,
    with_workers,
    writes,
)

DIALECTS = (
    "java-4",
    "java-4-debug",
    "java-3.8",
    "scala-3.5",
    "scala-2.4",
    "scala-1.1",
    "requests",
    "requests-static",
    "requests-cooperative-static",
    "consumer-4.4",
    "consumer-4.3-debug",
    "consumer-4.2-debug",
    "consumer-4.0-debug",
    "consumer-4.3-regex-debug",
    "requests-consumer",
    "requests-consumer-regex",
    "requests-consumer-appends",
    "requests-consumer-static",
    "requests-consumer-librdkafka",
    "requests-consumer-librdkafka-static",
)


@click.command(
    cls=Command,
    short_help="Explain a broker's log: why each rebalance began, and who held it up.",
    epilog=examples(
        "groupcheck replay sample:ghost-members",
        "groupcheck replay server.log* --group orders --html timeline.html",
        "groupcheck replay - < incident.zip",
        "groupcheck replay server.log --what-if static --what-if session.timeout.ms=60000",
        "groupcheck replay --follow server.log --until troubled --for 10m",
    ),
)
@click.argument("files", nargs=-1, required=True, type=INPUT, metavar="FILE|DIR|-...")
@click.option(
    "--format",
    "format",
    metavar="NAME",
    shell_complete=names_of("formats"),
    help="The log's format; see `list formats`. Default: detected from the file.",
)
@click.option("--group", metavar="ID", help="Replay only this group.")
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    metavar="KIND",
    help="Exit with 1 only for this: a health (troubled, broken), a kind of cause, or violated."
    " Repeatable. Default: any trouble.",
)
@click.option(
    "--knowledge",
    type=INPUT,
    metavar="FILE",
    help="More known causes, as TOML (docs/reference/causes.md).",
)
@json_option(
    "Print one JSON document (groupcheck.replay/2; with --spark groupcheck.archive/1, with"
    " --what-if groupcheck.what-if/1), with --follow one a line (groupcheck.follow/1)."
)
@writes("--html", "Write a page with the timeline.")
@writes("--markdown", "Write the answer as Markdown, for a ticket.")
@writes("--junit", "Write a JUnit XML file: one test case for each group.")
@click.option(
    "--pytest",
    "pytest",
    type=OUTPUT_OR_STDOUT,
    is_flag=False,
    flag_value="-",
    metavar="[FILE]",
    help="Print, or write, a test with the schedule that the log of a broker shows.",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Read logs while they grow, through rotation, and print a line when the health of a group"
    " changes, and why (docs/howto/replay.md).",
)
@click.option(
    "--until",
    type=click.Choice(["troubled", "broken", "calm", "never"]),
    help="With --follow: end when a group is troubled or broken, when one is broken, or when all"
    " are calm. Default: never.",
)
@click.option(
    "--for",
    "seconds",
    type=SECONDS,
    metavar="TIME",
    help="With --follow: end after this time, such as 10m. Default: without a limit.",
)
@click.option(
    "--window",
    type=SECONDS,
    metavar="TIME",
    help="With --follow: lines that came longer ago do not count. Default: 1h.",
)
@click.option(
    "--from-end",
    "from_end",
    is_flag=True,
    help="With --follow: leave out what the files hold already.",
)
@click.option(
    "--what-if",
    "what_if",
    multiple=True,
    metavar="CHANGE",
    help="Simulate what happened to the group's processes under a change: static, dynamic,"
    " cooperative, eager, consumer (KIP-848), or a setting such as session.timeout.ms=60s."
    " Repeatable (docs/what_if.md).",
)
@settings_option(
    "With --what-if: what holds in the baseline where the log does not tell it; see `list"
    " assumptions`. Repeatable."
)
@click.option(
    "--partitions",
    type=POSITIVE,
    metavar="N",
    help="With --what-if: partitions of the group. Default: those in the log, or as many as"
    " processes.",
)
@click.option(
    "--replications",
    type=PAIRED,
    metavar="N",
    help="With --what-if: simulations of each side, with the seeds from --seed on."
    " Default: 8, or as many (at least 2) as take a minute.",
)
@with_workers
@click.option("--seed", type=COUNT, metavar="N", help="With --what-if: the first seed. Default: 0.")
@click.option(
    "--spark",
    metavar="MASTER",
    help="Replay whole archives with Spark (docs/archive.md): local[2], spark://HOST:PORT, yarn,"
    " k8s://...",
)
@click.option(
    "--out",
    metavar="URI",
    help="With --spark: the folder for the Parquet tables. Logs that it already holds are skipped.",
)
def replay(files: Sequence[Path], spark: str | None, out: str | None, **options: Any) -> int:
    """Explain the log of a group coordinator, or a broker's request log: why each rebalance began,
    who held it up, and which promise was broken. FILE is a log, plain or packed, an archive of
    logs, or sample:NAME (`list samples`); DIR is a folder of them, and - is standard input. Rotated
    files of one process are read as one log.

    With --spark and --out, the folders can hold thousands of logs, and the answer is a set of
    Parquet tables.

    With --what-if, the events of the log (processes that came, closed, died or stalled) are
    simulated under the group's own protocol and settings, and under others: which rebalances would
    not have happened, and who would not have stood still.

    With --follow, logs are read while they grow. The exit code tells the health of the groups when
    following ends, as without it; it is 3 after Ctrl-C.
    """
    from groupcheck.oracles.command_line.commands import replay, replay_archive

    if spark is not None or out is not None:
        return replay_archive(files, spark, out, **options)
    return replay(files, **options)


@click.command(
    cls=Command,
    short_help="Generate logs of any size from runs of the model, with the truth about them.",
    epilog=examples("groupcheck generate --out logs --groups 100 --size 10M"),
)
@click.option(
    "--out",
    type=PATH,
    required=True,
    metavar="DIR",
    help="A new folder: the logs go to DIR/logs, what really happened to DIR/truth.",
)
@click.option(
    "--groups",
    type=click.IntRange(1, 100_000),
    default=10,
    show_default=True,
    metavar="N",
    help="Groups in all logs together.",
)
@click.option(
    "--size",
    type=SIZE,
    default="1M",
    show_default=True,
    metavar="SIZE",
    help="Approximate bytes of all logs together, such as 10M or 1G.",
)
@click.option(
    "--files",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    metavar="N",
    help="Logs, one for each broker.",
)
@click.option(
    "--dialect",
    "dialects",
    type=click.Choice(DIALECTS),
    multiple=True,
    help="How the brokers write; given several times, they take turns. Default: java-4.",
)
@seed_option("The same seed gives the same bytes.")
@click.option(
    "--runs",
    type=click.IntRange(1, 10_000),
    default=30,
    show_default=True,
    metavar="N",
    help="Different runs of the model for each dialect.",
)
@click.option(
    "--clients",
    is_flag=True,
    help="Write the logs of the groups' members and of their coordinator, too (only with --dialect"
    " requests, or one that begins with requests-consumer).",
)
@click.option("--gzip", "packed", is_flag=True, help="Write gzip files.")
@json_option("Print one JSON document (groupcheck.generate/1).")
@with_workers
def generate(**options: Any) -> int:
    """Generate logs as brokers of Apache Kafka write them, from random runs of the classic model
    or of `consumer` (KIP-848), and the truth about every rebalance in them (docs/archive.md).
    """
    from groupcheck.oracles.command_line.commands import generate

    return generate(**options)
