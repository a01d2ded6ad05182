"""How long a real coordinator works on requests of a large group: the source of the simulator's
measured inputs (docs/simulate.md, "The source's groups").

    python tests/bench/coordinator_times.py 127.0.0.1:9092 100 200 300

Members are connections over loopback that send bytes which were made before. In a round the leader
joins first, and all others at once when a heartbeat has told one of them; a burst of requests of
all members, one each, takes `size` times as long as the coordinator works on one of them, which
includes reading it from the network and answering. The best of `REPEATS` counts.

Printed for each size, in ms: from the burst of JoinGroups to its first answer (all of them are
handled then), to the last one; a burst of SyncGroups; and for one request of a burst of Heartbeats,
OffsetCommits and OffsetFetches. Last, what the first column says in least squares: so many ms for
each request, and for each request and each member of the group.
"""

from __future__ import annotations

import select
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from groupcheck.oracles.wire.connections import host_and_port
from groupcheck.traces.messages.apis import api, request_bytes, response_values
from groupcheck.traces.messages.consumer_protocol import (
    Subscription,
    assignment_bytes,
    subscription_bytes,
)

REPEATS = 5
PATIENCE_S = 300.0
VERSIONS = {  # that brokers from 1.1 to 4.3 know
    "FindCoordinator": 0,
    "Heartbeat": 1,
    "JoinGroup": 2,
    "OffsetCommit": 3,
    "OffsetFetch": 2,
    "SyncGroup": 1,
}
METADATA = subscription_bytes(Subscription(0, ("t",)))
SHARE = assignment_bytes((), version=0)
STARTING = (14, 15, 16)
HEARD_OF_IT = 27


