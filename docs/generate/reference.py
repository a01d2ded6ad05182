"""The reference pages, written from the code's own registries: nothing here is typed by hand."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

import attrs
import click
from named import Row, rows

import groupcheck
from groupcheck.model import engine
from groupcheck.model.variants import every_name
from groupcheck.oracles.archive.tables import TABLES
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.command_line.listing import listing
from groupcheck.oracles.conform.abstractions import ABSTRACTIONS
from groupcheck.oracles.explain import client_errors
from groupcheck.oracles.explain.subject import every_mutation


def cell(value: Any) -> str:
    """A text inside a table: one line, no bars, no tags; pages of docs/ that it names are links."""
    text = " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")
    return re.sub(r"\bdocs/(\w+\.md)", r"[\1](../\1)", text)


def code(value: Any) -> str:
    text = " ".join(str(value).split())
    return f"`{text}`" if text else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def page(title: str, lead: str, *parts: str) -> str:
    return "\n".join([f"# {title}\n", f"{lead}\n", *parts])


# Commands


def unwrapped(text: str) -> str:
    """A docstring of click's as Markdown: paragraphs stay, `\\b` marks a block that is verbatim."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        f"```text\n{p[2:].strip(chr(10))}\n```" if p.startswith("\b") else cell(p)
        for p in paragraphs
    )


def default(parameter: click.Parameter) -> str:
    value = parameter.default
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return code(value) if plain else ""


def parameter_row(parameter: click.Parameter, context: click.Context) -> list[str]:
    shown = " ".join(
        [", ".join(parameter.opts)]
        + [parameter.make_metavar(context)] * (not getattr(parameter, "is_flag", False))
    )
    if isinstance(parameter, click.Argument):
        shown = parameter.make_metavar(context)
    return [code(shown), default(parameter), cell(getattr(parameter, "help", None) or "")]


def command_entry(name: str, command: click.Command, examples: Sequence[str]) -> str:
    context = click.Context(command, info_name=f"groupcheck {name}")
    usage = command.get_usage(context).removeprefix("Usage: ")
    parts = [f"## {name}\n", unwrapped(command.help or ""), f"\n```text\n{usage}\n```\n"]
    rows = [parameter_row(p, context) for p in command.params if not getattr(p, "hidden", False)]
    parts.append(table(["argument or option", "default", "meaning"], rows))
    if command.epilog:
        parts.append(unwrapped(command.epilog) + "\n")
    elif examples:
        parts += ["Examples:\n", "```console", *(f"$ {e}" for e in examples), "```\n"]
    return "\n".join(parts)


def commands(examples: Callable[[str], Sequence[str]]) -> str:
    """`examples(name)`: commands of this name that the pages show."""
    entries = cli.every_command()
    return page(
        "Commands",
        "For everybody who types a command. You find every command with all of its arguments and"
        " options, as `groupcheck COMMAND --help` prints them.",
        unwrapped(cli.command.help or "") + "\n",
        *(command_entry(name, entries[name], examples(name)) for name in sorted(entries)),
    )


# What a variant has


def variants() -> list[str]:
    return every_name()


def headed(kind: str, variant: str, told: Callable[[dict[str, Any]], Iterable[str]]) -> str:
    """An entry with a heading for each row of a kind."""
    return "\n".join(
        f"### {row['name']}\n\n" + "".join(f"{text}\n\n" for text in told(row) if text)
        for row in listing(kind, variant)
    )


def once(kind: str, told: Callable[[dict[str, Any]], Iterable[str]]) -> list[str]:
    """The entries of all variants; those that are the same are told once, under all their names."""
    sections: dict[str, list[str]] = {}
    for variant in variants():
        sections.setdefault(headed(kind, variant, told), []).append(variant)
    return [f"## {', '.join(names)}\n\n{text}" for text, names in sections.items()]


def invariants() -> str:
    def told(row: dict[str, Any]) -> Iterable[str]:
        yield cell(row["statement"])
        if row.get("source"):
            yield f"*Source: {cell(row['source'])}*"

    return page(
        "Invariants",
        "For everybody who reads a verdict. You find what each invariant promises, and where Kafka"
        " promises it. `--invariant NAME` checks one alone.",
        *once("invariants", told),
    )


