"""The command line. Only click is imported here, so that `--help` is quick; every command imports
what it needs when it runs.

Exit codes: 0 holds, 1 violated, 2 bad usage or input, 3 unknown (also: interrupted, out of memory,
a mistake of groupcheck's own).
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from groupcheck import __version__
from groupcheck.oracles import cli_real
from groupcheck.oracles.cli_scope import scope_options
from groupcheck.oracles.quantities import COUNT, FILE, SECONDS, SIZE, TEXT, Once

UNKNOWN = 3
# read when numpy is imported, which multiplies no matrices here: each thread of its library takes
# address space, and where that is limited it ends the process with 1, which would say "violated"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
_ASCII = {"─": "-", "━": "-", "…": "...", "→": "->"}
KINDS = (
    "variants",
    "invariants",
    "rules",
    "goals",
    "faults",
    "assignors",
    "formats",
    "mutations",
    "scenarios",
    "scope",
    "anomalies",
    "schemas",
    "samples",
)
DIALECTS = ("java-4", "java-4-debug", "java-3.8", "scala-3.5", "scala-2.4", "scala-1.1", "requests")


class Commands(click.Group):
    command_class = Once


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

    GROUPCHECK_CACHE_DIR: the folder for compiled code and jars, ~/.cache/groupcheck if not set.
    """


@command.command(short_help="Explore every state of a variant and check its invariants.")
@click.argument("variant")
@scope_options
@click.option(
    "--invariant",
    "invariants",
    multiple=True,
    metavar="NAME",
    help="Check these alone; see `list invariants`.",
)
@click.option(
    "--goal", "goals", multiple=True, metavar="NAME", help="A goal to be met; see `list goals`."
)
@click.option("--max-states", type=COUNT, metavar="N", help="Give up (unknown) above N states.")
@click.option("--max-seconds", type=SECONDS, metavar="S", help="Give up (unknown) after S seconds.")
@click.option(
    "--max-memory",
    type=SIZE,
    metavar="SIZE",
    help="Give up (unknown) before the process takes more than SIZE, e.g. 512M or 4G. "
    "If left out: 4/5 of what the machine, its cgroups and ulimit leave.",
)
@click.option(
    "--workers",
    type=COUNT,
    default=1,
    show_default=True,
    metavar="N",
    help="Threads that explore, and processes that call rules.",
)
@click.option("--checkpoint", type=FILE, metavar="DIR", help="Keep the run in DIR, level by level.")
@click.option(
    "--resume",
    type=TEXT,
    metavar="DIR",
    help="Go on from a checkpoint; with --spark, from a store.",
)
@click.option(
    "--spark",
    type=TEXT,
    metavar="MASTER",
    help="Spread the search over Spark: local[2], spark://HOST:PORT, yarn, k8s://...",
)
@click.option(
    "--store",
    type=TEXT,
    metavar="URI",
    help="With --spark: where states are kept, for all executors to reach.",
)
@click.option(
    "--shards",
    type=COUNT,
    metavar="N",
    help="With --spark: parts of the states; one for each core if left out.",
)
@click.option(
    "--hand-over",
    type=COUNT,
    metavar="N",
    help="With --spark: spread from the first level of N states on; 100000 if left out.",
)
@click.option(
    "--engine",
    type=click.Choice(["fast", "reference"]),
    help="`reference` is plain Python, slow and obvious. Left out: `fast`, except for small scopes"
    " where `fast` would have to be compiled first.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document (groupcheck.verdict/2)."
)
@click.option(
    "--html",
    type=FILE,
    metavar="FILE",
    help="Write a page with a swim-lane of each counterexample.",
)
@click.option(
    "--svg",
    type=FILE,
    metavar="FILE",
    help="Write the swim-lane of the first counterexample alone.",
)
@click.option(
    "--pytest", type=FILE, metavar="FILE", help="Write a test that reproduces the counterexample."
)
@click.option(
    "--itf",
    type=FILE,
    metavar="FILE",
    help="Write the counterexample in the Informal Trace Format.",
)
@click.option(
    "--junit",
    type=FILE,
    metavar="FILE",
    help="Write a JUnit XML file: one test case for each invariant.",
)
def check(**options: Any) -> int:
    """Explore every state of VARIANT within the scope and check its invariants.

    Unknown (3) if a fault named by --fault, or a goal named by --goal, never happens.
    """
    from groupcheck.oracles.commands import check

    return check(**options)


