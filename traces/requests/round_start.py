"""The group after a round of which only the answer to its leader is known."""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.model.protocol.classic import timers
from groupcheck.model.protocol.messages import NO_ID
from groupcheck.traces.exchanges.exchange import JoinExchange
from groupcheck.traces.requests.coordinator_steps import Ask, Memory
from groupcheck.traces.requests.group_rules import Rules
from groupcheck.traces.requests.member_indexes import Ids, Instance, with_id


def memory_after_round(
    rules: Rules, e: JoinExchange, members: Sequence[str], handed: Sequence[int]
) -> tuple[Memory, Ids]:
    """A group whose members have all just been told the new generation, built with the model's own
    rules. `members`: the leader first, all with a seat; `handed`: the indexes of ids that have been
    handed out and not joined.
    """
    coordinator, indexes = rules.coordinator, rules.indexes
    memory = coordinator.start()
    ids: Ids = ()
    for index in indexes.static:
        memory = coordinator.place(memory, index, True)
    subscribed = {id: ((e.chosen or "", metadata),) for id, metadata in e.members}
    for member in members:
        key = indexes.key(member, None)
        index, static = indexes.index(key), isinstance(key, Instance)
        claimed = rules.claim(subscribed.get(member, ()))
        again = () if static else (Ask("join", index, claimed=claimed),)
        for ask in (Ask("join", index, NO_ID, claimed=claimed), *again):
            memory = coordinator.ask(memory, ask)[0].after
        if static:
            ids = with_id(ids, memory, index, member)
    memory = coordinator.fire(memory, timers.initial_delay.name)[0].after
    for index in handed:
        memory = coordinator.ask(memory, Ask("join", index, NO_ID))[0].after
    return memory, ids
