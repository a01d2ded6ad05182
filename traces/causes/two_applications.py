"""Two applications that share a group.id, as a table of owners shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.clients.partitions import partitions_of
from groupcheck.traces.clients.statement import Statement, fact
from groupcheck.traces.story.member import client_of

_FIRST_WORD = re.compile(r"[A-Za-z]+")
"""Of a client id: what stands behind it is often the number or the pod of a process."""


def owners_apart(group: GroupEvidence) -> Iterator[Statement]:
    """Clients with different names own partitions of different topics, and share none."""
    topics: dict[str, set[str]] = {}
    last: Statement | None = None
    for said in group.all("owns"):
        client = said.client or client_of(said.member)
        word = _FIRST_WORD.match(client)
        if word is None or client == said.member:
            return  # an id that is random from its beginning names nobody
        some = partitions_of(str(said.fields.get("partitions") or ""))
        topics.setdefault(word[0], set()).update(p.rpartition("-")[0] for p in some)
        last = said
    shares = {name: some for name, some in topics.items() if some}
    apart = sum(map(len, shares.values())) == len(set().union(*shares.values()))
    if last is not None and len(shares) > 1 and apart:
        told = ", ".join(f"{name}... has {_named(some)}" for name, some in shares.items())
        yield fact(last, "subscriptions_apart", told=told)


def _named(topics: set[str]) -> str:
    return " and ".join(sorted(topics)[:3]) + (" and more" if len(topics) > 3 else "")


FINDERS = (owners_apart,)
