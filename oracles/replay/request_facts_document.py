"""The facts, without a model, that a request log adds to the replay's document, and who believed to
own what.

Times are milliseconds since 1970 of the broker's clock; processes are named by their client id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from groupcheck.oracles.replay import request_fact_types as fact_types
from groupcheck.oracles.show.json_schemas import ABSENT
from groupcheck.traces.exchanges.owners import Foreign, TwoOwners
from groupcheck.traces.exchanges.request_facts import Epoch, Generation, Join, Rewind
from groupcheck.traces.findings.report import GroupReport


def request_facts_document(groups: Iterable[GroupReport]) -> fact_types.RequestFacts:
    """The facts of some groups together; ABSENT if none of them was read from a request log."""
    told = [g.requests for g in groups if g.requests is not None]
    if not told:
        none: fact_types.RequestFacts = ABSENT
        return none
    requests: Counter[str] = Counter()
    errors: dict[str, Counter[str]] = {}
    for one in told:
        requests.update(one.facts.requests)
        for name, clients in one.facts.errors.items():
            errors.setdefault(name, Counter()).update(clients)
    generations = sorted(
        (g for one in told for g in one.facts.generations), key=lambda g: g.completed
    )
    return fact_types.RequestFacts(
        requests=dict(requests.most_common()),
        error_answers={
            name: dict(sorted(clients.items())) for name, clients in sorted(errors.items())
        },
        generations=[_generation(g) for g in generations],
        generations_not_listed=sum(one.facts.generations_dropped for one in told),
        epochs=[_epoch(e) for one in told for e in one.facts.epochs],
        two_owners=[_two_owners(o) for one in told for o in one.owners.two_owners],
        committed_offset_went_back=[_backward(r) for one in told for r in one.facts.rewinds],
        commit_accepted_from_non_owner=[_foreign(f) for one in told for f in one.owners.foreign],
    )


def _generation(g: Generation) -> fact_types.Generation:
    return fact_types.Generation(
        group=g.group,
        generation=g.generation,
        protocol=g.protocol,
        joins=[_join(join) for join in g.joins],
        leader=g.leader,
        completed=g.completed,
        first_join_arrived=g.joins[0].arrived,
        last_join_arrived=g.joins[-1].arrived,
        slowest=g.slowest,
        joined_without_rebalance=[_join(join) for join in g.later] or ABSENT,
    )


def _join(join: Join) -> tuple[str, int, int]:
    return join.client, join.arrived, join.answered


def _epoch(e: Epoch) -> fact_types.Epoch:
    return fact_types.Epoch(
        group=e.group, epoch=e.epoch, reached=dict(e.reached), slowest=e.slowest
    )


def _two_owners(o: TwoOwners) -> fact_types.TwoOwners:
    return fact_types.TwoOwners(
        group=o.group,
        partition=o.partition,
        earlier_owner=o.earlier,
        later_owner=o.later,
        t=o.since,
        until=o.until,
        ms=o.until - o.since,
        shown_by=o.by,
    )


def _backward(r: Rewind) -> fact_types.BackwardCommit:
    return fact_types.BackwardCommit(
        t=r.time,
        group=r.group,
        partition=r.partition,
        by=r.by,
        committed=r.committed,
        was=r.was,
        was_by=r.was_by,
    )


def _foreign(f: Foreign) -> fact_types.ForeignCommit:
    return fact_types.ForeignCommit(
        t=f.time, group=f.group, partition=f.partition, by=f.by, offset=f.offset
    )
