"""Two of the museum's bugs on the real releases; `make nightly` shows all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.museum.exhibits import exhibits
from groupcheck.oracles.museum.performing import Performance, perform


def shown(id: str) -> Performance:
    [exhibit] = exhibits([id])
    return perform(exhibit, print)


def test_a_member_of_2_8_0_claims_what_it_lost_and_one_of_2_8_1_does_not(
    capsys: pytest.CaptureFixture[str], misfits: Callable[[Any], list[str]]
) -> None:
    assert cli.run(["bugs", "--real", "claims_lost_partitions", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert misfits(told) == []
    [exhibit] = told["exhibits"]
    assert exhibit["reproduced"] and exhibit["path"]["depth"] == 12
    old, fixed = exhibit["old"], exhibit["fixed"]
    assert (old["release"], fixed["release"]) == ("2.8.0", "2.8.1")
    assert old["bug"] == "A was answered 25 UNKNOWN_MEMBER_ID, joins again and claims t-0"
    assert "   12  A sends JoinGroup, claims t-0" in old["transcript"]
    assert fixed["bug"] == "" == fixed["left_at"]
    assert "   11  A lost t-0" in fixed["transcript"]
    assert "   12  A sends JoinGroup, claims nothing" in fixed["transcript"]


def test_a_member_of_0_10_2_does_not_join_again_after_its_sync_was_cut_off() -> None:
    performance = shown("rejoin_forgotten_before_sync")
    assert performance.reproduced
    assert [s.step for s in performance.old.sent("JoinGroup")] == [1]
    assert [s.step for s in performance.fixed.sent("JoinGroup")] == [1, 0]