@command.command(short_help="Tell the story of a key that `check` gave.")
@click.argument("variant")
@click.argument("key")
@scope_options
@click.option("--json", "as_json", is_flag=True, help="Print the path as one JSON document.")
@click.option("--html", type=FILE, metavar="FILE", help="Write a page with the swim-lane.")
def explain(**options: Any) -> int:
    """Tell the story of a KEY that `check` gave, with the same variant, scope and mutation."""
    from groupcheck.oracles.commands import explain

    return explain(**options)


@command.command(short_help="Explain somebody's log: who rebalanced whom, and why.")
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="PATH...")
@click.option(
    "--format",
    "format",
    metavar="NAME",
    help="See `list formats`; found out by itself if left out.",
)
@click.option("--group", metavar="ID", help="This group alone.")
@click.option(
    "--variant",
    metavar="NAME",
    help="The protocol that the group speaks; found out by itself if left out.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON document (groupcheck.replay/1; with --spark groupcheck.archive/1).",
)
@click.option("--html", type=FILE, metavar="FILE", help="Write a page with the timeline.")
@click.option(
    "--spark",
    type=TEXT,
    metavar="MASTER",
    help="Replay whole archives by Spark (docs/archive.md): local[2], spark://host:7077, yarn, k8s://...",
)
@click.option(
    "--out",
    type=TEXT,
    metavar="URI",
    help="With --spark: the folder of the Parquet tables; what it holds already is not replayed again.",
)
def replay(files: Sequence[Path], spark: str | None, out: str | None, **options: Any) -> int:
    """Explain somebody's log: why each rebalance began, who held it up, which promise was broken.

    With --spark and --out, PATHs may be folders with thousands of logs, and the answer is a set of
    Parquet tables.
    """
    from groupcheck.oracles.commands import replay, replay_archive

    if spark is not None or out is not None:
        return replay_archive(files, spark, out, **options)
    return replay(files, **options)


