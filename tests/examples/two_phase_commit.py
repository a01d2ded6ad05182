"""Two-phase commit (Gray and Lamport, "Consensus on Transaction Commit"; the TLA+ examples'
TwoPhase): a protocol of your own.
"""

from attrs import frozen

from groupcheck.model.engine import Element, Spec, array, end, evolve, goal, invariant, rule, single


@frozen
class Manager:  # a resource manager
    phase: str = "working"


@frozen
class Coordinator:  # the transaction manager, and who it knows to be prepared
    phase: str = "init"
    prepared: frozenset[Element] = frozenset()


@frozen
class Network:  # messages are never lost, and may be read again
    prepared: frozenset[Element] = frozenset()
    decision: str = ""


@rule
def prepare(me: Element, manager, network):
    if manager.phase == "working":
        yield Manager("prepared"), evolve(network, prepared=network.prepared | {me})


@rule
def give_up(manager):
    if manager.phase == "working":
        yield Manager("aborted")


@rule
def note_prepared(me: Element, coordinator, network):
    if coordinator.phase == "init" and me in network.prepared:
        yield evolve(coordinator, prepared=coordinator.prepared | {me}), network


@rule("commit", "abort")
def decide(coordinator, network, scope):
    if coordinator.phase == "init":
        if len(coordinator.prepared) == scope:
            yield (
                "commit",
                evolve(coordinator, phase="committed"),
                evolve(network, decision="committed"),
            )
        yield "abort", evolve(coordinator, phase="aborted"), evolve(network, decision="aborted")


@rule
def obey(manager, network):
    if network.decision:
        yield Manager(network.decision), network


@invariant
def consistent(a: "manager[i]", b: "manager[j]"):
    """No manager commits while another aborts."""
    return {a.phase, b.phase} != {"committed", "aborted"}


@goal
def committed(manager):
    return manager.phase == "committed"


@end
def decided(manager):
    return manager.phase in ("committed", "aborted")


def two_phase_commit(managers: int) -> Spec:
    slots = {
        "coordinator": single(Coordinator()),
        "network": single(Network()),
        "manager": array(managers, Manager()),
    }
    rules = (prepare, give_up, note_prepared, decide, obey)
    return Spec("two-phase commit", slots, rules, managers, [consistent], [committed], [decided])
