"""What the owners of partitions by a request log have done that stands out, as anomalies."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.traces.exchanges.owners import Owners, Zombie
from groupcheck.traces.exchanges.request_facts import RequestFacts
from groupcheck.traces.findings.report import Anomaly
from groupcheck.traces.phrases import seconds, some_of

SHOWN = 20


def of_owners(owners: Owners, facts: RequestFacts) -> Iterator[Anomaly]:
    """Partitions with two owners, zombies, commits of others, and offsets that went back."""
    for twice in owners.overlaps[:SHOWN]:
        text = (
            f"the leader's plan for generation {twice.generation} gives {twice.partition} to"
            " two members"
        )
        yield Anomaly("partition_assigned_twice", twice.line, text, twice.members)
    for zombie in owners.zombies[:SHOWN]:
        yield _zombie(zombie)
    for foreign in owners.foreign[:SHOWN]:
        text = (
            f"{foreign.by} committed {foreign.partition}, which it had not been given, and was"
            " not refused"
        )
        yield Anomaly("commit_from_non_owner", foreign.line, text, (f"offset {foreign.offset}",))
    for rewind in facts.rewinds[:SHOWN]:
        text = (
            f"the committed offset of {rewind.partition} went back from {rewind.was} (by"
            f" {rewind.was_by}) to {rewind.committed} (by {rewind.by})"
        )
        yield Anomaly("committed_offset_went_back", rewind.line, text)


def _zombie(z: Zombie) -> Anomaly:
    names = some_of(z.partitions, SHOWN)
    others, since = " and ".join(z.others[:SHOWN]), seconds(max(z.until - z.since, 0))
    how = (
        "after another process had joined with its group.instance.id"
        if z.fenced
        else "after it had left"
        if z.left
        else "after its session had ended"
    )
    if z.committed:
        end = "and was not refused" if z.accepted else "and was refused"
        text = (
            f"{z.client} tried to commit {names} in generation {z.generation}, {since} after they"
            f" had been given to {others}, {end}"
        )
    else:
        text = (
            f"{z.client} still sent heartbeats in generation {z.generation}, {since} after {names}"
            f" had been given to {others}"
        )
    kind = "zombie_commit_accepted" if z.accepted else "zombie" if z.committed else "late_to_learn"
    return Anomaly(
        kind,
        z.line,
        text,
        (
            f"member {z.member}, {how}",
            f"two owners of {names}: {z.client} and {others}, for {since}",
        ),
        z.since,
        z.until,
    )
