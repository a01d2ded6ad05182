"""Groups of the coordinator that is served, over the fields of Kafka's messages and with a clock of
the test's: what a member is answered, and what happens by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from virtual_coordinator import ROUND_S, SESSION_S, Asked, Told

from groupcheck.oracles.coordinator import administration
from groupcheck.oracles.coordinator.model import STRANGER


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_member_gets_an_id_joins_leads_and_is_given_what_it_plans(told):
    first = told.join()
    assert first.code == 79
    name = first.told["memberId"]
    assert name and first.values["memberId"] == ""  # the log shows what was asked
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
    # Older versions say ILLEGAL_GENERATION (OffsetMetadataManager.validateOffsetCommit).
    assert told.commit("x", 1, 5) == 69 and told.commit("x", 1, 5, topic="none") == 3


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
    for generation in range(1, 600):
        assert told.sync(name, generation, {name: b"x"}).code == 0
        assert told.join(name).told["generationId"] == generation + 1
    assert told.beat(name, 600) == 0 and told.beat(name, 3) == 22


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


def a_takeover_is_forgotten_by_the_next_coordinator(told: Told) -> None:
    name = told.join(instance="i").told["memberId"]
    told.sync(name, 1, {name: b"mine"}, groupInstanceId="i")
    new = told.join(instance="i").told["memberId"]
    told.groups.fail_over()
    assert told.beat(new, 1, groupInstanceId="i") == 82


def heartbeats_fail_while_the_group_is_loaded(told: Told) -> None:
    leader, _ = told.two()
    for group in told.groups.groups.values():
        group.load_s = 5.0
    told.groups.fail_over()
    assert told.beat(leader, 2) == 25


def a_join_is_served_before_the_group_is_loaded(told: Told) -> None:
    told.two()
    for group in told.groups.groups.values():
        group.load_s = 5.0
    told.groups.fail_over()
    assert told.join().code == 79


BROKEN = {
    "heartbeats_fail_while_loading": heartbeats_fail_while_the_group_is_loaded,
    "served_before_loaded": a_join_is_served_before_the_group_is_loaded,
    "commit_ignores_generation": commits_of_another_generation,
    "expired_id_still_counted": an_id_that_has_expired_is_waited_for,
    "leader_forgotten": a_leader_that_has_left_leads,
    "takeover_not_logged": a_takeover_is_forgotten_by_the_next_coordinator,
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
