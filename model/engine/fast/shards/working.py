"""The work of an executor for one shard at one level: take in the states that others found for it,
expand those that are new, deal out what it finds. Whatever lacks rows is handed to the driver, the
only one that knows rules. Doing it twice, or on another machine, changes nothing.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Sequence

import numpy as np
from attrs import asdict, define, field, frozen

from groupcheck.model.engine.errors import UserError, what_helps
from groupcheck.model.engine.fast.checkpoint import structured
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.compiled import PACKING, Unit, is_ready, load
from groupcheck.model.engine.fast.loop import STRETCH
from groupcheck.model.engine.fast.shape import Shape
from groupcheck.model.engine.fast.shards.cpu import Cpu
from groupcheck.model.engine.fast.shards.items import Items, pairs
from groupcheck.model.engine.fast.shards.owned import (
    Owned,
    Piece,
    local_folder,
    owned,
    states_in,
)
from groupcheck.model.engine.fast.shards.replica import (
    EndlessError,
    Replica,
    UnequalError,
    Update,
    dealt,
    found,
    found_in,
)
from groupcheck.model.engine.fast.shards.store import Store
from groupcheck.model.engine.fast.store import Words, address, joined

ALL = (1 << 64) - 1
EXAMINED = 8192  # states at once, so that what they lack fits the queues
_replicas: dict[str, Replica] = {}  # of this process; one run at a time


@frozen
class Work:
    """One shard's part of a level."""

    run: str
    # The URI of the store, with what may be secret in it.
    store: str
    # The number of the shard, and how many there are.
    shard: int
    shards: int
    level: int
    # 0, or how many times the driver has completed what was missing.
    round: int
    # The blocks of all updates so far.
    updates: tuple[str, ...]
    # The predicates that are still of interest, as bits.
    live: int
    # Blocks of the shard's states: up to the level before, or, without `incoming`, up to this one.
    pieces: tuple[Piece, ...]
    # Blocks of successors, with a section for each shard.
    incoming: tuple[str, ...] | None
    # The block of items that an earlier round has left.
    left: str | None
    # How many states may be handed back at once.
    most: int
    # Does --resume go on with the store?
    is_resumable: bool


@frozen(eq=False)
class ItemBatch:
    """Items for the driver."""

    items: Items
    # The block with the other items, where all would be too many at once.
    left: str | None


@frozen(eq=False)
class Report:
    """The result of a `Work`."""

    shard: int
    # The shard's new states, if there are any.
    piece: Piece | None
    # Predicates that the driver must look up.
    examinations: ItemBatch
    # Firings, and states without successors, that the driver must complete.
    firings: ItemBatch
    # The block of successors, with a section for each shard.
    dealt: str | None
    transitions: int
    # (kind of outcome, how often it fired).
    fired: tuple[tuple[int, int], ...]
    # States without successors: states x words.
    quiet: Words
    # Were the shard's log and index made again from blocks?
    rebuilt: bool
    # Bytes read and written.
    bytes: tuple[int, int]
    # Bytes of log and index.
    memory: int
    # How many states the orbits of the new ones have.
    counted: int
    # Why permutations make a difference, and in which table; None: they do not.
    unequal: tuple[int, int] | None
    # CPU seconds of expanding states: what one process would do, too.
    expanding: float


def replica_for(run: str, store: Store, updates: Sequence[str]) -> Replica:
    """This process's tables of a run, up to date."""
    replica = _replicas.pop(run, None)
    if replica is None or replica.applied != list(updates[: len(replica.applied)]):
        _replicas.clear()
        replica = Replica(shape_from(store, run))
    replica.forget()
    for name in updates[len(replica.applied) :]:
        replica.apply(name, Update.read(store.read(name)))
    _replicas[run] = replica  # only now: one that was half updated is of no use
    return replica


def warm() -> None:
    """Loads the kernels that most models run on, as far as they are compiled already; other ones
    are loaded, or compiled, by the first task.
    """
    for unit in (
        PACKING,
        *(Unit(words, urgent) for words in (1, 2, 3) for urgent in (False, True)),
    ):
        if is_ready(unit):
            load(unit)


def write_shape(store: Store, run: str, shape: Shape) -> None:
    """Keeps what a run's executors need to know of the tables."""
    store.write_document(f"{run}/shape.json", asdict(shape))


def shape_from(store: Store, run: str) -> Shape:
    """The shape that `write_shape` kept."""
    return structured(store.read_document(f"{run}/shape.json"), Shape)