class Members:
    """One connection for each member of one group."""

    def __init__(self, address: str, size: int) -> None:
        self.size, self.group = size, f"group-of-{size}-{time.time_ns()}"
        self._poll = select.epoll()
        self._sockets = [socket.create_connection(host_and_port(address)) for _ in range(size)]
        for one in self._sockets:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._poll.register(one.fileno(), select.EPOLLIN)
        self._at = {one.fileno(): k for k, one in enumerate(self._sockets)}
        self._ids = [""] * size
        self._leader = self._generation = 0

    def close(self) -> None:
        for one in self._sockets:
            one.close()

    def burst(
        self,
        name: str,
        values: Callable[[int], Mapping[str, Any]],
        whose: Sequence[int] = (),
        before: Sequence[int] = (),
    ) -> tuple[float, float, list[dict[str, Any]]]:
        """All of them ask at once: ms until the first answer, until the last, and the answers, the
        last ones to those who have asked `before`.
        """
        asked = whose or range(self.size)
        raw = [self._bytes(name, k, values(k)) for k in asked]
        began = time.perf_counter()
        for k, one in zip(asked, raw):
            self._sockets[k].sendall(one)
        every = [*asked, *before]
        answers, times = self._gather(every)
        found = [response_values(api(name), VERSIONS[name], answers[k][8:]) for k in every]
        return 1000 * (min(times) - began), 1000 * (max(times) - began), found

    def _bytes(self, name: str, member: int, values: Mapping[str, Any]) -> bytes:
        return request_bytes(api(name), VERSIONS[name], 1, f"c{member}", values)

    def _gather(self, whose: Sequence[int]) -> tuple[dict[int, bytes], list[float]]:
        found: dict[int, bytes] = {}
        parts: dict[int, bytes] = dict.fromkeys(whose, b"")
        times, end = [], time.monotonic() + PATIENCE_S
        while parts:
            assert time.monotonic() < end, f"{len(parts)} members have no answer"
            for at, _ in self._poll.poll(1.0):
                k = self._at[at]
                parts[k] += self._sockets[k].recv(1 << 20)
                size = int.from_bytes(parts[k][:4])
                if len(parts[k]) == 4 + size:
                    found[k] = parts.pop(k)
                    times.append(time.perf_counter())
        return found, times

    # -- what members ask

    def mine(self, member: int, **more: Any) -> dict[str, Any]:
        return {
            "groupId": self.group,
            "generationId": self._generation,
            "generationIdOrMemberEpoch": self._generation,
            "memberId": self._ids[member],
            **more,
        }

    def joins(self, member: int) -> dict[str, Any]:
        return self.mine(
            member,
            sessionTimeoutMs=300_000,
            rebalanceTimeoutMs=300_000,
            protocolType="consumer",
            protocols=[{"name": "range", "metadata": METADATA}],
        )

    def starts(self) -> None:
        """The group has all its members."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            (found,) = self.burst("FindCoordinator", lambda _: {"key": self.group}, [0])[2]
            (beat,) = self.burst("Heartbeat", self.mine, [0])[2]
            if not found["errorCode"] and beat["errorCode"] not in STARTING:
                break
            time.sleep(0.1)
        joined = self._joined(self.burst("JoinGroup", self.joins)[2])
        while not joined or not self.synced():
            joined = self._joined(self.burst("JoinGroup", self.joins)[2])

    def _joined(self, answers: Sequence[Mapping[str, Any]]) -> bool:
        """Do all members belong to one generation? They keep their ids."""
        self._ids = [one["memberId"] for one in answers]
        generations = {one["generationId"] for one in answers}
        if any(one["errorCode"] for one in answers) or len(generations) != 1:
            return False
        self._generation, self._leader = generations.pop(), self._ids.index(answers[0]["leader"])
        return True

    def synced(self) -> float:
        """All get their shares: ms; 0 if a new round has begun."""
        plan = [{"memberId": id, "assignment": SHARE} for id in self._ids]

        def asked(member: int) -> dict[str, Any]:
            return self.mine(member, assignments=plan if member == self._leader else [])

        others = [k for k in range(self.size) if k != self._leader]
        _, ms, found = self.burst("SyncGroup", asked, [*others, self._leader])
        return 0.0 if any(one["errorCode"] for one in found) else ms

    def round(self) -> tuple[float, float, float]:
        """A round that the leader begins: ms from the burst of JoinGroups to its first and its last
        answer, and of the SyncGroups.
        """
        leader, others = self._leader, [k for k in range(self.size) if k != self._leader]
        self._sockets[leader].sendall(self._bytes("JoinGroup", leader, self.joins(leader)))
        while True:
            (beat,) = self.burst("Heartbeat", self.mine, [others[0]])[2]
            if beat["errorCode"] == HEARD_OF_IT:
                break
        first, last, found = self.burst("JoinGroup", self.joins, others, [leader])
        known = dict(zip([*others, leader], found))
        assert self._joined([known[k] for k in range(self.size)])
        return first, last, self.synced()


def measured(address: str, size: int) -> list[float]:
    """The best figures of a group of this size, in the order in which they are printed."""
    members = Members(address, size)
    members.starts()
    offset = {"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}
    commit = {"retentionTimeMs": -1, "topics": [{"name": "t", "partitions": [offset]}]}
    position = {"topics": [{"name": "t", "partitionIndexes": [0]}]}
    rows = []
    for _ in range(REPEATS):
        rows.append(
            [
                *members.round(),
                members.burst("Heartbeat", members.mine)[1] / size,
                members.burst("OffsetCommit", lambda k: members.mine(k, **commit))[1] / size,
                members.burst("OffsetFetch", lambda k: members.mine(k, **position))[1] / size,
            ]
        )
    members.close()
    return [min(column) for column in zip(*rows)]


def fitted(sizes: Sequence[int], firsts: Sequence[float]) -> tuple[float, float]:
    """`a` and `b` in least squares of first / size = a + b * size, in ms."""
    n, each = len(sizes), [first / size for size, first in zip(sizes, firsts)]
    x, y = sum(sizes) / n, sum(each) / n
    b = sum((s - x) * (e - y) for s, e in zip(sizes, each)) / sum((s - x) ** 2 for s in sizes)
    return y - b * x, b


if __name__ == "__main__":
    where, asked = sys.argv[1], [int(size) for size in sys.argv[2:]]
    measured(where, asked[0])  # the first runs of a Java machine are slow
    print("members  first join  last join  sync  beat  commit  position")
    firsts = []
    for count in asked:
        row = measured(where, count)
        firsts.append(row[0])
        print(f"{count:7}", *(f"{ms:9.3f}" for ms in row), flush=True)
    if len(asked) > 1:
        one, each_member = fitted(asked, firsts)
        print(f"JoinGroup: {one:.4f} ms, and {each_member:.6f} ms for each member")
