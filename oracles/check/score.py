"""The mutation score: which promise, if it were the only one, would find which known bug."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
from attrs import frozen
from rich.console import Group
from rich.table import Table
from rich.text import Text

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import Limits, UserError
from groupcheck.model.engine.staged import explore
from groupcheck.model.mutations import Mutation
from groupcheck.model.variants import load
from groupcheck.oracles.explain.subject import mutation_named, subject
from groupcheck.oracles.printable import printable
from groupcheck.oracles.processes.parallel import results

NOBODY = "no bug of this list breaks it"


@frozen
class BrokenPromises:
    """The promises that one bug breaks."""

    mutation: Mutation
    # Every invariant that the bug breaks somewhere in its scope, those first that break first.
    invariants: tuple[str, ...]
    # Every promise about progress that it breaks in its scope for progress; empty if it has none.
    progress: tuple[str, ...]

    @property
    def promises(self) -> tuple[str, ...]:
        return (*self.invariants, *self.progress)


@frozen
class Score:
    """All promises of the families of some bugs, and all bugs that break them."""

    killed: tuple[BrokenPromises, ...]
    # The names of the invariants and of the promises about progress, in the order of the registry.
    invariants: tuple[str, ...]
    progress: tuple[str, ...]

    @property
    def kills(self) -> Mapping[str, tuple[str, ...]]:
        """Promise -> the ids of the bugs that break it."""
        return {
            name: tuple(one.mutation.id for one in self.killed if name in one.promises)
            for name in (*self.invariants, *self.progress)
        }

    @property
    def idle(self) -> tuple[str, ...]:
        """The promises that no bug breaks."""
        return tuple(name for name, ids in self.kills.items() if not ids)

    @property
    def headline(self) -> str:
        """The score in one sentence."""
        found = sum(bool(one.promises) for one in self.killed)
        every = len(self.invariants) + len(self.progress)
        return (
            f"{found} of {len(self.killed)} bugs break a promise; {every - len(self.idle)} of"
            f" {every} promises are broken by a bug"
        )


# With some bugs a scope has tens of millions of states: promises that break late are not found.
MOST_STATES = 300_000


def score(bugs: Sequence[Mutation], workers: int = 1) -> Score:
    """Which promises each bug breaks, in the bug's own scopes. A few searches for each bug, in up
    to `workers` processes.
    """
    families = [family for bug in bugs for family in load(bug.family.base).every_family]
    promises = for_families(dict.fromkeys(families))
    broken = dict(results(_broken, [bug.id for bug in bugs], workers))
    return Score(
        tuple(BrokenPromises(bug, *broken[k]) for k, bug in enumerate(bugs)),
        tuple(p.name for p in promises.invariants),
        tuple(p.name for p in promises.progress),
    )


def _broken(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    bug = mutation_named(name)
    return broken_by(bug), broken_in_the_end(bug)


def broken_by(bug: Mutation) -> tuple[str, ...]:
    """Every invariant that a bug breaks in its scope, within `MOST_STATES`. A search ends with the
    level of the first one, so those that are left are searched for again until none breaks.
    """
    spec = subject(bug.family.base, mutation=bug.id).spec
    left, found = spec.invariants, list[str]()
    while left:
        try:
            rest = attrs.evolve(spec, invariants=left, goals=(), deadlock=False)
            verdict = explore(rest, Limits(states=MOST_STATES))
        except UserError:  # states behind the first broken promise may be no states of a group
            break
        broken = dict.fromkeys(violation.invariant for violation in verdict.violations)
        if not broken:
            break
        found += broken
        left = tuple(p for p in left if p.name not in broken)
    return tuple(found)


def broken_in_the_end(bug: Mutation) -> tuple[str, ...]:
    """Every promise about progress that a bug breaks in its scope for progress."""
    if not bug.progress:
        return ()
    spec = subject(bug.family.base, mutation=bug.id, progress=True).spec
    verdict = explore(spec, liveness=True)
    return tuple(dict.fromkeys(violation.invariant for violation in verdict.violations))


def view(told: Score) -> Group:
    """The score as a table: a promise, how many bugs it finds, and which."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("promise", no_wrap=True)
    table.add_column("finds", justify="right")
    table.add_column("bugs")
    for name, ids in told.kills.items():
        listed = printable(", ".join(ids)) if ids else Text(NOBODY, "yellow")
        table.add_row(name, str(len(ids)), listed)
    bound = Text(f"  searched: {MOST_STATES:,} states of each bug's scope at most", "dim")
    return Group(Text(f"\nmutation score: {told.headline}", "bold"), bound, table)
