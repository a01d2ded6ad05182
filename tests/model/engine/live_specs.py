"""Four published specifications with the liveness that their authors state, from the TLA+ examples
(tlaplus/Examples): EWD840, EWD998, ChangRoberts, ReadersWriters; each with a seeded mistake.
"""

from attrs import frozen

from groupcheck.model.engine import (
    Spec,
    array,
    end,
    eventually,
    evolve,
    infinitely_often,
    invariant,
    leads_to,
    rule,
    single,
    weak,
    weak_any,
)


def changed(values, index, value):
    """A tuple with one element changed."""
    return (*values[:index], value, *values[index + 1 :])


@end
def anywhere():
    """The originals are checked without deadlocks."""
    return True


# -- EWD840: termination detection in a ring, without messages under way (Dijkstra)


@frozen
class Ring:
    active: tuple[bool, ...]
    black: tuple[bool, ...]


@frozen
class Token:
    at: int
    is_black: bool = True


@rule
def initiate_probe(ring, token):
    if token.at == 0 and (token.is_black or ring.black[0]):
        yield (
            evolve(ring, black=changed(ring.black, 0, False)),
            Token(len(ring.active) - 1, False),
        )


@rule
def pass_token(ring, token):
    i = token.at
    if i and (not ring.active[i] or ring.black[i] or token.is_black):
        yield (
            evolve(ring, black=changed(ring.black, i, False)),
            Token(i - 1, token.is_black or ring.black[i]),
        )


@rule
def pass_token_and_stay_black(ring, token):
    """The mistake: the node that passes the token stays black."""
    for _, after in pass_token.call(ring, token):
        yield ring, after


@rule
def send(ring):
    nodes = range(len(ring.active))
    for i in nodes:
        for j in nodes:
            if ring.active[i] and i != j:
                black = changed(ring.black, i, ring.black[i] or j > i)
                yield Ring(changed(ring.active, j, True), black)


@rule
def deactivate(ring):
    for i in range(len(ring.active)):
        if ring.active[i]:
            yield evolve(ring, active=changed(ring.active, i, False))


@leads_to(when=lambda ring: not any(ring.active))
def termination_is_detected(ring, token):
    """Once all nodes are inactive, node 0 learns it."""
    return token.at == 0 and not (token.is_black or ring.black[0] or ring.active[0])


def tuples(size):
    """All tuples of so many yes and no."""
    return [tuple(bool(k >> i & 1) for i in range(size)) for k in range(1 << size)]


def ewd840(nodes, mistake=False):
    initial = [
        {"ring": Ring(active, black), "token": Token(at)}
        for active in tuples(nodes)
        for black in tuples(nodes)
        for at in range(nodes)
    ]
    passing = pass_token_and_stay_black if mistake else pass_token
    return Spec(
        "EWD840",
        {"ring": single(initial[0]["ring"]), "token": single(Token(0))},
        (initiate_probe, passing, send, deactivate),
        initial=initial,
        ends=[anywhere],
        fair=[weak_any(initiate_probe, passing, name="System")],
        progress=[termination_is_detected],
    )


# -- EWD998: the same with messages under way (Safra). The original bounds its infinitely many
# states by a constraint; here a node sends nothing while its counter, or what waits for the
# receiver, has reached a bound.


@frozen
class Node:
    active: bool
    black: bool
    counter: int = 0
    pending: int = 0


@frozen
class Counted:
    """The token, with the sum of the counters that it has seen."""

    at: int
    q: int = 0
    is_black: bool = True


@rule
def probe(nodes, token):
    zero = nodes[0]
    if token.at == 0 and (token.is_black or zero.black or zero.counter + token.q > 0):
        yield changed(nodes, 0, evolve(zero, black=False)), Counted(len(nodes) - 1, 0, False)


@rule
def hand_on(nodes, token):
    node = nodes[token.at]
    if token.at and not node.active:
        yield (
            changed(nodes, token.at, evolve(node, black=False)),
            Counted(token.at - 1, token.q + node.counter, token.is_black or node.black),
        )


@rule
def hand_on_only_white(nodes, token):
    """The mistake: a black node keeps the token."""
    if not nodes[token.at].black:
        yield from hand_on.call(nodes, token)


@rule
def post(nodes, scope):
    for i, sender in enumerate(nodes):
        for j, receiver in enumerate(nodes):
            if sender.active and i != j and sender.counter < scope > receiver.pending:
                sent = changed(nodes, i, evolve(sender, counter=sender.counter + 1))
                yield changed(sent, j, evolve(receiver, pending=receiver.pending + 1))


@rule
def receive(nodes):
    for i, node in enumerate(nodes):
        if node.pending:
            yield changed(nodes, i, Node(True, True, node.counter - 1, node.pending - 1))


@rule
def rest(nodes):
    for i, node in enumerate(nodes):
        if node.active:
            yield changed(nodes, i, evolve(node, active=False))


@leads_to(when=lambda nodes: not any(n.active or n.pending for n in nodes))
def all_is_quiet(nodes, token):
    """Once no node is active and no message is under way, node 0 learns it."""
    zero = nodes[0]
    return (
        token.at == 0
        and not token.is_black
        and token.q + zero.counter == 0
        and not (zero.black or zero.active)
    )


