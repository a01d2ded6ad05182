"""Walks along logs: the lines are the steps of the model."""

from __future__ import annotations

import html
import re
import shlex
from pathlib import Path

import pytest

from groupcheck import UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.explain.subject import subject
from groupcheck.oracles.explore.beginning import walk_from
from groupcheck.oracles.explore.log_facts import Fact, Knowledge, fits
from groupcheck.oracles.explore.log_lines import Line, read
from groupcheck.oracles.explore.log_walk import LogWalk, follow
from groupcheck.oracles.explore.questions import Desk
from groupcheck.oracles.explore.walk import Walk
from groupcheck.traces.story.events import GroupEmptied, MemberExpired, RebalanceStarted, Stabilized

DATA = Path("tests/data")
ID = "console-consumer-00000000-0000-0000-0000-00000000000"


def asked() -> None:
    raise AssertionError("the options were asked for")


def from_log(source: str, group: str | None = None) -> Walk:
    return walk_from(source, None, asked, False, group)


@pytest.fixture(scope="module")
def zombie() -> LogWalk:
    return follow(read("sample:zombie"))


def test_every_step_of_a_request_log_is_a_step_of_the_walk(zombie: LogWalk) -> None:
    walk = zombie.walk
    assert "26 of 26 steps that the log tells, up to line 77" in walk.note
    words = {n.depth: (walk.words_of(n), " ".join(n.said)) for n in walk.at.line}
    removed = next(d for d, (words, _) in words.items() if "removes member A" in words)
    assert "line 31: HEARTBEAT of b-" in words[removed][1]
    assert "member A stands for a-5e59" in words[1][1]
    # The log has no line for what the member itself does next.
    refused = next(d for d in words if "25 UNKNOWN_MEMBER_ID" in words[d][0])
    assert refused > removed and words[refused][1] == ""


def test_the_walk_of_a_log_has_a_key_that_comes_to_the_same_state(zombie: LogWalk) -> None:
    again = Walk(zombie.walk.about, zombie.walk.key)
    assert again.at.state == zombie.walk.at.state


def test_a_line_names_a_place_on_the_way() -> None:
    walk = from_log("sample:zombie:31")
    assert any("line 31:" in text for text in walk.at.said)
    told = Desk(walk).first()
    assert told["end"].startswith(f"{told['key']}.") and "26 of 26" in told["note"]
    assert Desk(walk).answer({"ask": "state", "key": walk.key})["said"] == list(walk.at.said)


@pytest.mark.parametrize(
    ("log", "group", "members"),
    [
        ("sample:console-group", "my-consumer-group", 2),
        (str(DATA / "replay/kraft-group-35-rebalances.log.gz"), None, 1),
        (str(DATA / "replay/live-broker_restart.log"), "g1", 2),
    ],
)
def test_logs_of_real_coordinators_are_steps_of_the_model(
    log: str, group: str | None, members: int
) -> None:
    told = read(log, group)
    assert told.most == members
    found = follow(told)
    assert f"{len(told.lines)} of {len(told.lines)} steps" in found.walk.note


def scala(second: int, text: str) -> str:
    return f"[2025-01-01 10:00:{second:02},000] INFO [GroupCoordinator 1]: {text}"


def test_members_of_a_log_that_begins_in_the_middle_have_come_before_it(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    lines = [
        scala(1, f"Member {ID}1 in group g has failed, removing it from the group"),
        scala(1, "Preparing to rebalance group g in state PreparingRebalance with old generation 40"
                 f" (__consumer_offsets-1) (reason: removing member {ID}1 on heartbeat"
                 " expiration)"),
        scala(4, "Stabilized group g generation 41 (__consumer_offsets-1) with 2 members"),
        scala(5, f"Assignment received from leader {ID}2 for group g for generation 41. The group"
                 " has 2 members, 0 of which are static."),
    ]  # fmt: skip
    log.write_text("\n".join(f"{x} (kafka.coordinator.group.GroupCoordinator)" for x in lines))
    walk = from_log(str(log))
    assert "4 of 4 steps" in walk.note and "begins with 3 members" in walk.note
    assert walk.about.scope()["members"] == 3
    core = walk.see.named(walk.at.state)["core"]
    assert (core.members, str(core.phase)) == (2, "Stable")

    lines[2] = lines[2].replace("with 2", "with 1")
    log.write_text("\n".join(f"{x} (kafka.coordinator.group.GroupCoordinator)" for x in lines))
    assert "begins with 2 members" in from_log(str(log)).note
    lines[3] = lines[3].replace("generation 41", "generation 52")
    log.write_text("\n".join(f"{x} (kafka.coordinator.group.GroupCoordinator)" for x in lines))
    note = from_log(str(log)).note
    assert "3 of 4 steps" in note and "fits the next line, line 4: " in note


def test_a_step_shows_all_of_itself_or_nothing() -> None:
    went, began = Fact(MemberExpired, (0, 0)), Fact(RebalanceStarted, generation=2)
    expired = Line(MemberExpired(line=1, member="a"), "")
    started = Line(RebalanceStarted(line=2, generation=7), "")
    every = frozenset({MemberExpired, RebalanceStarted, Stabilized, GroupEmptied})
    found = fits([began, went], [expired, started], 0, Knowledge(), every)
    assert found == (2, Knowledge(base=5))  # whoever is gone is bound no more
    assert fits([began], [expired, started], 0, Knowledge(), every) is None
    assert fits([began, went], [expired], 0, Knowledge(), every) is None
    other = Knowledge(bound=(("a", (1, 0)),))
    assert fits([began, went], [expired, started], 0, other, every) is None
    assert fits([began, went], [expired, started], 0, Knowledge(base=4), every) is None
    # A log that never prints the one does not need its line.
    assert fits([began, went], [started], 0, Knowledge(), every - {MemberExpired}) is not None


@pytest.mark.parametrize(
    ("source", "group", "what"),
    [
        ("sample:console-group", None, "has several groups"),
        ("sample:console-group", "nobody", "has no group nobody"),
        ("sample:console-group:99", "my-consumer-group", "line 99 tells no step"),
        ("tests/data/replay/live-static_bounce.log", None, "static members"),
        ("tests/data/replay/live-rolling_upgrade.log", None, "protocol consumer"),
        ("tests/data/replay/msk-kafkago-rebalance-storm.log.gz", None, "at most 8 members at once"),
        ("tests/data/replay/live-kip848.log", None, "no step of a classic group's coordinator"),
        ("tests/nowhere.log", None, "cannot be read"),
    ],
)
def test_a_log_that_no_walk_follows_is_refused(source: str, group: str | None, what: str) -> None:
    with pytest.raises(UserError, match=what):
        from_log(source, group)


def test_a_log_says_itself_what_is_explored() -> None:
    with pytest.raises(UserError, match="says itself what is explored"):
        walk_from("sample:zombie", "classic", lambda: subject("classic"), False)
    with pytest.raises(UserError, match="--group"):
        walk_from("gc1-0", "classic", lambda: subject("classic"), False, "g")


def test_the_page_of_a_replay_says_how_to_walk_a_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    cli.run(["replay", "sample:console-group", "--html", str(page)])
    capsys.readouterr()
    commands = re.findall(r"the steps:\s*<code>(.*?)</code>", page.read_text())
    assert len(commands) == 2
    words = shlex.split(html.unescape(commands[0]))
    assert cli.run([*words[1:], "--do", "why"]) == 0
    assert "steps that the log tells" in capsys.readouterr().out
