"""Talking to the real coordinator in few words: every request gives a handle whose fields are those
of its answer, None while it is parked.
"""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.kafka.commands import (
    Advance,
    Command,
    FailOver,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Leaving,
    OffsetCommit,
    OffsetFetch,
    ReadLog,
    Reset,
    SyncGroup,
    TxnOffsetCommit,
)
from groupcheck.oracles.kafka.driver import Conversation, Driver
from groupcheck.oracles.kafka.records import Record
from groupcheck.oracles.kafka.schedule import Step


class Asked:
    """A request. Each field of its answer, such as `error`, is None until there is an answer."""

    def __init__(self) -> None:
        self.answer: Any = None

    def __getattr__(self, name: str) -> Any:
        return None if self.answer is None else getattr(self.answer, name)


def errors(*asked: Asked) -> list[int | None]:
    return [a.error for a in asked]


class Talk:
    """A conversation that can begin anew; the group is "g", the topic "t" with two partitions, the
    session 10 s, the rebalance timeout 30 s.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.reset()

    def reset(self, **setup: Any) -> None:
        self._asked: dict[int, Asked] = {}
        self._talk = Conversation(self._driver, Reset(**setup))
        self.last: Step | None = None

    def do(self, command: Command, look: bool = False) -> Asked:
        number = len(self._talk.commands) + 1
        self._asked[number] = asked = Asked()
        self.last = step = self._talk.do(command, look=look)
        assert not step.refused, step.refused
        for answered, answer in step.answered:
            self._asked[answered].answer = answer
        return asked

    def join(self, member: str = "", **more: Any) -> Asked:
        return self.do(JoinGroup(member=member, **more))

    def sync(self, member: str, generation: int, assignments: Any = (), **more: Any) -> Asked:
        return self.do(
            SyncGroup(member=member, generation=generation, assignments=assignments, **more)
        )

    def beat(self, member: str, generation: int, **more: Any) -> Asked:
        return self.do(Heartbeat(member=member, generation=generation, **more))

    def leave(self, member: str = "", *others: Leaving, **more: Any) -> Asked:
        return self.do(LeaveGroup(member=member, members=others, **more))

    def commit(
        self, member: str, generation: int, at: int = 1, partition: int = 0, **more: Any
    ) -> Asked:
        return self.do(
            OffsetCommit(
                member=member, generation=generation, offsets={"t": {partition: at}}, **more
            )
        )

    def commit_in_transaction(self, member: str, generation: int, at: int = 7) -> Asked:
        return self.do(
            TxnOffsetCommit(member=member, generation=generation, offsets={"t": {0: at}})
        )

    def fetch(self, **more: Any) -> Asked:
        return self.do(OffsetFetch(**more))

    def offset(self, **more: Any) -> int:
        """The committed offset of partition 0."""
        ((_, _, at),) = self.fetch(**more).offsets
        return int(at)

    def sleep(self, ms: int) -> None:
        self.do(Advance(ms=ms))

    def fail_over(self, **more: Any) -> None:
        self.do(FailOver(**more))

    def look(self, group: str = "g") -> Any:
        """The leader's memory of the group."""
        talk = self._talk
        talk.group, before = group, talk.group
        self.do(Advance(ms=0), look=True)
        talk.group = before
        assert self.last is not None
        return self.last.memory

    def state(self) -> str:
        return str(self.look().state)

    def members(self) -> list[str]:
        return [m.member for m in self.look().members]

    def instance(self, member: str) -> str:
        return str(self.look().member(member).instance)

    def left_ms(self, timer: str) -> int | None:
        """How long until the timer is due; None where it is not armed."""
        due = self.look("g").due(timer)
        assert self.last is not None
        return None if due is None else due - self.last.now_ms

    @property
    def end(self) -> int:
        """The end of the log."""
        self.do(Advance(ms=0))
        assert self.last is not None
        return self.last.end

    def log(self) -> tuple[Record, ...]:
        self.do(ReadLog())
        assert self.last is not None and self.last.records is not None
        return self.last.records

    def joined(self, count: int, **more: Any) -> tuple[list[str], list[Asked]]:
        """That many members after the first round, leader first, nobody synced; with the answers to
        their JoinGroup in the order of their coming.
        """
        asked = [self.join(self.join(**more).member, **more) for _ in range(count)]
        self.sleep(6000 if count > 1 else 3000)
        leader = asked[0].leader
        return [leader, *(a.member for a in asked if a.member != leader)], asked

    def stable(
        self, count: int, *, static: bool = False, followers_sync: bool = True, **more: Any
    ) -> list[str]:
        """That many members in a Stable group of generation 1, leader first; member k has partition
        k. Static ones are i1, i2, ...
        """
        if static:
            asked = [self.join(instance=f"i{k + 1}", **more) for k in range(count)]
            self.sleep(6000 if count > 1 else 3000)
            leader = asked[0].leader
            names = [leader, *(a.member for a in asked if a.member != leader)]
        else:
            names, _ = self.joined(count, **more)
        self.sync(names[0], 1, {name: {"t": [k]} for k, name in enumerate(names)})
        if followers_sync:
            for name in names[1:]:
                self.sync(name, 1)
        return names
