"""Rows evaluated in several processes: for one large batch, forked children call the rules for
their share.

A child sees all values as they are at the fork, so nothing needs to be sent to it. It sends back
numbers and the new values, which the parent numbers again in its own order. Counts, including the
count of calls, do not depend on which process evaluated a row. A child that fails (a rule is at
fault, or a value cannot be pickled) sends nothing. Then the parent evaluates that share itself and
reports errors as usual.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import define, frozen

from groupcheck.model.engine.fast.exploration import Exploration, Work
from groupcheck.model.engine.functions import AnswerError
from groupcheck.model.engine.pools import Pool

WORTH = 0.04  # seconds of work below which a fork costs more than it saves


@frozen
class _Share:
    """The results that a child sends back."""

    # The rows, with the child's own numbers for new values.
    tape: Any
    # For every number on the tape the first place of the pool that it belongs to, or -1.
    slots: Any
    # The new values in the order in which they were met, and where they come from.
    values: list[Any]
    origins: list[int]
    # New in `Findings.wrong`.
    wrong: dict[str, tuple[int, int, str]]
    # New in `Rows.shared`: for each rule the numbers of the arguments of each call, how many
    # numbers its row has, and these side by side.
    shared: dict[tuple[Any, ...], tuple[Any, Any, Any]]
    # Calls of rules.
    calls: int
    # Of each table the outcomes of its largest row.
    most: dict[int, int]


@define
class Forks:
    """Decides by the time that rows have taken so far whether a batch is worth dividing."""

    # Processes that may call rules, this one included.
    workers: int
    # Seconds that a row takes, on average of late; 0: not known yet.
    per_row: float = 0.0
    # Has a child failed? Then no more are forked.
    failed: bool = False
    # Is there enough memory for children?
    has_memory: Callable[[], bool] = lambda: True
    # How many there are now.
    children: int = 0

    def is_worth(self, rows: int) -> bool:
        return (
            self.workers > 1
            and not self.failed
            and rows * self.per_row > WORTH
            and self.has_memory()
        )

    def timed(self, search: Exploration, work: Work, tape: list[int]) -> None:
        """Appends the rows of a batch, evaluated here, and learns from the time that it takes."""
        began, rows = time.perf_counter(), sum(len(rows) for _, rows, _ in work)
        search.evaluate(work, tape)
        if rows:
            now = (time.perf_counter() - began) / rows
            self.per_row = 0.7 * self.per_row + 0.3 * now if self.per_row else now


def _divided(work: Work, workers: int) -> list[Work]:
    """Every table's rows dealt out in turn, so that shares cost about the same."""
    return [
        [(table, rows[k::workers], places[k::workers]) for table, rows, places in work]
        for k in range(workers)
    ]


