"""More published specifications from the TLA+ examples (tlaplus/Examples), written with what the
language has for them: neighbours in a ring, whole arrays, initial states with `any_of`, labels,
refinements and named fairness. TLC's numbers on the originals are in `test_published_specs.py`.
"""

from itertools import combinations

from attrs import frozen

from groupcheck.model.engine import (
    Spec,
    always_possible,
    any_of,
    array,
    infinitely_often,
    invariant,
    leads_to,
    refines,
    rule,
    settles,
    single,
    weak,
    weak_any,
)


def changed(values, index, value):
    """A tuple with one element changed."""
    return (*values[:index], value, *values[index + 1 :])


# -- EWD426/TokenRing: Dijkstra's stabilizing ring; it begins anywhere


def token_ring(nodes, values, is_fair=True):
    @rule
    def create_token(me, counter, last: "counter[me-1]"):
        if me == 0 and counter == last:
            yield (last + 1) % values, last

    @rule
    def pass_token(me, counter, before: "counter[me-1]"):
        if me and counter != before:
            yield before, before

    def is_unique(every: "counter[:]"):
        first, others = every[0], (every[0] - 1) % values
        return any({*every[:k]} <= {first} and {*every[k:]} <= {others} for k in range(nodes + 1))

    slots = {"counter": array(nodes, any_of(*range(values)))}
    return Spec(
        "EWD426",
        slots,
        [create_token, pass_token],
        deadlock=False,
        fair=[weak_any()] if is_fair else [],
        progress=[
            settles(name="one_token")(is_unique),
            always_possible(name="may_be_one")(is_unique),
        ],
    )


# -- Peterson's mutual exclusion, and the lock that it implements (locks_auxiliary_vars)


@rule("a0", "a1", "a2", "a3", "cs", "a4")
def process(me, pc, wants, other: "wants[me+1]", turn):
    if pc == "a0":
        yield "a0", "a1", wants, other, turn
    elif pc == "a1":
        yield "a1", "a2", True, other, turn
    elif pc == "a2":
        yield "a2", "a3", wants, other, 1 - me
    elif pc == "a3" and (not other or turn == me):
        yield "a3", "cs", wants, other, turn
    elif pc == "cs":
        yield "cs", "a4", wants, other, turn
    elif pc == "a4":
        yield "a4", "a0", False, other, turn


@rule
def locking(at, lock):
    if at == "l0":
        yield "l1", lock
    elif at == "l1" and lock:
        yield "cs", 0
    elif at == "cs":
        yield "l2", lock
    elif at == "l2":
        yield "l0", 1


@invariant
def one_inside(a: "pc[i]", b: "pc[j]"):
    return not {a, b} <= {"cs", "a4"}


@leads_to(when=lambda pc: pc == "a1")
def enters(pc):
    return pc == "cs"


@infinitely_often
def enters_again(pc):
    return pc == "cs"


# The original has no fairness; these are what a reader would try.
NOT_IDLE = weak(*(f"process:{label}" for label in ("a1", "a2", "a3", "cs", "a4")), name="busy")


def peterson(*fair, holds=("cs", "a4")):
    """`holds`: where a process holds the lock, in the mapping."""
    lock = Spec("Lock", {"at": array(2, "l0"), "lock": single(1)}, [locking])
    seen_as = {"a0": "l0", "a1": "l1", "a2": "l1", "a3": "l1", "cs": "cs", "a4": "l2"}
    mapping = {
        "at": lambda pc: seen_as[pc],
        "lock": lambda state: 0 if {*state.pc} & {*holds} else 1,
    }
    return Spec(
        "Peterson",
        {"pc": array(2, "a0"), "wants": array(2, False), "turn": single(0)},
        [process],
        invariants=[one_inside],
        refinements=[refines(lock, mapping)],
        fair=fair,
        progress=[enters, enters_again],
    )


# -- allocator/SimpleAllocator, with weak fairness in place of strong


@frozen
class Client:
    wants: frozenset[int] = frozenset()
    has: frozenset[int] = frozenset()


def subsets(of):
    return [frozenset(c) for n in range(1, len(of) + 1) for c in combinations(sorted(of), n)]


def allocator(clients, resources):
    everything = frozenset(range(resources))

    @rule
    def request(client):
        if not client.wants and not client.has:
            for some in subsets(everything):
                yield Client(some)

    @rule
    def allocate(me, every: "client[:]"):
        mine, free = every[me], everything.difference(*(c.has for c in every))
        for some in subsets(free & mine.wants):
            yield changed(every, me, Client(mine.wants - some, mine.has | some))

    @rule("all", "some")
    def give_back(client):
        for some in subsets(client.has):
            yield "all" if some == client.has else "some", Client(client.wants, client.has - some)

    @invariant
    def exclusive(a: "client[i]", b: "client[j]"):
        return not a.has & b.has

    @leads_to(when=lambda client: not client.wants)
    def will_return(client):
        return not client.has

    @infinitely_often
    def satisfied(client):
        return not client.wants

    return Spec(
        "SimpleAllocator",
        {"client": array(clients, Client())},
        [request, allocate, give_back],
        invariants=[exclusive],
        fair=[weak("give_back:all"), weak(allocate)],
        progress=[will_return, satisfied],
    )


# -- Paxos/Voting, and the consensus that it implements


@frozen
class Acceptor:
    votes: frozenset[tuple[int, int]] = frozenset()
    ballot: int = -1


def voting(ballots, is_careless=False):
    """Three acceptors and two values. `is_careless`: they vote for values that are not safe."""
    quorums, values = list(combinations(range(3), 2)), range(2)

    def ways_to_be_safe(quorum, ballot, value):
        """As many as TLC finds: for each ballot that shows it, each witness."""
        if min(a.ballot for a in quorum) < ballot:
            return 0
        later = max((b for a in quorum for b, _ in a.votes if b < ballot), default=-1)
        found = 0
        for c in range(later, ballot):
            found += 1 if c < 0 else sum((c, value) in a.votes for a in quorum)
        return found

    @rule
    def increase(acceptor):
        for ballot in range(acceptor.ballot + 1, ballots):
            yield Acceptor(acceptor.votes, ballot)

    @rule
    def vote(me, every: "acceptor[:]"):
        mine = every[me]
        cast = {vote for a in every for vote in a.votes}
        for ballot in range(max(mine.ballot, 0), ballots):
            for value in values:
                after = Acceptor(mine.votes | {(ballot, value)}, ballot)
                ways = sum(ways_to_be_safe([every[k] for k in q], ballot, value) for q in quorums)
                is_open = ballot not in {b for b, _ in mine.votes}
                if is_open and (ballot, 1 - value) not in cast:
                    yield from [changed(every, me, after)] * (1 if is_careless else ways)

    def chosen(state):
        votes = [a.votes for a in state.acceptor]
        return frozenset(value for a, b in quorums for _, value in votes[a] & votes[b])

    @rule
    def choose(chosen):
        if not chosen:
            for value in values:
                yield frozenset({value})

    consensus = Spec("Consensus", {"chosen": single(frozenset())}, [choose], deadlock=False)
    return Spec(
        "Voting",
        {"acceptor": array(3, Acceptor())},
        [increase, vote],
        deadlock=False,
        refinements=[refines(consensus, {"chosen": chosen})],
    )
