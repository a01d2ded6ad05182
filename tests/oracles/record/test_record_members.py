"""A member tells what its library does to it; a stage plays with members and says when something
does not come about. No broker.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groupcheck.oracles.record import scenarios, stage
from groupcheck.oracles.record.clients import CLIENTS, Client
from groupcheck.oracles.record.processes import Interrupts, Processes
from groupcheck.oracles.record.settings import Setup
from groupcheck.oracles.record.stage import NotStaged, Stage
from groupcheck.traces.causes.knowledge import shipped_knowledge

# A library that assigns two partitions, gives three records, refuses one commit, and takes one
# partition away.
FAKE = """
import sys
from groupcheck.oracles.record import libraries, member
class Fake:
    version, made = "fake 1", 0
    def __init__(self, *given):
        self.polls = self.commits = 0
        Fake.made += 1
        self.number = Fake.made
    async def start(self, topic, told): self.told = told
    async def poll(self, wait_ms):
        self.polls += 1
        if self.polls == 1: await self.told.assigned(["o-1", "o-0"])
        if self.polls == 2: return [("o-0", 5), ("o-0", 6), ("o-1", 1)]
        if self.polls == 3: await self.told.gone("revoked", ["o-0"])
        if self.polls == 4 and self.number == 1: raise OSError("the network")
        return []
    async def commit(self, offsets):
        self.commits += 1
        if self.commits == 1: raise ValueError("no")
    async def pause(self, seconds): self.paused = seconds
    async def close(self):
        if hasattr(self, "paused"): raise OSError(f"paused for {self.paused} s")
libraries.CLIENTS["fake"] = Fake
member.run({
    "client": "fake", "bootstrap": "", "client_id": "a", "group": "g", "topic": "o",
    "options": {}, "commit_ms": 3600000, "commit_on_revoke": True, "revoke_ms": 70,
})
"""

# Members of a stage: each owns what its name says, as soon as it is there.
OWNER = """
import json, sys
def tell(kind, **more): print(json.dumps({"t": 0, "ev": kind, **more}), flush=True)
parts = {"a": [0, 1, 2], "b": [3, 4, 5], "all": [0, 1, 2, 3, 4, 5]}.get(sys.argv[1])
if parts is None: sys.exit("nothing for me")
tell("assigned", own=[f"orders-{p}" for p in parts])
for line in sys.stdin:
    if line.strip() == "stop": break
tell("closed", own=[])
"""


def test_a_member_tells_what_happens_to_it_in_order():
    member = subprocess.Popen(
        [sys.executable, "-c", FAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert member.stdin and member.stdout
    events = []
    for line in member.stdout:
        events.append(json.loads(line))
        if events[-1]["ev"] == "poll_error":
            print("twin", file=member.stdin, flush=True)
        if events[-1]["ev"] == "twin_revoked":
            print("stop", file=member.stdin, flush=True)
        if events[-1]["ev"] == "closed":
            break
    assert member.wait(60) == 0
    member.stdin.close()
    kinds = [e["ev"] for e in events]
    assert kinds == [
        "subscribed",
        "started",
        "assigned",
        "revoked_begin",
        "commit_rejected",
        "consumed",
        "revoked",
        "poll_error",
        "command",
        "twin_assigned",
        "twin_revoked",
        "command",
        "close_error",
        "closed",
    ]
    told = dict(zip(kinds, events))
    assert (
        told["assigned"]["own"] == ["o-0", "o-1"]
        and told["revoked"]["own"] == ["o-1"]
        and told["closed"]["own"] == []
    )
    assert (
        told["commit_rejected"]["offsets"] == {"o-0": 7}
        and told["commit_rejected"]["error"] == "ValueError"
    )
    assert {name: run[:2] for name, run in told["consumed"]["runs"].items()} == {
        "o-0": [5, 6],
        "o-1": [1, 1],
    }
    assert told["poll_error"]["text"] == "the network" and told["started"]["version"] == "fake 1"


def test_a_member_whose_recorder_is_gone_ends_at_once():
    member = subprocess.Popen(
        [sys.executable, "-c", FAKE], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert member.stdin
    member.stdin.close()
    assert member.wait(60) == 1


@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.name)
def test_every_library_is_told_the_timing_in_its_own_words(client: Client):
    options = client.options(Setup(1, 2, 3, 4, instance="i"))
    timers = (client.session, client.heartbeat, client.max_poll, client.metadata)
    assert [options[name] for name in (*timers, client.instance)] == [1, 2, 3, 4, "i"]
    dynamic = client.options(Setup(assignor="roundrobin"))
    assert client.instance not in dynamic
    assert dynamic[client.assignor] != options[client.assignor]


class OwnerClient:
    name, commits_on_revoke = "owner", True

    def options(self, setup: Setup) -> dict[str, Any]:
        return {}

    def command(
        self, address: str, kafka: str, topic: str, run: str, setup: Setup, program: object
    ) -> list[str]:
        return [sys.executable, "-c", OWNER, run]


class NoBroker:
    address, version = "127.0.0.1:9", "4.3.0"

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def ask(self, *words: object) -> None:
        self.asked.append(words)


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Stage]:
    with Interrupts() as interrupts, Processes(interrupts) as processes:
        yield Stage(tmp_path, NoBroker(), OwnerClient(), processes, lambda message: None)  # type: ignore[arg-type]


def done(play: Stage) -> list[tuple[str, str]]:
    return [(action["who"], action["do"]) for action in play.actions]


def test_a_stage_waits_until_members_share_all_partitions_and_lets_them_leave(play: Stage):
    play.start("a")
    play.start("b")
    play.shared_by("a", "b")
    play.close()
    assert done(play) == [
        ("a", "start"),
        ("b", "start"),
        ("a", "command stop"),
        ("a", "ended"),
        ("b", "command stop"),
        ("b", "ended"),
    ]
    assert play.runs["a"].of_kind("closed") and play.actions[3]["rc"] == 0


def owning(play: Stage, name: str) -> None:
    play.start(name)
    play.until(lambda: bool(play.runs[name].own), f"{name} owns something", (name,))


def test_two_that_own_the_same_do_not_share(play: Stage, monkeypatch: pytest.MonkeyPatch):
    owning(play, "a")
    owning(play, "all")
    monkeypatch.setattr(stage, "LIMIT_S", 0.1)
    with pytest.raises(
        NotStaged, match="waited 0 s in vain until a and all share the 6 partitions"
    ):
        play.shared_by("a", "all")


def test_a_part_is_not_the_whole(play: Stage, monkeypatch: pytest.MonkeyPatch):
    owning(play, "a")
    monkeypatch.setattr(stage, "LIMIT_S", 0.1)
    with pytest.raises(NotStaged, match="a share the 6 partitions"):
        play.shared_by("a")


def test_a_member_that_ends_by_itself_is_named_with_its_last_words(play: Stage):
    play.start("c")
    with pytest.raises(NotStaged, match="c ended with 1: nothing for me"):
        play.shared_by("c")


def test_kill_freeze_and_wake_are_what_they_say_and_are_written_down(play: Stage):
    owning(play, "a")
    play.freeze("a")
    play.wake("a")
    play.kill("a")
    assert play.runs["a"].process.returncode == -signal.SIGKILL
    assert done(play) == [
        ("a", "start"),
        ("a", "SIGSTOP"),
        ("a", "SIGCONT"),
        ("a", "SIGKILL"),
        ("a", "ended"),
    ]
    with pytest.raises(NotStaged, match="a has ended"):
        play.tell("a", "stop")


def test_added_partitions_have_to_be_shared_too(play: Stage, monkeypatch: pytest.MonkeyPatch):
    play.start("all")
    play.shared_by("all")
    play.add_partitions(8)
    assert done(play)[-1] == ("admin", "create_partitions orders 8")
    monkeypatch.setattr(stage, "LIMIT_S", 0.1)
    with pytest.raises(NotStaged, match="all share the 8 partitions"):
        play.shared_by("all")


class Noted:
    """A stage that writes down what a scenario asks for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.runs: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **more: self.asked.append(
            " ".join([name, *(g for g in given if isinstance(g, str))])
        )


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("leave", "stop c"),
        ("kill", "kill b"),
        ("zombie", "wake a"),
        ("poll_timeout", "tell b sleep 8000"),
        ("broker_restart", "restart_broker"),
        ("partitions_added", "add_partitions"),
    ],
)
def test_a_scenario_does_what_its_name_says_and_then_waits_for_what_follows(name: str, step: str):
    noted = Noted()
    scenarios.SCENARIOS[name].play(noted)  # type: ignore[arg-type]
    assert noted.asked[0] == "start a" and step in noted.asked
    assert noted.asked[-1].startswith("commits")


