"""The command `explore`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from groupcheck.oracles.command_line.cli_scope import (
    names_option,
    no_deadlock_option,
    scope_options,
    with_option,
)
from groupcheck.oracles.command_line.help_page import Command, examples, names_of

ASKED = (
    "members partitions generations any_faults assignor mutation faults settings invariants goals"
    " no_deadlock"
).split()


@click.command(
    "explore",
    cls=Command,
    short_help="Walk a protocol state by state, with words and pictures.",
    epilog=examples(
        "groupcheck explore classic --members 2 --any-faults 1",
        "groupcheck explore --from verdict.json",
        "groupcheck explore --from server.log --group my-group",
        "groupcheck explore my_protocol.py:my_spec --set nodes=3 --text",
        "groupcheck explore classic --do 'random 20' --do why",
    ),
)
@click.argument("variant", required=False, shell_complete=names_of("variants"))
@with_option
@scope_options
@names_option("invariant", "Judge only this invariant. FILE.py:NAME is one of your own.")
@names_option("goal", "A goal of your own, FILE.py:NAME, beside those of the variant.")
@no_deadlock_option
@click.option(
    "--from",
    "source",
    metavar="WHERE",
    help="Begin there: a key, a link of the explorer, a document of `check --json`, `explain"
    " --json`, `bugs --real --json` or `judge broker --json`, or a log of a group coordinator, as"
    " `replay` takes it. All but a key also say what is explored. LOG:LINE stands behind that line,"
    " and JUDGED:N takes the N-th schedule.",
)
@click.option("--group", metavar="ID", help="Walk this group of a log.")
@click.option("--text", is_flag=True, help="Walk in the terminal: commands on standard input.")
@click.option(
    "--do",
    multiple=True,
    metavar="COMMANDS",
    help="Walk in the terminal with these commands, separated by semicolons. Repeatable.",
)
@click.option(
    "--view",
    metavar="FILE.py:NAME",
    help="Show what this function of yours draws above the fields: view(state) returns the text of"
    " an SVG.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="The port of the page. Default: any that is free.",
)
@click.option(
    "--listen",
    metavar="ADDRESS",
    help="Serve the page at this address of the machine, so that others can open it. Default:"
    " 127.0.0.1, which only this machine reaches.",
)
@click.option(
    "--open",
    "opens",
    is_flag=True,
    help="Open the page in a browser, too. On Linux in one that runs already: what this command"
    " starts ends with it.",
)
def explore(
    variant: str | None,
    source: str | None,
    group: str | None,
    text: bool,
    do: Sequence[str],
    view: str | None,
    port: int,
    listen: str | None,
    opens: bool,
    **options: Any,
) -> int:
    """Walk VARIANT (a name, or FILE.py:NAME for a protocol of your own), state by state: what can
    happen next in words, what it changes, what every promise says, and the shortest way to a goal.

    A server on this machine shows the page until Ctrl-C. It prints the address, which holds a
    secret; open it in a browser. With --text
    or --do the walk is in the terminal, where `help` lists the commands. The walk is no verdict: it
    ends with 0, or with 2 after a command in a script that is not possible.
    """
    from groupcheck.oracles.command_line.commands import explore

    is_asked = any(options[name] not in (None, (), False) for name in ASKED)
    return explore(
        variant,
        source,
        is_asked,
        options,
        group=group,
        text=text,
        do=do,
        view=view,
        port=port,
        listen=listen,
        opens=opens,
    )
