"""Checkpoints: a search at the end of a level, in one file, from which it continues to the same
numbers.

The file holds numbers only: the packed log, the rows of the tables as numbers of values, and for
every value its origin (which outcome of which rule, for which arguments). Values are made again by
calling those rules, so that reading a checkpoint runs no code but the model's own; and everything
that the native loop will read is checked or packed anew. It is written beside its place and
renamed, so a run that is killed leaves the one before; a digest at its end shows a torn file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from groupcheck.model.engine.errors import CheckpointError, RuleError
from groupcheck.model.engine.identity import identity
from groupcheck.model.engine.kernels import registers as r
from groupcheck.model.engine.layout import width_of
from groupcheck.model.engine.search import Search
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.store import Words

FILE = "groupcheck.checkpoint"
MAGIC = b"groupcheck.checkpoint/1\n"
MOST_HEADER = 1 << 26
PIECE = 1 << 20
SHORTEST_ORIGIN = 5  # numbers
MISFITS = (
    KeyError,
    IndexError,
    ValueError,
    TypeError,
    AssertionError,
    OverflowError,
    RuleError,
)  # raised while a model that does not fit is restored


@frozen
class Numbers:
    """Where a search stands at the end of a level."""

    depth: int
    states: int
    transitions: int
    fired: dict[str, int]
    goals: dict[str, int | None]


def numbers_of(search: Search) -> Numbers:
    return Numbers(
        search.findings.depth,
        search.log.states,
        search.transitions,
        search.fired,
        dict(search.findings.goals),
    )


def save(search: Search, at: Numbers, directory: Path) -> None:
    """Writes the search as it was at the end of a level. Raises `CheckpointError` if the directory
    cannot be written.
    """
    levels = [level for level in search.log.levels[: at.depth + 1] if level <= at.states]
    rows = search.packed.dump()
    log = search.log.memory.words[: at.states * search.packed.words]
    header = {
        "identity": identity(search.spec),
        "numbers": {
            "depth": at.depth,
            "states": at.states,
            "transitions": at.transitions,
            "fired": at.fired,
            "goals": at.goals,
        },
        "calls": search.rows.calls,
        "levels": levels,
        "widths": [f.width for f in search.packed.fields[: len(search.pools)]],
        "arrays": [len(search.rows.origins), len(rows), len(log)],
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=FILE, suffix=".new")
        try:
            with os.fdopen(handle, "wb") as file:
                _write(file, header, [np.asarray(search.rows.origins, np.int64), rows, log])
            Path(temporary).replace(directory / FILE)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise CheckpointError(
            f"cannot be written: {error.strerror or error}", where=str(directory)
        ) from error


def _write(file: BinaryIO, header: dict[str, Any], arrays: list[Any]) -> None:
    digest = hashlib.blake2b(digest_size=32)
    text = json.dumps(header).encode() + b"\n"
    parts: list[bytes | memoryview] = [MAGIC, text, *(_bytes(a) for a in arrays)]
    for part in parts:
        digest.update(part)
        file.write(part)
    file.write(digest.digest())
    file.flush()
    os.fsync(file.fileno())


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.view(np.uint8).data


def load(spec: Spec, directory: Path) -> Search:
    """A search that continues from a checkpoint. Raises `CheckpointError` if it is missing, torn,
    or of another model, scope or version.
    """
    where = str(directory / FILE)
    try:
        with (directory / FILE).open("rb") as file:
            header, arrays = _read(file, where, spec)
    except OSError as error:
        raise CheckpointError(f"cannot be read: {error.strerror or error}", where=where) from error
    try:
        return _restore(spec, header, arrays)
    except MISFITS as error:
        raise CheckpointError(
            f"does not fit this model: {type(error).__name__}: {error}", where=where
        ) from error


def same_model(theirs: Mapping[str, Any], spec: Spec, where: str) -> None:
    """Raises `CheckpointError` where a search that was kept, with that `identity`, is not one of
    this spec.
    """
    ours = identity(spec)
    for what, message in (
        ("spec", "model"),
        ("scope", "scope"),
        ("python", "version of Python"),
        ("model", "version of the model"),
    ):
        if theirs.get(what) != ours[what]:
            shown = (
                ""
                if what == "model"
                else f": {str(theirs.get(what))[:200]}, not {ours[what][:200]}"
            )
            raise CheckpointError(
                f"belongs to another {message}{shown}",
                where=where,
                do="run it as it was begun, or start anew",
            )


def _read(file: BinaryIO, where: str, spec: Spec) -> tuple[dict[str, Any], list[Words]]:
    torn = CheckpointError(
        "is torn or no checkpoint", where=where, do="use an older copy, or start anew"
    )
    if file.readline(len(MAGIC)) != MAGIC:
        raise CheckpointError(
            "is no checkpoint of this version of groupcheck", where=where, do="start anew"
        )
    text = file.readline(MOST_HEADER)
    try:
        header = json.loads(text)
        sizes = [int(n) for n in header["arrays"]]
        theirs = dict(header["identity"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise torn from None
    body = os.fstat(file.fileno()).st_size - file.tell()
    if len(sizes) != 3 or min(sizes) < 0 or sum(sizes) * 8 + 32 != body:
        raise torn
    same_model(theirs, spec, where)
    digest = hashlib.blake2b(MAGIC + text, digest_size=32)
    arrays = []
    for size in sizes:
        array = np.zeros(size, np.uint64)
        view = _bytes(array)
        for at in range(0, 8 * size, PIECE):
            if file.readinto(view[at : at + PIECE]) != len(view[at : at + PIECE]):  # type: ignore[attr-defined]
                raise torn
            digest.update(view[at : at + PIECE])
        arrays.append(array)
    if file.read() != digest.digest():
        raise torn
    return header, arrays


def _restore(spec: Spec, header: dict[str, Any], arrays: list[Words]) -> Search:
    origins, rows, log = arrays
    search = Search(spec)
    at = header["numbers"]
    states, depth, levels = int(at["states"]), int(at["depth"]), [int(n) for n in header["levels"]]
    assert (
        len(levels) == depth + 1
        and levels == sorted(levels)
        and levels[0] == 0
        and levels[-1] <= states
    ), "levels"
    at_start = max(len(pool.values) for pool in search.pools)  # an array may start with many
    widths, widest = (
        [int(n) for n in header["widths"]],
        width_of(len(origins) // SHORTEST_ORIGIN + at_start + 1),
    )
    assert len(widths) == len(search.pools) and all(1 <= n <= widest for n in widths), (
        "fields of other widths"
    )
    search.packed.widen(widths)
    assert len(log) == states * search.packed.words, "fields of other widths"
    search.log.memory.ensure(len(log))
    search.log.memory.words[: len(log)] = log
    search.registers[r.LOG] = search.log.memory.address
    search.registers[r.STATES] = states
    values_again(search, origins.astype(np.int64).tolist())
    search.packed.fit(
        search.log.memory
    )  # a search that was stopped while rows were filled knows values that its fields had no room for yet
    search.resize()
    for first in range(0, states, PIECE):
        for pool, column in zip(
            search.pools,
            search.packed.ids(search.log.packed_states(first, min(states, first + PIECE))),
        ):
            assert max(column) < len(pool.values), "a state with an unknown value"
    rows_again(search, rows.tolist())
    search.log.levels = levels
    search.findings.depth = depth
    search.findings.goals = {
        g.name: None if at["goals"][g.name] is None else int(at["goals"][g.name])
        for g in spec.goals
    }
    search.findings.news = True
    search.predicates.refresh()
    search.extra = {name: int(at["fired"][name]) for name in search.extra}
    search.registers[r.TRANSITIONS] = int(at["transitions"])
    search.rows.calls = int(header["calls"])
    return search


def values_again(search: Search, origins: list[int]) -> None:
    """Makes every value again, from its origin."""
    instances = [*search.see.ordinary, *search.see.urgent]
    pools = {name: pool for (name, _), pool in zip(search.see.places, search.pools)}
    at, row, outcomes = 0, None, []
    while at < len(origins):
        number, size = origins[at], origins[at + 1]
        ids, outcome, position = (
            tuple(origins[at + 2 : at + 2 + size]),
            origins[at + 2 + size],
            origins[at + 3 + size],
        )
        at += 4 + size
        rule, me, _ = instances[number]
        assert min((*ids, number, outcome, position)) >= 0 and size == len(rule.slots), (
            "an origin that is none"
        )
        if row != (number, ids):
            row = (number, ids)
            outcomes = search.see.call(
                rule, me, tuple(pools[s].values[i] for s, i in zip(rule.slots, ids))
            )
        pool = pools[rule.slots[position]]
        known = len(pool.values)
        assert pool.number(outcomes[outcome][1][position]) == known, (
            f"{rule.name} gives other outcomes than when it was written"
        )
    search.rows.origins.extend(origins)


def rows_again(search: Search, tape: list[int]) -> None:
    """Packs the rows anew, after a look at every number."""
    tables, labels = search.tables, len(search.tables.labels)
    at = rows = 0
    search.rows.extend_guards()
    names = [{n for rule, _, _ in t.members for n in rule.names} for t in tables.rules]
    allowed = [{tables.labels.index(n) for n in there} for there in names]
    while at < len(tape):
        table, count = tape[at], tape[at + 1]
        pools = [search.pools[k] for k in tables.rules[table].inputs]
        width = len(pools)
        end = at + 2 + width + count * (width + 1)
        assert 0 <= count < 1 << 16 and end <= len(tape) and labels, "a row that is none"
        for begin in range(at + 2, at + 2 + width, width):
            assert all(n < len(p.values) for n, p in zip(tape[begin : begin + width], pools)), (
                "a row with an unknown value"
            )
        for begin in range(at + 2 + width, end, width + 1):
            assert tape[begin] in allowed[table], "an outcome with a label of another rule"
            assert all(
                n < len(p.values) for n, p in zip(tape[begin + 1 : begin + 1 + width], pools)
            ), "an outcome with an unknown value"
        outcomes = [
            tape[begin : begin + 1 + width] for begin in range(at + 2 + width, end, width + 1)
        ]
        _shared_again(search, table, tape[at + 2 : at + 2 + width], outcomes)
        search.packed.filled[table] += 1
        search.packed.most[table] = max(search.packed.most[table], count)
        at = end
        rows += 1
    search.packed.fit(None)
    search.packed.extend_guards()
    search.packed.write(tape, rows)
    search.resize()


def _shared_again(search: Search, table: int, ids: list[int], outcomes: list[list[int]]) -> None:
    """What a row of a table says about rules that share their calls over all indexes, so that they
    are not called again.
    """
    for member in search.rows.members[table]:
        mine = tuple([ids[k] for k in member.order])
        if member.guard is not None and not member.guard.open[mine[member.guard_at]]:
            continue  # not called
        names = {search.tables.labels.index(name) for name in member.rule.names}
        fired = [o for o in outcomes if o[0] in names]
        if member.shared is not None:
            member.shared[mine] = [
                n for o in fired for n in (o[0], *(o[1 + k] for k in member.order))
            ]
        if fired and table >= search.tables.ordinary:
            return  # of urgent rules the first alone
