"""Messages that are lost, by the model's own rules for that (`Assumptions.loss`).

A message is lost with its connection, and the member has a new one at once:

- a Heartbeat that is lost is one that is not sent; one whose answer is lost is handled all the same
- a JoinGroup that is lost is sent later: it arrives after retry.backoff.ms and another latency
- a SyncGroup that is lost makes its member join again (`lose_request`)
- an answer that is lost: the coordinator has handled the request, and the member asks again
  (`lose_response`)
- a LeaveGroup that is lost is never heard

Left out: the loss of an answer to a request that was parked, and of a commit.
"""

from __future__ import annotations

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import client, client_faults
from groupcheck.model.protocol.messages import JoinGroup
from groupcheck.oracles.simulate.parts import Parts, SimulatedGroup
from groupcheck.oracles.simulate.world import Bound, Outcome


def lost(group: SimulatedGroup, index: int) -> bool:
    """Is this message lost? Nothing is drawn where none ever is."""
    share = group.assumptions.loss
    return bool(share) and group.streams("loss", index).random() < share


def sent(group: Parts, bound: Bound, index: int, outcome: Outcome) -> tuple[Bound, Outcome]:
    """The rule and the outcome that fire where a member sends JoinGroup or SyncGroup: its own, or
    that of a loss.
    """
    kind = type(_request(group, bound, outcome))
    if bound.name == client.send_sync.name and lost(group, index):
        name = "lose_request"
    elif lost(group, index):
        name = "lose_response"
    else:
        return bound, outcome
    other = group.world.rules.get(name)
    found = group.world.outcomes(other, index) if other is not None else []
    for one in found:
        assert other is not None
        if (
            one[0] == f"{client_faults.lose_request.name}:sync"
            or type(_request(group, other, one)) is kind
        ):
            return other, one
    return bound, outcome


def _request(group: Parts, bound: Bound, outcome: Outcome) -> object:
    return outcome[1][bound.rule.slots.index("link")].request


def delayed(group: Parts, index: int, request: object) -> float:
    """By how much a JoinGroup arrives later because it was lost, maybe several times."""
    late = 0.0
    a = group.assumptions
    while isinstance(request, JoinGroup) and lost(group, index):
        late += a.retry_backoff_ms + a.network_ms.draw(group.streams("network", index))
    return late


def beats(group: Parts, index: int, bound: Bound, outcome: Outcome, now: float) -> None:
    """A heartbeat is sent. Its loss is no fault of the model, because there it changes nothing."""
    if lost(group, index):
        return
    unheard = lost(group, index)
    group.take(bound, index, outcome, now, of_member=True)
    link = group.link(index)
    if unheard and link.request is not None:
        group.world.put("link", index, evolve(link, live=False))
