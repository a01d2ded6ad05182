"""The durable state, and the coordinator's move to another broker.

The log holds the last plan: its number, and the members with their shares and the generations that
they had when it was made. It does not hold who has re-joined since, because that would be a record
for each answer. So a coordinator that has loaded a group knows who its members are, and not what
they own: it begins a round, and their reports say it.

As in the classic group without phases, requests that were on their way to the old coordinator are
lost with its connections.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.async_server.group import UNKNOWN, Core, Seat, Seats
from groupcheck.model.protocol.async_server.scope import AsyncScope
from groupcheck.model.protocol.classic.group import Errand, Phase, Walk
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link

# -- Reload: a new coordinator loads the group


@frozen(kw_only=True)
class Reload(Errand):
    """The members of the last plan are loaded."""

    # The number of the plan.
    generation: int
    members: int = 0


@rule(when=lambda budget: budget.allows("fail_over"))
def fail_over(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """Begin: the coordinator moves. Its memory is lost, it loads the last plan."""
    left = Core(generation=core.durable, durable=core.durable, keeps=core.keeps)
    yield evolve(left, errands=(Reload(generation=core.durable),)), budget.spend("fail_over")


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Reload))
def reload(
    walk: Walk[Reload], seats: Seats, link: Link, scope: AsyncScope
) -> Iterator[tuple[Walk[Reload], Seats, Link]]:
    """The members of the plan are loaded. Each may own any partition until it has reported."""
    trusts, plan = scope.load == "trusts", scope.basis == "plan"
    ids = tuple(
        [
            (
                id,
                Seat(
                    epoch=epoch if scope.record == "generations" else UNKNOWN,
                    loaded=walk.errand.generation,
                    owned=share if trusts else scope.everything,
                    share=share if trusts or plan or scope.old == "stored" else 0,
                ),
            )
            for id, epoch, share in seats.durable
        ]
    )
    loaded = evolve(walk.errand, members=walk.errand.members + len(ids))
    yield walk.passed(loaded, scope), evolve(seats, ids=ids), Link()


def reloaded(errand: Reload, core: Core, scope: AsyncScope) -> Iterator[Core]:
    """End: the members have to report, if there are any."""
    core = evolve(core, members=errand.members)
    if not core.members:
        yield core
    elif scope.load == "trusts":
        yield evolve(core, phase=Phase.STABLE)
    else:
        yield evolve(core, phase=Phase.PREPARING, missing=core.members)


# -- Forget: no fail-over can happen any more


@frozen(kw_only=True)
class Forget(Errand):
    """The values that only a fail-over could read are reset at every seat."""


@urgent(when=lambda budget: budget.closing)
def close_books(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """Begin: the last fault has happened, and what was remembered for it is reset."""
    spent = evolve(budget, closing=False)
    if core.keeps and not budget.allows("fail_over"):
        yield evolve(core, keeps=False, durable=0, errands=(Forget(),)), spent
    else:
        yield core, spent


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Forget))
def forget(
    walk: Walk[Forget], seats: Seats, scope: AsyncScope
) -> Iterator[tuple[Walk[Forget], Seats]]:
    """The plan in the log is forgotten."""
    yield walk.passed(walk.errand, scope), evolve(seats, durable=())


def forgotten(errand: Forget, core: Core, scope: AsyncScope) -> Iterator[Core]:
    """End: nothing more to write back."""
    yield core
