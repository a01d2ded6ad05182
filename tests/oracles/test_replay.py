"""The door of the replay: exit codes, one JSON document, a page that nothing can escape from."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.replay.document import replay_document, replay_text
from groupcheck.oracles.replay.report import ReplayReports, replay
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parent.parent / "data" / "replay"
SCALE = DATA / "kafka41-console-group-scale.log"


def call(*arguments: object) -> int:
    return cli.run([str(a) for a in arguments])


def document(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    code = call("replay", *arguments, "--json")
    return code, json.loads(capsys.readouterr().out)


def test_a_replay_does_not_load_the_engine_that_searches() -> None:
    code = (
        "import sys\n"
        "from groupcheck.oracles.command_line import cli\n"
        f"assert cli.run(['replay', {str(SCALE)!r}, '--json']) == 0\n"
        "print(*{'numpy', 'llvmlite', 'psutil'} & {*sys.modules}, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=240, capture_output=True, text=True
    )
    assert done.stderr.strip() == ""


def test_a_log_that_holds_exits_with_0_and_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    code, told = document(capsys, SCALE)
    assert code == 0
    assert (told["schema"], told["format"], told["verdict"]) == (
        "groupcheck.replay/2",
        "broker-java",
        "holds",
    )
    assert (told["lines"], told["lines_understood"], told["lines_not_understood"]) == (46, 46, 0)
    assert [(g["group"], g["verdict"], g["unexplained"]) for g in told["groups"]] == [
        ("my-consumer-group", "holds", 0),
        ("multi-partition-group", "holds", 0),
    ]
    first = told["groups"][0]["rebalances"][0]
    assert (first["from_generation"], first["to_generation"], first["cause"]) == (6, 7, "leave")
    assert first["member"] == "console-consumer-20537d22-adb5-416f-8ecd-1de67d3579be"
    assert (first["started"], first["ended"]) == (
        "2025-11-21 16:13:45.860",
        "2025-11-21 16:13:48.779",
    )
    assert first["duration_ms"] == 2919
    # Two members, and one of them left: the other one is who joined last.
    assert first["held_up_by"] == ["console-consumer-ba4baa00-ac88-4f1e-9013-353f48fb9064"]
    left = [m for m in told["groups"][0]["members"] if m["gone"] == "left"]
    assert len(left) == 3 and left[0]["client"] == "console-consumer"


def test_a_log_that_no_coordinator_wrote_exits_with_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.log"
    broken.write_text(SCALE.read_text().replace("generation 9 with", "generation 8 with"))
    code, told = document(capsys, broken)
    assert (code, told["verdict"]) == (1, "violated")
    group = next(g for g in told["groups"] if g["verdict"] == "violated")
    line, *_ = [a for a in group["anomalies"] if a["kind"] == "unexplained_line"]
    assert line["line"] > 0 and line["text"] and any("possible: " in e for e in line["evidence"])
    assert call("replay", broken) == 1
    assert "unexplained_line" in capsys.readouterr().out


def test_the_verdict_on_the_broker_stands_beside_the_health(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What is not followed yet has no verdict, and its groups have a health all the same."""
    for name, code, health in (
        ("live-kip848.log", 1, "broken"),
        ("classic-eager-scaleup.log", 0, "calm"),
    ):
        found, told = document(capsys, DATA / name)
        verdict = "holds" if name == "live-kip848.log" else "unknown"
        assert (found, told["health"], told["verdict"]) == (code, health, verdict)
    (tmp_path / "short.log").write_text("".join(SCALE.read_text().splitlines(True)[:1]))
    found, told = document(capsys, tmp_path / "short.log")
    assert (found, told["health"]) == (3, "unknown")


def test_trouble_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(DATA / "live-zombie.log")
    assert cli.run(["replay", log, "--fail-on", "brokne"]) == 2
    assert "no trouble is called 'brokne'" in capsys.readouterr().err


def test_a_line_counts_once_however_much_it_says(tmp_path: Path) -> None:
    """Lines of brokers are not those of clients, and one may hold two statements."""
    failed = "Member c-1 in group g has failed, removing it from the group"
    empty = "Group g with generation 5 is now empty"
    client = "[Consumer clientId=c-2, groupId=g] Lost previously assigned partitions t-0"
    (tmp_path / "mixed.log").write_text(f"[GroupCoordinator 1]: {failed} {empty}\n{client}\n")
    (tmp_path / "mixed.log").open("a").write("[GroupCoordinator 1]: Nobody knows this group\n")
    report = next(r for r in replay([tmp_path / "mixed.log"]) if r.format == "java-client")
    assert (report.lines, report.understood, report.strange) == (3, 1, 0)


