"""The command line. Only click is imported here, so that `--help` is quick; every command imports
what it needs when it runs.

Exit codes: 0 holds, 1 violated, 2 bad usage or input, 3 unknown (also: interrupted, out of memory,
a bug in groupcheck itself).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from groupcheck import __version__
from groupcheck.oracles.command_line import (
    cli_advise,
    cli_coordinator,
    cli_curve,
    cli_explore,
    cli_judge,
    cli_kafka,
    cli_logs,
    cli_lookup,
    cli_simulate,
)
from groupcheck.oracles.command_line.cli_scope import (
    bound_options,
    names_option,
    no_deadlock_option,
    progress_option,
    scope_options,
    with_option,
)
from groupcheck.oracles.command_line.failures import (
    UNKNOWN,
    complain,
    failed,
    misuse,
    same_output,
)
from groupcheck.oracles.command_line.help_page import Command, examples, names_of
from groupcheck.oracles.command_line.option_types import (
    INPUT,
    PATH,
    POSITIVE,
    SECONDS,
    SIZE,
    WORKERS,
    json_option,
    with_workers,
    writes,
)
from groupcheck.oracles.command_line.streams import end_answer, prepare_streams
from groupcheck.oracles.processes.supervisor import supervised, was_interrupted

# numpy reads this when it is imported. Nothing here multiplies matrices, and each thread of its
# library takes address space: if that is limited, it ends the process with 1, which would say
# "violated".
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
KINDS = (
    "variants features invariants rules goals progress faults assignors formats mutations scenarios"
    " scope anomalies causes statements errors schemas samples assumptions sources"
).split()


class Commands(click.Group):
    command_class = Command


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, prog_name="groupcheck", message="%(prog)s %(version)s")
@click.option(
    "--debug", is_flag=True, envvar="GROUPCHECK_DEBUG", help="Show the traceback of an error."
)
def command(debug: bool) -> None:
    """A model checker and test oracle for Kafka consumer-group protocols.

    Exit codes: 0 holds, 1 violated, 2 bad usage or input, 3 unknown.

    GROUPCHECK_CACHE_DIR is the folder for compiled code and jars (default: ~/.cache/groupcheck).
    """


@command.command(
    short_help="Explore every state of a variant and check its invariants.",
    epilog=examples(
        "groupcheck check classic --members 3 --fault crash=1",
        "groupcheck check classic --mutation leader_forgotten --html story.html",
        "groupcheck check classic --with static,cooperative --members 2 --any-faults 1",
        "groupcheck check my_protocol.py:my_spec --set nodes=3",
    ),
)
@click.argument("variant", shell_complete=names_of("variants"))
@with_option
@scope_options
@names_option(
    "invariant",
    "Check only this invariant (with --progress: this promise about progress); see `list"
    " invariants`, `list progress`. FILE.py:NAME is one of your own.",
)
@names_option(
    "goal",
    "Show the shortest schedule that leads to this goal, and answer `unknown` if it is never met;"
    " see `list goals`. FILE.py:NAME is one of your own.",
)
@bound_options
@click.option(
    "--max-states",
    type=POSITIVE,
    metavar="N",
    help="Stop (unknown) above N states. Where symmetry is used, those that are stored count.",
)
@click.option("--max-seconds", type=SECONDS, metavar="S", help="Stop (unknown) after S seconds.")
@click.option(
    "--max-memory",
    type=SIZE,
    metavar="SIZE",
    help="Stop (unknown) before the process takes more than SIZE, such as 512M or 4G. Default: 4/5"
    " of the memory that the machine, its cgroups and ulimit leave.",
)
@click.option(
    "--workers",
    type=WORKERS,
    default=1,
    show_default=True,
    metavar="N",
    help="Threads for the search.",
)
@click.option("--checkpoint", type=PATH, metavar="DIR", help="Save the search to DIR as it goes.")
@click.option(
    "--resume",
    metavar="DIR",
    help="Continue from a checkpoint or a store (which --store names, too); with --spark from a"
    " store's URI.",
)
@click.option(
    "--spark",
    metavar="MASTER",
    help="Spread the search over Spark: local[2], spark://HOST:PORT, yarn, k8s://...",
)
@click.option(
    "--store",
    metavar="DIR",
    help="Keep the log of all states in a folder on disk, and only an index of it in memory, some 6"
    " bytes a state; it is a checkpoint, too. With --spark a URI that every executor must reach.",
)
@click.option(
    "--shards",
    type=POSITIVE,
    metavar="N",
    help="How many parts to split the states into. Default: one for each core.",
)
@click.option(
    "--hand-over",
    type=click.IntRange(min=0),
    metavar="N",
    help="Spread the search once a level has N states. Default: 100000.",
)
@progress_option
@click.option(
    "--engine",
    type=click.Choice(["fast", "plain", "reference"]),
    help="`fast` begins in plain Python, which answers small scopes, and goes on compiled; `plain`"
    " never compiles; `reference` is slow and obvious. Default: fast.",
)
@click.option(
    "--symmetry/--no-symmetry",
    default=None,
    help="Whether members that no rule tells apart are exchanged: one state is stored for all that"
    " differ only in their order; counts and verdicts stay. --symmetry is refused where that is"
    " impossible. Left out: with the fast engine, from three members on.",
)
@json_option("Print one JSON document (groupcheck.verdict/2).")
@writes(
    "--html",
    "Write a page with a swim-lane diagram of each counterexample and of the schedule of each"
    " --goal.",
)
@writes("--svg", "Write the swim-lane diagram of the first counterexample.")
@writes("--pytest", "Write a test that reproduces the counterexample.")
@writes("--itf", "Write the counterexample in the Informal Trace Format.")
@click.option(
    "--conformed",
    is_flag=True,
    help="Also say how many memories of the coordinator lie in scopes that `conform` has executed.",
)
@writes("--junit", "Write a JUnit XML file: one test case for each invariant.")
def check(**options: Any) -> int:
    """Explore every state of VARIANT within the scope and check its invariants.

    VARIANT is a name (`list variants`), or FILE.py:NAME for a protocol of your own: a Spec, a
    function that makes one (--set NAME=VALUE gives its arguments), or a Variant.

    The answer is unknown (exit code 3) if a fault named by --fault or a goal named by --goal never
    happens. A goal that is named and met is shown step by step, with a key for `explain`; it is no
    violation.
    """
    from groupcheck.oracles.command_line.commands import check

    return check(**options)


@command.command(
    short_help="Explain the path behind a key that `check` printed.",
    epilog=examples(
        "groupcheck explain classic gc1-0.0.2.2.0.3.0.0.2.1.2.0.1.0"
        " --mutation keeps_partitions_when_lost"
    ),
)
@click.argument("variant", shell_complete=names_of("variants"))
@with_option
@click.argument("key")
@scope_options
@names_option("invariant", "Only this invariant, as you gave it to `check`.")
@names_option("goal", "Mark the first step that meets this goal, as `check` does.")
@no_deadlock_option
@progress_option
@json_option("Print the path as one JSON document.")
@writes("--html", "Write a page with the swim-lane diagram.")
def explain(**options: Any) -> int:
    """Explain the path behind a KEY that `check` printed. Give the same variant, scope and mutation
    as you gave to `check`.
    """
    from groupcheck.oracles.command_line.commands import explain

    return explain(**options)


@command.command(
    short_help="Find every known bug again, each with its shortest counterexample.",
    epilog=examples("groupcheck bugs", "groupcheck bugs keeps_partitions_when_lost --json"),
)
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=names_of("mutations"))
@json_option("Print one JSON array.")
@writes("--parquet", "Write the table of bugs (docs/tables.md).")
@writes("--html", "Write a gallery: each bug with its story.")
@click.option(
    "--score", "scored", is_flag=True, help="Say which promise finds which bug (mutation score)."
)
@click.option(
    "--real",
    is_flag=True,
    help="Show bugs on real old releases of Kafka's client (needs a JDK 17 and Maven).",
)
@with_workers
def bugs(
    ids: Sequence[str],
    as_json: bool,
    parquet: Path | None,
    html: Path | None,
    scored: bool,
    real: bool,
    workers: int | None,
) -> int:
    """Find every known bug again, or only those named by ID, each with its shortest counterexample.
    Exits with 1 if a bug is not found. With --real, carry out the counterexample on an old release
    that has the bug and on one that has not; exits with 1 if the bug does not show on the old one,
    or still shows on the fixed one.
    """
    from groupcheck.oracles.command_line.commands import bugs

    return bugs(ids, as_json, parquet, html, scored, real, workers)


@command.command(
    short_help="Run many checks from one file, in this process or on Spark.",
    epilog=examples(
        "groupcheck sweep sample:sweep --out results",
        "groupcheck sweep checks.toml --out results --resume",
        "groupcheck sweep checks.toml --specs my_protocol.py",
    ),
)
@click.argument("file", type=INPUT)
@click.option(
    "--specs",
    type=INPUT,
    multiple=True,
    metavar="FILE.py",
    help="Allow FILE to name specs, invariants and rules in this Python file, as FILE.py:NAME."
    " Their code is run. Repeatable.",
)
@click.option(
    "--spark",
    metavar="MASTER",
    help="Run the checks on Spark's executors: local[2], spark://HOST:PORT, yarn, k8s://...",
)
@click.option(
    "--out",
    type=PATH,
    metavar="DIR",
    help="The folder for the results. Default: a new one, named after the time.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Continue from the results in --out; finished checks are not repeated.",
)
@click.option(
    "--workers",
    type=WORKERS,
    metavar="N",
    help="Processes for checks, or threads for a check that is alone; with --spark threads for each"
    " check (default: 1). Verdicts and counts do not depend on it. Default: all cores.",
)
@json_option("Print one JSON document (groupcheck.sweep/1).")
@writes("--junit", "Write a JUnit XML file: one test case for each cell.")
def sweep(**options: Any) -> int:
    """Run every check that FILE describes: combinations of variants, scopes, faults, mutations and
    invariants; and every simulation (as of the command simulate) under its [[simulate]]. FILE is
    TOML or YAML (docs/sweep.md), or sample:sweep. The results are sweep.parquet, sweep.html and,
    with simulations, simulations.parquet in --out.

    Exits with 1 if any check is violated, else with 3 if any is unknown, else with 0. A check whose
    verdict is the one that FILE expects counts as 0. A check that holds although FILE expects a
    violation counts as 1.
    """
    from groupcheck.oracles.command_line.commands import sweep

    return sweep(**options)


@command.command(
    short_help="Show a proof, a known bug with its counterexample, and a log explained.",
    epilog=examples("groupcheck demo"),
)
def demo() -> int:
    """Run three commands as you would type them: a proof, a known bug with its shortest
    counterexample, and a real broker's log explained.
    """
    from groupcheck.oracles.command_line.demo import demo

    return demo(run)


@command.command(
    "list",
    help="List everything of a kind, with an explanation of each.\n\nKIND is one of "
    + ", ".join(KINDS)
    + ".",
    epilog=examples("groupcheck list mutations", "groupcheck list faults --variant classic --json"),
)
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND")
@click.option(
    "--variant",
    metavar="NAME",
    shell_complete=names_of("variants"),
    help="List only what belongs to this variant.",
)
@json_option("Print one JSON array.")
def list_(kind: str, variant: str | None, as_json: bool) -> int:
    from groupcheck.oracles.command_line.commands import list_

    return list_(kind, variant, as_json)


for other in (
    cli_explore.explore,
    cli_logs.replay,
    cli_logs.generate,
    cli_kafka.conform,
    cli_kafka.assign,
    cli_kafka.record,
    cli_coordinator.coordinator,
    cli_simulate.simulate,
    cli_curve.curve,
    cli_advise.advise,
    cli_judge.judge,
    cli_lookup.offsets_partition,
    cli_lookup.connect_rounds,
):
    command.add_command(other)


def every_command() -> dict[str, click.Command]:
    """Each command by what is typed: `check`, `judge broker`."""
    found: dict[str, click.Command] = {}
    for name, one in command.commands.items():
        inner = one.commands if isinstance(one, click.Group) else {}
        found |= {f"{name} {sub}": there for sub, there in inner.items()} or {name: one}
    return found


def run(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code. Every error is one line on stderr, after its
    traceback if that is wanted.
    """
    debug = "--debug" in arguments or bool(os.environ.get("GROUPCHECK_DEBUG"))
    try:
        with same_output():
            code = int(
                command.main(list(arguments), prog_name="groupcheck", standalone_mode=False) or 0
            )
        sys.stdout.flush()
        return code
    except click.exceptions.NoArgsIsHelpError as help:
        click.echo(help.format_message(), err=True)
        return 2
    except click.ClickException as error:
        return complain(misuse(error), 2)
    except BaseException as error:
        # click says Abort for KeyboardInterrupt and EOFError.
        cause = error.__cause__ or error if isinstance(error, click.Abort) else error
        if isinstance(cause, KeyboardInterrupt) and was_interrupted():
            return complain("interrupted", UNKNOWN)
        return failed(cause, debug, arguments)


def main() -> NoReturn:
    """The `groupcheck` program."""
    prepare_streams()
    supervised(lambda: _work(sys.argv[1:]), complain)


def _work(arguments: Sequence[str]) -> int:
    code = run(arguments)
    try:
        if not sys.stdout.closed:  # by code of a user's
            end_answer()
    except OSError as error:
        # An answer that was cut is no verdict. Where the code says so, it was reported already.
        if code not in (2, UNKNOWN):
            code = failed(error, False, ())
    return code