def promises() -> str:
    everywhere = len(variants())

    def named(row: Row) -> list[str]:
        stated = [
            code(name) + (f" ({', '.join(where)})" if len(where) < everywhere else "")
            for name, where in row.stated.items()
        ]
        executed = [f'the situation "{cell(name)}"' for name in row.situations]
        note = [cell(row.entry.note)] if row.entry.note else []
        told = "; ".join([*stated, *executed])
        return [row.id, cell(row.entry.title), row.entry.kind, told, "".join(note)]

    return page(
        "Promises by name",
        "For everybody who asks whether Kafka promises something. Each line is one promise: of the"
        " classic group (C), about what happens in the end (L), about a fail-over (X), or a"
        " counterexample that is known (K). You find how it is classified, and the invariants,"
        " goals, promises of `--progress` and situations of `conform` that state it, with the"
        " variants that check it; without variants, all do.",
        table(["id", "what it says", "class", "stated by", "exempt"], map(named, rows())),
    )


def goals() -> str:
    return page(
        "Goals",
        "For everybody who reads a verdict. A goal is a situation that should be possible: it shows"
        " that the model does what it is meant to do. A verdict says which goals its scope reached;"
        " `--goal NAME` asks for one.",
        *once("goals", lambda row: [cell(row["statement"])]),
    )


def pairs(kind: str, variant: str) -> str:
    rows = ([code(row["name"]), cell(row["doc"])] for row in listing(kind, variant))
    return table(["name", "meaning"], rows)


def faults() -> str:
    return page(
        "Faults",
        "For everybody who chooses a scope. `--fault NAME=N` lets a fault happen N times,"
        " `--any-faults N` any N of all.",
        *(f"## {v}\n\n{pairs('faults', v)}" for v in variants()),
    )


def scope_table(variant: str) -> str:
    rows = (
        [
            code(row["name"]),
            code(row["option"]),
            row["type"],
            "depends on the other fields" if row["default"] is None else code(row["default"]),
            cell(row["doc"]),
        ]
        for row in listing("scope", variant)
    )
    return table(["field", "option of `check`", "type", "default", "meaning"], rows)


def scope() -> str:
    parts = []
    for v in variants():
        parts.append(f"## {v}\n\n{scope_table(v)}\n### Assignors\n\n{pairs('assignors', v)}")
    return page(
        "Scope",
        "For everybody who runs a check. The scope bounds what is explored; a verdict is about the"
        " scope and about nothing else. In Python, fields are the keyword arguments of"
        " `groupcheck.check`.",
        *parts,
    )


def mutations() -> str:
    def entry(m: Any) -> str:
        bounds = ", ".join(f"{name} {value}" for name, value in m.scope.items())
        rows = [
            ["ticket", cell(m.ticket)],
            ["protocol", code(m.family.base)],
            ["rule that it changes", code(m.rule)],
            ["invariant that falls", f"[{m.invariant}](invariants.md#{m.invariant})"],
            ["smallest scope that shows it", cell(bounds)],
        ]
        doc = " ".join(m.doc.split())
        return f"## {m.id}\n\n{cell(m.title)}\n\n{cell(doc)}\n\n{table(['', ''], rows)}"

    return page(
        "Mutations",
        "For everybody who wants to see a bug. A mutation is a known bug that `--mutation ID` puts"
        " into the model; `groupcheck bugs` finds each of them again. The ticket says where the bug"
        " was reported; `seeded` marks those that were made up.",
        *map(entry, every_mutation()),
    )


def rules() -> str:
    def told(row: dict[str, Any]) -> Iterable[str]:
        yield cell(row["doc"])
        if row["outcomes"]:
            yield "Outcomes: " + ", ".join(map(code, row["outcomes"]))
        if row["urgent"]:
            yield "Urgent: it runs inside the step that makes it possible."

    return page(
        "Rules",
        "For everybody who asks what the model does, and what it leaves out. A rule is one step of"
        " the protocol.",
        *(f"## {v}\n\n{headed('rules', v, told)}" for v in variants()),
    )


# Logs


def anomalies() -> str:
    rows = (
        [code(r["name"]), cell(r["doc"]), cell(r["threshold"]) or "one case", r["logs"]]
        for r in listing("anomalies")
    )
    return page(
        "Anomalies",
        "For everybody who reads a replay. An anomaly stands out, but is no proof that somebody is"
        " at fault: each comes with its figures, so that you can judge it yourself.",
        table(["kind", "meaning", "reported from", "found in"], rows),
    )


