"""Groups of the coordinator that is served, over the fields of Kafka's messages and with a clock of
the test's: what a member is answered, and what happens by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import Factory, define

from groupcheck.oracles.coordinator import administration
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


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_member_gets_an_id_joins_leads_and_is_given_what_it_plans(told):
    first = told.join()
    assert first.code == 79
    name = first.told["memberId"]
    second = told.join(name)
    answer = second.told
    assert (answer["errorCode"], answer["generationId"], answer["leader"]) == (0, 1, name)
    assert answer["protocolName"] == "range"
    assert [m["memberId"] for m in answer["members"]] == [name]
    assert told.sync(name, 1, {name: b"plan"}).told["assignment"] == b"plan"
    assert told.beat(name, 1) == 0 and told.state == "Stable"


def test_a_round_waits_for_all_and_the_followers_for_the_leader(told):
    leader, other = told.two()
    third, joins = told.dynamic()
    assert joins.answers == [] and told.beat(leader, 2) == 27
    told.join(other)
    assert joins.answers == []
    told.join(leader)
    assert joins.told["generationId"] == 3 and joins.told["members"] == []
    waits = told.sync(third, 3)
    assert waits.answers == []
    told.sync(leader, 3, {third: b"c"})
    assert waits.told["assignment"] == b"c"
    assert told.sync(other, 3).told["assignment"] == b""


def test_who_names_another_generation_or_an_unknown_id_is_refused(told):
    leader, _ = told.two()
    assert told.beat(leader, 1) == 22 and told.beat("nobody", 2) == 25
    assert told.sync(leader, 7).code == 22 and told.commit(leader, 1, 5) == 22
    assert told.commit("nobody", 2, 5) == 25 and told.commit(leader, 2, 5) == 0
    assert told.committed() == {("t", 0): 5}
    assert told.join("nobody").code == 25


def test_a_member_that_is_silent_is_removed_after_its_session(told):
    leader, other = told.two()
    for _ in range(3):
        told.after(SESSION_S - 1)
        assert told.beat(leader, 2) in (0, 27)
    assert told.beat(leader, 2) == 27  # the other one is gone
    assert told.beat(other, 2) == 25
    assert told.join(leader).told["generationId"] == 3


def test_a_member_that_only_commits_stays_beyond_its_session(told):
    """Kafka's coordinator starts the session timer again after an accepted commit."""
    leader, other = told.two()
    for offset in range(3):
        told.after(SESSION_S - 1)
        assert told.commit(leader, 2, offset) == 0
        assert told.commit(other, 2, offset) == 0
    assert told.beat(other, 2) == 0


def test_an_id_that_was_only_handed_out_is_forgotten_after_a_session(told):
    name = told.join().told["memberId"]
    told.after(SESSION_S - 1)
    assert len(dict(told.groups.groups["g"].seated())) == 1
    told.after(2)
    assert told.join(name).code == 25


