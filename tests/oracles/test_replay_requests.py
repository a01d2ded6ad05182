"""`groupcheck replay` on request logs: the format is found, the document and the screen tell
verdict, zombie and facts.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from groupcheck.oracles.command_line import cli

DATA = Path(__file__).parent.parent / "data" / "requests"
ZOMBIE = DATA / "live-zombie.log.gz"


def replay(capsys: pytest.CaptureFixture[str], *given: str) -> tuple[int, str]:
    code = cli.run(["replay", *given])
    return code, capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *given: str) -> tuple[int, dict[str, Any]]:
    code, out = replay(capsys, "--json", *given)
    found: dict[str, Any] = json.loads(out)
    return code, found


def test_the_document_names_the_zombie_and_tells_the_facts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, found = document(capsys, str(ZOMBIE))
    (g,) = found["groups"]
    assert [c["kind"] for c in g["causes"]] == ["process_paused"]
    assert "Its commit after that was refused (UNKNOWN_MEMBER_ID)" in g["causes"][0]["text"]
    assert [c["kind"] for c in g["consequences"]] == ["zombie"]
    assert (code, found["schema"], found["format"], found["verdict"]) == (
        1,
        "groupcheck.replay/2",
        "request-log",
        "holds",
    )
    assert (
        found["lines"],
        found["lines_understood"],
        found["answers_judged"],
        g["unexplained"],
    ) == (77, 77, 72, 0)
    assert [a["kind"] for a in g["anomalies"]] == ["zombie"] and g["anomalies"][0]["line"] == 42
    assert found["request_facts"] == g["request_facts"] and found["request_facts"]["error_answers"][
        "OFFSET_COMMIT 25"
    ] == {"a": 1}
    assert [
        (x["from_generation"], x["cause"], x["held_up_by"][:1] and x["held_up_by"][0][0])
        for x in g["rebalances"]
    ][:3] == [
        (0, "join", []),
        (1, "join", "a"),
        (2, "session_expired", "b"),
    ]


def test_a_changed_answer_is_a_violation_that_names_line_and_promise(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = gzip.decompress(ZOMBIE.read_bytes()).decode().splitlines()
    assert '"errorCode":25' in lines[41] and "OFFSET_COMMIT" in lines[41]
    lines[41] = lines[41].replace('"errorCode":25', '"errorCode":0')
    file = tmp_path / "changed.log"
    file.write_text("\n".join(lines) + "\n")
    code, found = document(capsys, str(file))
    (g,) = found["groups"]
    assert (code, found["verdict"]) == (1, "violated")
    assert (
        g["reason"].startswith("line 42: OFFSET_COMMIT of a-5e59de63")
        and "commit_fenced" in g["reason"]
    )
    assert {"unexplained_line", "zombie_commit_accepted"} <= {a["kind"] for a in g["anomalies"]}


def test_the_screen_shows_requests_and_the_zombie(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = replay(capsys, str(ZOMBIE))
    shown = " ".join(out.split())
    assert code == 1 and "JOIN_GROUP 10" in shown and "72 answers" in shown
    assert (
        "a tried to commit orders-0, orders-1, orders-2 in generation 2, 3.0 s after they had been"
        " given to b" in shown
    )


def test_one_group_can_be_chosen_and_a_page_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    code, found = document(
        capsys, str(DATA / "live-broker_restart.log.gz"), "--group", "g1", "--html", str(page)
    )
    assert (code, [g["group"] for g in found["groups"]]) == (1, ["g1"])  # it is loading for long
    assert "OFFSET_FETCH" in page.read_text()
    assert cli.run(["replay", str(DATA / "live-broker_restart.log.gz"), "--group", "nobody"]) == 2
    assert "g1" in capsys.readouterr().err


def test_a_consumer_group_is_judged_and_its_epochs_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, found = document(capsys, str(DATA / "live-kip848.log.gz"))
    assert (code, found["groups"][0]["protocol"], found["lines_not_understood"]) == (
        1,  # a member fell silent, and others were given its partitions
        "consumer",
        0,
    )
    assert "by the model `consumer`" in found["reason"]
    assert (
        [e["epoch"] for e in found["request_facts"]["epochs"]]
        == [2, 3, 4, 5, 6, 7][: len(found["request_facts"]["epochs"])]
        != []
    )


def test_a_plan_that_gives_a_partition_twice_is_a_violation(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The leader's SyncGroup for two members is changed so that both get what the first one gets,
    and both are told so.
    """
    text = gzip.decompress(ZOMBIE.read_bytes()).decode()
    first, second = (
        "AAAAAAABAAZvcmRlcnMAAAADAAAAAAAAAAEAAAACAAAAAA==",
        "AAAAAAABAAZvcmRlcnMAAAADAAAAAwAAAAQAAAAFAAAAAA==",
    )
    assert text.count(second) > 1
    file = tmp_path / "twice.log"
    file.write_text(text.replace(second, first))
    code, found = document(capsys, str(file))
    assert code == 1 and "one_owner" in found["reason"]
    assert "partition_assigned_twice" in {a["kind"] for a in found["groups"][0]["anomalies"]}
    packed = gzip.compress(file.read_bytes())
    file.write_bytes(packed[:-8] + bytes(8))
    code, found = document(capsys, str(file))
    assert code == 1 and "one_owner), but the file is damaged" in found["reason"]


def test_the_document_tells_the_harm_the_absence_and_the_settings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, found = document(capsys, str(ZOMBIE))
    told = found["groups"][0]["findings"]
    (absent,) = told["absences"]
    assert (absent["client"], absent["kind"]) == ("a", "frozen") and absent["ms"] > 5900
    (refused,) = [r for r in told["refusals"] if r["api"] == "OFFSET_COMMIT"]
    assert (refused["error"], refused["count"]) == ("UNKNOWN_MEMBER_ID", 1)
    assert {(o["earlier"], o["later"]) for o in told["two_owners"]} == {("a", "b")}
    assert "3 partitions had two owners at once" in " ".join(told["harm"])
    assert ("session.timeout.ms", 3000) in {(s["name"], s["value_ms"]) for s in told["settings"]}