def test_only_the_trouble_that_is_asked_for_fails(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(DATA / "live-zombie.log")
    for kinds, code in (
        (["violated"], 0),
        (["broken"], 0),  # it works again
        (["session_expired_broker"], 1),
        (["troubled", "poll_timeout"], 1),
    ):
        asked = [word for kind in kinds for word in ("--fail-on", kind)]
        assert cli.run(["replay", log, *asked]) == code
    capsys.readouterr()


def test_several_files_are_one_document_and_the_worst_decides(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, told = document(capsys, SCALE, DATA / "live-kip848.log")
    assert code == 1
    assert [f["verdict"] for f in told["files"]] == ["holds", "holds"]
    assert told["lines"] == 46 + 42
    assert {g["file"] for g in told["groups"]} == {str(SCALE), str(DATA / "live-kip848.log")}


def test_the_document_is_the_same_in_pieces_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    for some in ([SCALE, DATA / "classic-eager-scaleup.log"], [SCALE]):
        found = replay(some)
        assert json.loads("".join(replay_text(found, found.answers))) == json.loads(
            json.dumps(replay_document(found, found.answers))
        )


def many(path: Path) -> ReplayReports:
    """A log of 40 groups that are calm."""
    lines = [
        line
        for line in SCALE.read_text().splitlines(keepends=True)
        if "multi-partition-group" in line
    ]
    copies = [
        line.replace("multi-partition-group", f"group-{k}") for k in range(40) for line in lines
    ]
    path.write_text("".join(copies))
    return replay([path])


def test_many_groups_that_are_calm_share_a_line(tmp_path: Path) -> None:
    text = str(many(tmp_path / "many.log"))
    assert text.startswith("40 groups: 40 calm\n") and "group-0" not in text


@pytest.mark.parametrize(
    ("reason", "health"),
    [("the consumer is being closed", "calm"), ("an unknown reason", "unknown")],
)
def test_a_member_that_was_told_to_leave_is_calm(tmp_path: Path, reason: str, health: str) -> None:
    (tmp_path / "c.log").write_text(
        "10:00:00.001 INFO [Consumer clientId=c-1, groupId=g] Member c-1-x sending LeaveGroup "
        f"request to coordinator b1:9092 (id: 2147483646 rack: null) due to {reason}\n"
    )
    assert [a.health for a in replay([tmp_path / "c.log"]).answers] == [health]


def test_of_many_groups_in_trouble_the_text_shows_the_figures_of_the_worst(tmp_path: Path) -> None:
    replayed = many(tmp_path / "many.log")
    replayed.answers = [evolve(a, health="troubled") for a in replayed.answers]
    text = str(replayed)
    assert text.count("holds  group group-") == 1 and re.search(r"\n  holds +40 groups\n", text)


def test_one_group_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code, told = document(capsys, SCALE, "--group", "my-consumer-group")
    assert (code, [g["group"] for g in told["groups"]]) == (0, ["my-consumer-group"])
    assert cli.run(["replay", str(SCALE), "--group", "my-consumer-groop", "--json"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "unknown group 'my-consumer-groop' (did you mean" in said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such-file.log"], "no-such-file.log"),
        ([str(SCALE), "--format", "runes"], "no format 'runes'"),
        ([str(SCALE), "--html", "/no/such/place.html"], "--html"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert call("replay", *arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and words in shown.err


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.sources += [
            value or "" for name, value in attributes if name in ("src", "href", "xlink:href")
        ]


def test_nothing_escapes_into_the_page(tmp_path: Path) -> None:
    evil = "</title></style><script>alert(1)</script><img src=x onerror=alert(2)>"
    path = tmp_path / "evil.log"
    text = (
        SCALE.read_text()
        .replace("my-consumer-group", evil)
        .replace("console-consumer", evil + "‮")
        .replace("the consumer is being closed", evil)
    )
    path.write_text(text)
    replayed = replay([path])
    assert evil in [g.group for g in replayed[0].groups]
    html = replayed.html()
    tags = Tags()
    tags.feed(html)
    assert "img" not in tags.seen and tags.sources == ["#group1", "#group2"]
    # The page's own script, and data for it.
    assert html.count("<script>") == 1 and html.count("</script>") == html.count("<script")
    assert f"group {escape(evil)}</h2>" in html and html.count("</style>") == 1
    assert "\x1b" not in str(replayed) and "‮" not in html


def test_page_and_ticket_are_written_beside_the_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, ticket = tmp_path / "page.html", tmp_path / "ticket.md"
    call("replay", SCALE, "--html", page, "--markdown", ticket)
    assert ticket.read_text().startswith("# 2 groups: 2 calm\n\n| health | group |")
    assert "\n\n## calm: group `my-consumer-group`" in ticket.read_text()
    assert "calm  group my-consumer-group" in capsys.readouterr().out and page.exists()
    assert call("replay", SCALE, "--html", page, "--markdown", page) == 2
    assert "--markdown" in capsys.readouterr().err


def test_the_page_is_written_and_whole(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert call("replay", SCALE, "--html", out) == 0
    html = out.read_text()
    assert html.startswith("<!DOCTYPE html>") and html.rstrip().endswith("</html>")
    assert '"preparing"' in html and "multi-partition-group" in html


words = st.sampled_from(
    [
        "[GroupCoordinator 1]: ",
        "[GroupCoordinator id=1] ",
        "Preparing to rebalance group ",
        "Stabilized group g generation ",
        " members.",
        "{",
        '"',
        "Member ",
        " in group g has failed, removing it from the group",
        "Group g ",
        "(__consumer_offsets-1)",
        "-1",
        "99999999999999999999",
        "\x00",
        "\x1b[2J",
        "explicit `LeaveGroup` request for (",
        "Static member ",
        "MemberMetadata(",
        "Set(",
        "2024-10-25 17:25:16,582",
        "\u202e",
        "\n",
        "\r",
    ]
)


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.lists(st.one_of(words, st.text(max_size=20)), min_size=1, max_size=60))
def test_arbitrary_text_never_crashes_and_is_never_green(tmp_path: Path, pieces: list[str]) -> None:
    path = tmp_path / "any.log"
    path.write_text("x" + "".join(pieces), errors="replace", newline="")
    code = call("replay", path)
    assert code in (1, 2, 3) or (code == 0 and replay_file(str(path)).groups)


@settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.data())
def test_a_real_log_with_damaged_lines_never_crashes(tmp_path: Path, data: st.DataObject) -> None:
    lines = SCALE.read_text().splitlines()
    for _ in range(data.draw(st.integers(1, 6))):
        k = data.draw(st.integers(0, len(lines) - 1))
        at = data.draw(st.integers(0, len(lines[k])))
        lines[k] = (
            lines[k][:at]
            + data.draw(st.text(max_size=5))
            + lines[k][at + data.draw(st.integers(0, 30)) :]
        )
    path = tmp_path / "damaged.log"
    path.write_text("\n".join(lines), errors="replace")
    assert call("replay", path) in (0, 1, 2, 3)


def test_on_a_phone_each_cell_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "f.log"
    path.write_text(SCALE.read_text())
    html = replay([path]).html()
    table = html[html.index("<tbody>") :]
    cells = re.findall(r"<td[^>]*>", table)
    assert cells and all("data-name=" in cell for cell in cells)
    assert "attr(data-name)" in html[: html.index("</style>")]


def test_a_log_with_lines_that_were_not_followed_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "f.log"
    whole = SCALE.read_text()
    path.write_text(whole)
    assert replay_file(str(path)).verdict == "holds"
    strange = (
        whole.splitlines()[0].partition("] ")[0]
        + "] INFO [GroupCoordinator id=1] The group g does what no version prints.\n"
    )
    path.write_text(whole + strange)
    told = replay_file(str(path))
    assert (told.verdict, told.strange) == (
        "unknown",
        1,
    ) and "1 of its lines" in told.reason
    path.write_text(whole)
    monkeypatch.setattr("groupcheck.traces.broker.replay.GROUPS_KEPT", 1)
    assert replay_file(str(path)).verdict == "unknown"
