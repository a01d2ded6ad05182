"""The classic model with one abstraction taken out, for comparison: each function is a spec of the
same scope, larger and no better.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from groupcheck.model.engine import Spec, array, evolve, rule, single
from groupcheck.model.protocol.classic import coordinator
from groupcheck.model.protocol.classic.client import Client, Prepare, closed, send_commit
from groupcheck.model.protocol.classic.client_faults import close, crash
from groupcheck.model.protocol.classic.coordinator import join_group, sync_group
from groupcheck.model.protocol.classic.dead_values import close_books
from groupcheck.model.protocol.classic.group import Core, Seats
from groupcheck.model.protocol.classic.offsets import (
    Offsets,
    fetch_offset,
    process_record,
    store_offset,
)
from groupcheck.model.protocol.classic.rounds import send_back
from groupcheck.model.protocol.classic.rules import spec
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.faults import REMEMBERED, Budget
from groupcheck.model.protocol.link import Link, reply
from groupcheck.model.protocol.messages import Answer, Store
from groupcheck.model.protocol.transform import outcomes_changed, rebuilt, rewritten

Outcomes = Iterator[Any]


def with_ids_never_used_again(scope: Scope) -> Spec:
    """Every id that a process is given has a number that it never had before: a slot
    counts them.
    """

    def call(core: Core, seats: Seats, link: Link, issued: int, scope: Scope) -> Outcomes:
        usual, coordinator.new_id = coordinator.new_id, lambda seats, link: issued
        try:
            outcomes = list(join_group.call(core, seats, link, scope))
        finally:
            coordinator.new_id = usual
        for label, after, known, way in outcomes:
            given = seats[issued] is None and known[issued] is not None
            yield label, after, known, way, issued + given

    counting = rewritten(join_group, call, "core", "seats", "link", "issued")
    return rebuilt(spec(scope), [counting], issued=array(scope.members, 0))


def with_nothing_forgotten(scope: Scope) -> Spec:
    """The coordinator remembers what only some faults could read even where they cannot happen (any
    more).
    """

    def call(core: Core, budget: Budget) -> Outcomes:
        yield core, evolve(budget, closing=False)

    base = spec(scope)
    return rebuilt(
        base,
        [rewritten(close_books, call)],
        core=single(evolve(base.slots["core"].initial, keeps=REMEMBERED)),
    )


def with_an_early_plan(scope: Scope) -> Spec:
    """The leader's assignment is fixed when its SyncGroup arrives, not when the append commits."""

    def change(before: dict[str, Any], label: str, after: dict[str, Any]) -> dict[str, Any] | None:
        return after if label != "led" or after["core"].recorded else None

    return rebuilt(with_nothing_forgotten(scope), [outcomes_changed(sync_group, change)])


def with_a_leaking_flag(scope: Scope) -> Spec:
    """newMemberAdded is cleared only by an extension of the initial delay, as in Kafka: else it
    leaks into later rounds.
    """

    def change(before: dict[str, Any], label: str, after: dict[str, Any]) -> dict[str, Any]:
        if label == "extended" or not before["core"].extended:
            return after
        return {**after, "core": evolve(after["core"], extended=True)}

    base = spec(scope)
    return rebuilt(
        base,
        [
            outcomes_changed(r, change)
            for r in base.rules
            if "core" in r.slots and r.name != "fail_over"
        ],
    )


def with_old_assignments_kept(scope: Scope) -> Spec:
    """A new round clears neither the stored assignment nor what the members' last subscriptions
    claimed.
    """

    def change(before: dict[str, Any], label: str, after: dict[str, Any]) -> dict[str, Any]:
        old = before["seats"]
        kept = [
            (id, evolve(s, share=old[id].share, claimed=old[id].claimed) if s.member else s)
            for id, s in after["seats"]
        ]
        return {**after, "seats": evolve(after["seats"], ids=tuple(kept))}

    return rebuilt(spec(scope), [outcomes_changed(send_back, change)])


DOWN = -7  # `Client.failed` of a process that is not running


def with_processes_that_are_down(scope: Scope) -> Spec:
    """A crashed or closed process is down until it is started: not the same as one that has not
    joined yet.
    """

    def change(before: dict[str, Any], label: str, after: dict[str, Any]) -> dict[str, Any] | None:
        if before["client"].failed == DOWN:
            return None
        return {**after, "client": Client(failed=DOWN)} if after["client"] == Client() else after

    @rule
    def start(client: Client) -> Iterator[Client]:
        if client.failed == DOWN:
            yield Client()

    return rebuilt(
        spec(scope), [outcomes_changed(r, change) for r in (crash, close, closed)], [start]
    )


def with_commits_of_what_is_committed(scope: Scope) -> Spec:
    """A member commits its position even if it is committed already. (`must_commit_first` and
    `can_commit` are to be replaced, too.)
    """
    guard = attrs.evolve(send_commit.guard, call=lambda client: client.position >= 0)
    return rebuilt(spec(scope), [attrs.evolve(send_commit, guard=guard)])


# -- all partitions at once: offsets and positions are vectors, four bits for each partition; a
# position has 0 for "not fetched"

BITS = 4


def digit(vector: int, partition: int) -> int:
    return vector >> BITS * partition & 15 if vector >= 0 else 0


def plus(vector: int, partition: int, by: int) -> int:
    return max(vector, 0) + (by << BITS * partition)


def with_all_partitions(scope: Scope) -> Spec:
    """Offsets of every partition at once: any of them may be dirty, a commit carries all positions,
    each is fetched by itself.
    """

    def store(link: Link, offsets: Offsets) -> Outcomes:
        request = link.request
        assert isinstance(request, Store)
        committed, position = offsets.committed, request.commit.offset
        for p in range(scope.partition_count):
            if digit(position, p):
                committed = plus(committed, p, digit(position, p) - 1 - digit(committed, p))
        yield "forwards", reply(link, Answer(request)), evolve(offsets, committed=committed)

    def fetch(client: Client, offsets: Offsets, scope: Scope) -> Outcomes:
        for p in range(scope.partition_count):
            if (
                client.owned >> p & 1
                and not digit(client.position, p)
                and client.prepare != Prepare.COMMITTED
            ):
                yield (
                    evolve(
                        client, position=plus(client.position, p, digit(offsets.committed, p) + 1)
                    ),
                    offsets,
                )

    def process(client: Client, offsets: Offsets, scope: Scope) -> Outcomes:
        if client.prepare == Prepare.COMMITTED:
            return
        for p in range(scope.partition_count):
            if 0 < digit(client.position, p) <= scope.records:
                position = plus(client.position, p, 1)
                gain = max(digit(position, p) - 1 - digit(offsets.processed, p), 0)
                yield (
                    evolve(client, position=position, dirty=True),
                    evolve(offsets, processed=plus(offsets.processed, p, gain)),
                )

    rules = [
        rewritten(store_offset, store),
        rewritten(fetch_offset, fetch, guard=None),
        rewritten(process_record, process),
    ]
    return attrs.evolve(rebuilt(spec(scope), rules), initial=[{}])