@define
class _Shift:
    """One task under way."""

    work: Work
    store: Store
    replica: Replica
    # The states in hand: states x words.
    frontier: Words
    # What could not be finished, as in `Items`; places are those of the frontier.
    examinations: list[Words] = field(factory=list)
    firings: list[Words] = field(factory=list)
    rests: list[Words] = field(factory=list)
    # Places of states without successors, and of those that asked for rows.
    quiet: list[Words] = field(factory=list)
    askers: list[Words] = field(factory=list)
    # These are as in `Report`.
    piece: Piece | None = None
    rebuilt: bool = False
    read: int = 0
    written: int = 0
    memory: int = 0
    counted: int = 0
    unequal: tuple[int, int] | None = None

    def write(self, what: str, sections: Sequence[Words]) -> str:
        """Writes a block; returns its name, which no other attempt uses."""
        w, attempt = self.work, uuid.uuid4().hex[:12]
        name = f"{w.run}/level-{w.level:05}/{what}-{w.shard:03}-{w.round}-{attempt}"
        widths = {"widths": self.replica.packed.state_widths}
        self.written += self.store.write(name, widths, sections)
        return name

    # -- arriving

    def arrive(self, there: Owned) -> None:
        """Takes in what was found for this shard, and writes what is new."""
        for name in self.work.incoming or ():
            block = self.store.read(name, [self.work.shard])
            self.read += block.stored
            self._take_in(there, *found_in(block, 0, self.replica.packed))
        log = self.replica.log
        self.frontier = log.packed_states(there.states, log.states).copy()
        pieces = [*self.work.pieces]
        if len(self.frontier):
            name = self.write("states", [self.frontier.reshape(-1)])
            self.piece = Piece(name, self.work.level, len(self.frontier))
            pieces.append(self.piece)
        there.keep(self.replica, pieces, log.states)
        self.memory = log.bytes + 4 * log.size
        permuted = self.replica.packed.permuted
        self.counted = len(self.frontier) if permuted is None else permuted.orbits(self.frontier)

    def _take_in(self, there: Owned, states: Words, needs: Words) -> None:
        registers, states = self.replica.registers, np.ascontiguousarray(states)
        registers[r.LIVE], registers[r.SOURCE] = self.work.live, address(needs)
        first = 0
        while first < len(states):
            self.replica.run(r.TAKE_IN, first, min(len(states), first + EXAMINED), states)
            if int(registers[r.FROM]) == first:
                raise UserError(
                    f"shard {self.work.shard} cannot hold more than {self.replica.log.states:,}"
                    " states",
                    do="use more --shards",
                )
            first = int(registers[r.FROM])
            self._note_examinations(there.states)

    def _note_examinations(self, first: int) -> None:
        """Predicates that were put off, or whose rows were asked for. `first`: the place of the
        frontier in the log.
        """
        put_off = self.replica.taken(r.PUT_OFF, r.PUT_OFF_COUNT, 2).reshape(-1, 2)
        asked = self.replica.asked()
        asking = np.column_stack([asked, np.full(len(asked), ALL, np.uint64)])
        both = np.concatenate([put_off, asking])
        both[:, 0] -= np.uint64(first)
        self.examinations.append(both.reshape(-1))
        self.askers.append(asked - np.uint64(first))

    # -- expanding, in the scratch log: the frontier first, then what it leads to

    def expand(self) -> None:
        """All successors of the frontier, as far as rows are there."""
        replica = self.replica
        replica.scratch_with(self.frontier)
        replica.registers[r.LIVE] = 0
        first = 0
        while first < len(self.frontier):
            replica.run(r.EXPAND, first, min(len(self.frontier), first + STRETCH))
            first = int(replica.registers[r.FROM])
            self._note_firings()

    def _note_firings(self) -> None:
        replica = self.replica
        self.firings.append(replica.taken(r.DEFERRED, r.DEFERRED_COUNT, 2))
        self.quiet.append(replica.taken(r.QUIET, r.QUIET_COUNT))
        self.rests.append(replica.taken(r.UNSURE, r.UNSURE_COUNT))
        self.askers.append(replica.asked())
        if int(replica.registers[r.OVERFLOW]):
            replica.more_chain_memory()

    def retry(self, items: Items) -> None:
        """Retries the items that an earlier round left, with the rows that are there now."""
        replica = self.replica
        self.frontier = items.states
        replica.scratch_with(items.states)
        replica.registers[r.LIVE] = self.work.live
        for first in range(0, len(items.examinations), EXAMINED):
            some = np.ascontiguousarray(items.examinations[first : first + EXAMINED])
            replica.run(r.RECHECK, 0, len(some), some)
            self._note_examinations(0)
        replica.registers[r.LIVE] = 0
        done, firings = 0, np.ascontiguousarray(items.firings)
        while done < len(firings):
            replica.run(r.RETRY, done, len(firings), firings)
            done = int(replica.registers[r.FROM])
            self._note_firings()
        waiting = pairs(self.firings)[:, 0]
        self.rests.append(items.rests[np.isin(items.rests, waiting)])
        settled = np.ascontiguousarray(items.rests[~np.isin(items.rests, waiting)])
        self.quiet.append(replica.without_successors(settled))

    @contextlib.contextmanager
    def noting_faults(self) -> Iterator[None]:
        """A step that never comes to rest ends the task, and so does one that shows the order of
        indexes; the driver says which rules are at fault.
        """
        try:
            yield
        except EndlessError as error:
            self.rests.append(np.array([error.place], np.uint64))
        except UnequalError as error:
            self.unequal = error.why, error.table

    # -- handing over

    def deal(self) -> str | None:
        """Writes the successors, a section for each shard. Returns the name of the block, if there
        are any.
        """
        successors = found(self.replica.log, len(self.frontier))
        parts = dealt(self.replica.packed, successors, self.work.shards)
        return self.write("dealt", [x.reshape(-1) for x in parts]) if len(successors) else None

    def hand_over(
        self, examinations: list[Words], firings: list[Words], rests: list[Words]
    ) -> ItemBatch:
        """Hands the driver the items that could not be finished."""
        widths = tuple(self.replica.packed.state_widths)
        items = Items(self.frontier, pairs(examinations), pairs(firings), joined(rests), widths)
        handed, rest = items.parted(joined(self.askers), self.work.most)
        return ItemBatch(handed, self.write("left", rest.sections) if len(rest) else None)

    def quiet_states(self) -> Words:
        """States without successors: one for each combination of what the declared ends read."""
        states = self.frontier[joined(self.quiet)]
        if not len(states):
            return states
        mask = np.zeros(self.replica.packed.words, np.uint64)
        for place in self.replica.packed.shape.ends_of_orbits:
            f = self.replica.packed.fields[place]
            mask[f.word] |= np.uint64(f.mask << f.shift)
        _, firsts = np.unique(states & mask, axis=0, return_index=True)
        chosen: Words = states[np.sort(firsts)]
        return chosen


