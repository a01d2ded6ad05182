"""`replay` of clients' logs alone tells what happened: rebalances, members, who owned what; beside
a broker's log both sides stand in one table.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from groupcheck.oracles.replay.report import replay

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    with tarfile.open(DATA / "clients/live.tar.xz") as tar:
        tar.extractall(folder, filter="data")
    return folder


def group_of(*paths: Path) -> dict[str, Any]:
    groups: list[dict[str, Any]] = replay(paths).document()["groups"]
    (group,) = groups
    return group


def test_a_healthy_log_tells_its_members_story(logs: Path) -> None:
    alone = replay([logs / "eager_join_leave.b.log"])
    group = alone.document()["groups"][0]
    assert group["health"] == "calm"
    assert [r["to_generation"] for r in group["rebalances"]] == [2, 3, 4, 5]
    assert group["rebalances"][0]["started_line"] == group["rebalances"][0]["seen"][0]["asked_line"]
    (member,) = group["members"]
    assert member["member"].startswith("b-483b47c9")
    assert (member["gone"], member["commits"], member["generations_seen"]) == (
        "left", 4, [2, 3, 4, 5],
    )  # fmt: skip
    assert {(o["partition"], o["generation"], o["how"]) for o in member["owned"]} >= {
        ("order-4", 2, "revoked"),
        ("order-0", 5, "revoked"),
    }
    text = " ".join(str(alone).split())
    assert "group g1 as its members tell it" in text
    assert "generations 2 to 5; 4 rebalances in" in text
    assert "1 to 2 join:" in text and "5: order-4," in text


def test_several_clients_give_the_table_of_the_group(logs: Path) -> None:
    group = group_of(*sorted(logs.glob("coop_join_kill.*.log")))
    told = [
        (r["to_generation"], r["cause"], r["size"], len(r["seen"])) for r in group["rebalances"]
    ]
    assert told == [
        (1, "join", 1, 1), (2, "join", 2, 2), (3, "member_rejoin", 2, 2), (4, "join", 3, 3),
        (5, "member_rejoin", 3, 3), (6, "gone", 2, 2),
    ]  # fmt: skip
    assert {r["started_line"] for r in group["rebalances"]} == {None}
    assert [m["client"] for m in group["members"]] == ["a", "b", "c"]


def test_a_member_is_only_last_among_all_members(logs: Path) -> None:
    every = group_of(*sorted(logs.glob("coop_join_kill.*.log")))["rebalances"]
    some = group_of(*(logs / f"coop_join_kill.{who}.log" for who in "ab"))["rebalances"]
    assert [bool(r["held_up_by"]) for r in every] == [False, True, True, True, True, True]
    assert [(r["size"], bool(r["held_up_by"])) for r in some] == [
        (1, False), (2, True), (2, True), (3, False), (3, False), (None, False),
    ]  # fmt: skip


def test_members_of_kip_848_wait_for_their_parts(logs: Path) -> None:
    paths = sorted(logs.glob("kip848.*.log"))
    group = group_of(*paths)
    lasts = [r["held_up_by"] for r in group["rebalances"] if r["waited_for"]]
    assert lasts == [["Z7QpNdpeQ7e4G5GQkVGhHw"], *[["DQkrv/imSrKSYoAwmphNIQ"]] * 2]  # b, c, c
    assert {r["waited_for"] for r in group["rebalances"]} == {"", "was given its part last"}
    text = " ".join(str(replay(paths)).split())
    assert "epochs 2 to 6, 5 rebalances in" in text and "generations" not in text
    assert "have their partitions, and their commits are answered" in text


def test_one_is_written_as_one(tmp_path: Path) -> None:
    log = tmp_path / "c.log"
    client = "INFO [Consumer clientId=c-1, groupId=g] "
    log.write_text(
        f"10:00:00,000 {client}(Re-)joining group\n"
        f"10:00:00,000 {client}Successfully joined group with generation 4\n"
        f"10:00:00,000 {client}Setting newly assigned partitions [t-0]\n"
        f"10:00:05,000 {client}Revoking previously assigned partitions [t-0]\n"
    )
    text = " ".join(str(replay([log])).split())
    assert "generations 4, 1 rebalance in 5.0 s" in text and "generation 4; 1 rebalance" in text
    assert "in 0 ms" not in text


def test_beside_a_brokers_log_both_sides_stand_in_one_table(logs: Path) -> None:
    broker = DATA / "replay/live-zombie.log"
    clients = sorted(logs.glob("zombie.*.log"))
    group = group_of(broker, *clients)
    seen = {
        r["to_generation"]: [c["client"] for c in r.get("seen", ())] for r in group["rebalances"]
    }
    assert seen == {1: ["a"], 2: ["b", "a"], 3: ["b"], 4: ["a", "b"], 5: ["b"], 6: []}
    first = group["rebalances"][0]
    assert first["started_line"] and first["reason"].startswith("Adding new member")
    woken = group["members"][-1]
    assert woken["id_handed_out"] and {o["generation"] for o in woken["owned"]} == {4}
    assert "a 264 ms" in str(replay([broker, *clients]))


def test_the_page_shows_the_same(logs: Path) -> None:
    page = replay([logs / "eager_join_leave.b.log"]).html()
    assert "What the members tell" in page and "generations 2 to 5" in page
    assert '"owns 5' not in page and "owns order-4, order-5, order-6" in page
    assert "generation 3: Stable" in page and "waits for the answer to JoinGroup" in page
    ticket = replay([logs / "eager_join_leave.b.log"]).markdown()
    assert "**Rebalances**" in ticket


def test_a_step_that_is_never_left_is_told(tmp_path: Path) -> None:
    log = tmp_path / "c.log"
    frame = "%7|17000000{:02}.000|CGRPJOINSTATE|c#consumer-1| [thrd:main]: "
    log.write_text(
        frame.format(0) + 'Group "g": add t [0]\n'
        + frame.format(1) + 'Group "g" changed join state x -> wait-assign-call (state up)\n'
        + frame.format(43) + 'Heartbeat for group "g" generation id 5\n'
    )  # fmt: skip
    (member,) = group_of(log)["members"]
    standing = member["standing"]
    assert (standing["state"], standing["lasted_ms"], standing["since_line"]) == (
        "wait-assign-call", 42_000, 2,
    )  # fmt: skip
    text = " ".join(str(replay([log])).split())
    assert "it stands in wait-assign-call since line 2 for 42.0 s, until its log ends" in text
