"""The commands that face real code: `conform`, `assign` and `record`."""

from __future__ import annotations

from typing import Any

import click

from groupcheck.oracles.command_line.cli_scope import with_option
from groupcheck.oracles.command_line.help_page import Command, examples, names_in, names_of
from groupcheck.oracles.command_line.option_types import (
    BUDGET,
    COUNT,
    INPUT,
    PATH,
    POSITIVE,
    json_option,
    seed_option,
    settings_option,
    topics_option,
    writes,
)

KAFKA_VERSIONS = names_in("groupcheck.oracles.kafka.versions", "VERSIONS")
KAFKA_ASSIGNORS = names_in("groupcheck.oracles.kafka.assignors", "ASSIGNORS")
LIKE = names_in("groupcheck.oracles.assignment.promises", "ASSIGNORS")
CLIENTS = names_in("groupcheck.oracles.record.clients", "CLIENTS")


# Every mode takes --kafka and --json besides.
CONFORM_MODES = {
    "VARIANT": (
        "members generations fault set mutation seed max-rows max-differences findings coverage"
        " parquet junit"
    ),
    "VARIANT --side member": (
        "generations set mutation max-rows max-differences findings parquet junit"
    ),
    "VARIANT --diff": "members generations fault set mutation seed max-rows junit",
    "VARIANT --side member --diff": "generations set mutation max-rows junit",
    "VARIANT --jars": "members generations fault set mutation seed max-rows junit",
    "VARIANT --side member --jars": "generations set mutation max-rows junit",
    "VARIANT --whole": "members mutation max-differences seed schedules",
    "VARIANT --live": "members generations set mutation seed schedules junit",
    "assignors": "members assignor seed diff jars findings junit",
    "connect": "seed diff junit",
}


@click.command(
    cls=Command,
    modes=CONFORM_MODES,
    short_help="Compare the model with Apache Kafka's own coordinator, row by row.",
    epilog=examples(
        "groupcheck conform classic --members 1 --generations 1",
        "groupcheck conform classic --whole --members 2",
        "groupcheck conform classic --diff 4.0.0 4.3.0",
        "groupcheck conform classic --jars ~/kafka",
        "groupcheck conform assignors --assignor sticky",
        "groupcheck conform connect --kafka 3.3.2",
    ),
)
@click.argument("variant", default="classic", shell_complete=names_of("variants"))
@with_option
@click.option(
    "--side",
    type=click.Choice(["coordinator", "member", "leader"]),
    show_default="coordinator; leader if VARIANT is connect",
    help="Which side of the model to compare: the coordinator with Kafka's, the member with"
    " the one of Kafka's Java client, or the leader of Kafka Connect's workers.",
)
@click.option("--members", type=COUNT, metavar="N", help="Members of the group at the same time.")
@click.option("--generations", type=COUNT, metavar="N", help="Last generation to explore.")
@click.option(
    "--fault",
    "faults",
    type=BUDGET,
    multiple=True,
    metavar="NAME",
    shell_complete=names_of("faults"),
    help="Let this fault happen any number of times. Repeatable. Default: all faults; NAME=0"
    " alone: none.",
)
@settings_option(
    "Set a field of the scope, such as max_size, two_step or protocols; `groupcheck list scope"
    " --variant VARIANT` lists all. Repeatable."
)
@click.option(
    "--kafka",
    show_default="4.3.0; with --jars the one nearest to them",
    metavar="VERSION",
    shell_complete=KAFKA_VERSIONS,
    help="The version of Kafka to compare with.",
)
@click.option(
    "--mutation",
    metavar="ID",
    shell_complete=names_of("mutations"),
    help="Put a known bug of the side that is compared into the model; see `list mutations`.",
)
@click.option(
    "--assignor",
    "assignors",
    multiple=True,
    metavar="NAME",
    shell_complete=KAFKA_ASSIGNORS,
    help="With `assignors`: compare only this one. Repeatable. Default: all.",
)
@click.option("--max-rows", type=POSITIVE, metavar="N", help="Stop (unknown) after N rows.")
@click.option(
    "--max-differences",
    type=COUNT,
    metavar="N",
    help="Stop once N rows differ; 0: never. Default: 20.",
)
@seed_option("Seed of the member ids, and so of every hash order.")
@click.option(
    "--diff",
    nargs=2,
    metavar="OLD NEW",
    shell_complete=KAFKA_VERSIONS,
    help="Compare two Kafka versions with each other instead.",
)
@click.option(
    "--jars",
    type=PATH,
    metavar="DIR",
    help="Compare your own build of Kafka with a release instead. DIR is an unpacked build, or"
    " a checkout in which Gradle has built the jars. Their code is executed, with your rights.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Send schedules of raw requests to a real broker instead.",
)
@click.option(
    "--whole",
    is_flag=True,
    help="Run random schedules of a whole group instead: real members on a real coordinator,"
    " compared with the whole model.",
)
@click.option(
    "--schedules",
    type=POSITIVE,
    metavar="N",
    help="With --live or --whole: how many schedules. Default: 300; consumer groups have 25 of each"
    " of four kinds of group.",
)
@click.option(
    "--findings",
    is_flag=True,
    help="Also check what Kafka's coordinator promises, or with `--side member` what its member"
    " promises.",
)
@click.option(
    "--coverage",
    is_flag=True,
    help="Also count, with JaCoCo, the lines and branches of Kafka's own classes that were"
    " executed.",
)
@json_option("Print one JSON document (groupcheck.conform/1).")
@writes("--parquet", "Write a table with every row (docs/tables.md).")
@writes("--junit", "Write a JUnit XML file: one test case for each kind of row.")
def conform(**options: Any) -> int:
    """Execute every row of VARIANT's coordinator, or with `--side member` of its member, on Apache
    Kafka's own, in a JVM, and compare them. A row is a reachable memory with an input. Exits with
    1 if they differ, with 3 if not everything was executed or seen. Needs a JDK 17 and Maven.

    --live and --whole refuse a variant that they do not follow (exit code 2), and say which command
    compares it.

    If VARIANT is `assignors`, compare the assignors with Kafka's classes instead, on all small
    inputs and 10,000 larger ones. If it is `connect`, compare the leader of Kafka Connect's workers
    with Connect's own, round by round; versions of Kafka from 2.3.0 on are known there.
    """
    from groupcheck.oracles.command_line.commands import conform

    return conform(**options)


