"""The facts that a request log adds to the screen. They need no model. Processes are named by their
client id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from groupcheck.traces.findings.anomalies import plural
from groupcheck.traces.findings.report import Requests

LATE_JOINS_SHOWN = 3


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
