"""A walk as a text that a ticket can carry: what is explored, its scope, and the key, as the
parameters of an address. `v` is the version of this format.

    v=1&of=classic&mutation=keeps_partitions_when_lost&key=gc1-0.0.2
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from attrs import Factory, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.explain import own
from groupcheck.oracles.explain.subject import Subject, subject
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.pytest_export import arguments

VERSION = "1"
LONGEST = 40_000  # characters of an address
OPTIONS = ("members", "partitions", "generations", "any_faults", "assignor")  # have options


@frozen
class WalkStart:
    """What a walk is about, and where it stands, before anything of it is made."""

    of: str
    key: str
    mutation: str | None = None
    # Fault -> how often; None: as the scope has it.
    faults: Mapping[str, int] | None = None
    # Fields of the scope as texts, as `--set` takes them.
    settings: Mapping[str, str] = Factory(dict)

    @property
    def is_own(self) -> bool:
        """Does it name code of the user's? That is never run because an address says so."""
        return own.is_own(self.of) or own.is_own(self.mutation)

    def subject(self) -> Subject:
        """The subject. Raises `UserError` for names that do not exist, and for code of the
        user's.
        """
        if self.is_own:
            raise UserError(
                "names code of its own, which no link or document may start",
                where=printable(self.of)[:60],
                do="give it on the command line as well",
            )
        return subject(
            self.of, mutation=self.mutation, faults=self.faults, settings=dict(self.settings)
        )


def given(about: Subject, key: str) -> WalkStart:
    """What `address` tells of a walk."""
    fields, bug = arguments(about), about.mutation
    if about.variant is not None:
        start = about.variant.scope_type(**(dict(bug.scope) if bug else {}))
        if start == about.spec.scope:  # it comes back by itself
            fields = {"mutation": bug.id} if bug else {}
    mutation, faults = fields.pop("mutation", None), fields.pop("faults", None)
    for name in ("progress", "invariants"):  # no link has them
        fields.pop(name, None)
    name = about.variant.name if about.variant else about.origin or about.spec.name
    return WalkStart(name, key, mutation, faults, {n: _text(v) for n, v in fields.items()})


def _text(value: Any) -> str:
    """A field of a scope as `--set` takes it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def address(about: Subject, key: str) -> str:
    """The walk as the parameters of an address."""
    found = given(about, key)
    pairs = [("v", VERSION), ("of", found.of)]
    if found.mutation is not None:
        pairs.append(("mutation", found.mutation))
    if found.faults is not None:
        named = [f"{name}={n}" for name, n in found.faults.items()]
        pairs += [("fault", text) for text in named or [""]]
    pairs += [("set", f"{name}={text}") for name, text in found.settings.items()]
    return urlencode([*pairs, ("key", key)], safe="=,+")


def parsed(text: str) -> WalkStart:
    """What an address says; what stands before `#` or `?` in it does not matter. Raises `UserError`
    for a text that is no such address, and for one of another version.
    """
    where = printable(text)[:60]
    if len(text) > LONGEST:
        raise UserError(f"is longer than {LONGEST:,} characters", where=where)
    shown = text.rpartition("#")[2].rpartition("?")[2].replace("+", "%2B")
    pairs = parse_qsl(shown, keep_blank_values=True)
    once = {name: value for name, value in pairs if name not in ("fault", "set")}
    if once.get("v") != VERSION or not {"of", "key"} <= once.keys():
        known = "v" in once and {"of", "key"} <= once.keys()
        what = f"is of version {once.get('v')}" if known else "is no link of the explorer"
        raise UserError(what, where=where, do="a link begins with v=1&of=VARIANT and has a key")
    faults = [value for name, value in pairs if name == "fault"]
    return WalkStart(
        once["of"],
        once["key"],
        once.get("mutation"),
        {n: _count(n, c, where) for n, c in _pairs(faults)} if faults else None,
        _pairs_of([value for name, value in pairs if name == "set"]),
    )


def _pairs(texts: list[str]) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (t.partition("=") for t in texts) if name]


def _pairs_of(texts: list[str]) -> dict[str, str]:
    return dict(_pairs(texts))


def _count(name: str, text: str, where: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise UserError(f"{printable(name)[:40]} is not followed by a number", where=where)
    return int(text)


def command_line(about: Subject, command: str, key: str = "") -> str:
    """What to type to come to a walk again: `groupcheck explain classic KEY --mutation ID`, or the
    same of `explore`, which takes the key by `--from`.
    """
    found = given(about, key)
    words = ["groupcheck", command, found.of]
    if key:
        words += [key] if command == "explain" else ["--from", key]
    if found.mutation is not None:
        words += ["--mutation", found.mutation]
    for name, text in found.settings.items():
        option = name in OPTIONS and about.variant is not None
        words += [f"--{name.replace('_', '-')}", text] if option else ["--set", f"{name}={text}"]
    for name, count in (found.faults or {}).items():
        words += ["--fault", f"{name}={count}"]
    for name in about.asked_invariants:
        words += ["--invariant", name]
    for name in about.asked_goals:
        words += ["--goal", name]
    if about.ignores_deadlock:
        words.append("--no-deadlock")
    return shlex.join(words)