@click.command(
    cls=Command,
    short_help="Judge an assignment of partitions to members, or an assignor.",
    epilog=examples(
        "groupcheck assign sample:printed-range",
        "groupcheck assign assignment.json --html page.html",
        "groupcheck assign --against kafka-python",
        "groupcheck assign --against my_module:assign --like sticky",
    ),
)
@click.argument("file", type=INPUT, required=False)
@click.option(
    "--lines",
    is_flag=True,
    help="FILE has a document in each line; print a verdict in each line.",
)
@click.option(
    "--prove",
    is_flag=True,
    help="Prove statements for any number of members and partitions, instead of judging FILE.",
)
@click.option(
    "--against",
    metavar="NAME",
    help="Test an assignor instead of judging FILE: those of kafka-python, aiokafka or apache, or"
    ' your own as module:function, module:Class or "program: COMMAND".',
)
@click.option(
    "--like",
    metavar="ASSIGNOR",
    shell_complete=LIKE,
    help="With --against: the assignor of Kafka whose promises yours makes.",
)
@click.option(
    "--examples",
    type=POSITIVE,
    metavar="N",
    help="With --against: how many groups of each kind to try. Default: 250.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    help="With --against: the seed of the groups that are tried. Default: 0.",
)
@click.option(
    "--name",
    "called",
    metavar="NAME",
    help="With --against: what to call an assignor of your own.",
)
@click.option(
    "--except",
    "skipped",
    multiple=True,
    metavar="PROMISE",
    help="With --against: do not ask for this promise. Repeatable.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="With --against: also exit with 1 if answers vary, or if Kafka's own assignor breaks the"
    " promise, too.",
)
@click.option(
    "--baseline",
    type=PATH,
    metavar="FILE",
    help="With --against: a file of known violations, which do not fail, written by"
    " --write-baseline or --json.",
)
@writes(
    "--write-baseline",
    "With --against: write what is found as the baseline of later runs, and exit with 0.",
)
@click.option(
    "--kafka",
    metavar="VERSION",
    shell_complete=KAFKA_VERSIONS,
    help="With --against apache: the version of Kafka. Default: 4.3.0.",
)
@json_option(
    "Print one JSON document (groupcheck.assign/1, assign-sequence/1, prove/1 or against/1)."
)
@writes("--html", "Write a page that marks what is wrong and shows what is right beside it.")
@writes("--junit", "Write a JUnit XML file: one test case for each promise.")
def assign(**options: Any) -> int:
    """Judge an assignment, or a sequence of assignments: what is wrong with it, how few moves are
    enough, and an assignment that is right. FILE is JSON (docs/assignment.md), sample:NAME (`list
    samples`), or - for standard input. Exits with 1 if the assignment is wrong.

    --lines judges many: a document in each line of FILE, a verdict (groupcheck.assign-line/1) in
    each line of the output. A line that cannot be read is reported with its number. The exit code
    is 2 if there is such a line, else 1 if a document is wrong.

    FILE may add constraints (docs/assignment.md): stays, never, together, apart, topics_apart,
    nearby (racks), drain, at_most, at_least, capacity, level_weights, racks_at_most, moves_at_most.
    With "soft": PRICE a constraint may be broken, and the right assignment shown is one of the
    lowest price. If constraints exclude each other, the answer says which, and why.

    --prove exits with 0 if every statement is proved and every mutant of it is refuted.

    --against exits with 1 if it finds an assignment that breaks a promise. It shows the smallest
    one, with code that reproduces it. A function of your own is def assign(group), where group is a
    groupcheck.model.assignors.Group: group.topics are pairs (topic, partitions), and each of
    group.members has id, topics, owned, generation, instance and rack. It returns {"A": [("t", 0),
    ("t", 1)]} or {"A": {"t": [0, 1]}}. A program reads one JSON object per line, {"topics": {"t":
    2}, "members": [{"id": "A", "topics": ["t"], "owned": {"t": [0]}, "generation": 1, "instance":
    null, "rack": null}]}, and answers with one line, {"assignment": {"A": {"t": [0, 1]}}} or
    {"failed": "why"}.
    """
    from groupcheck.oracles.command_line.commands import assign

    return assign(**options)


