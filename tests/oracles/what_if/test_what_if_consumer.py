"""`replay --what-if consumer`: what the rebalances of a classic group would have been under KIP-848
(and those of a group of KIP-848 under the classic protocol).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from test_what_if import DATA, SETTINGS, asked, happens
from written_log import Log, uuid

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.replay.report import replay
from groupcheck.oracles.replay.what_if.document import document, sentences
from groupcheck.oracles.replay.what_if.outside import outside
from groupcheck.traces.findings.report import GroupReport

BROKER, REQUESTS = DATA / "replay/live-kip848.log", DATA / "requests/live-kip848.log.gz"
SESSION = "because the member session expired."


def of(path: Path) -> GroupReport:
    (file,) = replay([path])
    (group,) = file.groups
    return group


def test_under_kip_848_nobody_stands_still(restarts: GroupReport) -> None:
    found = asked(restarts, "consumer", partitions=4)
    assert (found.baseline[0], found.changed[0]) == ("classic", "consumer")
    assert found.trusted and happens(found) == [True] * 4  # each begins a new target
    a = next(s for s in found.stood if s.names == ("a",))
    assert min(a.baseline) > 40 and max(a.changed) == 0
    said = " ".join(sentences(found))
    assert "needs brokers of Kafka 4.0" in said
    (told,) = document([found])["groups"]
    assert "consumer_assignment_interval_ms" in told["assumed"]


def test_partitions_wait_for_heartbeats_of_the_broker(restarts: GroupReport) -> None:
    """What the new member is to have moves in two heartbeats, and waits longer for slower ones."""
    pace = "group.consumer.heartbeat.interval.ms=15000"
    usual, slow = (asked(restarts, *c, partitions=4) for c in (("consumer",), ("consumer", pace)))
    assert sum(slow.stopped[1]) > 1.5 * sum(usual.stopped[1])
    assert slow.stopped[0] == usual.stopped[0]
    assert "consumer_heartbeat_interval_ms" not in slow.assumed


def test_a_static_member_that_died_is_refused_until_its_session_ends(tmp_path: Path) -> None:
    """It is away for 20 s. The classic session of 10 s is over then, that of the broker is not:
    KIP-848 answers UNRELEASED_INSTANCE_ID, which is fatal.
    """
    log = Log()
    a, b, c = (f"i-{name}-{uuid(n)}" for n, name in enumerate("abb"))
    log.added(0, "i-a", a, "Empty")
    log.size = 1
    log.settles(3, a)
    log.added(60, "i-b", b, "Stable")
    log.size = 2
    log.settles(62, a)
    log.expires(120, b, a, 2.0)
    log.added(130, "i-b", c, "Stable")
    log.size = 2
    log.settles(132, a)
    given = {"session_timeout_ms": "10000"}
    found = asked(log.report(tmp_path), "consumer", given=given, partitions=2)
    assert found.trusted and found.changed[0] == "consumer+static"
    assert min(found.refused[1]) >= 1 and max(found.refused[0]) == 0
    assert sum(found.stopped[1]) > 2 * sum(found.stopped[0])
    assert "refused (UNRELEASED_INSTANCE_ID)" in " ".join(sentences(found))
    again = asked(log.report(tmp_path), "consumer", "dynamic", given=given, partitions=2)
    assert again.changed[0] == "consumer" and max(again.refused[1]) == 0


@pytest.mark.parametrize("path", [BROKER, REQUESTS])
def test_a_group_of_kip_848_is_its_own_baseline(path: Path) -> None:
    """Recorded: three join, one leaves, one is killed, one leaves. Sessions last 3 s."""
    found = asked(of(path), "cooperative", partitions=6)
    assert (found.baseline[0], found.changed[0]) == ("consumer", "cooperative")
    assert found.trusted and found.reproduced == len(found.rows)
    kinds = ["start", "start", "start", "close", "crash", "close"]
    assert [h.what for h in found.outside.happenings] == kinds
    session = found.baseline[1].consumer_session_timeout_ms
    assert session == pytest.approx(3_217 if path == REQUESTS else 4_508)
    if path == REQUESTS:
        assert found.baseline[1].consumer_heartbeat_interval_ms == 501
        crash = found.outside.happenings[4]
        assert crash.noticed is not None and crash.noticed - crash.at == 3_217
        assert crash.slack == 501


def test_a_change_of_the_brokers_session_is_one_of_the_group_itself() -> None:
    found = asked(of(REQUESTS), "group.consumer.session.timeout.ms=60000")
    assert found.baseline[0] == found.changed[0] == "consumer"
    assert all(more > less for less, more in zip(*found.stopped))
    said = " ".join(sentences(found))
    assert "missed after up to 60 s instead of 3.217 s" in said and "does not start" not in said
    said = " ".join(sentences(asked(of(REQUESTS), "group.consumer.session.timeout.ms=9000")))
    assert "group.consumer.min.session.timeout.ms is 45,000" in said


def test_who_gave_nothing_up_in_time_had_stalled(tmp_path: Path) -> None:
    text = BROKER.read_text().replace(SESSION, "because it failed to transition from epoch 4.")
    (tmp_path / "server.log").write_text(text)
    events = outside(of(tmp_path / "server.log"), {**SETTINGS, "max_poll_interval_ms": 4_000.0})
    (stall,) = [h for h in events.happenings if h.what == "stall"]
    assert stall.at == 1795247501381 - 4_000 and stall.until is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            ["consumer", "session.timeout.ms=10000"],
            "the broker's group.consumer.session.timeout.ms",
        ),
        (["consumer", "group.initial.rebalance.delay.ms=0"], "means nothing in a group of KIP-848"),
        (["group.consumer.session.timeout.ms=50000"], "means nothing in a group of the classic"),
        (["consumer", "group.consumer.session.timeout.ms=100"], "broker refuses"),
    ],
)
def test_a_setting_of_the_other_protocol_is_refused(
    given: list[str], says: str, restarts: GroupReport
) -> None:
    with pytest.raises(UserError, match=says):
        asked(restarts, *given, replications=1)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "Member SaABtXclRrmKRRT1P+VApw left the consumer group.",
            "Static member SaABtXclRrmKRRT1P+VApw with instance id i temporarily left the consumer"
            " group.",
            "has static members",
        ),
        (
            "[GroupId g1] Bumped group epoch to 7",
            "[GroupId g1] Converted the consumer group to a classic group.",
            "changes between the classic protocol and KIP-848",
        ),
    ],
)
def test_a_log_of_kip_848_that_does_not_tell_enough_is_refused(
    old: str, new: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = BROKER.read_text().splitlines()
    (place,) = [k for k, line in enumerate(lines) if old in line]
    begin, _, _ = lines[place].partition(old)
    lines[place] = f"{begin}{new} (org.apache.kafka.coordinator.group.GroupMetadataManager)"
    (tmp_path / "server.log").write_text("\n".join(lines))
    assert cli.run(["replay", str(tmp_path / "server.log"), "--what-if", "eager"]) == 2
    assert says in capsys.readouterr().err


def test_the_protocol_of_such_a_log_is_not_for_the_user_to_say() -> None:
    with pytest.raises(UserError, match="the log is that of a group of KIP-848"):
        asked(of(BROKER), "eager", given={"protocol": "eager"})
