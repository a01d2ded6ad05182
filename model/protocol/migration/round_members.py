"""What members do in a classic group whose rounds go step by step, beside `classic_member`: they
hear what was parked, the first round ends by itself, and processes that are gone stay for a while.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.consumer.memory import Core, Phase, Seat, order
from groupcheck.model.protocol.consumer.messages import Link
from groupcheck.model.protocol.migration.classic_member import ClassicMember, Process
from groupcheck.model.protocol.migration.classic_requests import left
from groupcheck.model.protocol.migration.round_walks import first_round_ends, onward, without_member
from groupcheck.model.protocol.migration.rounds import forgotten
from groupcheck.model.protocol.migration.scope import MigrationScope


@urgent("heard", "unheard", when=lambda link: link.parked is not None)
def hear_parked(client: Process, link: Link) -> Iterator[tuple[str, Process, Link]]:
    """What was parked is answered: to the process that waits, or to nobody, because it has joined
    again, or is gone.
    """
    answer = link.parked
    link = evolve(link, parked=None)
    if isinstance(client, ClassicMember) and client.waits:
        yield "heard", client, evolve(link, answer=answer)
    else:
        yield "unheard", client, link


@rule("longer", "ended", when=lambda core: core.phase == Phase.FIRST)
def first_round_over(core: Core) -> Iterator[tuple[str, Core]]:
    """The first round of a group lasts group.initial.rebalance.delay.ms, and as long again when
    members came meanwhile.
    """
    yield first_round_ends(core)


@rule(when=lambda core: core.round.orphans > 0)
def id_expires(core: Core) -> Iterator[Core]:
    """The session of an id ends that was handed out, and that no process has any more."""
    yield forgotten(evolve(core, round=evolve(core.round, orphans=core.round.orphans - 1)))


def group_without(core: Core, seat: Seat, scope: MigrationScope) -> Core:
    """A group of either kind after a member was removed."""
    if core.phase is None:
        return left(core, seat, scope)
    return onward(without_member(core, seat), expired=True)


def _is_parked(ghost: Seat) -> bool:
    """Is a request of it parked, so that its session does not end?"""
    return not ghost.part.new and (ghost.waits or ghost.part.syncs)


@rule(when=lambda ghosts: ghosts != ())
def ghost_leaves(
    core: Core, ghosts: tuple[Seat, ...], scope: MigrationScope
) -> Iterator[tuple[Core, tuple[Seat, ...]]]:
    """The session of a process that is gone ends, sooner or later, in a group of either kind."""
    for ghost in sorted(set(ghosts), key=repr):
        if core.phase is not None and _is_parked(ghost):
            continue
        rest = list(ghosts)
        rest.remove(ghost)
        yield group_without(core, ghost, scope), order(rest)


TIMERS = (first_round_over, id_expires, ghost_leaves)
