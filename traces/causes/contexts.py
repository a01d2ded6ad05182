"""The surroundings in which a line stands, as far as its words show them: a framework, an
administrator's call, the protocol of the group. contexts.toml lists their marks.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Set
from functools import cache
from importlib.resources import files

from attrs import Factory, frozen

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import BROKER

_KNOWS = ("group.protocol", "group.remote.assignor", "group.consumer.")
_SETTING = re.compile(r"(?<![\w.-])[a-z]+(?:\.[a-z]+)+\b")
ADMIN, CLASSIC, CONSUMER, SHARE = "admin", "classic", "consumer", "share"
STREAMS = "streams_group"
MODERN = (SHARE, STREAMS, CONSUMER)
"""Protocols in which the broker's settings decide. Their lines have much in common; what only one
of the first two prints shows which it is.
"""


@frozen
class Context:
    """Surroundings that a line may show."""

    meaning: str
    # Texts that only such lines hold.
    marks: tuple[str, ...] = ()
    # Kinds of statements that only such lines make.
    kinds: tuple[str, ...] = ()
    # The library in which alone it occurs; empty: in any.
    library: str = ""
    # Settings that decide nothing there -> those that do instead.
    instead: Mapping[str, str] = Factory(dict)

    def shown_by(self, said: Statement) -> bool:
        """Does the line show it?"""
        if self.library and said.library not in ("", self.library):
            return False
        return said.kind in self.kinds or any(mark in said.text for mark in self.marks)


def shown_contexts(statements: Iterable[Statement]) -> Set[str]:
    """The names of the contexts that any of the statements shows."""
    kinds: dict[str, set[str]] = {}
    texts: dict[str, list[str]] = {}
    for said in statements:
        kinds.setdefault(said.library, set()).add(said.kind)
        texts.setdefault(said.library, []).append(said.text)
    # No mark holds the end of a line: one search through all texts finds what one in each does.
    joined = {library: "\n".join(some) for library, some in texts.items()}
    return {
        name
        for name, one in contexts().items()
        for library, text in joined.items()
        if one.library in ("", library) or not library
        if not kinds[library].isdisjoint(one.kinds) or any(mark in text for mark in one.marks)
    }


@cache
def contexts() -> Mapping[str, Context]:
    """All that are known, by name."""
    text = (files("groupcheck.traces.causes") / "contexts.toml").read_text("utf-8")
    return {
        name: Context(
            one["meaning"],
            tuple(one.get("marks", ())),
            tuple(one.get("kinds", ())),
            one.get("library", ""),
            one.get("instead", {}),
        )
        for name, one in tomllib.loads(text).items()
    }


@cache
def _owners() -> Mapping[str, Set[str]]:
    """Setting -> the libraries and surroundings that have it; only those that not all have."""
    text = (files("groupcheck.traces.causes") / "settings.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    every = {name for some in tables.values() for name in some}
    return {name: {who for who, some in tables.items() if name in some} for name in every}


def exists_in(setting: str, libraries: Set[str], shown: Set[str]) -> bool:
    """Is there such a setting where these clients' libraries and surroundings show?"""
    owners = _owners().get(setting)
    clients = libraries - {BROKER}
    return owners is None or not clients or not owners.isdisjoint(clients | shown)


def speaker(said: Statement) -> str:
    """Who says it."""
    if contexts()[ADMIN].shown_by(said):
        return ADMIN
    return "broker" if said.library == BROKER else "member"


def in_protocol(shown: Set[str], text: str) -> str:
    """The text with the settings that decide in the protocol of the group: those of classic members
    about sessions, heartbeats and assignors are the broker's under KIP-848, as in a share group or
    a streams group. A text that names both protocols stays as it is.
    """
    modern = next((name for name in MODERN if name in shown), None)
    if modern is None or CLASSIC in shown or any(mark in text for mark in _KNOWS):
        return text
    instead = contexts()[modern].instead
    return _SETTING.sub(lambda hit: instead.get(hit[0], hit[0]), text)