def advance(work: Work) -> Report:
    """Does one shard's part of a level. Raises `StoreError` where blocks cannot be read
    or written.
    """
    store = Store(work.store, work.is_resumable)
    replica = replica_for(work.run, store, work.updates)
    registers, p = replica.registers, replica.packed
    shift, cpu = _Shift(work, store, replica, np.zeros((0, p.words), np.uint64)), Cpu()
    if work.left is not None:
        block = store.read(work.left)
        items = Items.of(block.sections, block.header["widths"], replica.packed)
        with shift.noting_faults(), cpu.as_one_process():
            shift.retry(items.moved_to(replica.packed))
    else:
        if work.incoming is None:
            shift.frontier = _states_at(work, store, replica)
        else:
            with (
                _own_disk(store),
                owned(replica, store, work.run, work.shard, work.pieces) as there,
            ):
                shift.rebuilt = there.rebuilt
                shift.arrive(there)
        with shift.noting_faults(), cpu.as_one_process():
            shift.expand()
    dealt_to = shift.deal()
    examinations = shift.hand_over(shift.examinations, [], [])
    firings = shift.hand_over([], shift.firings, shift.rests)
    fired = p.arrays[r.FIRED]
    kinds = np.flatnonzero(fired)
    return Report(
        work.shard,
        shift.piece,
        examinations,
        firings,
        dealt_to,
        int(registers[r.TRANSITIONS]),
        tuple(zip(kinds.tolist(), fired[kinds].tolist())),
        shift.quiet_states(),
        shift.rebuilt,
        (shift.read, shift.written),
        shift.memory,
        shift.counted,
        shift.unequal,
        cpu.one_process,
    )


@contextlib.contextmanager
def _own_disk(store: Store) -> Iterator[None]:
    """Raises `UserError` where the executor's own disk fails; the store's errors are others."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"an executor cannot keep its states there: {error.strerror or error}",
            where=str(local_folder()),
            do=what_helps(error, "--resume" if store.is_resumable else ""),
        ) from error


def predecessor(work: Work, target: Words, widths: Sequence[int]) -> list[int]:
    """A state of the shard at the work's level that has the target (one state's words, in the
    layout of `widths`) as successor: the numbers of its values; empty if there is none.
    """
    store = Store(work.store, work.is_resumable)
    replica = replica_for(work.run, store, work.updates)
    states = _states_at(work, store, replica)
    replica.scratch_with(np.concatenate([states, replica.packed.in_layout(target, widths)]))
    place = replica.predecessor(0, len(states), len(states))
    return [] if place is None else replica.log.ids(place)


def _states_at(work: Work, store: Store, replica: Replica) -> Words:
    """The shard's states at the work's level, in today's layout."""
    found = [states_in(store, x, replica).reshape(-1) for x in work.pieces if x.level == work.level]
    return joined(found).reshape(-1, replica.packed.words)
