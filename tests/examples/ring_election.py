"""Chang and Roberts' election on a ring ("An improved algorithm for decentralized extrema-finding",
CACM 1979; the TLA+ examples' ChangRoberts): the member with the smallest identity wins.
"""

from attrs import frozen

from groupcheck.model.engine import Spec, any_of, array, end, evolve, goal, invariant, rule


@frozen
class Node:
    initiator: bool
    state: str  # "cand", "lost" or "won"
    begun: bool = False
    inbox: frozenset[int] = frozenset()


@rule
def begin(me, node, next: "node[me+1]", scope):
    if not node.begun:
        sent = {scope[me]} if node.initiator else set()
        yield evolve(node, begun=True), evolve(next, inbox=next.inbox | sent)


@rule("forwarded", "lost", "stopped", "won")
def receive(me, node, next: "node[me+1]", scope):
    for identity in sorted(node.inbox) if node.begun else ():
        left = evolve(node, inbox=node.inbox - {identity})
        passed = evolve(next, inbox=next.inbox | {identity})
        if node.state == "lost":
            yield "forwarded", left, passed
        elif identity < scope[me]:
            yield "lost", evolve(left, state="lost"), passed
        elif identity == scope[me]:
            yield "won", evolve(left, state="won"), next
        else:
            yield "stopped", left, next


@invariant
def the_winner_began(node):
    """Who wins has taken part from the start."""
    return node.state != "won" or node.initiator


@invariant
def others_have_lost(i, j, winner: "node[i]", other: "node[j]", scope):
    """Who wins has the smallest identity of all that began; the others know that they lost."""
    return winner.state != "won" or (
        other.state == "lost" and (not other.initiator or scope[j] > scope[i])
    )


@goal("some i", "all j")
def elected(winner: "node[i]", other: "node[j]"):
    return winner.state == "won" and other.state == "lost"


@end
def quiet(node):
    return node.begun and not node.inbox


def ring_election(identities: tuple[int, ...]) -> Spec:
    """`identities`: of the members, in the order of the ring; two at least."""
    node = any_of(Node(True, "cand"), Node(False, "lost"))
    return Spec(
        "ring election",
        {"node": array(len(identities), node)},
        [begin, receive],
        identities,
        [the_winner_began, others_have_lost],
        [elected],
        [quiet],
    )
