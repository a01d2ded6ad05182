"""What an assignor may make of a streams group, and the step in which it does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.protocol.consumer.memory import END, Collect, Deal, Reload, Walk
from groupcheck.model.protocol.consumer.plans import Key, Plan
from groupcheck.model.protocol.consumer.targets import (
    begin_errand,
    give_ghosts,
    give_target,
    read_ghosts,
    read_member,
    target_written,
)
from groupcheck.model.protocol.streams.memory import StreamsCore, Topics
from groupcheck.model.protocol.streams.messages import StreamsLink
from groupcheck.model.protocol.streams.scope import StreamsScope
from groupcheck.model.protocol.streams.tasks import both


def plans(seen: tuple[Key, ...], scope: StreamsScope, *, ready: bool = True) -> list[Plan]:
    """Every plan that the assignor may make. A topology that is not `ready` has no tasks."""
    if not ready or not seen:
        return [tuple((key, 0) for key in seen)]
    choices = list(_places(seen, scope))
    every = set()
    for chosen in product(choices, repeat=scope.tasks):
        shares = [0] * len(seen)
        for task, (active, standbys) in enumerate(chosen):
            shares[active] |= both(1 << task, 0)
            for k in standbys:
                shares[k] |= both(0, 1 << task)
        every.add(tuple(sorted(zip(seen, shares))))
    return sorted(every)


def _places(seen: tuple[Key, ...], scope: StreamsScope) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The members that may have a task: the active one, and the standbys in other processes, as
    many as are wanted, or as there are processes.
    """
    processes = {process for process, *_ in seen}
    size = min(scope.standbys, len(processes) - 1)
    for active, (home, *_) in enumerate(seen):
        others = [k for k, (process, *_) in enumerate(seen) if process != home]
        for standbys in combinations(others, size):
            if len({seen[k][0] for k in standbys}) == size:
                yield active, standbys


@urgent(when=lambda walk: walk.at == END and isinstance(walk.errand, Collect))
def compute_streams_target(
    walk: Walk, core: StreamsCore, scope: StreamsScope
) -> Iterator[tuple[Walk, StreamsCore]]:
    """The assignor makes a plan (maybeUpdateStreamsTargetAssignment, TargetAssignmentBuilder)."""
    errand = walk.errand
    assert isinstance(errand, Collect)
    for plan in plans(errand.seen, scope, ready=core.known == Topics.READY):
        yield Walk(0, Deal(errand.fails, plan)), core


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Deal | Reload))
def forget_former_tasks(walk: Walk, link: StreamsLink) -> Iterator[tuple[Walk, StreamsLink]]:
    """There is another target, or another coordinator: what the last one was is not kept."""
    errand = walk.errand
    if link.recalled and not (isinstance(errand, Deal) and errand.fails):
        yield walk, evolve(link, recalled=0)


WALK_RULES = (
    begin_errand,
    forget_former_tasks,
    read_member,
    read_ghosts,
    compute_streams_target,
    give_target,
    give_ghosts,
    target_written,
)
