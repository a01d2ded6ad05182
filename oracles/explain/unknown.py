"""The error for a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from groupcheck.model.engine import UserError
from groupcheck.oracles.printable import printable

NAMES_LISTED = 12  # an error lists up to this many names


def one_of(kind: str, name: str, known: Iterable[str], listed: str | None = "") -> UserError:
    """The error for a name that does not exist: suggests the nearest name, or lists the names.
    `listed`: what `groupcheck list` takes to list them, if that is not the plural of the kind;
    None if it lists no such names.
    """
    there, name = list(known), str(name)
    near = get_close_matches(name, there, 1)
    every = (
        f"choose one of {', '.join(there)}"
        if len(there) <= NAMES_LISTED or listed is None
        else f"groupcheck list {listed or f'{kind}s'} shows all {len(there)}"
    )
    hint = f"did you mean {near[0]}?" if near else every if there else f"there are no {kind}s yet"
    return UserError(f"unknown {kind} {printable(name)[:60]!r}", do=hint)