def ewd998(size, most, mistake=False):
    initial = [
        {"nodes": tuple(map(Node, active, black)), "token": Counted(at)}
        for active in tuples(size)
        for black in tuples(size)
        for at in range(size)
    ]
    handing = hand_on_only_white if mistake else hand_on
    return Spec(
        "EWD998",
        {"nodes": single(initial[0]["nodes"]), "token": single(Counted(0))},
        (probe, handing, post, receive, rest),
        most,
        initial=initial,
        ends=[anywhere],
        fair=[weak_any(probe, handing, name="System")],
        progress=[all_is_quiet],
    )


# -- ChangRoberts: the election of a leader in a ring; the smallest identity wins


@frozen
class Candidate:
    initiator: bool
    state: str
    has_begun: bool = False


@rule
def begin(me, candidate, messages):
    if not candidate.has_begun:
        if candidate.initiator:
            messages = sent(messages, me, me)
        yield evolve(candidate, has_begun=True), messages


def sent(messages, me, identity):
    """The messages with an identity sent to the neighbour."""
    neighbour = (me + 1) % len(messages)
    return changed(messages, neighbour, messages[neighbour] | {identity})


@rule
def handle(me, candidate, messages):
    for identity in sorted(messages[me]) if candidate.has_begun else ():
        left = changed(messages, me, messages[me] - {identity})
        if candidate.state == "lost":
            yield candidate, sent(left, me, identity)
        elif identity < me:
            yield evolve(candidate, state="lost"), sent(left, me, identity)
        else:
            yield evolve(candidate, state="won") if identity == me else candidate, left


@rule
def handle_and_drop(me, candidate, messages):
    """The mistake: a node that has lost forwards nothing."""
    for after, left in handle.call(me, candidate, messages):
        yield after, changed(messages, me, left[me]) if candidate.state == "lost" else left


@invariant
def one_leader(a: "candidate[i]", b: "candidate[j]"):
    """When a node has won, all others have lost."""
    return a.state != "won" or b.state == "lost"


@eventually
def somebody_wins(state):
    """Where some node is a candidate, some node wins."""
    states = [c.state for c in state.candidate]
    return "won" in states or not any(c.initiator for c in state.candidate)


def chang_roberts(nodes, mistake=False):
    initial = [
        {"candidate": tuple(Candidate(is_in, "cand" if is_in else "lost") for is_in in chosen)}
        for chosen in tuples(nodes)
    ]
    handling = handle_and_drop if mistake else handle
    return Spec(
        "ChangRoberts",
        {
            "candidate": array(nodes, Candidate(False, "lost")),
            "messages": single((frozenset(),) * nodes),
        },
        (begin, handling),
        invariants=[one_leader],
        initial=initial,
        ends=[anywhere],
        fair=[weak(begin, handling, name="node")],
        progress=[somebody_wins],
    )


# -- ReadersWriters: a queue serves readers and writers in turn


@frozen
class Resource:
    readers: frozenset[int] = frozenset()
    writers: frozenset[int] = frozenset()


@rule
def try_read(me, waiting):
    if ("read", me) not in waiting:
        yield (*waiting, ("read", me))


@rule
def try_write(me, waiting):
    if ("write", me) not in waiting:
        yield (*waiting, ("write", me))


@rule
def read_or_write(waiting, resource):
    if waiting and not resource.writers:
        what, actor = waiting[0]
        if what == "read":
            yield waiting[1:], evolve(resource, readers=resource.readers | {actor})
        elif not resource.readers:
            yield waiting[1:], evolve(resource, writers=frozenset({actor}))


@rule
def read_first(waiting, resource):
    """The mistake: readers are served before writers, wherever they stand in the queue."""
    readers = [w for w in waiting if w[0] == "read"]
    for w in readers[:1]:
        for _, after in read_or_write.call((w,), resource):
            yield tuple(x for x in waiting if x != w), after
    if not readers:
        yield from read_or_write.call(waiting, resource)


@rule
def stop(resource):
    for actor in sorted(resource.readers | resource.writers):
        if actor in resource.readers:
            yield evolve(resource, readers=resource.readers - {actor})
        else:
            yield evolve(resource, writers=resource.writers - {actor})


@invariant
def exclusive(resource):
    """Nobody reads while somebody writes."""
    return not (resource.readers and resource.writers)


def readers_writers(actors, mistake=False):
    serving = read_first if mistake else read_or_write

    def promise(name, is_true):
        is_true.__name__ = name
        return infinitely_often(is_true)

    promises = [
        promise(f"{i}_{'is' if wanted else 'is_not'}_in_{where}", of(i, where, wanted))
        for i in range(actors)
        for where in ("readers", "writers")
        for wanted in (True, False)
    ]
    return Spec(
        "ReadersWriters",
        {"waiting": single(()), "resource": single(Resource()), "actor": array(actors, 0)},
        (try_read, try_write, serving, stop),
        invariants=[exclusive],
        fair=[weak(try_read), weak(try_write), weak(serving), weak(stop)],
        progress=promises,
    )


def of(actor, where, wanted):
    """Is an actor among the readers, or writers?"""

    def is_true(resource):
        return (actor in getattr(resource, where)) == wanted

    return is_true
