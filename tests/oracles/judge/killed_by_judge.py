"""Every known bug of the coordinator that can be served: `judge broker` finds it, and shows it
three times again, or the table says why requests to one broker do not show it. At night.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from groupcheck.oracles.coordinator.model import every_served
from groupcheck.oracles.coordinator.served import coordinator
from groupcheck.oracles.judge.broker.command import fitting
from groupcheck.oracles.judge.broker.confirming import REPEATS, confirm
from groupcheck.oracles.judge.broker.exploring import Judging
from groupcheck.oracles.judge.broker.judging import by_roots
from groupcheck.oracles.judge.broker.ledger import ShownDifference
from groupcheck.oracles.judge.broker.profiles import PROFILES
from groupcheck.oracles.judge.broker.surroundings import target
from groupcheck.oracles.wire.security import PLAINTEXT

SECONDS, THREADS = 240.0, 6
MOVES = "it shows once the coordinator has moved, and the judge moves none"
UNSEEN: Mapping[str, str] = {
    "first_round_without_delay": "it shows with an initial delay, and the judge waits for none",
    "heartbeats_fail_while_loading": MOVES,
    "leader_not_loaded": MOVES,
    "memory_kept_after_unload": MOVES,
    "newcomer_timer_kept": "it shows after five minutes",
    "record_ignored_on_load": MOVES,
    "served_before_loaded": MOVES,
    "shares_not_loaded": MOVES,
    "stale_claims_assigned": "the plan is the leader's, and here the leader is the judge",
    "takeover_not_logged": MOVES,
    "told_before_logged": MOVES,
    "unloading_forgets_members": MOVES,
}
# Bug -> group.max.size with which it shows.
SIZES = {"size_cap_off_by_one": 2, "superseded_join_answered": 2}


@pytest.mark.parametrize("bug", sorted({m.id for m in every_served()} - UNSEEN.keys()))
def test_the_judge_finds_a_known_bug(bug: str) -> None:
    size = {"max_size": SIZES[bug]} if bug in SIZES else {}
    with coordinator(mutation=bug, **size) as served:
        aim, told = target(served.address, PLAINTEXT, None, {})
        judging, profiles = Judging(aim), fitting(PROFILES, told)

        def fresh() -> list[ShownDifference]:
            return [one for one in judging.ledger.found.values() if not one.repeated]

        def tell() -> None:
            if fresh():
                judging.stopped.set()

        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            judging.stopped.clear()
            judging.explore(profiles, until - time.monotonic(), THREADS, tell)
            judging.stopped.clear()
            for found in by_roots(fresh())[0]:
                confirm(judging, found)
                if found.again == REPEATS:
                    print(f"{found.difference.kind}: {found.difference.got}")
                    return
    pytest.fail(f"{judging.ledger.schedules} schedules do not show it")
