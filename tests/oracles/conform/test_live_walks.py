"""Raw requests to a real broker: what it answers is among what the model allows, and a mistake in
the model is seen, with a short schedule.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.judge.following.said import TOPIC
from groupcheck.oracles.judge.following.worlds import seen
from groupcheck.oracles.judge.live import asking, live
from groupcheck.oracles.judge.live.asking import refused
from groupcheck.oracles.judge.live.live import SETTINGS, explore, rows_of
from groupcheck.oracles.judge.live.walk import PATIENCE_S, PAUSE_S
from groupcheck.oracles.record.running import running
from groupcheck.oracles.wire.connections import Answered, Connections


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """One broker for these tests."""
    with running("4.3.0", SETTINGS, quiet) as on:
        on.broker.ask("topic", TOPIC, 1)
        on.broker.ask("group", "live")
        yield on.broker.address


def quiet(message: str) -> None:
    pass


def test_a_broker_answers_as_the_model_allows(address: str, misfits):
    rows = rows_of("classic")
    total, disagreement = explore(rows, address, 15, 1, quiet)
    assert disagreement is None
    assert total.schedules >= 15 and len(total.rows) > 40
    fired = {rule for row in total.rows for rule in row.rules}
    assert fired >= {
        "join_group:id_required",
        "join_group:added",
        "sync_group:led",
        "append_committed",
        "initial_delay:over",
    }
    found = live.Live(
        variant="classic",
        scope=rows.scope,
        kafka="4.3.0",
        wanted=15,
        seen=total,
        disagreement=disagreement,
        seconds=1.0,
    )
    assert misfits(found.document()) == []


def test_a_model_with_a_mistake_is_told_from_the_broker_by_a_short_schedule(
    address: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(live, "SHRINK_S", 300.0)  # on a busy machine too
    monkeypatch.setattr(live, "HURRY_S", PATIENCE_S)
    rows = rows_of("classic", mutation="heartbeat_ignores_generation")
    _, disagreement = explore(rows, address, 200, 0, quiet)
    assert disagreement is not None
    (what,) = disagreement.what
    assert what.endswith("error is 22, in the model 0")
    sent = [line for line in disagreement.transcript if "<-" not in line]
    assert "Heartbeat" in sent[-1] and len(sent) < 25


def test_a_broker_that_pauses_once_something_is_found_is_not_blamed_for_that(
    address: str, monkeypatch: pytest.MonkeyPatch
):
    class Pausing(Connections):
        def gather(self, wait_s: float, until: int = 0) -> dict[int, Answered]:
            return {} if wait_s == live.HURRY_S else super().gather(wait_s, until)

    monkeypatch.setattr(live, "Connections", Pausing)
    rows = rows_of("classic", mutation="heartbeat_ignores_generation")
    _, disagreement = explore(
        rows, address, 200, 2, quiet
    )  # no other test's seed: groups are called by it
    assert disagreement is not None and not disagreement.is_silence
    assert len(disagreement.what) == 1 and disagreement.what[0].endswith(
        "error is 22, in the model 0"
    )


def test_a_broker_that_falls_silent_is_given_full_patience_all_along(
    address: str, monkeypatch: pytest.MonkeyPatch
):
    waits: list[float] = []

    class Silent(Connections):
        def gather(self, wait_s: float, until: int = 0) -> dict[int, Answered]:
            waits.append(wait_s)
            return super().gather(wait_s, until) if len(waits) < 40 else {}

    monkeypatch.setattr(live, "Connections", Silent)
    _, disagreement = explore(rows_of("classic"), address, 20, 3, quiet)
    assert disagreement is not None and disagreement.is_silence
    assert disagreement.what == ("request 1 is not answered",)
    assert len(waits) > 40 and set(waits) == {PATIENCE_S, PAUSE_S}


def test_the_end_of_a_round_of_nobody_is_waited_for(address: str, monkeypatch: pytest.MonkeyPatch):
    """Its timer is fired by another thread, which may be late, and nobody is answered."""
    states: list[str] = []

    class Late(Connections):
        def gather(self, wait_s: float, until: int = 0) -> dict[int, Answered]:
            answers = super().gather(wait_s, until)
            for answer in answers.values():
                if isinstance(answer, dict) and "groups" in answer:
                    (group,) = answer["groups"]
                    if not len(states) % 2:
                        group["groupState"] = "PreparingRebalance"
                    states.append(group["groupState"])
            return answers

    monkeypatch.setattr(live, "Connections", Late)
    seen, disagreement = explore(rows_of("classic"), address, 30, 5, quiet)
    assert disagreement is None
    assert any("rebalance_timeout:nobody" in row.rules for row in seen.rows)
    assert states[:2] == ["PreparingRebalance", "Empty"]


@pytest.mark.parametrize("kind", range(asking.KINDS))
def test_what_the_broker_refuses_by_itself_it_refuses_as_documented(address: str, kind: int):
    connections = Connections(address)
    try:
        for version in range(10):
            request = refused("somebody", version, kind)
            number = connections.send(request.api, request.version, request.values, request.cut)
            assert seen(connections.gather(60, number)[number])[0] == request.error, str(request)
    finally:
        connections.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--live", "--fault", "fail_over"], "faults cannot be caused over the wire"),
        (["--live", "--findings"], "--findings: cannot be used with --live"),
        (["--live", "--diff", "4.0.0", "4.3.0"], "--diff: cannot be used with --live"),
        (["--live", "--schedules", "0"], "0 is not in the range x>=1"),
        (["--live", "--kafka", "2.8.0"], "--kafka: no driver for Kafka '2.8.0'"),
        (["--diff", "4.3.0", "4.9.0"], "--diff: no driver for Kafka '4.9.0'"),
        (["connect", "--diff", "1.0.0", "4.3.0"], "--diff: no driver for Kafka '1.0.0'"),
        (["--schedules", "5"], "is only for --live and --whole"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    assert cli.run(["conform", *arguments]) == 2
    assert said in capsys.readouterr().err
