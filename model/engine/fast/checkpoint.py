"""Checkpoints: a search at the end of a level, as numbers from which it continues to the same
numbers.

A folder (`segments`) holds numbers only: the packed states, the rows of the tables as numbers of
values, and for every value its origin (which outcome of which rule, for which arguments). A save
appends what is new since the one before. Values are made again by calling those rules, so reading a
checkpoint runs no code but the model's own. Everything that the native loop will read is checked,
or packed again.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from attrs import asdict, define, frozen

from groupcheck.model.engine.errors import CheckpointError, RuleError
from groupcheck.model.engine.fast import segments
from groupcheck.model.engine.fast.disk_log import DiskWords, LogFile, Piece
from groupcheck.model.engine.fast.exploration import Kept
from groupcheck.model.engine.fast.identity import SYMMETRY, Identity
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.layout import arrange, packed, width_of
from groupcheck.model.engine.fast.log import MOST_WORDS, Log
from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.store import Words, joined
from groupcheck.model.engine.fast.stored_log import StoredLog
from groupcheck.model.engine.functions import AnswerError
from groupcheck.model.engine.plain.plain_search import PlainSearch
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.symmetry import NO_SYMMETRY, Symmetry

CHECKED = 1 << 20  # states looked at in one go
SHORTEST_ORIGIN = 5  # numbers
MISFITS = (
    KeyError,
    IndexError,
    ValueError,
    TypeError,
    AssertionError,
    OverflowError,
    RuleError,
    AnswerError,
)  # raised while a model that does not fit is restored

T = TypeVar("T")


@frozen
class Numbers:
    """The state of a search at the end of a level. See `Verdict`."""

    depth: int
    states: int
    transitions: int
    fired: dict[str, int]
    goals: dict[str, int | None]


def numbers_of(search: Search) -> Numbers:
    return Numbers(
        search.findings.depth,
        search.states,
        search.transitions,
        search.fired,
        dict(search.findings.goals),
    )


@frozen
class Manifest:
    """The facts that a checkpoint's folder states of its segments."""

    identity: Identity
    numbers: Numbers
    # Calls of rules so far.
    calls: int
    # The place of the first state of each level.
    levels: list[int]
    # In the order in which they were written.
    segments: list[segments.Segment]
    # The states, where they are not in the segments but in the log of a store.
    log: LogFile | None = None

    @property
    def document(self) -> dict[str, Any]:
        """As JSON; a checkpoint says nothing of a log."""
        document = asdict(self)
        return document if self.log else {k: v for k, v in document.items() if k != "log"}


@define
class Saver:
    """Saves a search in a folder, each time what is new."""

    search: Search
    folder: segments.Folder
    identity: Identity
    # How many numbers of origins, and how many states, the folder holds already.
    origins: int = 0
    states: int = 0
    # Of a store: its log as it was saved last.
    log: LogFile | None = None

    def __attrs_post_init__(self) -> None:
        if self.folder.segments:  # of the checkpoint that the search has just been loaded from
            self.origins, self.states = len(self.search.rows.origins), self.search.log.states
            self.search.kept = Kept()

    def save(self, at: Numbers) -> None:
        """Writes the search as it was at the end of a level. Raises `CheckpointError` where the
        folder cannot be written.
        """
        s, w = self.search, self.search.packed.words
        if s.packed.is_torn:  # fields, and states in the log, do not fit each other
            return
        if s.log.disk is not None:
            with self.folder.writing():
                self.log = self._saved(s.log.disk, at)
        # A store has its states in its log.
        end = at.states * w if self.log is None else self.states * w
        rows = joined(s.kept.rules) if s.kept and self.folder.segments else s.packed.dump()
        s.kept = Kept()
        self.folder.append(
            [
                np.asarray(s.rows.origins[self.origins :], np.int64),
                rows,
                s.log.memory.words[self.states * w : end],
            ],
            s.packed.state_widths,
        )
        self.origins, self.states = len(s.rows.origins), at.states
        levels = [n for n in s.log.levels[: at.depth + 1] if n <= at.states]
        every = self.folder.segments
        kept = Manifest(self.identity, at, s.rows.calls, levels, every, self.log)
        self.folder.keep(kept.document)
        if self.log is not None:
            assert s.log.disk is not None
            s.log.disk.kept = self.log.name
            self.folder.logs = {self.log.name}
            with self.folder.writing():
                self.folder.clear_logs()

    def _saved(self, disk: DiskWords, at: Numbers) -> LogFile:
        """The log on disk, with a piece for what came since the last save. Raises `OSError`."""
        w, widths = self.search.packed.words, self.search.packed.state_widths
        pieces = self.log.pieces if self.log and self.log.name == disk.name else []
        first = pieces[-1].states if pieces else 0
        disk.sync()
        if first < at.states:
            pieces = [*pieces, Piece(at.states, disk.digest(first * w, at.states * w))]
        return LogFile(disk.name, widths, pieces)


