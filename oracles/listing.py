"""What there is, by kind, as plain rows: variants, invariants, rules, goals, faults, assignors, formats, mutations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants.registry import names
from groupcheck.oracles.printable import printable, sentence
from groupcheck.oracles.subject import every_mutation, promises, variant_named

Row = dict[str, Any]


def listing(kind: str, variant: str | None = None) -> list[Row]:
    """The rows of a kind, of one variant or of all, in a stable order. Raises `UserError` for an unknown variant."""
    chosen = [variant_named(name) for name in ([variant] if variant else names())]
    if kind == "formats":
        return list(_formats())
    if kind == "mutations":
        return [_mutation(m) for m in every_mutation() if m.variant in {v.name for v in chosen}]
    return [row for v in chosen for row in _ROWS[kind](v)]


def _variant(v: Variant) -> Iterator[Row]:
    yield {"name": v.name, "title": v.title, "doc": v.doc}


def _rules(v: Variant) -> Iterator[Row]:
    for r in v.spec(v.scope_type()).rules:
        yield {"variant": v.name, "name": r.name, "outcomes": list(r.labels), "urgent": r.urgent, "doc": sentence(r.doc)}


def _invariants(v: Variant) -> Iterator[Row]:
    for p in promises(v.name).invariants:
        yield {"variant": v.name, "name": p.name, "statement": " ".join(p.statement.split()), "source": p.source}


def _goals(v: Variant) -> Iterator[Row]:
    for p in promises(v.name).goals:
        yield {"variant": v.name, "name": p.name, "statement": " ".join(p.statement.split())}


def _faults(v: Variant) -> Iterator[Row]:
    for name, doc in v.faults.items():
        yield {"variant": v.name, "name": name, "doc": doc}


def _assignors(v: Variant) -> Iterator[Row]:
    for name, doc in v.assignors.items():
        yield {"variant": v.name, "name": name, "doc": doc}


def _mutation(m: Any) -> Row:
    return {"id": m.id, "ticket": m.ticket, "variant": m.variant, "rule": m.rule, "invariant": m.invariant, "title": m.title}


def _formats() -> Iterator[Row]:
    formats: Any = import_module("groupcheck.traces.formats")
    for f in formats.every_format():
        yield {"name": f.name, "doc": sentence(f.doc)}


_ROWS: dict[str, Callable[[Variant], Iterator[Row]]] = {
    "variants": _variant,
    "rules": _rules,
    "invariants": _invariants,
    "goals": _goals,
    "faults": _faults,
    "assignors": _assignors,
}


def table(rows: Sequence[Row]) -> Table | Text:
    """The rows for a terminal."""
    if not rows:
        return Text("there is none")
    out = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False, show_edge=False)
    columns = [name for name in rows[0] if any(row[name] not in ("", [], False) for row in rows)]
    for name in columns:
        out.add_column(name, overflow="fold", no_wrap=name in ("id", "name"), ratio=1 if name in ("doc", "statement", "title") else None)
    for row in rows:
        out.add_row(*(Text(printable(_cell(row[name]))) for name in columns))
    return out


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
