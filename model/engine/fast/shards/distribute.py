"""A distributed search: begun in the driver's own process, where small levels cost least, handed
over when a level is wide enough, or resumed.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.engine.errors import AsymmetryError, UserError
from groupcheck.model.engine.fast.checkpoint import fitting, numbers_again, numbers_of
from groupcheck.model.engine.fast.exploration import Kept
from groupcheck.model.engine.fast.explore import (
    Run,
    StoppedError,
    interrupts,
    verdict_of,
)
from groupcheck.model.engine.fast.identity import Identity, identity
from groupcheck.model.engine.fast.memory import Watch, peak_bytes, without_collection
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.shards import manifests
from groupcheck.model.engine.fast.shards.addresses import again
from groupcheck.model.engine.fast.shards.cpu import Cpu
from groupcheck.model.engine.fast.shards.lease import must_be_free
from groupcheck.model.engine.fast.shards.owned import Piece
from groupcheck.model.engine.fast.shards.replica import dealt, scratch_log
from groupcheck.model.engine.fast.shards.spread import Cluster, Spread
from groupcheck.model.engine.fast.shards.store import Store, UnwrittenError
from groupcheck.model.engine.fast.shards.updates import Telling, relearned
from groupcheck.model.engine.fast.shards.working import write_shape
from groupcheck.model.engine.fast.symmetry_choice import symmetry_here
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.symmetry import Symmetry, must_be_usable
from groupcheck.model.engine.verdict import Limits, Progress, Verdict

HANDED = 16_384  # states that a shard hands to the driver at once
WIDEST = 100_000  # a level of so many states is handed over (docs/spark.md has what was measured)
UNWRITTEN = "stopped: the store cannot be written"


@frozen
class Order:
    """What `distribute` is asked for; its arguments by their names there."""

    spec: Spec
    cluster: Cluster
    where: Store
    limits: Limits
    progress: Callable[[Progress], None] | None
    shards: int | None
    widest: int | None
    most: int
    lasting: bool
    goals: Sequence[str]
    # When it was asked, by `time.perf_counter`.
    began: float


def distribute(
    spec: Spec,
    cluster: Cluster,
    store: str,
    limits: Limits = Limits(),
    progress: Callable[[Progress], None] | None = None,
    *,
    shards: int | None = None,
    widest: int | None = None,
    most: int = HANDED,
    resume: bool = False,
    lasting: bool = True,
    symmetry: bool | None = False,
    required: bool = False,
    goals: Sequence[str] = (),
) -> Verdict:
    """Explores every state of a spec over a cluster, to the same counts, verdicts and depths as
    `explore`.

    `store`: a URI that every executor reaches. `shards`: parts of the states, as many as the
    cluster has cores if not said. `widest`: the first level of so many states is handed over;
    below, the search goes on in this process. If not said, a search that ends there is refused,
    because one process is quicker than a cluster starts. `most`: states that a shard hands to the
    driver at once. `resume`: go on with what the store holds, which has its shards. `lasting`: does
    the store stay afterwards? `symmetry`, `required`, `goals`: as in `Options`; where executors
    find that permutations do make a difference, the search begins again without it. Raises
    `StoreError`, `CheckpointError`, `RuleError`, and `UserError` for a spec or limits that cannot
    be spread, and for other `shards` than the store has.
    """
    began = time.perf_counter()
    must_be_spreadable(spec, limits)
    with without_collection():
        where = Store(store)
        used = _symmetry(spec, symmetry, where if resume else None)
        must_be_usable(spec, used, required)
        order = Order(
            spec, cluster, where, limits, progress, shards, widest, most, lasting, goals, began
        )
        try:
            return _searched(order, used, resume)
        except AsymmetryError as error:
            used = Symmetry((), (str(error),))
        must_be_usable(spec, used, required)
        manifests.clear(where)
        return _searched(order, used, False)


def _symmetry(spec: Spec, asked: bool | None, resumed: Store | None) -> Symmetry:
    """The symmetry to search with. `asked`: as in `Options`; None leaves the choice to the search
    in the store that is `resumed`.
    """
    if asked is None and resumed is not None:
        if not manifests.has_symmetry(resumed):
            return Symmetry((), ("the store is of a search without it",))
        asked = True
    return symmetry_here(spec, asked, False, False, None)


def _searched(order: Order, symmetry: Symmetry, resume: bool) -> Verdict:
    """As `distribute`. Raises `AsymmetryError` where permutations make a difference."""
    o = order
    ours = identity(o.spec, symmetry) if o.lasting else None
    if resume:
        assert ours, "a search is resumed in a store that vanishes"
        spread = _resumed(o, symmetry, ours)
        if o.shards not in (None, spread.shards):
            raise UserError(
                f"was begun with {spread.shards} shards",
                where=o.where.uri,
                do="leave out --shards",
            )
        return _finished(spread, o.goals)
    cpu = Cpu(driver=-time.process_time())
    search = Search(o.spec, symmetry)
    search.kept = Kept()
    watch = Watch(search, peak_bytes())
    run = Run(search, o.limits, o.progress, None, o.began, numbers_of(search), watch)
    run.goals = o.goals
    run.begin()
    with interrupts(run), cpu.as_one_process():
        run.levels(WIDEST if o.widest is None else o.widest)
    if run.reason or search.findings.wrong or search.log.levels[-1] == search.log.states:
        return _alone(run, o.widest)
    try:
        spread = _handed_over(run, ours, o.where, o.cluster, o.shards or o.cluster.shards, o.most)
    except UnwrittenError as error:
        run.reason = UNWRITTEN
        return evolve(verdict_of(run), unsaved=error)
    spread.cpu = cpu + Cpu(driver=spread.taken)
    return _finished(spread, o.goals, is_new=True)


def _alone(run: Run, widest: int | None) -> Verdict:
    """The answer of a search that ended before it was handed over. Raises `UserError` where it is
    complete and nobody asked to hand over any sooner.
    """
    found = verdict_of(run)
    if widest is None and found.verdict != "violated" and not run.reason:
        raise UserError(
            f"one process explores all {found.states:,} states in {run.seconds:.1f} s, sooner than"
            f" Spark starts: no level has {WIDEST:,} that are stored",
            where="--spark",
            do="leave out --spark; --hand-over 0 spreads them all the same",
        )
    note = (
        f"no level had {WIDEST if widest is None else widest:,} states: this process did it alone,"
        " the executors had nothing to do"
    )
    spread: dict[str, Any] = {"shards": 0, "handed_over_at_level": None, "levels": []}
    return evolve(found, notes=(*found.notes, note), distribution=spread)


def must_be_spreadable(spec: Spec, limits: Limits) -> None:
    """Raises `UserError` for what executors cannot do, with the reason and what to do instead."""
    values = "its values are with the driver alone"
    for what, why, name in (
        *(("constraint", values, c.name) for c in spec.constraints),
        *(("refinement", values, x.name) for x in spec.refinements),
    ):
        raise UserError(
            f"cannot spread a search with a {what} ({name}): executors would have to evaluate it"
            f" for every state, and {why}",
            where="--spark",
            do=f"leave out --spark, or check without the {what}",
        )
    if limits.depth is not None:
        raise UserError(
            "cannot spread a search with a depth bound: executors expand a level in the step in"
            " which they find it",
            where="--spark",
            do="leave out --spark, or bound it by --max-states",
        )


def _finished(spread: Spread, goals: Sequence[str], is_new: bool = False) -> Verdict:
    """The answer of a search over shards; one whose store cannot be written says what it found."""
    spread.search.pulse = spread.pulse
    spread.search.key_to = spread.key_of
    reason = ""
    try:
        if is_new:
            spread.keep()
        spread.levels()
    except UnwrittenError as error:
        return evolve(spread.verdict(UNWRITTEN, goals), unsaved=error)
    except StoppedError as stopped:
        reason = str(stopped)
    except KeyboardInterrupt:
        reason = f"interrupted in level {spread.level}"
    finally:
        spread.lease.end()
    if reason:
        kept = f"the levels before it are in the store: {again(spread.store.address)} goes on"
        lost = "nothing of it is kept, which --store URI would"
        reason += f"; {kept if spread.identity else lost}"
    return spread.verdict(reason, goals)


def _handed_over(
    run: Run, ours: Identity | None, store: Store, cluster: Cluster, shards: int, most: int
) -> Spread:
    """The search of one process, dealt to shards."""
    s, name = run.search, manifests.new_run()
    manifests.must_be_new(store)
    write_shape(store, name, s.packed.shape)
    pieces: list[list[Piece]] = [[] for _ in range(shards)]
    ends = [*s.log.levels[1:], s.log.states]
    widths = s.packed.state_widths
    for level, (first, end) in enumerate(zip(s.log.levels, ends)):
        for shard, part in enumerate(dealt(s.packed, s.log.packed_states(first, end), shards)):
            if len(part):
                block = f"{name}/level-{level:05}/states-{shard:03}-{uuid.uuid4().hex[:12]}"
                store.write(block, {"widths": widths}, [part.reshape(-1)])
                pieces[shard].append(Piece(block, level, len(part)))
    met = {
        name: (s.log.level_of(place), s.log.ids(place)) for name, place in s.findings.first.items()
    }
    states, counted, level = s.log.states, s.counted, len(s.log.levels) - 1
    s.log = scratch_log(s.packed)
    return Spread(
        s, store, cluster, Telling(s, store, name), name, set(), ours, shards, most,
        run.limits, run.progress, run.began, level, states, counted, pieces, met=met,
    )  # fmt: skip


def _resumed(order: Order, symmetry: Symmetry, ours: Identity) -> Spread:
    """The search in a store, at the end of its last complete level, as a run of its own."""
    store = order.where
    must_be_free(store)
    m, known = manifests.take_over(ours, store)
    with fitting(store.uri):
        search = Search(order.spec, symmetry)
        write_shape(store, m.run, search.packed.shape)
        telling = relearned(search, store, m.run, m.updates)
        search.log = scratch_log(search.packed)
        search.findings.wrong = m.wrong
        numbers_again(search, m.numbers, m.calls)
    store.is_resumable = True
    return Spread(
        search, store, order.cluster, telling, m.run, known, ours, m.shards, order.most,
        order.limits, order.progress, time.perf_counter() - m.seconds, m.level, m.numbers.states,
        m.counted, m.pieces, m.incoming, m.witness, m.met, m.costs, m.memory,
        finished=m.finished, cpu=m.cpu,
    )  # fmt: skip
