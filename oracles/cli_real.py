"""The commands that face real code: `conform`, `assign` and `record`."""

from __future__ import annotations

from typing import Any

import click

from groupcheck.oracles.quantities import BUDGET, COUNT, FILE, SETTING, Once


@click.command(cls=Once, short_help="The model against Apache Kafka's own coordinator, row by row.")
@click.argument("variant", default="classic")
@click.option("--members", type=COUNT, metavar="N", help="Members at once.")
@click.option(
    "--generations", type=COUNT, metavar="N", help="Generations after which the scope ends."
)
@click.option(
    "--fault",
    "faults",
    type=BUDGET,
    multiple=True,
    metavar="NAME",
    help="A fault that may happen, any number of times; all, if none is given.",
)
@click.option(
    "--set",
    "settings",
    type=SETTING,
    multiple=True,
    metavar="NAME=VALUE",
    help="max_size, two_step or protocols of the scope.",
)
@click.option(
    "--kafka",
    default="4.3.0",
    show_default=True,
    metavar="VERSION",
    help="The Kafka version whose coordinator it is compared with.",
)
@click.option(
    "--mutation",
    metavar="ID",
    help="A known bug of the coordinator to put into the model; see `list mutations`.",
)
@click.option(
    "--assignor",
    "assignors",
    multiple=True,
    metavar="NAME",
    help="Of `assignors` this one; all, if none is given.",
)
@click.option("--max-rows", type=COUNT, metavar="N", help="Give up (unknown) after N rows.")
@click.option(
    "--seed",
    type=COUNT,
    default=0,
    show_default=True,
    metavar="N",
    help="Of the ids, and with them of every hash order.",
)
@click.option(
    "--diff",
    nargs=2,
    metavar="OLD NEW",
    help="Two Kafka versions instead: what differs between their coordinators.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Schedules of raw requests to a real broker instead, over the socket.",
)
@click.option(
    "--schedules", type=COUNT, metavar="N", help="How many, with --live; 300 if left out."
)
@click.option(
    "--findings", is_flag=True, help="Also ask the real memory for what the coordinator promises."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document (groupcheck.conform/1)."
)
@click.option(
    "--parquet", type=FILE, metavar="FILE", help="Write a table with every row (docs/tables.md)."
)
@click.option(
    "--junit",
    type=FILE,
    metavar="FILE",
    help="Write a JUnit XML file: one test case for each kind of row.",
)
def conform(**options: Any) -> int:
    """Execute every row of VARIANT's coordinator on the real one, in a JVM, and compare. Exits with
    1 where they differ.

    With `assignors` for VARIANT: the assignors against Kafka's classes, on all small inputs and
    10,000 larger ones.
    """
    from groupcheck.oracles.commands import conform

    return conform(**options)


@click.command(cls=Once, short_help="Judge an assignment of partitions to members.")
@click.argument("file", type=FILE, required=False)
@click.option(
    "--prove",
    is_flag=True,
    help="Prove what holds for any number of members and partitions instead.",
)
@click.option(
    "--against",
    metavar="NAME",
    help="Look for what is wrong with the assignors of kafka-python, aiokafka or apache, with"
    ' module:function, module:Class or "program: COMMAND" instead.',
)
@click.option(
    "--like",
    metavar="ASSIGNOR",
    help="With --against: the assignor of Kafka whose promises a function, class or program makes.",
)
@click.option(
    "--examples",
    type=COUNT,
    metavar="N",
    help="With --against: groups of each kind that are drawn; 250 if left out.",
)
@click.option(
    "--kafka",
    metavar="VERSION",
    help="With --against apache: the Kafka version; the newest if left out.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON document (groupcheck.assign/1, assign-sequence/1, prove/1 or against/1).",
)
@click.option(
    "--html",
    type=FILE,
    metavar="FILE",
    help="Write a page: members by partitions, what is wrong marked, and beside it what is right.",
)
@click.option(
    "--junit",
    type=FILE,
    metavar="FILE",
    help="Write a JUnit XML file: one test case for each promise.",
)
def assign(**options: Any) -> int:
    """Judge the assignment, or the sequence of them, in FILE (- for standard input;
    docs/assignment.md): what is wrong with it, the fewest moves, and one that is right. Exits with
    1 if it is wrong.

    --prove exits with 0 if every statement is proved and every mutant of it refuted. --against
    exits with 1 if it finds an assignment that breaks a promise, and shows the smallest with code
    that makes it again. A program reads one JSON object a line, {"topics": {"t": 2}, "members":
    [{"id": "A", "topics": ["t"], "owned": {"t": [0]}, "generation": 1, "instance": null, "rack":
    null}]}, and answers {"assignment": {"A": {"t": [0, 1]}}} or {"failed": "why"} in one line.
    """
    from groupcheck.oracles.commands import assign

    return assign(**options)


@click.command(cls=Once, short_help="Record real clients on a real broker, for `replay`.")
@click.argument("command", nargs=-1, metavar="[-- COMMAND...]")
@click.option(
    "--scenario",
    metavar="NAME",
    help="A built-in scenario instead of a command; see `list scenarios`.",
)
@click.option(
    "--client",
    metavar="NAME",
    help="Of a scenario: kafka-python (the default), aiokafka, confluent-kafka or java.",
)
@click.option(
    "--out",
    type=FILE,
    metavar="DIR",
    help="The folder for the recording; a new one, named after the time, if left out.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="How its files begin; the scenario's or the program's name if left out.",
)
@click.option(
    "--kafka",
    default="4.3.0",
    show_default=True,
    metavar="VERSION",
    help="The Kafka version of the broker.",
)
@click.option(
    "--topic",
    "topics",
    type=BUDGET,
    multiple=True,
    metavar="NAME=N",
    help="A topic with N partitions, made before the command runs.",
)
@click.option(
    "--set",
    "settings",
    type=SETTING,
    multiple=True,
    metavar="NAME=VALUE",
    help="A property of the broker.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document (groupcheck.record/1)."
)
def record(**options: Any) -> int:
    """Start a broker of Apache Kafka, run COMMAND (its address is in KAFKA_BOOTSTRAP_SERVERS and
    GROUPCHECK_BOOTSTRAP) or a scenario, and keep what its groups did. Exits with COMMAND's exit
    code.
    """
    from groupcheck.oracles.commands import record

    return record(**options)