@command.command(short_help="Find every known bug again, each with its shortest story.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
@click.option(
    "--parquet", type=FILE, metavar="FILE", help="Write the table of bugs (docs/tables.md)."
)
def bugs(ids: Sequence[str], as_json: bool, parquet: Path | None) -> int:
    """Find every known bug again (or these), each with its shortest story. Exits with 1 if one does
    not fall.
    """
    from groupcheck.oracles.commands import bugs

    return bugs(ids, as_json, parquet)


@command.command(short_help="Many checks from one file, here or on Spark.")
@click.argument("file", type=FILE)
@click.option(
    "--spark",
    type=TEXT,
    metavar="MASTER",
    help="Check the cells on Spark's executors: local[2], spark://host:7077, yarn, k8s://...",
)
@click.option(
    "--out",
    type=FILE,
    metavar="DIR",
    help="The folder for the results; a new one, named after the time, if left out.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Go on from the results in --out: cells that are done are not repeated.",
)
@click.option(
    "--workers",
    type=COUNT,
    default=1,
    show_default=True,
    metavar="N",
    help="Threads and rule-calling processes of each check.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document (groupcheck.sweep/1)."
)
@click.option(
    "--junit",
    type=FILE,
    metavar="FILE",
    help="Write a JUnit XML file: one test case for each cell.",
)
def sweep(**options: Any) -> int:
    """Run every check that FILE (TOML or YAML, docs/sweep.md) grows: variants, scopes, faults,
    mutations, invariants.

    Exits with the worst of all cells: 1 (violated) before 3 (unknown) before 0 (holds). A cell
    whose verdict is the one that FILE expects counts as 0; one that holds where a violation is
    expected, as 1. Results: sweep.parquet and sweep.html in --out.
    """
    from groupcheck.oracles.commands import sweep

    return sweep(**options)


@command.command(
    short_help="Write logs of any size from runs of the model, with the truth, for trying and measuring."
)
@click.option(
    "--out",
    type=FILE,
    required=True,
    metavar="DIR",
    help="A new folder: logs in DIR/logs, what really happened in DIR/truth.",
)
@click.option(
    "--groups",
    type=COUNT,
    default=10,
    show_default=True,
    metavar="N",
    help="Groups, dealt out to the files.",
)
@click.option(
    "--size",
    type=SIZE,
    default="1M",
    show_default=True,
    metavar="SIZE",
    help="Bytes of all logs together, about; 10M, 1G.",
)
@click.option(
    "--files",
    type=COUNT,
    default=1,
    show_default=True,
    metavar="N",
    help="Logs, each of one broker.",
)
@click.option(
    "--dialect",
    "dialects",
    type=click.Choice(DIALECTS),
    multiple=True,
    help="How the brokers write, in turn; java-4 if left out.",
)
@click.option(
    "--seed",
    type=COUNT,
    default=0,
    show_default=True,
    metavar="N",
    help="The same seed gives the same bytes.",
)
@click.option(
    "--runs",
    type=COUNT,
    default=30,
    show_default=True,
    metavar="N",
    help="Different runs of the model for each dialect.",
)
@click.option("--gzip", "packed", is_flag=True, help="Write gzip files.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document (groupcheck.generate/1)."
)
def generate(**options: Any) -> int:
    """Write logs as brokers of Apache Kafka write them, from random runs of the classic model, and
    the truth about every rebalance in them (docs/archive.md).
    """
    from groupcheck.oracles.commands import generate

    return generate(**options)


@command.command(short_help="A proof, a bug with its counterexample, a real log explained.")
def demo() -> int:
    """Run three commands as you would type them: a proof, a known bug with its shortest
    counterexample, and a real broker's log explained.
    """
    from groupcheck.oracles.demo import demo

    return demo(run)


@command.command("list")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--variant", metavar="NAME", help="Of this variant alone.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def list_(kind: str, variant: str | None, as_json: bool) -> int:
    """Name and explain what there is."""
    from groupcheck.oracles.commands import list_

    return list_(kind, variant, as_json)


for real in (cli_real.conform, cli_real.assign, cli_real.record):
    command.add_command(real)


def run(arguments: Sequence[str]) -> int:
    """One command, from its arguments to its exit code; every error is one line on stderr, after
    its traceback where that is wanted.
    """
    debug = "--debug" in arguments or bool(os.environ.get("GROUPCHECK_DEBUG"))
    try:
        code = int(
            command.main(list(arguments), prog_name="groupcheck", standalone_mode=False) or 0
        )
        sys.stdout.flush()
        return code
    except click.exceptions.NoArgsIsHelpError as help:
        click.echo(help.format_message(), err=True)
        return 2
    except click.ClickException as error:
        return _complain(error.format_message(), 2)
    except (KeyboardInterrupt, click.Abort):
        return _complain("interrupted", UNKNOWN)
    except (
        BrokenPipeError,
        SystemExit,
    ):  # a closed pipe, which click answers with sys.exit(1): 1 would say "violated"
        return UNKNOWN
    except (OSError, ImportError) as error:
        if "shared object" in str(error):  # a library that found no address space
            return _complain(OUT_OF_MEMORY, UNKNOWN, debug)
        if isinstance(error, ImportError):
            return _mistake(error, debug)
        return _complain(
            f"the answer cannot be written or the system refuses: {error.strerror or error}",
            UNKNOWN,
            debug,
        )
    except MemoryError:
        return _complain(OUT_OF_MEMORY, UNKNOWN, debug)
    except Exception as error:
        from groupcheck.model.engine.errors import RuleError, UserError

        if isinstance(error, UserError) and not isinstance(error, RuleError):
            return _complain(str(error), 2, debug)
        return _mistake(error, debug, kind="" if isinstance(error, RuleError) else None)


def _mistake(error: Exception, debug: bool, kind: str | None = None) -> int:
    kind = f"{type(error).__name__}: " if kind is None else kind
    return _complain(
        f"a mistake of groupcheck itself, please report it with the command line (groupcheck --debug shows more): {kind}{error}",
        UNKNOWN,
        debug,
    )


OUT_OF_MEMORY = "out of memory: raise the limit on memory or address space (ulimit -v), or make the scope smaller"


def _complain(text: str, code: int, debug: bool = False) -> int:
    from groupcheck.oracles.printable import printable

    if debug:
        click.echo(traceback.format_exc(), err=True, nl=False)
    click.echo(f"groupcheck: error: {printable(' '.join(text.split()))[:1000]}", err=True)
    return code


def _speakable(error: UnicodeError) -> tuple[str, int]:
    """What a terminal's or file's encoding cannot say: lines and dots as ASCII, the rest as
    escapes.
    """
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(
        _ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text
    ), error.end


class _Unheard(io.FileIO):
    """Where errors and progress go: whether anybody takes them is no matter of the verdict."""

    def write(self, text: Any) -> int:
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)


def _prepare_streams() -> None:
    """Streams that may be closed or full, or may not know every character, do not cost the exit
    code.
    """
    codecs.register_error("groupcheck", _speakable)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - lives as long as the program
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="groupcheck")
    if isinstance(sys.stderr, io.TextIOWrapper):
        raw = _Unheard(sys.stderr.fileno(), "w", closefd=False)
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(raw), sys.stderr.encoding, "groupcheck", line_buffering=True
        )


def main() -> NoReturn:
    """The `groupcheck` program."""
    _prepare_streams()
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except (
        OSError
    ):  # said already; the interpreter would say it again at exit, with a code of its own
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
