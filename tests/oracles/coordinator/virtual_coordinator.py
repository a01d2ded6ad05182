"""A coordinator with a clock of the test's, asked in the fields of Kafka's messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, define

from groupcheck.oracles.coordinator.model import STRANGER, Model
from groupcheck.oracles.coordinator.offsets import Offsets
from groupcheck.oracles.coordinator.requests import Groups
from groupcheck.oracles.coordinator.settings import mutation_named
from groupcheck.oracles.wire.cluster import Cluster, Partition
from groupcheck.traces.messages.consumer_protocol import Subscription, subscription_bytes

SESSION_S, ROUND_S = 10, 60


@define(eq=False)
class Asked:
    """A request, and its answer once there is one."""

    version: int
    values: dict[str, Any]
    client: str = "c"
    answers: list[Mapping[str, Any]] = Factory(list)

    def answer(self, values: Mapping[str, Any], version: int | None = None) -> None:
        self.answers.append(values)

    @property
    def told(self) -> Mapping[str, Any]:
        (answer,) = self.answers
        return answer

    @property
    def code(self) -> int:
        return int(self.told["errorCode"])


class Told:
    """A coordinator, its clock, and the requests that members send."""

    def __init__(self, mutation: str | None = None, max_size: int = STRANGER, **how: Any) -> None:
        self.now, self.remarks = 1000.0, list[str]()
        cluster = Cluster(lambda group: 1)
        cluster.topics["t"] = [Partition(1), Partition(1)]
        names = iter(f"{n}" for n in range(1000))
        self.groups = Groups(
            model=Model(mutation_named(mutation), max_size),
            offsets=Offsets(cluster),
            session_ms=(6_000, 1_800_000),
            delay_s=how.get("delay_s", 0.0),
            load_s=how.get("load_s", 0.0),
            say=self.remarks.append,
            now=lambda: self.now,
            new_name=lambda prefix: f"{prefix}-{next(names)}",
        )

    def ask(self, name: str, version: int, **values: Any) -> Asked:
        asked = Asked(version, {"groupId": "g", **values})
        getattr(self.groups, name)(asked)
        return asked

    def after(self, seconds: float) -> None:
        """Time passes, timer by timer."""
        until = self.now + seconds
        while (due := self.groups.next_due) is not None and due <= until:
            self.now = max(self.now, due)
            self.groups.advance()
        self.now = until

    def join(
        self,
        member: str = "",
        instance: str | None = None,
        version: int = 9,
        *names: str,
        **more: Any,
    ) -> Asked:
        said = subscription_bytes(Subscription(1, ("t",)))
        given: dict[str, Any] = {
            "memberId": member,
            "groupInstanceId": instance,
            "sessionTimeoutMs": SESSION_S * 1000,
            "rebalanceTimeoutMs": ROUND_S * 1000,
            "protocolType": "consumer",
            "protocols": [{"name": name, "metadata": said} for name in names or ("range",)],
        }
        return self.ask("join_group", version, **{**given, **more})

    def sync(
        self, member: str, generation: int, plan: Mapping[str, bytes] = {}, **more: Any
    ) -> Asked:
        shares = [{"memberId": who, "assignment": share} for who, share in plan.items()]
        about = {"memberId": member, "generationId": generation, "assignments": shares}
        return self.ask("sync_group", 5, **about, **more)

    def beat(self, member: str, generation: int, **more: Any) -> int:
        about = {"memberId": member, "generationId": generation}
        return self.ask("heartbeat", 4, **about, **more).code

    def leave(self, *members: tuple[str, str | None]) -> list[int]:
        leavers = [{"memberId": who, "groupInstanceId": instance} for who, instance in members]
        told = self.ask("leave_group", 5, members=leavers).told
        return [one["errorCode"] for one in told["members"]]

    def commit(
        self, member: str, generation: int, offset: int, topic: str = "t", **more: Any
    ) -> int:
        one = {"partitionIndex": 0, "committedOffset": offset, "committedMetadata": None}
        topics = [{"name": topic, "partitions": [one]}]
        about = {"memberId": member, "generationIdOrMemberEpoch": generation, "topics": topics}
        told = self.ask("offset_commit", 9, **about, **more).told
        return int(told["topics"][0]["partitions"][0]["errorCode"])

    def committed(self) -> dict[tuple[str, int], int]:
        return {at: found.offset for at, found in self.groups.offsets.of("g").items()}

    def dynamic(self) -> tuple[str, Asked]:
        """The id of a new member, and its second JoinGroup."""
        name = self.join().told["memberId"]
        return name, self.join(name)

    def two(self) -> tuple[str, str]:
        """Two members of a Stable group of generation 2; the first one leads."""
        leader, _ = self.dynamic()
        other, joins = self.dynamic()
        self.join(leader)
        assert joins.told["generationId"] == 2
        waits = self.sync(other, 2)
        assert self.sync(leader, 2, {leader: b"a", other: b"b"}).told["assignment"] == b"a"
        assert waits.told["assignment"] == b"b"
        return leader, other

    @property
    def state(self) -> str:
        return str(self.groups.groups["g"].core.phase)