def formats() -> str:
    rows = ([code(r["name"]), cell(r["doc"])] for r in listing("formats"))
    return page(
        "Log formats",
        "For everybody who has a log. groupcheck finds the format by itself.",
        table(["format", "meaning"], rows),
    )


def errors() -> str:
    sections = (
        f"## {request}\n\n" + table(["code", "what the client does"], map(list, rows))
        for request, rows in client_errors.by_request().items()
    )
    return page(
        "Errors of the Java client",
        "For everybody who reads an error code in a log or writes a client. You find what Kafka's"
        " Java client (the classic protocol) does with each answer of the coordinator: each"
        " request, each code. `groupcheck list errors` prints the same with the Java class that"
        " handles the answer; `groupcheck conform classic --side member` executes every cell on"
        " that class. -1 stands for every code that nobody expects.",
        *sections,
    )


def abstractions() -> str:
    rows = ([cell(name), cell(doc)] for name, doc in ABSTRACTIONS.items())
    return page(
        "Abstractions",
        "For everybody who asks how far the model can be trusted. These are the places where the"
        " model's coordinator is deliberately coarser than Apache Kafka's, and what `groupcheck"
        " conform` makes of each. Everything else is compared as it is. What a single rule leaves"
        " out is said at the rule ([Rules](../reference/rules.md)).",
        table(["abstraction", "what it means"], rows),
    )


def archive_tables() -> str:
    def entry(name: str) -> str:
        rows = ([code(c.name), cell(c.type), c.unit, cell(c.meaning)] for c in TABLES[name])
        return f"## {name}\n\n" + table(["column", "type", "unit", "meaning"], rows)

    return page(
        "Tables of an archive",
        "For everybody who queries an archive of logs ([Archives of logs](../archive.md)). You find"
        " every column of its Parquet tables.",
        *map(entry, TABLES),
    )


# Python


def signature(function: Any) -> str:
    """The signature, with a line for each parameter where it is long."""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
    if len(text) < 80:
        return text
    between = r", (?![^\[]*\])"  # a comma that is not inside the brackets of a type
    return re.sub(between, ",\n    ", text.replace("(", "(\n    ", 1))


def docstring(thing: Any) -> str:
    return inspect.getdoc(thing) or ""


def own_methods(cls: type) -> Iterable[tuple[str, Any]]:
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(member, FunctionType):
            yield name + signature(member), member
        elif isinstance(member, property) or type(member).__name__ == "cached_property":
            yield name, member


def python_entry(module: Any, name: str) -> str:
    thing = getattr(module, name)
    shown = ""
    if inspect.isfunction(thing) or (inspect.isclass(thing) and attrs.has(thing)):
        shown = f"```python\n{name}{signature(thing)}\n```\n\n"
    methods = ""
    if inspect.isclass(thing):
        methods = "".join(
            f"- `{head}`: {cell(docstring(member))}\n" for head, member in own_methods(thing)
        )
    return f"### {name}\n\n{shown}{docstring(thing)}\n\n{methods}"


def python() -> str:
    def entries(module: Any) -> str:
        return "\n".join(
            python_entry(module, n)
            for n in module.__all__
            if not n.startswith("_") and callable(getattr(module, n))
        )

    return page(
        "Python",
        "For everybody who calls groupcheck from a test, a notebook or a script, or writes a"
        " protocol. You find every public name.",
        "## groupcheck\n\n" + entries(groupcheck),
        "## groupcheck.model.engine\n\n" + entries(engine),
    )


def pages(examples: Callable[[str], Sequence[str]]) -> dict[str, str]:
    """Path in the site -> Markdown, for every page but the documents (documents.py)."""
    return {
        "reference/commands.md": commands(examples),
        "reference/scope.md": scope(),
        "reference/invariants.md": invariants(),
        "reference/promises.md": promises(),
        "reference/goals.md": goals(),
        "reference/faults.md": faults(),
        "reference/mutations.md": mutations(),
        "reference/rules.md": rules(),
        "reference/anomalies.md": anomalies(),
        "reference/formats.md": formats(),
        "reference/errors.md": errors(),
        "reference/archive_tables.md": archive_tables(),
        "reference/python.md": python(),
        "explanation/abstractions.md": abstractions(),
    }