def test_a_round_ends_without_members_that_do_not_come(told):
    leader, other = told.two()
    third, joins = told.dynamic()
    for _ in range(ROUND_S // 5):
        told.after(5)
        told.beat(leader, 2), told.beat(other, 2)  # alive, but they do not join
    assert joins.told["generationId"] == 3 and joins.told["leader"] == third
    assert told.beat(leader, 2) == 25


def test_a_member_that_does_not_sync_is_removed(told):
    name, joins = told.dynamic()
    for _ in range(ROUND_S // 5):
        told.after(5)
        told.beat(name, 1)
    assert joins.told["generationId"] == 1 and told.beat(name, 1) == 25
    assert told.state == "Empty"


def test_a_new_member_that_waits_keeps_its_place_beyond_its_session(told):
    leader, _ = told.two()
    _, joins = told.dynamic()
    for _ in range(6):
        told.after(5)
        told.beat(leader, 2)
    assert joins.answers == []


def test_an_empty_group_waits_for_more_members_if_it_is_told_to():
    told = Told(delay_s=3.0)
    _, joins = told.dynamic()
    told.after(2)
    _, later = told.dynamic()
    told.after(2)
    assert joins.answers == []  # the delay was extended, because somebody came (KIP-134)
    told.after(3)
    assert joins.told["generationId"] == later.told["generationId"] == 1


def test_a_static_member_that_comes_back_keeps_its_share_and_fences_its_old_id(told):
    name = told.join(instance="i").told["memberId"]
    told.sync(name, 1, {name: b"mine"}, groupInstanceId="i")
    back = told.join(instance="i")
    new = back.told["memberId"]
    assert new != name and back.told["generationId"] == 1
    assert back.told["skipAssignment"] and back.told["leader"] == new
    assert told.sync(new, 1, groupInstanceId="i").told["assignment"] == b"mine"
    assert told.beat(name, 1, groupInstanceId="i") == 82
    assert told.beat(name, 1) == 25  # nothing shows that it was replaced
    assert told.commit(name, 1, 5, groupInstanceId="i") == 82
    old = told.join(instance="i", version=5).told
    assert old["leader"] == new and old["members"] == []


def test_a_static_member_is_removed_by_its_instance_id(told):
    told.join(instance="i")
    assert told.leave(("", "i"), ("", "other"), ("nobody", None)) == [0, 25, 25]
    assert told.state == "Empty"


def test_a_takeover_that_changes_the_chosen_protocol_starts_a_round(told):
    name = told.join("", "i", 9, "range", "sticky").told["memberId"]
    told.sync(name, 1, {name: b"mine"}, groupInstanceId="i")
    again = told.join("", "i", 9, "sticky").told
    assert (again["generationId"], again["protocolName"]) == (2, "sticky")


def test_members_vote_for_a_protocol_that_all_list_and_others_are_refused(told):
    first = told.join("", "i", 9, "range", "sticky")
    second = told.join("", "j", 9, "sticky", "range")
    told.join(first.told["memberId"], "i", 9, "range", "sticky")
    assert second.told["protocolName"] in ("range", "sticky")
    assert told.join("", "k", 9, "roundrobin").code == 23
    assert told.join("", "k", protocolType="connect").code == 23
    assert told.join("", "k", protocols=[]).code == 23


def test_requests_that_no_group_sees(told):
    assert told.join(groupId="").code == 24
    assert told.join(sessionTimeoutMs=5_999).code == 26
    assert told.sync("x", 1).code == 25 and told.beat("x", 1) == 25
    assert told.leave(("x", None)) == [25]
    assert told.commit("x", 1, 5) == 22 and told.commit("x", 1, 5, topic="none") == 3


def test_an_administrator_commits_to_an_empty_group_alone(told):
    assert told.commit("", -1, 7) == 0
    leader, other = told.two()
    assert told.commit("", -1, 9) == 25
    assert told.leave((leader, None), (other, None)) == [0, 0]
    assert told.commit("", -1, 9) == 0 and told.committed() == {("t", 0): 9}


def test_a_group_has_no_more_members_than_its_size_allows():
    told = Told(max_size=2)
    told.two()
    name = told.join()
    assert name.code == 81 or told.join(name.told["memberId"]).code == 81


def test_a_group_without_room_for_another_id_says_so_and_notes_it(told):
    codes = [told.join().code for _ in range(STRANGER + 1)]
    assert codes == [79] * STRANGER + [81]
    assert "no room" in told.remarks[0]
    told.after(SESSION_S)
    assert told.join().code == 79


def test_generations_go_on_for_as_long_as_a_group_lives(told):
    name, _ = told.dynamic()
    for generation in range(1, 1_200):
        assert told.sync(name, generation, {name: b"x"}).code == 0
        assert told.join(name).told["generationId"] == generation + 1
    assert told.beat(name, 1_200) == 0 and told.beat(name, 3) == 22


def test_a_coordinator_that_moves_answers_16_loads_and_knows_its_members_again():
    told = Told(load_s=2.0)
    leader, other = told.two()
    joins = told.join(leader)
    told.groups.fail_over()
    assert joins.code == 16
    assert told.join(leader).code == 14 and told.beat(other, 2) == 0
    assert told.commit(other, 2, 5) == 14 and told.groups.load_code == 14
    told.after(2)
    assert told.state == "Stable" and told.beat(other, 2) == 0 and told.groups.load_code == 0
    assert told.sync(other, 2).told["assignment"] == b"b"


def test_what_an_administrator_sees_and_deletes(told):
    leader, other = told.two()
    told.commit(leader, 2, 5)

    def ask(name: str, **values: Any) -> Mapping[str, Any]:
        asked = Asked(5, values)
        getattr(administration, name)(told.groups, asked)
        return asked.told

    (group,) = ask("describe_groups", groups=["g"])["groups"]
    assert (group["groupState"], group["protocolData"]) == ("Stable", "range")
    assert {m["memberId"]: m["memberAssignment"] for m in group["members"]} == {
        leader: b"a",
        other: b"b",
    }
    assert ask("describe_groups", groups=["x"])["groups"][0]["groupState"] == "Dead"
    assert [g["groupId"] for g in ask("list_groups")["groups"]] == ["g"]
    assert ask("list_groups", statesFilter=["Empty"])["groups"] == []
    deleted = {"groupId": "g", "topics": [{"name": "t", "partitions": [{"partitionIndex": 0}]}]}
    subscribed = ask("offset_delete", **deleted)["topics"][0]["partitions"][0]
    assert subscribed["errorCode"] == 86
    names = {"groupsNames": ["g", "x"]}
    assert [r["errorCode"] for r in ask("delete_groups", **names)["results"]] == [68, 69]
    told.leave((leader, None), (other, None))
    assert ask("offset_delete", **deleted)["topics"][0]["partitions"][0]["errorCode"] == 0
    assert told.committed() == {}
    assert [r["errorCode"] for r in ask("delete_groups", **names)["results"]] == [0, 69]
    assert told.beat(leader, 2) == 25


def test_offsets_are_fetched_in_both_forms(told):
    told.commit("", -1, 7)

    def fetched(version: int, **values: Any) -> Mapping[str, Any]:
        asked = Asked(version, values)
        told.groups.offsets.fetch(asked)
        return asked.told

    topics = [{"name": "t", "partitionIndexes": [0, 1]}]
    old = fetched(5, groupId="g", topics=topics)["topics"][0]["partitions"]
    assert [p["committedOffset"] for p in old] == [7, -1]
    new = fetched(9, groups=[{"groupId": name, "topics": None} for name in ("g", "x")])["groups"]
    assert [[p["committedOffset"] for t in g["topics"] for p in t["partitions"]] for g in new] == [
        [7],
        [],
    ]


def commits_of_another_generation(told: Told) -> None:
    leader, _ = told.two()
    assert told.commit(leader, 1, 5) == 0


def an_id_that_has_expired_is_waited_for(told: Told) -> None:
    name, _ = told.dynamic()
    told.sync(name, 1, {name: b"x"})
    told.join()
    told.after(SESSION_S - 1)
    told.beat(name, 1)
    told.after(2)
    assert told.join(name).answers == []


def a_leader_that_has_left_leads(told: Told) -> None:
    leader, other = told.two()
    told.leave((leader, None))
    assert told.join(other).told["leader"] != other


def a_static_member_is_asked_for_an_id(told: Told) -> None:
    assert told.join(instance="i").code == 79


BROKEN = {
    "commit_ignores_generation": commits_of_another_generation,
    "expired_id_still_counted": an_id_that_has_expired_is_waited_for,
    "leader_forgotten": a_leader_that_has_left_leads,
    "static_member_asked_twice": a_static_member_is_asked_for_an_id,
}


@pytest.mark.parametrize(("mutation", "shows"), BROKEN.items())
def test_a_coordinator_with_a_known_bug_does_what_the_healthy_one_does_not(mutation, shows):
    shows(Told(mutation))
    with pytest.raises(AssertionError):
        shows(Told())


def test_rules_that_fail_behind_a_known_bug_are_an_error_of_the_server():
    told = Told("told_before_logged")  # the record in which a takeover puts its id is missing
    name = told.join(instance="i").told["memberId"]
    told.sync(name, 1, {name: b"mine"}, groupInstanceId="i")
    assert told.join(instance="i").code == -1
    assert told.beat(name, 1, groupInstanceId="i") == 0