@pytest.mark.parametrize("scenario", scenarios.SCENARIOS.values(), ids=lambda one: one.name)
def test_a_scenario_with_trouble_says_which_with_whom_and_when(scenario: scenarios.Scenario):
    noted = Noted()
    scenario.play(noted)  # type: ignore[arg-type]
    assert all(hasattr(Stage, step.split()[0]) for step in noted.asked)
    assert {scenario.cause, *scenario.also} - {""} <= {*shipped_knowledge().causes}
    times = [noted.asked.count(step) for step in ("trouble", "over")]
    assert times == ([1, 1] if scenario.cause else [0, 0])
    started = {step.split()[1] for step in noted.asked if step.startswith("start ")}
    assert {*scenario.who} <= started and bool(scenario.who) == bool(scenario.cause)


def test_trouble_with_the_broker_or_the_topic_is_over_when_members_go_on():
    for name in ("broker_restart", "broker_outage", "topic_late", "idle_proxy", "slow_callback"):
        noted = Noted()
        scenarios.SCENARIOS[name].play(noted)  # type: ignore[arg-type]
        before = noted.asked[noted.asked.index("over") - 1]
        assert before.startswith(("commits", "shared_by")), name


def test_a_member_gives_up_what_it_has_after_the_trouble_began(
    play: Stage, monkeypatch: pytest.MonkeyPatch
):
    owning(play, "a")
    run = play.runs["a"]
    run.events.append({"t": 1, "ev": "revoked", "parts": [], "own": []})
    play.trouble()
    monkeypatch.setattr(stage, "LIMIT_S", 0.1)
    with pytest.raises(NotStaged, match="a has given partitions up"):
        play.gave_up("a")
    run.events.append({"t": stage.now() + 1, "ev": "revoked", "parts": [], "own": []})
    play.gave_up("a")


def test_a_stage_waits_for_refusals_in_the_request_log(
    play: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "requests.log").write_text('{"errorCode":81}\n{"errorCode":0}\n')
    play.refused(81)
    monkeypatch.setattr(stage, "LIMIT_S", 0.1)
    with pytest.raises(NotStaged, match="2 requests are answered with error 81"):
        play.refused(81, 2)


def test_the_topic_may_come_after_the_members(play: Stage):
    play.prepare(topic=False)
    play.make_topic()
    asked = play._broker.asked  # type: ignore[attr-defined]
    assert [words[0] for words in asked] == ["group", "topic", "feed"]
    assert done(play) == [("admin", "create_topic orders")]
