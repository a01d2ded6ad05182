"""What there is, by kind, as plain rows: variants, invariants, rules, goals, faults, assignors,
formats, mutations, scenarios, fields of the scope, anomalies, samples, JSON Schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from groupcheck.model.mutations import Mutation
from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants.registry import names
from groupcheck.oracles.explain.subject import every_mutation, promises, variant_named
from groupcheck.oracles.explain.zeros import OPTIONS
from groupcheck.oracles.printable import printable, sentence
from groupcheck.oracles.record.scenarios import SCENARIOS
from groupcheck.oracles.show.json_schemas import described
from groupcheck.traces.anomaly_kinds import KINDS
from groupcheck.traces.formats import NAMED, REPLAYED
from groupcheck.traces.shipped import FOLDER, PREFIX, SAMPLES

Row = dict[str, Any]
# Types of the fields of a scope, in words; any other is shown as it is annotated.
TYPES = {
    "int": "number",
    "int | None": "number or none",
    "bool": "yes or no",
    "str": "text",
    "tuple[tuple[str, int], ...]": "budgets",
}


def listing(kind: str, variant: str | None = None) -> list[Row]:
    """The rows of a kind, of one variant or of all, in a stable order. Raises `UserError` for an
    unknown variant.
    """
    chosen = [variant_named(name) for name in ([variant] if variant else names())]
    if kind in _OF_NO_VARIANT:
        return list(_OF_NO_VARIANT[kind]())
    if kind == "mutations":
        return [_mutation(m) for m in every_mutation() if m.variant in {v.name for v in chosen}]
    return [row for v in chosen for row in _ROWS[kind](v)]


def _variant(v: Variant) -> Iterator[Row]:
    yield {"name": v.name, "title": v.title, "doc": v.doc}


def _rules(v: Variant) -> Iterator[Row]:
    for r in v.spec(v.scope_type()).rules:
        yield {
            "variant": v.name,
            "name": r.name,
            "outcomes": list(r.labels),
            "urgent": r.urgent,
            "doc": sentence(r.doc) + "." * bool(r.doc),
        }


def _invariants(v: Variant) -> Iterator[Row]:
    for p in promises(v.name).invariants:
        yield {
            "variant": v.name,
            "name": p.name,
            "statement": " ".join(p.statement.split()),
            "source": p.source,
        }


def _goals(v: Variant) -> Iterator[Row]:
    for p in promises(v.name).goals:
        yield {"variant": v.name, "name": p.name, "statement": " ".join(p.statement.split())}


def _faults(v: Variant) -> Iterator[Row]:
    for name, doc in v.faults.items():
        yield {"variant": v.name, "name": name, "doc": doc}


def _assignors(v: Variant) -> Iterator[Row]:
    for name, doc in v.assignors.items():
        yield {"variant": v.name, "name": name, "doc": doc}


def _mutation(m: Mutation) -> Row:
    return {
        "id": m.id,
        "ticket": m.ticket,
        "variant": m.variant,
        "rule": m.rule,
        "invariant": m.invariant,
        "title": m.title,
    }


def _formats() -> Iterator[Row]:
    for known, replayed in ((REPLAYED, True), (NAMED, False)):
        for name, doc in known.items():
            yield {"name": name, "replayed": replayed, "doc": doc}


def _scenarios() -> Iterator[Row]:
    for scenario in SCENARIOS.values():
        yield {"name": scenario.name, "doc": scenario.doc}


def _scope(v: Variant) -> Iterator[Row]:
    for f in attrs.fields(v.scope_type):
        yield {
            "variant": v.name,
            "name": f.name,
            "option": _option(f.name),
            "type": TYPES.get(str(f.type), str(f.type)),
            "default": None if isinstance(f.default, attrs.Factory) else _given(f.default),  # type: ignore[arg-type]
            "doc": f.metadata.get("doc", ""),
        }


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


def _anomalies() -> Iterator[Row]:
    for kind in KINDS:
        yield {
            "name": kind.name,
            "logs": kind.logs,
            "threshold": kind.threshold,
            "doc": kind.meaning,
        }


def _schemas() -> Iterator[Row]:
    for one in described():
        yield {
            "name": one.name,
            "version": one.version,
            "schema": one.title,
            "file": one.file,
            "doc": one.schema["description"],
        }


def _samples() -> Iterator[Row]:
    for name, sample in SAMPLES.items():
        command = f"groupcheck {sample.command} {PREFIX}{name}"
        yield {
            "name": name,
            "command": command,
            "file": str(FOLDER / sample.file),
            "doc": sample.doc,
        }


EXPLANATIONS = ("title", "statement", "doc", "file")  # on a line of their own

_ROWS: dict[str, Callable[[Variant], Iterator[Row]]] = {
    "variants": _variant,
    "rules": _rules,
    "invariants": _invariants,
    "goals": _goals,
    "faults": _faults,
    "assignors": _assignors,
    "scope": _scope,
}
_OF_NO_VARIANT: dict[str, Callable[[], Iterator[Row]]] = {
    "formats": _formats,
    "scenarios": _scenarios,
    "samples": _samples,
    "anomalies": _anomalies,
    "schemas": _schemas,
}


def view(rows: Sequence[Row]) -> Group:
    """The rows for a terminal: a line with the name and what is short, then the explanation below
    it.
    """
    if not rows:
        return Group(Text("there is none"))
    several = len({row.get("variant") for row in rows}) > 1
    parts: list[RenderableType] = []
    for row in rows:
        head = Text(printable(row.get("name") or row["id"]), "bold")
        for name, value in row.items():
            if (
                name not in ("id", "name", *EXPLANATIONS)
                and value not in ("", [], False, None)
                and (several or name != "variant")
            ):
                head.append(f"  {name}" if value is True else f"  {name} {_words(value)}", "dim")
        parts.append(head)
        parts += [
            Padding(Text(printable(row[name])), (0, 0, 0, 4))
            for name in EXPLANATIONS
            if row.get(name)
        ]
    return Group(*parts)


def _words(value: Any) -> str:
    return printable(", ".join(value) if isinstance(value, list) else str(value))
