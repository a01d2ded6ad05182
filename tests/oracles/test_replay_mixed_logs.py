"""Logs in which programs write that have little in common: lines with and without a date, and the
ordinary loggers of a broker.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.oracles.replay.answers import NAMELESS_TROUBLE
from groupcheck.oracles.replay.report import ReplayReports, replay
from groupcheck.traces.formats import BROKER_JAVA, UNKNOWN_FORMAT

EXPIRED = (
    "Application maximum poll interval (300000ms) exceeded by 120ms (adjust max.poll.interval.ms"
    " for long-running message processing): leaving group"
)
UNDATED = "{} ERROR app rdkafka: " + EXPIRED
DATED = "%4|{}.100|MAXPOLL|c#consumer-1| [thrd:main]: " + EXPIRED
UNIX = 1_760_000_401  # 2025-10-09 09:00:01
BROKERS = """\
[2026-11-01 10:00:00,001] INFO Registered `kafka:type=kafka.Log4jController` MBean (org.apache.kafka.common.utils.Log4jControllerRegistration)
[2026-11-01 10:00:00,003] INFO [LogLoader partition=orders-0, dir=/data] Loading producer state till offset 0 (org.apache.kafka.storage.internals.log.UnifiedLog)
[2026-11-01 10:00:00,004] INFO [MetadataLoader id=1] initializeNewPublishers: the group loader is still catching up (org.apache.kafka.image.loader.MetadataLoader)
[2026-11-01 10:00:00,009] INFO Kafka version: 4.3.0 (org.apache.kafka.common.utils.AppInfoParser)
[2026-11-01 10:00:00,011] INFO [NodeToControllerChannelManager id=1 name=heartbeat] Node 3 disconnected. (org.apache.kafka.clients.NetworkClient)
[2026-11-01 10:00:00,012] INFO Awaiting socket connections of the group on 0.0.0.0:9092. (kafka.network.DataPlaneAcceptor)
"""  # noqa: E501
COORDINATOR = (
    "[2026-11-01 10:00:01,000] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=2]"
    " Stabilized group g generation 5 with 2 members."
    " (org.apache.kafka.coordinator.group.GroupMetadataManager)\n"
)
CLIENT = (
    "[2026-11-01 10:00:02,000] INFO [Consumer clientId=c-1, groupId=g] (Re-)joining group"
    " (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
)


def replayed(folder: Path, text: str) -> ReplayReports:
    path = folder / "mixed.log"
    path.write_text(text, "utf-8")
    return replay([path])


@pytest.mark.parametrize(
    "lines",
    [
        [UNDATED.format("09:00:00.000"), DATED.format(UNIX), UNDATED.format("09:00:03.000")],
        [UNDATED.format("11:00:00.000"), DATED.format(UNIX), UNDATED.format("11:00:03.000")],
        [DATED.format(UNIX), UNDATED.format("04:30:03.000"), DATED.format(UNIX + 5)],
    ],
    ids=["one zone", "another zone", "undated in between"],
)
def test_a_time_of_day_beside_dates_makes_no_time_of_years(
    tmp_path: Path, lines: list[str]
) -> None:
    (answer,) = replayed(tmp_path, "\n".join(lines)).answers
    times = [s.time for s in answer.evidence.all() if s.time is not None]
    assert len(times) >= 2 and max(times) - min(times) < 10_000
    assert min(times) >= UNIX * 1000


def test_a_log_without_any_date_keeps_its_times_of_day(tmp_path: Path) -> None:
    lines = [UNDATED.format("09:00:00.000"), UNDATED.format("09:00:03.000"), EXPIRED]
    (answer,) = replayed(tmp_path, "\n".join(lines)).answers
    assert [s.time for s in answer.evidence.all()] == [32_400_000, 32_403_000, 32_403_000]


def test_ordinary_lines_of_a_broker_are_no_lines_of_a_client(tmp_path: Path) -> None:
    (report,) = replayed(tmp_path, BROKERS + COORDINATOR + BROKERS)
    assert (report.format, report.strange) == (BROKER_JAVA, 0)
    (report,) = replayed(tmp_path, BROKERS)
    assert (report.format, report.strange) == (UNKNOWN_FORMAT, 0)
    formats = {r.format: r.strange for r in replayed(tmp_path, BROKERS + CLIENT)}
    assert formats == {"java-client": 1}


def test_no_group_is_calm_beside_trouble_that_names_none(tmp_path: Path) -> None:
    """The line may be about it, if its own client's library prints it."""
    steps = ("Successfully joined group with generation 5", "Adding newly assigned partitions: t-0")
    calm = [CLIENT.replace("(Re-)joining group", step) for step in steps]
    nameless = "[2026-11-01 10:09:00,000] WARN consumer poll timeout has expired. This means the time between calls to poll() was longer than the configured max.poll.interval.ms (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"  # noqa: E501
    other = calm[0].replace("groupId=g", "groupId=h")
    found = {a.group: a for a in replayed(tmp_path, "".join([*calm, other, nameless])).answers}
    assert found[""].health == "broken"
    assert (found["g"].health, found["g"].reason) == ("unknown", NAMELESS_TROUBLE)
    strange = "%4|1793530140.100|MAXPOLL|c#consumer-1| [thrd:main]: " + EXPIRED + "\n"
    found = {a.group: a for a in replayed(tmp_path, "".join([*calm, other, strange])).answers}
    assert (found[""].health, found["g"].health) == ("broken", "calm")