def evaluate(search: Exploration, work: Work, forks: Forks, tape: list[int]) -> None:
    """Appends the rows of a batch, evaluated by several processes where that pays."""
    rows = sum(len(r) for _, r, _ in work)
    if not forks.is_worth(rows):
        forks.timed(search, work, tape)
        return
    mine, *others = _divided(work, forks.workers)
    bases = {id(pool): len(pool.values) for pool in search.pools}
    children = [_forked(search, share, bases) for share in others]
    forks.children = len(children)
    try:
        forks.timed(search, mine, tape)
        for share, (_, pipe) in zip(others, children):
            answer = _read(pipe)
            forks.failed = forks.failed or answer is None
            if answer is None or not _merge(search, answer, bases, tape):
                search.evaluate(share, tape)
    finally:
        forks.children = 0
        for pid, pipe in children:
            os.close(pipe)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _forked(search: Exploration, share: Work, bases: dict[int, int]) -> tuple[int, int]:
    """A child at work on a share: its process and the pipe to read from."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    try:  # the child; it must not return to the caller, whatever happens
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.close(reader)
        with os.fdopen(writer, "wb") as out:
            pickle.dump(_answer(search, share, bases), out, pickle.HIGHEST_PROTOCOL)
    finally:
        os._exit(0)


def _answer(search: Exploration, share: Work, bases: dict[int, int]) -> _Share:
    search.pulse = lambda: None
    rows, tape = search.rows, [0] * 0
    calls, begun, wrong = rows.calls, len(rows.origins), dict(search.findings.wrong)
    known = {name: len(found) for name, found in rows.shared.items()}
    search.packed.most = [0] * len(search.packed.most)
    search.evaluate(share, tape)
    origins = rows.origins[begun:].tolist()
    new = {name: value for name, value in search.findings.wrong.items() if name not in wrong}
    most = {k: n for k, n in enumerate(search.packed.most) if n}
    shared = {
        name: _side_by_side(list(itertools.islice(found.items(), known[name], None)))
        for name, found in rows.shared.items()
    }
    return _Share(
        np.array(tape, np.int64),
        _slots(search, tape),
        _new_values(search, origins, bases),
        origins,
        new,
        shared,
        rows.calls - calls,
        most,
    )


def _entries(search: Exploration, origins: Sequence[int]) -> Iterator[tuple[Pool, Sequence[int]]]:
    """Origins taken apart: the pool of each value, and the numbers that say where it comes from."""
    instances = [*search.see.ordinary, *search.see.urgent]
    at = 0
    while at < len(origins):
        entry = origins[at : at + origins[at + 1] + 4]
        yield search.pools[instances[entry[0]].where[entry[-1]]], entry
        at += len(entry)


def _new_values(search: Exploration, origins: Sequence[int], bases: dict[int, int]) -> list[Any]:
    """The values since the fork, in the order in which they were met."""
    fresh = {id(pool): iter(pool.values[bases[id(pool)] :]) for pool in search.pools}
    return [next(fresh[id(pool)]) for pool, _ in _entries(search, origins)]


def _slots(search: Exploration, tape: Sequence[int]) -> Any:
    """For every number on a tape the first place whose pool it numbers; -1 for tables, counts and
    labels.
    """
    firsts: dict[int, int] = {}
    of_pool = [firsts.setdefault(id(pool), k) for k, pool in enumerate(search.pools)]
    shapes = [[of_pool[k] for k in table.inputs] for table in search.tables.rules]
    out: list[int] = []
    at = 0
    while at < len(tape):
        shape, count = shapes[tape[at]], tape[at + 1]
        out += [-1, -1, *shape]
        out += [-1, *shape] * count
        at += 2 + len(shape) + count * (len(shape) + 1)
    return np.array(out, np.int16)


def _read(pipe: int) -> _Share | None:
    """All that a child sends; None if it failed. What is unpickled comes from our own memory,
    through our own pipe.
    """
    parts = []
    while part := os.read(pipe, 1 << 20):
        parts.append(part)
    try:
        answer = pickle.loads(b"".join(parts))
    except Exception:
        return None
    return answer if isinstance(answer, _Share) else None


def _merge(search: Exploration, answer: _Share, bases: dict[int, int], tape: list[int]) -> bool:
    """Numbers a child's new values anew, and takes over its rows. Not if one of them equals a value
    that others have met since the fork, and is not the same.
    """
    renumbered: dict[int, list[int]] = {}
    for (pool, entry), value in zip(_entries(search, answer.origins), answer.values, strict=True):
        known = len(pool.values)
        try:
            now = pool.number(value)
        except AnswerError:
            return False
        renumbered.setdefault(search.pools.index(pool), []).append(now)
        if now == known:
            search.rows.origins.extend(entry)
    theirs = answer.tape
    for place, numbers in renumbered.items():
        _renumber(theirs, bases[id(search.pools[place])], numbers, answer.slots == place)
    tape += theirs.tolist()
    search.rows.calls += answer.calls - _merge_shared(search, answer, bases, renumbered)
    for name, witness in answer.wrong.items():
        search.findings.wrong.setdefault(name, witness)
    for table, most in answer.most.items():
        search.packed.most[table] = max(search.packed.most[table], most)
    return True


def _side_by_side(entries: list[tuple[tuple[int, ...], Sequence[int]]]) -> tuple[Any, Any, Any]:
    """Entries of `Rows.shared` as arrays."""
    ids = np.array([ids for ids, _ in entries], np.int64)
    sizes = np.array([len(flat) for _, flat in entries], np.int64)
    return (
        ids,
        sizes,
        np.fromiter(itertools.chain.from_iterable(flat for _, flat in entries), np.int64),
    )


def _merge_shared(
    search: Exploration, answer: _Share, bases: dict[int, int], renumbered: dict[int, list[int]]
) -> int:
    """Takes over a child's rows of rules that cannot know their index; how many of them somebody
    else has called too.
    """
    twice = 0
    places = {i.rule.name: i.where for i in (*search.see.ordinary, *search.see.urgent)}
    for name, (ids, sizes, flat) in answer.shared.items():
        where = places[name[0]]
        outcomes = flat.reshape(-1, len(where) + 1)
        for k, place in enumerate(where):
            pool = search.pools[place]
            _renumber(
                outcomes[:, k + 1], bases[id(pool)], renumbered.get(search.pools.index(pool), ())
            )
        found, numbers, at = search.rows.shared[name], flat.tolist(), 0
        for key, size in zip(map(tuple, ids.tolist()), sizes.tolist()):
            twice += key in found
            found.setdefault(key, numbers[at : at + size])
            at += size
    return twice


def _renumber(theirs: Any, base: int, numbers: Sequence[int], where: Any = True) -> None:
    """A child's numbers from `base` on become ours."""
    if numbers:
        where = where & (theirs >= base)
        theirs[where] = np.array(numbers, np.int64)[theirs[where] - base]
