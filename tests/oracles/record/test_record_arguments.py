"""What `groupcheck record` refuses, before it starts anything: one line, exit code 2."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.record import clients, recording, settings
from groupcheck.oracles.record.scenarios import SCENARIOS, with_consumer


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A refusal must come before the broker."""

    def started(*_: object) -> None:
        raise AssertionError("a broker was started")

    monkeypatch.setattr(recording, "running", started)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "needs either a command or a scenario"),
        (["--scenario", "join", "--", "true"], "needs either a command or a scenario"),
        (["--scenario", "nothing"], "no scenario 'nothing' (choose one of join, leave"),
        (
            ["--scenario", "join", "--client", "sarama"],
            "no client 'sarama' (choose one of kafka-python",
        ),
        (["--client", "java", "--", "true"], "a command brings its own clients"),
        (["--scenario", "join", "--topic", "t=2"], "a scenario has a topic of its own"),
        (["--topic", "t=0", "--", "true"], "t needs 1 to 1000 partitions"),
        (["--topic", "a b=1", "--", "true"], "'a b' cannot be the name of a topic"),
        (["--kafka", "2.8.0", "--", "true"], "no driver for Kafka '2.8.0'"),
        (["--name", "../x", "--", "true"], "'../x' cannot be the name of files"),
        (
            ["--scenario", "join", "--group-protocol", "consumer"],
            "kafka-python has no group.protocol=consumer (add --client with one of confluent-kafka",
        ),
        (
            ["--scenario", "group_full", "--client", "java", "--group-protocol", "consumer"],
            "about the classic protocol alone: KIP-848 has another limit",
        ),
        (
            ["--scenario", "idle_proxy", "--client", "java", "--group-protocol", "consumer"],
            "about the classic protocol alone: no request of KIP-848 waits for a rebalance",
        ),
        (
            ["--scenario", "rolling_downgrade", "--client", "java"],
            "rolling_downgrade needs members that use KIP-848 (add --group-protocol consumer",
        ),
        (
            ["--scenario", "rolling_upgrade", "--client", "java"],
            "rolling_upgrade needs members that use KIP-848 (add --group-protocol consumer",
        ),
        (["--group-protocol", "consumer", "--", "true"], "a command brings its own clients"),
        (["--set", "log.dirs=/", "--", "true"], "log.dirs belongs to the recorder"),
        (["--set", "Group=1", "--", "true"], "'Group' is not the name of a broker's property"),
        (["--", "no-such-program-at-all"], "no program no-such-program-at-all is found"),
    ],
)
def test_what_cannot_be_recorded_is_refused_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    assert cli.run(["record", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (
        out == "" and err.startswith("groupcheck: error: ") and err.count("\n") == 1 and said in err
    )
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_is_not_installed_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def gone(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(clients, "version", gone)
    assert cli.run(["record", "--scenario", "join", "--client", "aiokafka"]) == 2
    assert (
        capsys.readouterr().err
        == "groupcheck: error: aiokafka is not installed (pip install 'groupcheck[record]')\n"
    )


def test_a_folder_that_cannot_be_made_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "file").write_text("")
    assert cli.run(["record", "--out", str(tmp_path / "file" / "x"), "--", "true"]) == 2
    assert "cannot write to" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["a\nlisteners=PLAINTEXT://0.0.0.0:9092", "a\\", "\u00e9"])
def test_a_setting_cannot_bring_another_one_with_it(value: str):
    with pytest.raises(UserError, match="not plain text"):
        settings.checked({"group.min.session.timeout.ms": value})


def test_what_the_user_sets_stands_but_what_makes_it_one_node_stays():
    text = settings.properties(
        1234, 1235, {"num.io.threads": "7", "listeners": "PLAINTEXT://0.0.0.0:9"}
    )
    lines = dict(line.split("=", 1) for line in text.splitlines())
    assert lines["num.io.threads"] == "7" and lines["offsets.topic.replication.factor"] == "1"
    assert lines["listeners"] == "PLAINTEXT://127.0.0.1:1234,CONTROLLER://127.0.0.1:1235"
    assert "0.0.0.0" not in text


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/pytest", "pytest"),
        ("./run me.sh", "run_me.sh"),
        ("..", "command"),
        ("x" * 100, "x" * 60),
    ],
)
def test_a_recording_is_named_after_the_program(command: str, name: str):
    assert recording.name_of([command, "x"]) == name


def test_list_scenarios_names_and_explains_each(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["list", "scenarios", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(SCENARIOS)
    assert all(row["doc"].endswith(".") for row in rows)


def test_members_of_kip_848_leave_sessions_and_assignors_to_the_broker():
    setup = settings.Setup(session=6000, instance="i")
    for name in ("java", "confluent-kafka"):
        usual, other = (c.options(setup) for c in _both(name))
        assert other["group.protocol"] == "consumer" and "group.protocol" not in usual
        gone = {"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"}
        assert gone & {*other} == set() and gone <= {*usual}
        assert other["group.instance.id"] == "i" and other["max.poll.interval.ms"] == 10_000


def test_a_member_of_the_classic_protocol_stays_one_beside_those_of_kip_848():
    usual, other = (c.options(settings.Setup(classic=True)) for c in _both("java"))
    assert usual == other and "group.protocol" not in usual


def test_a_member_may_subscribe_by_a_regular_expression():
    told = {"commit_ms": 1, "commit_on_revoke": True, "revoke_ms": 0}
    for pattern, topic in ((True, '"^orders.*"'), (False, '"orders"')):
        setup = settings.Setup(pattern=pattern)
        command = clients.known("aiokafka").command("h:1", "4.3.0", "orders", "a", setup, told)
        assert f'"topic": {topic}' in command[-1]


def _both(name: str) -> tuple[clients.Client, clients.Client]:
    return clients.known(name), clients.known(name).with_consumer()


def test_the_broker_then_has_the_longest_session_of_the_scenario():
    made = with_consumer(SCENARIOS["slow_callback"])
    assert made.settings["group.consumer.session.timeout.ms"] == "20000"
    assert made.settings["group.consumer.heartbeat.interval.ms"] == "500"
    assert with_consumer(SCENARIOS["join"]).settings == {
        "group.consumer.session.timeout.ms": "3000",
        "group.consumer.heartbeat.interval.ms": "500",
    }
