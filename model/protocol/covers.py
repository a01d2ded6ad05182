"""The cover scopes of variants: small scopes that together fire every outcome and meet every goal.

A feature or variant says which scopes show it (`shows`, fields of its scope type). What each of
them reaches stands in `covers.json`, which `pytest tests/model/variants --rewrite` writes and the
contract test compares. A scope that reaches nothing that an earlier one does not is left out there.

An earlier design derived for every scope what it cannot reach. It was long and was wrong for many
ordinary scopes. Small scopes that are run show the same, and fail on two seeded mistakes that keep
every promise: a merge of SyncGroup into the step of the JoinGroup answer, and a sync timer that
never fires.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attrs import frozen

REACHED = Path(__file__).with_name("covers.json")
Fields = Mapping[str, Any]


@frozen
class Cover:
    """A small scope, as `fields` of the variant's scope type (what is left out has its default),
    and what it `reaches`: the outcomes that fire and the goals that are met in it, and in no
    cover scope of the variant before it.
    """

    fields: Fields
    reaches: tuple[str, ...]


def covers_of(name: str) -> tuple[Cover, ...]:
    """The cover scopes of the variant of this name, in their order; none where nobody has written
    them: for a combination of features without a name of its own.
    """
    return tuple(Cover(c["fields"], tuple(c["reaches"].split())) for c in _read().get(name, ()))


@cache
def _read() -> Mapping[str, list[dict[str, Any]]]:
    """The file, which is read once for all variants."""
    found: dict[str, list[dict[str, Any]]] = json.loads(REACHED.read_text("utf-8"))
    return found


def each_once(shows: Iterable[Fields]) -> tuple[Fields, ...]:
    """The scopes in their order, each where it stands first."""
    found: list[Fields] = []
    for fields in shows:
        if fields not in found:
            found.append(fields)
    return tuple(found)
