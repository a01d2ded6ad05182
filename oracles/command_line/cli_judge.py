"""The commands of `groupcheck judge`: other people's brokers and clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from groupcheck.oracles.command_line.help_page import Command, examples, names_in
from groupcheck.oracles.command_line.option_types import (
    INPUT,
    SECONDS,
    Options,
    all_of,
    json_option,
    seed_option,
    settings_option,
    writes,
)

BROKERS = names_in("groupcheck.oracles.judge.brokers.kinds", "KINDS")
LIBRARIES = names_in("groupcheck.oracles.judge.libraries.catalogue", "libraries")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class Judges(click.Group):
    command_class = Command


@click.group(cls=Judges, short_help="Judge other people's brokers and clients, over the wire.")
def judge() -> None:
    """Judge a broker or a client by what it sends: which promises of Kafka's group protocol it
    keeps, and which rows of the protocol it does otherwise than Apache Kafka.
    """


security_options = all_of(
    click.option("--tls", is_flag=True, help="Connect with TLS."),
    click.option("--ca", type=INPUT, metavar="FILE", help="With --tls: trust these certificates."),
    click.option("--insecure", is_flag=True, help="With --tls: do not check the certificate."),
    click.option("--sasl", type=click.Choice(MECHANISMS), help="Log in with SASL."),
    click.option("--user", metavar="NAME", help="With --sasl: the user."),
    click.option(
        "--password",
        metavar="TEXT",
        envvar="GROUPCHECK_PASSWORD",
        help="With --sasl: the password. Better give it in GROUPCHECK_PASSWORD.",
    ),
)
"""TLS and SASL."""
report_options = all_of(
    json_option("Print one JSON document (groupcheck.judge/1)."),
    writes("--junit", "Write a JUnit XML file: a test case for each rule."),
    writes("--html", "Write a page, with each schedule as a picture."),
)
"""What a judgement is written to."""


def time_options(quick: str, more: str) -> Options:
    """How long a judge takes. `quick`: by default; `more`: what --full adds."""
    return all_of(
        click.option(
            "--quick",
            "full",
            flag_value=False,
            default=False,
            help=f"Take {quick}. The default.",
        ),
        click.option("--full", "full", flag_value=True, help=f"Take 5 minutes, with {more}."),
        click.option("--seconds", type=SECONDS, metavar="S", help="Take S seconds instead."),
    )


def known_option(page: str) -> Options:
    """`--known`. `page`: where the file is described."""
    return click.option(
        "--known",
        type=INPUT,
        metavar="FILE",
        help=f"Accept the deviations that FILE lists, each with a reason ({page}).",
    )


@judge.command(
    short_help="Judge a broker: what it answers, row by row.",
    epilog=examples(
        "groupcheck judge broker localhost:9092",
        "groupcheck judge broker localhost:9092 --full --known deviations.toml --junit out.xml",
        "groupcheck judge broker --start kafka",
    ),
)
@click.argument("address", metavar="[HOST:PORT]", required=False)
@click.option(
    "--start",
    metavar="NAME",
    shell_complete=BROKERS,
    help="Start this broker and judge it: kafka, kfake, librdkafka-mock or tansu.",
)
@time_options("20 s", "more kinds of groups")
@seed_option("Seed of the schedules.")
@click.option(
    "--topic",
    metavar="NAME",
    help="Commit to this topic, which exists. Default: `groupcheck`, which is created.",
)
@settings_option(
    "A setting of the broker: group.max.size or group.min.session.timeout.ms, where the broker does"
    " not tell it. With --start it is started so, and any other may be set. Repeatable."
)
@known_option("docs/judge/your_broker.md")
@security_options
@report_options
def broker(
    tls: bool,
    ca: Path | None,
    insecure: bool,
    sasl: str | None,
    user: str | None,
    password: str | None,
    settings: tuple[tuple[str, str], ...],
    **options: Any,
) -> int:
    """Send requests to the broker at HOST:PORT as members of groups, in every version that it
    announces, and compare each answer with what the model's coordinator allows. The groups have
    names of their own (`groupcheck-...`) and are left empty.

    Each difference is tried three times again, from its shortest schedule. Exits with 0 if every
    rule is kept, 1 if one is broken, 3 if that is not clear.
    """
    from groupcheck.oracles.judge.broker.command import broker, secured

    password = password if sasl else None
    security = secured(tls, ca, insecure, sasl, user, password)
    return broker(security=security, settings=dict(settings), **options)


@judge.command(
    short_help="Judge a client: what it does when its coordinator does its worst.",
    epilog=examples(
        "groupcheck judge client --library aiokafka",
        "groupcheck judge client --library java==3.7.1 --full",
        "groupcheck judge client --known deviations.toml -- python my_consumer.py",
    ),
)
@click.argument("words", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--library",
    metavar="NAME[==VERSION]",
    shell_complete=LIBRARIES,
    help="Judge this library by the program that groupcheck has for it.",
)
@time_options("60 s", "each state of a member")
@click.option(
    "--hostile", is_flag=True, help="Also play what no Kafka coordinator plays: any code, any time."
)
@click.option(
    "--without",
    type=click.Choice(("static", "cooperative")),
    multiple=True,
    help="The program has no such members. Repeatable.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=10,
    show_default=True,
    metavar="N",
    help="Run N programs side by side.",
)
@click.option(
    "--control/--no-control",
    default=True,
    help="Ask Kafka's Java client the same, under the same load. The default.",
)
@click.option(
    "--confirm/--no-confirm",
    default=True,
    help="Try the worst findings on a broker of Apache Kafka itself. The default.",
)
@click.option(
    "--again",
    type=INPUT,
    metavar="FILE",
    help="Play only the schedules in FILE, which `judge client --json` printed, three times each.",
)
@known_option("docs/judge/your_client.md")
@report_options
def client(words: tuple[str, ...], **options: Any) -> int:
    """Start the program with a coordinator that is the model's, and let the group's surroundings do
    their worst: sessions end, members come and go, the group moves, answers are lost. Each promise
    of a client is judged by what it sends, and by the events that the program prints
    (docs/judge/your_client.md).

    What is broken is tried three times again, from its shortest schedule. Exits with 0 if every
    rule is kept, 1 if one is broken, 3 if that is not clear.
    """
    from groupcheck.oracles.judge.client.command import client

    return client(words, **options)


@judge.command(
    short_help="Carry out the schedules of a judgement again, on another broker.",
    epilog=examples(
        "groupcheck judge again report.json",
        "groupcheck judge again report.json --on localhost:9092",
    ),
)
@click.argument("file", metavar="SCHEDULE", type=INPUT)
@click.option("--on", metavar="HOST:PORT", help="The broker. Default: Apache Kafka is started.")
@click.option("--start", metavar="NAME", shell_complete=BROKERS, help="Start this broker instead.")
@security_options
@json_option("Print one JSON document (groupcheck.again/1).")
def again(
    tls: bool,
    ca: Path | None,
    insecure: bool,
    sasl: str | None,
    user: str | None,
    password: str | None,
    **options: Any,
) -> int:
    """Carry out each schedule that `judge broker --json` printed, on another broker: on Apache
    Kafka, if none is named. Exits with 0 if all that comes is allowed by the model, 1 if not,
    3 if a schedule could not be carried out to its end.
    """
    from groupcheck.oracles.judge.broker.command import again, secured

    password = password if sasl else None
    return again(security=secured(tls, ca, insecure, sasl, user, password), **options)