@define
class PlainSaver:
    """Saves a search that ends in plain Python, as far as its levels are complete."""

    folder: segments.Folder
    identity: Identity
    search: PlainSearch | None = None
    at: Numbers | None = None

    def note(self, search: PlainSearch) -> None:
        """A level is complete."""
        met = dict(search.findings.goals)
        done = len(search.states), search.transitions, search.fired
        self.search, self.at = search, Numbers(search.findings.depth, *done, met)

    def save(self) -> None:
        """As `Run.save`: not after a violation. Raises `CheckpointError` where the folder cannot be
        written.
        """
        s, at = self.search, self.at
        if s is None or at is None or s.findings.wrong:
            return
        widths = [width_of(len(pool.values)) for pool in s.tabled.pools]
        states = packed(s.states[: at.states], *arrange(widths))
        origins = np.asarray(s.tabled.rows.origins, np.int64)
        rows = np.array(s.lookups.tape, np.uint64)
        self.folder.append([origins, rows, states.reshape(-1)], widths)
        calls, levels = s.tabled.rows.calls, s.levels[: at.depth + 1]
        every = self.folder.segments
        self.folder.keep(Manifest(self.identity, at, calls, levels, every).document)


def kept_in(
    checkpoint: str | Path | None, resume: str | Path | None, stored: bool = False
) -> contextlib.AbstractContextManager[segments.Folder | None]:
    """The folder for a search's checkpoints, for this process alone; None if it keeps none.
    `resume`: the folder from which the search goes on. `stored`: the log lies there, too. Raises
    `CheckpointError` if the folder holds another search.
    """
    if checkpoint is None:
        return contextlib.nullcontext()
    is_resumed = resume is not None and Path(resume).resolve() == Path(checkpoint).resolve()
    return segments.held(Path(checkpoint), is_resumed, stored)


def has_symmetry(resume: str | Path) -> bool:
    """Is the search of a checkpoint one with symmetry? Raises `CheckpointError` where the
    checkpoint is missing, torn, or of another version.
    """
    with fitting(str(resume)):
        return (
            SYMMETRY in structured(segments.read_manifest(Path(resume)), Manifest).identity.values
        )


def load(
    spec: Spec,
    ours: Identity,
    resume: str | Path,
    folder: segments.Folder | None = None,
    symmetry: Symmetry = NO_SYMMETRY,
    stored: bool = False,
) -> Search:
    """A search that continues from a checkpoint, or (`stored`) from a store. `ours`: the identity
    of the spec. `folder`: where it is kept from now on, which may be the same. Raises
    `CheckpointError` if the checkpoint is missing, torn, or of another model, scope or version.
    """
    directory = Path(resume)
    with fitting(str(directory)):
        manifest = structured(segments.read_manifest(directory), Manifest)
        _same_kind(directory, manifest, stored)
        same_model(manifest.identity, ours, str(directory))
        parts = [(segment, segments.read(directory, segment)) for segment in manifest.segments]
        search = _restore(
            Search(spec, symmetry, new_log=_log_of(directory, manifest)), manifest, parts
        )
    if folder is not None and folder.path.resolve() == directory.resolve():
        folder.segments = manifest.segments
        folder.logs = {log.name for log in (manifest.log, search.log.disk) if log is not None}
        folder.clear()
    return search


def new_log(folder: segments.Folder) -> Callable[[Packed], Log]:
    """Makes the log of a new store."""

    def made(packed: Packed) -> Log:
        with folder.writing():
            disk = DiskWords(folder.path, MOST_WORDS)
        folder.logs.add(disk.name)
        return StoredLog(packed, disk)

    return made


def _log_of(folder: Path, manifest: Manifest) -> Callable[[Packed], Log]:
    """The log of a store that a manifest names; an empty one in memory for a checkpoint."""
    log = manifest.log
    if log is None:
        return Log
    return lambda packed: StoredLog(packed, _opened(folder, log))


