"""The page that `--help` shows (options in groups, examples at the end), and the words that the
shell completes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from groupcheck.oracles.command_line.option_types import Input, Output

SECTIONS = {  # a title, and the parameters below it; all others stand under "Options"
    "Mode": "side diff jars whole live".split(),
    "Scope": (
        "members partitions generations faults any_faults assignor settings mutation"
        " invariants goals"
    ).split(),
    "Search and limits": (
        "max_states max_seconds max_memory max_rows max_differences workers engine checkpoint"
        " resume store"
    ).split(),
    "Spark": "spark shards hand_over".split(),
    "Output": "as_json html svg pytest itf junit parquet out".split(),
}
OPTIONS_IN_ONE_LIST = 12  # fewer options are one list


class Command(click.Command):
    """A command whose help groups its options, where it has many, and says which of them belong to
    which of its modes, where it has modes.
    """

    def __init__(self, *args: Any, modes: Mapping[str, str] | None = None, **more: Any) -> None:
        """`modes`: how a mode is chosen -> the options that it takes besides those that all take,
        without their dashes.
        """
        super().__init__(*args, **more)
        self.modes = dict(modes or {})

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command, unless it would write over what it reads, or twice to one file. Code of
        users' that raises click's `Exit`, as commands of click do, has no say in the exit code.
        Raises `SystemExit` in place of `Exit`.
        """
        self._keeps_apart(ctx)
        try:
            return super().invoke(ctx)
        except click.exceptions.Exit as end:
            raise SystemExit(end.exit_code).with_traceback(end.__traceback__) from None

    def _keeps_apart(self, ctx: click.Context) -> None:
        given = [(p, value) for p in self.params if (value := ctx.params.get(p.name or ""))]
        outputs = {p.opts[0]: v for p, v in given if isinstance(p.type, Output) and v != "-"}
        if not outputs:
            return
        from groupcheck.oracles.explain.own import file_of
        from groupcheck.oracles.show.files import not_read

        every = [(p, v) for p, vs in given for v in (vs if isinstance(vs, tuple) else [vs])]
        read = [v for p, v in every if isinstance(p.type, Input)]
        read += [file for _, v in every if (file := file_of(v)) is not None]
        not_read(outputs, read)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        titles = SECTIONS if len(options) >= OPTIONS_IN_ONE_LIST else {}
        where = {name: title for title, names in titles.items() for name in names}
        for title in (*titles, "Options"):
            records = [
                record
                for option in options
                if where.get(option.name or "", "Options") == title
                and (record := option.get_help_record(ctx)) is not None
            ]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if self.modes:
            with formatter.section("Which mode takes which options"):
                formatter.write_dl(
                    [
                        (mode, " ".join(f"--{name}" for name in names.split()))
                        for mode, names in self.modes.items()
                    ]
                )


def examples(*commands: str) -> str:
    """The end of a command's help (click's `epilog`); `\\b` keeps its lines as they are."""
    return "\n".join(["\b", "Examples:", *(f"  {command}" for command in commands)])


Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def names_of(kind: str) -> Completion:
    """Completes the names that `groupcheck list KIND` shows, each once. They are read when the
    shell asks.
    """

    def names() -> Iterable[str]:
        from groupcheck.oracles.command_line.listing import listing

        return dict.fromkeys(str(row.get("name") or row["id"]) for row in listing(kind))

    return _completion(names)


def names_in(module: str, constant: str) -> Completion:
    """Completes the names that a constant of a module holds, imported when the shell asks."""
    return _completion(lambda: getattr(import_module(module), constant))


def _completion(names: Callable[[], Iterable[str]]) -> Completion:
    def complete(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in names() if name.startswith(typed)]

    return complete
