"""With the version of the brokers, `advise` has KIP-848 among its alternatives, and says what that
needs.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve

from groupcheck.model.engine import UserError
from groupcheck.model.protocol.consumer.java_releases import java_release
from groupcheck.model.protocol.consumer.releases import RELEASES
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.simulate import replications
from groupcheck.oracles.simulate.setup import Result, Setup
from groupcheck.oracles.simulate.simulation import simulate
from groupcheck.oracles.simulate.uses.advice_group import (
    DEFAULTS,
    Alternative,
    GroupDescription,
    alternatives,
    given,
)
from groupcheck.oracles.simulate.uses.advice_versions import bugs, needs
from groupcheck.oracles.simulate.uses.advice_week import events, setup


def of_consumer(kafka: str | None, *settings: str) -> list[Alternative]:
    assumptions, _ = given(dict(s.split("=") for s in settings), None, kafka)
    found, _ = alternatives(GroupDescription(kafka=kafka, assumptions=assumptions))
    return [a for a in found if a.variant.startswith("consumer")]


def test_brokers_from_4_0_on_offer_kip_848_with_their_own_session() -> None:
    dynamic, static = of_consumer("4.3.1", "group.consumer.session.timeout.ms=50000")
    assert (dynamic.variant, static.variant) == ("consumer", "consumer+static")
    assert (dynamic.session_timeout_ms, dynamic.heartbeat_interval_ms) == (50_000, 5_000)
    assert dynamic.settings == {"group.protocol": "consumer", "max.poll.interval.ms": "300000"}
    assert "group.instance.id" in static.settings
    assert of_consumer("3.9") == of_consumer(None) == []
    told = [" ".join(alternatives(GroupDescription(kafka=k))[1]) for k in ("3.9", None, "4.0")]
    assert "no more than a preview" in told[0] and "--kafka VERSION" in told[1] and not told[2]


def test_a_change_of_protocol_is_one_change_and_a_static_member_another() -> None:
    dynamic, static = of_consumer("4.3.1", "group.consumer.session.timeout.ms=50000")
    assert (dynamic.changes(DEFAULTS), static.changes(DEFAULTS)) == (1, 2)
    assert DEFAULTS.changes(dynamic) == 1 and static.changes(dynamic) == 1


@pytest.mark.parametrize(("kafka", "interval_ms"), [("4.2.0", 0), ("4.3", 1_000)])
def test_what_is_simulated_is_the_group_of_that_version(kafka: str, interval_ms: float) -> None:
    assumptions, _ = given({}, None, kafka)
    described = GroupDescription(kafka=kafka, assumptions=assumptions)
    deploy = events(described)[0]
    made = [setup(described, a, deploy) for a in of_consumer(kafka)]
    assert [(one.variant, one.static) for one in made] == [("consumer", False), ("consumer", True)]
    assert made[0].assumptions.consumer_assignment_interval_ms == interval_ms


def test_the_bugs_of_a_version_are_the_rules_that_it_lacks() -> None:
    assert bugs("4.3.1", RELEASES.__getitem__) == [
        ("KAFKA-20434", "4.4.0"),
        ("KAFKA-20442", "4.4.0"),
        ("KAFKA-20601", "4.4.0"),
    ]
    assert ("KAFKA-19449", "4.2.0") in bugs("4.1.1", RELEASES.__getitem__)
    assert bugs("4.2.0", java_release) == [("KAFKA-20106", "4.3.0"), ("KAFKA-20145", "4.4.0")]
    assert bugs("4.4.0", RELEASES.__getitem__) == bugs("5.1", java_release) == []
    assert "by the rules of 4.1.1" in " ".join(needs("4.1.2"))
    assert "by the rules" not in " ".join(needs("4.1.1"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--kafka", "four"], "no version of Kafka"),
        (["--set", "consumer_session_timeout_ms=50000"], "add --kafka VERSION"),
        (["--kafka", "3.9", "--set", "consumer_session_timeout_ms=50000"], "4.0 or newer"),
    ],
)
def test_a_version_that_means_nothing_is_refused(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["advise", *options]) == 2
    assert says in capsys.readouterr().err


def test_where_kip_848_is_cheapest_it_is_recommended_with_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], misfits: Any
) -> None:
    one = simulate(Setup(members=2, partitions=2))

    def costs(setup: Setup, **more: Any) -> Result:
        cheap = setup.variant == "consumer" and not setup.static
        return evolve(one, lag=evolve(one.lag, stopped_total_ms=1.0 if cheap else 9e5))

    monkeypatch.setattr(replications, "simulate", costs)
    command = ["advise", "--kafka", "4.1.1", "--replications", "2", "--workers", "1"]
    assert cli.run([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert misfits(told) == []
    assert told["kafka"] == "4.1.1" and told["recommended"]["variant"] == "consumer"
    assert cli.run(command) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Recommended: consumer (KIP-848), dynamic members, session 45 s" in out
    assert "needs brokers of Kafka 4.0 or newer" in out and "KAFKA-19449 (until 4.2.0)" in out
    assert "group.protocol=consumer max.poll" in out


def test_an_unknown_version_is_no_description() -> None:
    with pytest.raises(UserError, match="no version of Kafka"):
        GroupDescription(kafka="4")