def _opened(folder: Path, log: LogFile) -> DiskWords:
    """The log of a store. Raises `CheckpointError`."""
    if not (folder / log.name).is_file():
        raise segments.torn(str(folder / log.name))
    try:
        return DiskWords(folder, MOST_WORDS, log.name)
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        raise CheckpointError(what, where=str(folder / log.name)) from error


def _same_kind(folder: Path, manifest: Manifest, stored: bool) -> None:
    """Raises `CheckpointError` for a store that is resumed as a checkpoint, or the other way
    round.
    """
    if stored != (manifest.log is not None):
        is_store = "a store, in which the search goes on", f"add --store {folder}"
        is_checkpoint = "a checkpoint, not a store", "leave out --store, or name a new folder"
        what, do = is_checkpoint if stored else is_store
        raise CheckpointError(f"is {what}", where=str(folder), do=do)


def structured(document: object, kind: type[T]) -> T:
    """A JSON document as a value of an attrs class. Raises `ValueError` for one that lacks a field,
    has one too many or holds something else in one.
    """
    import cattrs

    try:
        return cattrs.Converter(forbid_extra_keys=True).structure(document, kind)
    except Exception as error:
        raise ValueError("; ".join(cattrs.transform_error(error))[:300]) from error


@contextlib.contextmanager
def fitting(where: str) -> Iterator[None]:
    """Raises `CheckpointError` for what goes wrong while a model that does not fit is restored."""
    try:
        yield
    except MISFITS as error:
        what = f"does not fit this model: {type(error).__name__}: {error}"
        raise CheckpointError(what, where=where) from error


def same_model(theirs: Identity | None, ours: Identity, where: str) -> None:
    """Raises `CheckpointError` where a search that was kept is not one of our model and scope."""
    if difference := theirs.difference(ours) if theirs else "search":
        raise CheckpointError(
            f"belongs to another {difference}",
            where=where,
            do="run it with the model and scope of the checkpoint, or start again",
        )


