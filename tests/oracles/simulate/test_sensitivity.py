"""`--sensitivity` asks every assumption, and names those that it does not ask."""

from __future__ import annotations

import io
import json

import attrs
import pytest

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.simulate import Setup, document, view
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.compare import compare
from groupcheck.oracles.simulate.sensitivity import OTHERS, AssumptionRatios, Sensitivity, not_asked

FIVE = Setup(members=5, partitions=5)
PAIR = (FIVE, attrs.evolve(FIVE, variant="async_server"))


def test_every_assumption_is_asked_or_named_beside_the_ratio_of_the_comparison(
    capsys: pytest.CaptureFixture[str], misfits: object
) -> None:
    command = "simulate --members 5 --compare classic,async_server --replications 2 --sensitivity"
    # A group that never rests ends soon here.
    assert cli.run([*command.split(), "--seconds", "60", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert callable(misfits) and misfits(answer) == []
    (ratio,) = (r["ratio"] for r in answer["ratios"] if r["measure"] == "longest_pause_ms")
    told = answer["sensitivity"]
    assert told["ratio"] == ratio
    assert told["replications"] == answer["replications"] == 2
    asked = {one["assumption"]: one for one in told["assumptions"]}
    names = {f.name for f in attrs.fields(Assumptions)}
    assert asked.keys() | told["not_asked"].keys() == names
    assert not asked.keys() & told["not_asked"].keys()
    values = {name: [at["value"] for at in one["ratios"]] for name, one in asked.items()}
    for name in ("loss", "pause_every_s", "other_requests_per_s", "join_ms_per_member"):
        assert values[name] == [*OTHERS[name]]
    assert values["changed_members"] == [4]  # 16 members are more than there are
    assert values["network_ms"] == [None, None]
    moved = asked["join_ms_per_member"]["ratios"][1]["ratio"]["mean"]
    assert moved != told["ratio"]["mean"]


def test_what_cannot_matter_is_named_with_its_reason() -> None:
    named = not_asked(PAIR)
    assert named["pause_ms"] == "no process pauses"
    assert named["stall_ms"] == "only in sick-host and slow-message"
    assert {"consumer_heartbeat_interval_ms", "rebalance_delay_ms"} <= named.keys()
    assert not named.keys() & OTHERS.keys()
    pausing = tuple(one.with_(pause_every_s=60) for one in PAIR)
    assert "pause_ms" not in not_asked(pausing)
    other = (FIVE, attrs.evolve(FIVE, variant="consumer"))
    assert "consumer_heartbeat_interval_ms" not in not_asked(other)
    sick = tuple(attrs.evolve(one, scenario="sick-host") for one in PAIR)
    assert not {"stall_ms", "trigger_ms"} & not_asked(sick).keys()
    quick = not_asked(PAIR, multiples_alone=True)
    assert quick.keys() - named.keys() == OTHERS.keys()


def test_a_group_that_never_rests_is_marked() -> None:
    found = compare(PAIR, replications=2)
    base = found.ratio("longest_pause_ms", 1)
    moved = (AssumptionRatios("loss", "0", ((0.001, base), (0.01, base)), True, (0.01,)),)
    told = Sensitivity("longest_pause_ms", 5, 2, base, moved, {"pause_ms": "no process pauses"})
    (one,) = document.document(found, told)["sensitivity"]["assumptions"]
    assert [at["came_to_rest"] for at in one["ratios"]] == [True, False]

    from rich.console import Console

    console = Console(width=100, record=True, file=io.StringIO())
    console.print(view.view(found, told))
    text = console.export_text()
    assert "* Some group did not come to rest" in text and "* at 0.01" in text
    assert "Not asked: pause_ms (no process pauses)." in text
