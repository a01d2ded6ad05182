"""Dijkstra's detection of termination on a ring (EWD 840; the TLA+ examples' EWD840): a token goes
from node to node against the order of the ring, and finds out whether all have come to rest.
"""

from attrs import frozen

from groupcheck.model.engine import Spec, any_of, array, evolve, goal, invariant, rule, single

WHITE, BLACK = "white", "black"


@frozen
class Node:
    active: bool
    color: str


@frozen
class Token:
    at: int
    color: str = BLACK


@rule
def initiate_probe(me, node, token, scope):
    if me == token.at == 0 and BLACK in (token.color, node.color):
        yield evolve(node, color=WHITE), Token(scope - 1, WHITE)


@rule
def pass_token(me, node, token):
    may_pass = not node.active or BLACK in (node.color, token.color)
    if me == token.at != 0 and may_pass:
        color = BLACK if node.color == BLACK else token.color
        yield evolve(node, color=WHITE), Token(me - 1, color)


@rule(when=lambda node: node.active)
def send(me, other, node, receiver: "node[other]"):
    color = BLACK if other > me else node.color
    yield evolve(node, color=color), evolve(receiver, active=True)


@rule
def deactivate(node):
    if node.active:
        yield evolve(node, active=False)


def is_detected(token, first):
    return token == Token(0, WHITE) and first.color == WHITE and not first.active


@invariant
def all_at_rest_when_detected(token, nodes: "node[:]"):
    """When node 0 detects the end, every node has come to rest."""
    return not is_detected(token, nodes[0]) or not any(n.active for n in nodes)


@invariant("some i")
def the_token_is_somewhere(i, node, token):
    """Some node has the token."""
    return token.at == i


@goal("all i")
def at_rest(node):
    return not node.active


@goal
def detected(token, nodes: "node[:]"):
    return is_detected(token, nodes[0])


def termination_detection(nodes: int) -> Spec:
    colors = [Node(active, color) for active in (False, True) for color in (WHITE, BLACK)]
    return Spec(
        "termination detection",
        {
            "node": array(nodes, any_of(*colors)),
            "token": single(any_of(*map(Token, range(nodes)))),
        },
        [initiate_probe, pass_token, send, deactivate],
        nodes,
        [all_at_rest_when_detected, the_token_is_somewhere],
        [at_rest, detected],
        deadlock=False,
    )