def _restore(
    search: Search, manifest: Manifest, parts: list[tuple[segments.Segment, list[Words]]]
) -> Search:
    at, levels = manifest.numbers, manifest.levels
    states = at.states
    is_rising = levels == sorted(levels) and levels[0] == 0 and levels[-1] <= states
    assert len(levels) == at.depth + 1 and is_rising, "levels"
    origins = np.concatenate([arrays[0] for _, arrays in parts])
    at_start = max(len(pool.values) for pool in search.pools)  # an array may start with many
    if manifest.log is None:
        _states_again(search, parts, width_of(len(origins) // SHORTEST_ORIGIN + at_start + 1))
    else:
        _stored_again(search, manifest.log, states)
    assert search.log.states == states, "states"
    values_again(search, origins.astype(np.int64).tolist())
    # a search that was stopped while rows were filled knows values that its fields had no room for
    search.packed.fit(search.log.memory)
    search.resize()
    for first in range(0, states, CHECKED):
        packed = search.log.packed_states(first, min(states, first + CHECKED))
        for pool, highest in zip(search.pools, search.packed.highest(packed)):
            assert highest < len(pool.values), "a state with an unknown value"
        search.log.let_go()
    rows_again(search, np.concatenate([arrays[1] for _, arrays in parts]).tolist())
    search.log.levels = levels
    numbers_again(search, at, manifest.calls)
    return search


def numbers_again(search: Search, at: Numbers, calls: int) -> None:
    """Puts back the numbers that a search had counted, and the goals that it had met."""
    search.findings.depth = at.depth
    search.findings.goals = {name: at.goals[name] for name in search.findings.goals}
    search.findings.news = True
    search.predicates.refresh()
    search.extra = {name: at.fired[name] for name in search.extra}
    search.registers[r.TRANSITIONS] = at.transitions
    search.rows.calls = calls


def _states_again(
    search: Search, parts: list[tuple[segments.Segment, list[Words]]], widest: int
) -> None:
    """The log from the states of all segments, each in a layout of its own."""
    for segment, _ in parts:
        assert len(segment.widths) == len(search.pools), "fields of other widths"
        assert all(1 <= n <= widest for n in segment.widths), "fields of other widths"
        search.packed.widen(segment.widths)
    log, w, states = search.log, search.packed.words, 0
    for segment, (_, _, words) in parts:
        assert len(words) % search.packed.arranged(segment.widths)[0] == 0, "fields of other widths"
        more = search.packed.in_layout(words, segment.widths)
        log.memory.ensure((states + len(more)) * w)
        log.memory.words[states * w : (states + len(more)) * w] = more.reshape(-1)
        states += len(more)
    search.registers[r.LOG] = log.memory.address
    search.registers[r.STATES] = states


def _stored_again(search: Search, log: LogFile, states: int) -> None:
    """Takes up the log of a store, as far as its manifest knows it. Raises `CheckpointError` where
    it is torn.
    """
    disk, packed = search.log.disk, search.packed
    assert disk is not None and len(log.widths) == len(search.pools), "fields of other widths"
    assert all(1 <= n <= 32 for n in log.widths), "fields of other widths"
    packed.widen(log.widths)
    assert packed.state_widths == log.widths, "fields of other widths"
    w, first = packed.words, 0
    if disk.room < states * w:
        raise segments.torn(str(disk.path))
    for piece in log.pieces:
        if not first < piece.states <= states or disk.digest(first * w, piece.states * w) != (
            piece.digest
        ):
            raise segments.torn(str(disk.path))
        first = piece.states
    assert first == states, "states"
    disk.cut(states * w)
    disk.kept = log.name
    packed.point(r.LOG, disk)
    search.registers[r.STATES] = states


def values_again(search: Search, origins: list[int]) -> None:
    """Makes every value again, from its origin."""
    instances = [*search.see.ordinary, *search.see.urgent]
    at, row, outcomes = 0, None, []
    while at < len(origins):
        number, size = origins[at], origins[at + 1]
        ids = tuple(origins[at + 2 : at + 2 + size])
        outcome, position = origins[at + 2 + size], origins[at + 3 + size]
        at += 4 + size
        instance = instances[number]
        assert min((*ids, number, outcome, position)) >= 0 and size == len(instance.where), (
            "an origin that no rule has"
        )
        pools = [search.pools[k] for k in instance.where]
        if row != (number, ids):
            row = (number, ids)
            args = [pool.values[n] for pool, n in zip(pools, ids)]
            outcomes = search.see.call(instance, args)
        pool = pools[position]
        known = len(pool.values)
        assert pool.number(outcomes[outcome][1][position]) == known, (
            f"{instance.rule.name} gives other outcomes than when it was written"
        )
    search.rows.origins.extend(origins)


def rows_again(search: Search, tape: list[int]) -> None:
    """Packs the rows again, after checking every number."""
    tables, labels = search.tables, len(search.tables.labels)
    at = rows = 0
    search.rows.extend_guards()
    names = [{n for i in t.members for n in i.rule.names} for t in tables.rules]
    allowed = [{tables.labels.index(n) for n in there} for there in names]
    while at < len(tape):
        table, count = tape[at], tape[at + 1]
        pools = [search.pools[k] for k in tables.rules[table].inputs]
        width = len(pools)
        end = at + 2 + width + count * (width + 1)
        assert 0 <= count < 1 << 16 and end <= len(tape) and labels, "a row that no table has"
        inputs = tape[at + 2 : at + 2 + width]
        outcomes = [
            tape[begin : begin + 1 + width] for begin in range(at + 2 + width, end, width + 1)
        ]
        for ids in (inputs, *(outcome[1:] for outcome in outcomes)):
            assert all(n < len(p.values) for n, p in zip(ids, pools)), "a row with an unknown value"
        assert {o[0] for o in outcomes} <= allowed[table], "an outcome with a label of another rule"
        _shared_again(search, table, inputs, outcomes)
        search.packed.filled[table] += 1
        search.packed.most[table] = max(search.packed.most[table], count)
        at = end
        rows += 1
    search.packed.fit(None)
    search.packed.extend_guards()
    search.packed.write(tape, rows)
    search.resize()


def _shared_again(search: Search, table: int, ids: list[int], outcomes: list[list[int]]) -> None:
    """Puts back the calls that a row of a table shows of rules that share their calls over all
    indexes, so that they are not called again. Where one rule is there at several indexes, the row
    does not say which of them an outcome belongs to: then it is called again.
    """
    there = Counter(member.rule.name for member in search.rows.members[table])
    for member in search.rows.members[table]:
        mine = tuple([ids[k] for k in member.order])
        if member.guard is not None and not member.guard.open[mine[member.guard_at]]:
            continue  # not called
        names = {search.tables.labels.index(name) for name in member.rule.names}
        fired = [o for o in outcomes if o[0] in names]
        if member.shared is not None and (there[member.rule.name] == 1 or not fired):
            member.shared[mine] = [
                n for o in fired for n in (o[0], *(o[1 + k] for k in member.order))
            ]
        if fired and table >= search.tables.ordinary:
            return  # of urgent rules the first alone
