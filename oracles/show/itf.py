"""A path in the Informal Trace Format (ITF), for Apalache, Quint and what else reads it.

Source: Apalache ADR-015 (revision of 2023-09-14: every integer is a `#bigint`). Slots are the
variables; an array is a map from index to value, a frozen value a record, a set a `#set`, a tuple a
`#tup`. None is the variant `{"tag": "None", ...}`, as Quint writes it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs

from groupcheck import __version__
from groupcheck.model.engine.errors import shown
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import Path, Step, Violation
from groupcheck.oracles.explain.subject import Subject
from groupcheck.oracles.printable import WIDEST, in_order, plain, printable


def trace(about: Subject, violation: Violation) -> dict[str, Any]:
    """The path of a violation as an ITF document; each state's `#meta` names the rule that led to
    it and the index it stood for.
    """
    what = f"{violation.invariant} is broken in the last state or by the last step"
    return path_trace(about, violation.path, violation.key, what, "violation")


def path_trace(about: Subject, path: Path, key: str, what: str, status: str) -> dict[str, Any]:
    """Any path as an ITF document. `what`: what there is to see in it; `status`: as ITF has it."""
    named = Semantics(about.spec).named
    loop = path.loop_from
    steps: tuple[Step | None, ...] = (None, *path.steps)
    return {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "description": f"{what} (groupcheck {__version__}, key {key})",
            "source": about.title,
            "status": status,
        },
        "vars": list(about.spec.slots),
        **({} if loop is None else {"loop": loop}),
        "states": [
            {
                "#meta": _about(number, step),
                **{name: _slot(about, name, value) for name, value in named(state).items()},
            }
            for number, (step, state) in enumerate(zip(steps, path.states))
        ],
    }


def _about(number: int, step: Step | None) -> dict[str, Any]:
    if step is None:
        return {"index": number}
    return {
        "index": number,
        "action": step.firing.name,
        "me": step.firing.me,
        **({"others": list(step.firing.others)} if step.firing.others else {}),
        "urgent": [f.name for f in step.urgent],
    }


def _slot(about: Subject, name: str, value: Any) -> Any:
    if about.spec.slots[name].size is None:
        return expression(value)
    return {"#map": [[expression(i), expression(v)] for i, v in enumerate(value)]}


def expression(value: Any) -> Any:
    """A value as an ITF expression."""
    if value is None:
        return {"tag": "None", "value": {"#tup": []}}
    if isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum) and not isinstance(value, enum.Flag):
        return plain(value)
    if isinstance(value, enum.Flag):
        return {"#set": plain(value)}
    if isinstance(value, int) and value.bit_length() <= WIDEST:
        return {"#bigint": str(int(value))}
    if isinstance(value, str):
        return value
    if attrs.has(type(value)):
        return {f.name: expression(getattr(value, f.name)) for f in attrs.fields(type(value))}
    if isinstance(value, set | frozenset):
        return {"#set": [expression(v) for v in in_order(value)]}
    if isinstance(value, tuple | list):
        return {"#tup": [expression(v) for v in value]}
    if isinstance(value, Mapping):
        return {"#map": [[expression(k), expression(v)] for k, v in value.items()]}
    return {"#unserializable": printable(shown(value))}