@click.command(
    cls=Command,
    short_help="Record real clients on a real broker, for `replay`.",
    epilog=examples(
        "groupcheck record --topic orders=6 --out here -- pytest tests/consumers",
        "groupcheck record --scenario zombie --out here",
        "groupcheck record --scenario kill --client java --group-protocol consumer --out here",
    ),
)
@click.argument("command", nargs=-1, metavar="[-- COMMAND...]")
@click.option(
    "--scenario",
    metavar="NAME",
    shell_complete=names_of("scenarios"),
    help="Play a built-in scenario instead of running COMMAND; see `list scenarios`.",
)
@click.option(
    "--client",
    metavar="NAME",
    shell_complete=CLIENTS,
    help="With --scenario: kafka-python (the default), aiokafka, confluent-kafka or java.",
)
@click.option(
    "--group-protocol",
    type=click.Choice(("classic", "consumer")),
    default="classic",
    show_default=True,
    help="With --scenario: the protocol of its members; consumer (KIP-848) with confluent-kafka or"
    " java. Sessions and heartbeats are then the broker's.",
)
@click.option(
    "--out",
    type=PATH,
    metavar="DIR",
    help="The folder for the recording. Default: a new one, named after the time.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="The first part of the file names. Default: the name of the scenario or program.",
)
@click.option(
    "--kafka",
    default="4.3.0",
    show_default=True,
    metavar="VERSION",
    shell_complete=KAFKA_VERSIONS,
    help="The version of Kafka to run.",
)
@topics_option("Create a topic with N partitions before COMMAND runs. Repeatable.")
@settings_option("Set a property of the broker. Repeatable.")
@json_option("Print one JSON document (groupcheck.record/1).")
def record(**options: Any) -> int:
    """Start a broker of Apache Kafka, run COMMAND or a scenario, and record what its groups did.
    The address of the broker is in KAFKA_BOOTSTRAP_SERVERS and GROUPCHECK_BOOTSTRAP. Exits with the
    exit code of COMMAND. Needs a JDK 17 and Maven.
    """
    from groupcheck.oracles.command_line.commands import record

    return record(**options)
