"""The model's shortest ways: to an answer of the coordinator, and to a kind of row of the member,
for what a client was not brought to.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    NOT_COORDINATOR,
    name_of,
)
from groupcheck.model.protocol.messages import NO_ID, Store
from groupcheck.oracles.conform.conformance import rows_at
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.member_memory import Does
from groupcheck.oracles.conform.member.member_memory import Input as Happens
from groupcheck.oracles.conform.member.member_memory import Memory as Member
from groupcheck.oracles.conform.row import Asks, Input, Memory
from groupcheck.oracles.judge.client.differences import CUT, LEFT, SILENT, Kind
from groupcheck.oracles.judge.client.moves import COMMIT, DOCUMENTED, JOIN, OF_MEMBERS, Licence
from groupcheck.oracles.judge.client.targets import Target

FAULTS = ("session_timeout", "rebalance_timeout")
# What happens to a member besides answers, that we can bring about.
HAPPENS = {Does.BREAK: CUT, Does.SILENCE: SILENT, Does.CLOSE: LEFT}
KINDS = Path(__file__).with_name("kinds.json")
S = TypeVar("S")
G = TypeVar("G")


def shortest_way(target: Target) -> tuple[str, ...]:
    """What one member and its coordinator do until the request is answered so, each in words; empty
    where the code depends on where the coordinator is, or is put in the answer's place.
    """
    if target.move.put or not target.move.code:
        return ()
    ways = _ways("static_membership" if target.setting.static else "classic")
    return ways.get((target.move.at, target.move.code), ())


@cache
def _ways(variant: str) -> dict[tuple[str, int], tuple[str, ...]]:
    """(request, code) -> the shortest way there, of a group with one member."""
    _, rows = rows_at(variant, 1, 2, FAULTS, None, {})
    start = rows.start()
    before: dict[Memory, tuple[Memory, Input] | None] = {start: None}
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    level = [start]
    while level:
        beyond = []
        for memory in level:
            for given in rows.inputs(memory):
                for outcome in rows.outcomes(memory, given):
                    for told in outcome.told:
                        request = told.answer.request
                        asked = request.commit if isinstance(request, Store) else request
                        key = (type(asked).__name__, told.answer.code)
                        if key not in found:
                            way = [one for _, one in _path(before, memory)]
                            found[key] = tuple(map(_words, [*way, given]))
                    if outcome.after not in before:
                        before[outcome.after] = (memory, given)
                        beyond.append(outcome.after)
        level = beyond
    return found


def _path(before: Mapping[S, tuple[S, G] | None], memory: S) -> list[tuple[S, G]]:
    """The steps that lead there, each with the memory before it."""
    steps: list[tuple[S, G]] = []
    while (came := before[memory]) is not None:
        steps.append(came)
        memory = came[0]
    return steps[::-1]


def may_answer(licence: Licence) -> Mapping[str, Collection[int]]:
    """The codes that a request of a dynamic member may be answered with."""
    given = _ways("classic").keys()
    found = {api: {code for one, code in given if one == api} for api in OF_MEMBERS}
    for api, codes in found.items():
        codes.add(NOT_COORDINATOR)
        if api in (JOIN, COMMIT):  # others say something else while the group is loaded
            codes.add(COORDINATOR_LOAD_IN_PROGRESS)
        if licence >= Licence.DOCUMENTED:
            codes.update(DOCUMENTED.get(api, ()))
    return found


@cache
def every_kind(licence: Licence) -> Mapping[Kind, tuple[str, ...]]:
    """Every kind of row of a dynamic, eager member, with the shortest way there, in words: as
    `listed_kinds` has found them, which takes seconds.
    """
    known = json.loads(KINDS.read_text("utf-8"))
    words = known["words"]
    return {
        (words[state], owns, words[what], code): tuple(words[k] for k in way)
        for state, owns, what, code, way in known[str(licence)]
    }


def kinds_file() -> str:
    """The contents of the file that `every_kind` reads."""
    words: dict[str, int] = {}

    def number(text: str) -> int:
        return words.setdefault(text, len(words))

    found = {
        str(licence): [
            [number(state), owns, number(what), code, [number(step) for step in way]]
            for (state, owns, what, code), way in listed_kinds(licence).items()
        ]
        for licence in Licence
    }
    lines = [f'"words": {json.dumps([*words], indent=0)}']
    lines += [
        f'"{name}": [\n' + ",\n".join(map(json.dumps, kinds)) + "\n]"
        for name, kinds in found.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def listed_kinds(licence: Licence) -> Mapping[Kind, tuple[str, ...]]:
    """The kinds, by a search through the member's rows."""
    settings = {"partitions": "1", "autocommit": "yes"}
    rows = rows_of("classic", 1, None, settings)[0]
    codes = may_answer(licence)
    start = rows.start()
    before: dict[Member, tuple[Member, Happens] | None] = {start: None}
    found: dict[Kind, tuple[str, ...]] = {}
    todo = [start]
    for memory in todo:
        for given in rows.inputs(memory):
            kind = _kind(memory, given)
            is_bound = given.does is None and licence < Licence.HOSTILE
            if is_bound and given.code not in codes[kind[2]]:
                continue
            done = rows.outcomes(memory, given)
            if done and kind[2] and kind not in found:
                way = [*_path(before, memory), (memory, given)]
                found[kind] = tuple(_happens(*step) for step in way)
            for after in (one.after for one in done):
                if after is not None and after not in before:
                    before[after] = (memory, given)
                    todo.append(after)
    return found


def _kind(memory: Member, given: Happens) -> Kind:
    """The kind of a row; it is about nothing if we cannot bring it about."""
    c = memory.client
    if given.does is None:
        what = type(memory.flight[0].request).__name__
    else:
        what = HAPPENS.get(given.does, "")
    return str(c.state), bool(c.owned), what, given.code


def _happens(memory: Member, given: Happens) -> str:
    if given.does is not None:
        return given.does.value
    return answered(type(memory.flight[0].request).__name__, given.code)


def answered(api: str, code: int) -> str:
    """`JoinGroup is answered 25 UNKNOWN_MEMBER_ID`."""
    return f"{api} is answered {name_of(code) if code else 0}"


def coverage(kinds: Collection[Kind], licence: Licence) -> str:
    """How many kinds of rows were met of those that there are, in words."""
    every = every_kind(licence).keys()
    some = [
        f"{len(seen & there)} of {len(there)} {words}"
        for words, shorter in (
            ("(request, code)", lambda kind: kind[2:]),
            ("with the member's state", lambda kind: (kind[0], *kind[2:])),
            ("with what it owns", lambda kind: kind),
        )
        for there in [{shorter(kind) for kind in every}]
        for seen in [{shorter(kind) for kind in kinds}]
    ]
    return ", ".join(some)


def unmet(kinds: Collection[Kind], licence: Licence) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The kinds of rows that were not met, whatever the member owns, with the shortest ways."""
    seen = {(state, what, code) for state, _, what, code in kinds}
    told = set[tuple[str, str, int]]()
    for (state, _, what, code), way in every_kind(licence).items():
        if (state, what, code) not in seen | told:
            told.add((state, what, code))
            words = answered(what, code) if what in OF_MEMBERS else what
            yield f"{state}: {words}", way


def _words(given: Input) -> str:
    if not isinstance(given, Asks):
        return given.rule.replace("_", " ")
    request = given.request
    words = f"it sends {type(request).__name__}"
    if getattr(request, "id", None) == NO_ID:
        words += " without an id"
    generation = getattr(request, "generation", None)
    return words if generation is None else f"{words} with generation {generation}"
