"""Exhibits that were carried out, as text and as a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.text import Text

from groupcheck.model.mutations import mutation
from groupcheck.oracles.museum.bugs_real_types import BugsRealDocument
from groupcheck.oracles.museum.performing import Performance
from groupcheck.oracles.museum.seen import PerformanceRecord
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show import json_schemas

SCHEMA = "groupcheck.bugs-real/1"
GONE = "the bug does not show"


def document(shown: Sequence[Performance]) -> dict[str, Any]:
    """All that `bugs --real --json` prints."""
    found = BugsRealDocument(
        verdict="reproduced" if all(one.reproduced for one in shown) else "not reproduced",
        exhibits=[one.shown() for one in shown],
    )
    return json_schemas.document(SCHEMA, found)


def view(shown: Sequence[Performance], whole: bool) -> Group:
    """Each exhibit with what both releases did; with all that was seen of them if `whole`."""
    parts: list[Text] = []
    for one in shown:
        exhibit, told = one.exhibit, one.found.told
        state = ("reproduced", "bold green") if one.reproduced else ("NOT SHOWN", "bold red")
        title = printable(mutation(exhibit.mutation).title)
        parts += [
            Text.assemble(state, "  ", (exhibit.mutation, "bold"), f"  {exhibit.ticket}  {title}"),
            Text(f"    path: {told.depth} steps to {told.invariant}, key {told.key}", "dim"),
        ]
        if one.found.walk:
            parts.append(Text(f"    walk it: {printable(one.found.walk)}", "dim"))
        if exhibit.why:
            parts.append(Text(f"    path of {' and '.join(one.path_of)}: {exhibit.why}", "dim"))
        for seen, bug in ((one.old, one.shows), (one.fixed, one.still)):
            parts.append(Text(f"    {said(seen, bug)}"))
            if whole:
                parts += [Text(f"      {printable(line)}") for line in seen.lines()]
        parts.append(Text(""))
    count = sum(one.reproduced for one in shown)
    parts.append(
        Text(f"{count} of {len(shown)} bugs show on the old release and not on the fixed one")
    )
    return Group(*parts)


def said(seen: PerformanceRecord, bug: str) -> str:
    """The behaviour of a release, in one line."""
    left = f" (it leaves the path in {seen.left_at})" if seen.left_at else ""
    return f"Kafka {seen.release}: {printable(bug) or GONE}{left}"
