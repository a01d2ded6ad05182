"""The plain rows of `groupcheck list`: variants, features, invariants, rules, goals,
promises about progress, faults, assignors, formats, mutations, scenarios, fields of the scope,
anomalies, causes, statements of logs, samples, JSON Schemas, assumptions of simulations, what
Kafka's client does with each error, statements of the sources.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.model.engine.rule import Rule
from groupcheck.model.mutations import Mutation
from groupcheck.model.protocol.classic.composition import every_feature
from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants.registry import every_name, load, names
from groupcheck.oracles.explain.client_errors import cells
from groupcheck.oracles.explain.subject import every_mutation, promises, variant_named
from groupcheck.oracles.explain.zeros import OPTIONS
from groupcheck.oracles.printable import printable, sentence
from groupcheck.oracles.record.scenarios import SCENARIOS
from groupcheck.oracles.simulate.assumptions import Assumptions, documented
from groupcheck.oracles.simulate.document import assumptions as assumed
from groupcheck.traces.causes.knowledge import in_general, shipped_knowledge
from groupcheck.traces.clients.sentences import kinds
from groupcheck.traces.findings.anomaly_kinds import KINDS
from groupcheck.traces.formats import CLIENTS, REPLAYED
from groupcheck.traces.sample_files import FOLDER, PREFIX, SAMPLES

Row = dict[str, Any]
SOURCES = Path(__file__).with_name("sources.json")
# Types of the fields of a scope, in words; any other is shown as it is annotated.
TYPES = {
    "int": "number",
    "int | None": "number or none",
    "bool": "yes or no",
    "bool | None": "yes or no",
    "str": "text",
    "str | None": "text or none",
    "tuple[tuple[str, int], ...]": "budgets",
}


def listing(kind: str, variant: str | None = None) -> list[Row]:
    """The rows of a kind, of one variant or of all, in a stable order. Raises `UserError` for an
    unknown variant.
    """
    named = [variant_named(variant)] if variant else None
    if kind in _OF_NO_VARIANT:
        return _OF_NO_VARIANT[kind]()
    chosen = named or [variant_named(name) for name in every_name()]
    if kind == "mutations":
        return [_mutation(m) for m in every_mutation() if any(m.concerns(v) for v in chosen)]
    return [{"variant": v.name, **row} for v in chosen for row in _OF_A_VARIANT[kind](v)]


def _rules(v: Variant) -> list[Row]:
    """The rules of its scope by default, then those that only other scopes have."""
    scopes = (v.scope_type(), *(v.scope_type(**cover.fields) for cover in v.covers))
    rules: dict[str, Rule] = {}
    for scope in scopes:
        for r in v.spec(scope).rules:
            rules.setdefault(r.name, r)
    return [
        {
            "name": r.name,
            "outcomes": list(r.labels),
            "urgent": r.urgent,
            "doc": sentence(r.doc) + "." * bool(r.doc),
        }
        for r in rules.values()
    ]


def _invariants(v: Variant) -> list[Row]:
    said = promises(v)
    return [
        {
            "name": p.name,
            "statement": " ".join(p.statement.split()),
            "source": p.source,
            "known_to_break": p in said.not_promised,
        }
        for p in (*said.invariants, *said.not_promised)
    ]


def _progress(v: Variant) -> list[Row]:
    """Its promises about runs; nothing where it does not say what is fair."""
    kept = promises(v).progress if v.progress is not None else ()
    return [
        {
            "name": p.name,
            "kind": p.kind.replace("_", " "),
            "statement": " ".join(p.statement.split()),
            "source": p.source,
        }
        for p in kept
    ]


def _goals(v: Variant) -> list[Row]:
    return [{"name": p.name, "statement": " ".join(p.statement.split())} for p in promises(v).goals]


def _documented(docs: Mapping[str, str]) -> list[Row]:
    return [{"name": name, "doc": doc} for name, doc in docs.items()]


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.15g}"


def _assumptions() -> list[Row]:
    default = assumed(Assumptions())
    return [
        {"name": name, "default": _text(default.get(name, "by scenario")), "doc": doc}
        for name, doc in documented().items()
    ]


def _scope(v: Variant) -> list[Row]:
    return [
        {
            "name": f.name,
            "option": _option(f.name),
            "type": TYPES.get(str(f.type), str(f.type)),
            "default": _default(f),
            "doc": f.metadata.get("doc", ""),
        }
        for f in attrs.fields(v.scope_type)
    ]


def _default(field: attrs.Attribute[Any]) -> str | None:
    """The default of a field of the scope; None if it depends on the others."""
    if isinstance(field.default, attrs.Factory):  # type: ignore[arg-type]
        return None
    switch = field.default is None and TYPES.get(str(field.type)) == TYPES["bool"]
    return _given(False if switch else field.default)


def _option(field: str) -> str:
    """The option of `check` that sets a field of the scope."""
    if field == "faults":
        return "--fault NAME=N"
    known = field in OPTIONS
    return f"--{field.replace('_', '-')}" if known else f"--set {field}=VALUE"


def _given(value: Any) -> str:
    """A default as the command line takes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == () else str(value)


