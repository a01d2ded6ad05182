"""The group's rules of callbacks do what the rows of the member say, which `conform --side member`
executes on Kafka's Java client.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.client import Client, Prepare
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import Answer, OffsetCommit
from groupcheck.model.variants import load
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.member_memory import (
    Does,
    During,
    Input,
    Memory,
    callbacks,
    commits_in_callback,
)

MEMORIES = 400  # the nearest ones

SCOPE = load("callbacks").scope_type(members=2, partitions=1)
RULES = {rule.name: rule for rule in load("callbacks").spec(SCOPE).rules}


def revoking_rows() -> list[tuple[Memory, Input, Client]]:
    """Rows in which onJoinPrepare calls onPartitionsRevoked, and that throws or commits: with the
    member afterwards.
    """
    (model,) = rows_of("classic", 1, None, {"partitions": "1", "autocommit": "no"})
    memories, found = {model.start(): None}, []
    for memory in islice(iter_growing(memories), MEMORIES):
        for given in model.inputs(memory):
            for told in model.outcomes(memory, given):
                if told.after is None:
                    continue
                memories.setdefault(told.after)
                commits = commits_in_callback(memory, Does.POLL)
                said = given.during == During.THROWS or (given.during == During.COMMITS and commits)
                revoked = [kind for kind, _ in callbacks(memory, told)] == ["revoked"]
                polls = given.does == Does.POLL and not told.leaves
                if said and revoked and polls and memory.client.owned:
                    found.append((memory, given, told.after.client))
    return found


def iter_growing(memories: dict[Memory, None]) -> Iterator[Memory]:
    """The memories in order, those that are added meanwhile included."""
    done = 0
    while done < len(memories):
        yield next(islice(memories, done, None))
        done += 1


def of_the_group(memory: Memory, given: Input) -> Client:
    """The member after its callback, by the group's rules."""
    client = evolve(memory.client, prepare=Prepare.REVOKING, dirty=True)
    if given.during == During.COMMITS:
        client = _answered(client, given.code)
        if client.prepare != Prepare.REVOKING:
            return client
    ended = "threw" if given.during == During.THROWS else "returned"
    ways = RULES["callback_runs"].call(client, Link(), SCOPE)
    (after,) = (now for label, now, _ in ways if label == ended)
    return after


def _answered(client: Client, code: int) -> Client:
    commit = OffsetCommit(client.id, client.generation, client.position)
    link = evolve(Link(), answer=Answer(commit, code))
    ((_, after, _),) = RULES["commit_answer"].call(evolve(client, dirty=False), link, SCOPE)
    return after


def what_counts(client: Client) -> dict[str, Any]:
    """`dirty` is left out: the rows commit what the application has read, dirty or not."""
    kept = ("state", "generation", "id", "prepare", "rejoin", "owned", "position")
    return {name: getattr(client, name) for name in kept}


def test_callbacks_that_throw_or_commit_leave_the_member_as_the_rows_say() -> None:
    rows = revoking_rows()
    assert {given.during for _, given, _ in rows} == {During.THROWS, During.COMMITS}
    assert {given.code for _, given, _ in rows} >= {0, 22, 25, 27}
    for memory, given, after in rows:
        assert what_counts(of_the_group(memory, given)) == what_counts(after), (memory, given)
