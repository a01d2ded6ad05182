"""How many rounds a change costs a cooperative group (KIP-429)."""

from __future__ import annotations

from groupcheck.model.engine import goal, invariant
from groupcheck.model.protocol.classic.features.round_count import FAMILY as ROUNDS
from groupcheck.model.protocol.classic.features.round_count import Rounds
from groupcheck.model.protocol.classic.group import Core, Phase


@invariant(
    source="KIP-429; protocol: C15",
    broken=(
        "The group completes a round, and has completed two since the one that the last change made"
    ),
    of=ROUNDS,
)
def one_more_round(rounds: Rounds) -> bool:
    """After a change, one round makes the new plan, and at most one more gives away what it has
    withheld.

    A change is that a member comes or goes. Exempt is what may make a member miss its share
    (`EXCEPTIONS` of `round_count`): lost messages, an append that fails, a fail-over. Why:
    in the second round nobody owns what another one should have, so nobody has to revoke anything
    and join again. A group in which rounds follow each other without a change never rests.
    """
    return rounds.more <= 1


@goal(source="KIP-429", of=ROUNDS)
def second_round(core: Core, rounds: Rounds) -> bool:
    """The group is Stable after the one more round that a change has cost."""
    return core.phase == Phase.STABLE and rounds.more == 1