def _variants() -> list[Row]:
    return [
        {
            "name": v.name,
            "title": v.title,
            "families": [family.name for family in v.every_family],
            "lacks": list(v.lacks),
            "real": v.real or f"none: {v.unreal}",
            "not_executed": list(v.unexecuted),
            "doc": v.doc,
        }
        for v in map(load, names())
    ]


def _features() -> list[Row]:
    return [
        {
            "name": f.name,
            "title": f.title,
            "needs": list(f.over),
            "excludes": [f"{name}: {why}" for name, why in f.refuses.items()],
            "doc": f.doc,
        }
        for f in every_feature().values()
        if not f.joint
    ]


def _mutation(m: Mutation) -> Row:
    return {
        "id": m.id,
        "ticket": m.ticket,
        "variant": m.family.base,
        "rule": m.rule,
        "invariant": m.invariant,
        "title": m.title,
    }


def _formats() -> list[Row]:
    return [
        {"name": name, "replayed": True, "doc": doc}
        for known in (REPLAYED, CLIENTS)
        for name, doc in known.items()
    ]


def _anomalies() -> list[Row]:
    return [
        {"name": kind.name, "logs": kind.logs, "threshold": kind.threshold, "doc": kind.meaning}
        for kind in KINDS
    ]


def _causes() -> list[Row]:
    return [
        {
            "name": cause.kind,
            "title": cause.title,
            "severity": cause.severity,
            "settings": list(cause.settings),
            "source": cause.source,
            "doc": in_general(cause.action),
        }
        for cause in shipped_knowledge().causes.values()
    ]


def _statements() -> list[Row]:
    return [
        {"name": name, "trouble": kind.trouble, "doc": kind.meaning}
        for name, kind in kinds().items()
    ]


def _schemas() -> list[Row]:
    from groupcheck.oracles.command_line.documents import (  # every command's types: late
        documents,
        schema_files,
    )

    every = list(documents())
    files = schema_files(every)
    return [
        {
            "name": one.name,
            "version": one.version,
            "schema": one.title,
            **({"file": files[one.name]} if files else {}),
            "doc": one.schema["description"],
        }
        for one in every
    ]


def _samples() -> list[Row]:
    return [
        {
            "name": name,
            "command": f"groupcheck {sample.command} {PREFIX}{name}",
            "file": str(FOLDER / sample.file),
            "doc": sample.doc,
        }
        for name, sample in SAMPLES.items()
    ]


def _errors() -> list[Row]:
    return [
        {"name": cell.name, "when": cell.when, "row": cell.row, "rule": cell.rule,
         "source": cell.source, "doc": cell.does}
        for cell in cells()
    ]  # fmt: skip


def _sources() -> list[Row]:
    """The rows of docs/sources.md; `pytest tests/test_sources.py --rewrite` writes the file."""
    found: list[Row] = json.loads(SOURCES.read_text("utf-8"))
    return found


EXPLANATIONS = ("title", "statement", "doc", "file")  # on lines of their own

_OF_A_VARIANT: dict[str, Callable[[Variant], list[Row]]] = {
    "rules": _rules,
    "invariants": _invariants,
    "goals": _goals,
    "progress": _progress,
    "faults": lambda v: _documented(v.faults),
    "assignors": lambda v: _documented(v.assignors),
    "scope": _scope,
}
_OF_NO_VARIANT: dict[str, Callable[[], list[Row]]] = {
    "variants": _variants,
    "features": _features,
    "formats": _formats,
    "scenarios": lambda: _documented({one.name: one.doc for one in SCENARIOS.values()}),
    "samples": _samples,
    "assumptions": _assumptions,
    "anomalies": _anomalies,
    "causes": _causes,
    "statements": _statements,
    "schemas": _schemas,
    "errors": _errors,
    "sources": _sources,
}


def view(rows: Sequence[Row]) -> Group:
    """The rows for a terminal: a line with the name and what is short, the explanation below it.
    Rows that differ in the variant alone are shown once, and below a name all that it means.
    """
    if not rows:
        return Group(Text("there are none"))
    shared: dict[str, Row] = {}
    for row in rows:
        same = shared.setdefault(repr({**row, "variant": None}), {**row, "variant": []})
        same["variant"].append(row.get("variant"))
    several = len({repr(row["variant"]) for row in shared.values()}) > 1
    hidden = {"id", "name", *EXPLANATIONS} | (set() if several else {"variant"})
    parts: list[RenderableType] = []
    meanings: dict[str, list[Row]] = {}
    for row in shared.values():
        meanings.setdefault(row.get("name") or row["id"], []).append(row)
    for named, row in ((name, row) for name, rows in meanings.items() for row in rows):
        short = [
            f"{name.replace('_', ' ')} {'' if value is True else _words(value)}".strip()
            for name, value in row.items()
            if name not in hidden and value not in ("", [], False, None)
        ]
        head = Table.grid(padding=(0, 2, 0, 0))
        told = Text("  ".join(short), "dim", overflow="fold")
        if row is meanings[named][0]:
            head.add_row(Text(printable(named), "bold", overflow="fold"), told)
        else:
            head.add_row(Text(" "), told)
        parts.append(head)
        explained = (Text(printable(row[name])) for name in EXPLANATIONS if row.get(name))
        parts += [Padding(text, (0, 0, 0, 4)) for text in explained]
    return Group(*parts)


def _words(value: Any) -> str:
    return printable(", ".join(value) if isinstance(value, list) else str(value))
