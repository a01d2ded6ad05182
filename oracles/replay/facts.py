"""What a request log adds to the replay's document and to the screen: facts that need no model, and
who believed to own what.

Times are milliseconds since 1970 of the broker's clock; processes are named by their client id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from groupcheck.traces.exchanges.owners import Foreign, TwoOwners
from groupcheck.traces.exchanges.request_facts import Epoch, Generation, Join
from groupcheck.traces.findings.anomalies import plural
from groupcheck.traces.findings.report import GroupReport, Requests

LATE_JOINS_SHOWN = 3


def facts_document(groups: Iterable[GroupReport]) -> dict[str, Any] | None:
    """The facts of some groups together; None if none of them was read from a request log."""
    told = [g.requests for g in groups if g.requests is not None]
    if not told:
        return None
    requests: Counter[str] = Counter()
    errors: dict[str, Counter[str]] = {}
    for one in told:
        requests.update(one.facts.requests)
        for name, clients in one.facts.errors.items():
            errors.setdefault(name, Counter()).update(clients)
    generations = sorted(
        (g for one in told for g in one.facts.generations), key=lambda g: g.completed
    )
    return {
        "requests": dict(requests.most_common()),
        "error_answers": {
            name: dict(sorted(clients.items())) for name, clients in sorted(errors.items())
        },
        "generations": [generation_document(g) for g in generations],
        "generations_not_listed": sum(one.facts.generations_dropped for one in told),
        "epochs": [epoch_document(e) for one in told for e in one.facts.epochs],
        "two_owners": [owners_document(o) for one in told for o in one.owners.two_owners],
        "committed_offset_went_back": [
            {
                "t": r.time,
                "group": r.group,
                "partition": r.partition,
                "by": r.by,
                "committed": r.committed,
                "was": r.was,
                "was_by": r.was_by,
            }
            for one in told
            for r in one.facts.rewinds
        ],
        "commit_accepted_from_non_owner": [
            foreign_document(f) for one in told for f in one.owners.foreign
        ],
    }


def generation_document(g: Generation) -> dict[str, Any]:
    """`joins`: [client, arrived, answered] in order of arrival; `joined_without_rebalance`:
    answered later, with the same generation.
    """
    there = {
        "group": g.group,
        "generation": g.generation,
        "protocol": g.protocol,
        "joins": [_join(join) for join in g.joins],
        "leader": g.leader,
        "completed": g.completed,
        "first_join_arrived": g.joins[0].arrived,
        "last_join_arrived": g.joins[-1].arrived,
        "slowest": g.slowest,
    }
    return there | (
        {"joined_without_rebalance": [_join(join) for join in g.later]} if g.later else {}
    )


def _join(join: Join) -> list[Any]:
    return [join.client, join.arrived, join.answered]


def epoch_document(e: Epoch) -> dict[str, Any]:
    return {"group": e.group, "epoch": e.epoch, "reached": dict(e.reached), "slowest": e.slowest}


def owners_document(o: TwoOwners) -> dict[str, Any]:
    return {
        "group": o.group,
        "partition": o.partition,
        "earlier_owner": o.earlier,
        "later_owner": o.later,
        "t": o.since,
        "until": o.until,
        "ms": o.until - o.since,
        "shown_by": o.by,
    }


def foreign_document(f: Foreign) -> dict[str, Any]:
    return {"t": f.time, "group": f.group, "partition": f.partition, "by": f.by, "offset": f.offset}


def facts_lines(requests: Requests) -> Iterator[tuple[str, str]]:
    """The facts of one group as (name, text), for people."""
    facts = requests.facts
    if facts.requests:
        yield "requests", ", ".join(f"{name} {n:,}" for name, n in facts.requests.most_common())
    if requests.judged:
        yield "judged", plural(requests.judged, "answer")
    if facts.errors:
        yield (
            "refused",
            "; ".join(
                f"{name}: {_clients(clients)}" for name, clients in sorted(facts.errors.items())
            ),
        )
    late = [g for g in facts.generations if g.later]
    if late:
        many = sum(len(g.later) for g in late)
        yield (
            "joined without a rebalance",
            f"{plural(many, 'time')}, in generation {_numbers([g.generation for g in late])}",
        )


def _clients(clients: Counter[str]) -> str:
    named = ", ".join(f"{client} {n:,}" for client, n in clients.most_common(LATE_JOINS_SHOWN))
    return named + (
        f" and {len(clients) - LATE_JOINS_SHOWN} more" if len(clients) > LATE_JOINS_SHOWN else ""
    )


def _numbers(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - LATE_JOINS_SHOWN} more" if len(numbers) > LATE_JOINS_SHOWN else ""
    return ", ".join(map(str, numbers[:LATE_JOINS_SHOWN])) + more
