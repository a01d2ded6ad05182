"""Fail-over in its phases: how large the model is, what each phase answers, which dangerous moments
there are, and that a group without the feature is what it was.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import Spec, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.classic.features.failover_phases import PHASES
from groupcheck.model.protocol.classic.features.find_coordinator import LOOKING_UP
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.variants import load, names
from groupcheck.oracles.explain.subject import subject

ONE: dict[str, Any] = {"members": 1, "generations": 1}
TWO: dict[str, Any] = {"members": 2, "generations": 2}
MOVES = {"fail_over": 1}
TRANSACTIONS = {"settings": {"phases": "yes", "commits": "transactions"}}


def spec(variant: str, **fields: Any) -> Spec:
    return subject(variant, **{"settings": {"phases": "yes"}, **fields}).spec


def of_three(*sized: Any) -> Any:
    """Phases and two more features: pairs of them are tried by day."""
    return pytest.param(*sized, marks=pytest.mark.night)


@pytest.mark.parametrize(
    ("variant", "fields", "states", "transitions", "depth"),
    [
        ("classic", {**ONE, "faults": MOVES}, 144, 368, 17),
        ("classic", {**ONE, "faults": {"fail_over": 2}}, 316, 872, 19),
        ("classic", {**TWO, "faults": MOVES}, 10_341, 36_984, 31),
        ("classic", {**ONE, "generations": 2, "any_faults": 2}, 4_098, 11_573, 29),
        ("cooperative", {**TWO, "faults": MOVES}, 16_243, 58_284, 33),
        ("static_membership", {**TWO, "faults": MOVES}, 8_145, 29_176, 27),
        of_three("cooperative_static", {**TWO, "faults": MOVES}, 13_417, 48_602, 29),
        ("triggers", {**ONE, "faults": MOVES}, 371, 881, 17),
        ("mixed_membership", {**TWO, "any_faults": 1}, 13_569, 45_822, 29),
        of_three("cooperative_mixed", {**TWO, "any_faults": 1}, 21_356, 72_268, 31),
        of_three("twins", {**TWO, "any_faults": 1}, 9_159, 30_695, 23),
        of_three("cooperative_rounds", {**TWO, "any_faults": 1}, 22_815, 76_684, 33),
        ("upgrade", {**TWO, "any_faults": 1}, 15_576, 51_998, 31),
        ("offsets", {**TWO, "any_faults": 1}, 15_342, 52_077, 31),
        ("offsets", {**ONE, "faults": MOVES, **TRANSACTIONS}, 207, 577, 20),
    ],
    ids=str,
)
def test_the_size_of_the_model(
    variant: str, fields: dict[str, Any], states: int, transitions: int, depth: int
) -> None:
    slow = [reference.explore(spec(variant, **fields))] if states < 350 else []
    for verdict in (explore(spec(variant, **fields)), *slow):
        assert (verdict.verdict, verdict.states, verdict.transitions, verdict.depth) == (
            HOLDS,
            states,
            transitions,
            depth,
        )


COMPOSED = [name for name in names() if "phases" in load(name).switched]


@pytest.mark.parametrize("name", COMPOSED)
def test_without_phases_a_group_has_none_of_their_rules_and_promises(name: str) -> None:
    variant = load(name)
    off, on = variant.scope_type(phases=False), variant.scope_type(phases=True)
    usual, phased = ({r.name for r in variant.spec(scope).rules} for scope in (off, on))
    assert usual == {r.name for r in variant.spec(variant.scope_type()).rules}
    assert phased - usual == phased & (PHASES | LOOKING_UP) >= LOOKING_UP
    assert not usual & PHASES
    more = {*variant.spec(on).slots} - {*variant.spec(off).slots}
    kept = {"former_offsets"} if name == "offsets" else set()
    assert more == {"former", "former_seats", *kept}
    assert len(variant.families_at(on)) == len(variant.families_at(off)) + 1


@pytest.mark.parametrize(
    ("variant", "states", "transitions"),
    [
        ("classic", 150, 384),
        ("static_membership", 126, 325),
        ("cooperative", 150, 384),
        ("cooperative_static", 126, 325),
        ("triggers", 156, 394),
    ],
)
def test_a_group_whose_coordinator_moves_comes_to_rest(
    variant: str, states: int, transitions: int
) -> None:
    settings = {"phases": "yes", **({"topics": "t:1"} if variant == "triggers" else {})}
    given = subject(variant, settings=settings, progress=True, members=1, faults=MOVES).spec
    verdict = reference.explore(given, liveness=True)
    assert {*dict(verdict.progress).values()} == {HOLDS}
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


def test_the_dangerous_moments_are_met_and_how_early() -> None:
    goals = explore(spec("classic", **ONE, faults={**MOVES, "session_timeout": 1})).goals
    early = {name: goals[name] for name in ("loading_seen", "zombie_coordinator")}
    assert early == {"loading_seen": 1, "zombie_coordinator": 4}
    assert goals["pinned_member_expired"] == 8
    assert explore(spec("classic", **TWO, faults=MOVES)).goals["generation_issued_twice"] == 8


class Run:
    """A run of one member, step by step: each by the name of its outcome."""

    def __init__(self, variant: str = "classic", **fields: Any) -> None:
        self._see = Semantics(spec(variant, **{**ONE, **fields}))
        ((_, _, self._state),) = self._see.starts()
        self.answers: list[str] = []

    def does(self, *names: str) -> Run:
        """Takes these steps; of several with one name the one with the fewest outcomes."""
        for name in names:
            steps = [step for step, _ in self._see.steps(self._state) if step.firing.name == name]
            assert steps, f"{name} cannot happen"
            step = min(steps, key=lambda step: len(step.urgent))
            self._state = step.state
            self.answers = [firing.name for firing in step.urgent]
        return self

    def can(self, name: str) -> bool:
        return any(step.firing.name == name for step, _ in self._see.steps(self._state))

    def __getattr__(self, slot: str) -> Any:
        value = self._see.named(self._state)[slot]
        return value[0] if isinstance(value, tuple) else value


JOINS = ("send_join:sent", "send_join:sent")
STABLE = (*JOINS, "initial_delay:over", "send_sync", "append_committed", "fetch_offset")


def stable(**faults: int) -> Run:
    return Run(faults={**MOVES, **faults}).does(*STABLE)


@pytest.mark.parametrize("way", ["resigned", "regained"])
def test_what_waits_when_the_group_is_unloaded_is_sent_away_and_keeps_its_id(way: str) -> None:
    run = Run(faults=MOVES).does(*JOINS)
    assert run.link.parked is not None
    run.does(f"fail_over:{way}")
    assert "join_answer:retry" in run.answers
    assert run.link.parked is None and not run.link.stale and run.link.seeks
    assert (run.client.id, run.client.state) == (0, Member.PREPARING)
    assert run.core.loading and not run.seats.ids


def test_a_coordinator_that_loads_answers_heartbeats_with_none_and_all_else_with_14() -> None:
    run = stable().does("fail_over:regained", "send_heartbeat")
    assert run.answers == ["heartbeat:loading", "heartbeat_answer:well"]
    run.does("process_record", "send_commit")
    assert run.answers == ["offset_commit:loading", "commit_answer:retry"]
    assert run.client.dirty and run.client.owned and run.core.loading
    run.does("load_group", "send_commit")
    assert "commit_answer:done" in run.answers and run.offsets.committed == 1


def test_the_sync_group_of_a_round_that_the_same_broker_had_begun_stops_the_member() -> None:
    run = Run(faults=MOVES).does(*JOINS, "initial_delay:over", "fail_over:regained", "send_sync")
    assert run.answers == ["sync_group:loading", "sync_answer:fatal"]
    assert run.client.failed == 14


def test_after_a_move_to_another_broker_it_only_has_to_join_again() -> None:
    run = Run(faults=MOVES).does(*JOINS, "initial_delay:over", "fail_over:resigned", "send_sync")
    assert run.answers == ["former_sync_group:not_coordinator", "sync_answer:retry"]
    assert not run.client.failed and not run.link.stale and not run.can("send_join:sent")
    assert run.does("find_coordinator:found").can("send_join:sent")


def test_the_group_of_the_log_is_loaded_although_no_other_fail_over_may_follow() -> None:
    """What only a fail-over reads is forgotten after the last one, and not before its load."""
    run = stable().does("fail_over:resigned")
    assert (run.core.phase, run.core.durable, run.core.members) == (Phase.EMPTY, (1, True, None), 0)
    run.does("load_group")
    assert (run.core.phase, run.core.generation, run.core.members) == (Phase.STABLE, 1, 1)
    assert run.seats[0].share == 1 and run.seats.leader == 0
    assert not run.seats.durable and "fail_over" not in run.core.keeps
    run.does("send_heartbeat")
    assert run.answers == [
        "former_heartbeat:not_coordinator",
        "heartbeat_answer:ignored",
        "connect",
    ]
    assert run.does("send_heartbeat").answers == ["heartbeat:accepted", "heartbeat_answer:well"]


def test_a_member_is_pinned_to_a_zombie_until_it_commits_or_the_zombie_learns() -> None:
    pinned = ("fail_over:unnoticed", "load_group", "send_heartbeat")
    run = stable().does(*pinned)
    assert run.answers == ["former_heartbeat:accepted", "heartbeat_answer:well"]
    assert run.link.stale
    run.does("process_record", "send_commit")
    assert run.answers == ["former_offset_commit:not_coordinator", "commit_answer:retry"]
    assert not run.link.stale and run.link.seeks and run.offsets.committed == 0

    run = stable().does(*pinned, "former_learns", "send_heartbeat")
    assert run.answers == [
        "former_heartbeat:not_coordinator",
        "heartbeat_answer:ignored",
        "connect",
    ]
    assert not run.link.stale and run.former is None


def test_the_new_coordinator_removes_a_member_that_the_zombie_hears() -> None:
    run = stable(session_timeout=1).does("fail_over:unnoticed", "load_group")
    run.does("session_timeout:member", "send_heartbeat")
    assert run.answers == ["former_heartbeat:accepted", "heartbeat_answer:well"]
    assert not run.seats.ids and run.client.owned == 1
    run.does("former_learns", "send_heartbeat", "send_heartbeat")
    assert run.answers == ["heartbeat:unknown", "heartbeat_answer:refused"]


def test_nothing_is_answered_behind_a_plan_that_a_zombie_cannot_write() -> None:
    """Its leader waits for the append, and so does every heartbeat, until the zombie learns."""
    run = Run(faults=MOVES).does(*JOINS, "initial_delay:over", "send_sync", "fail_over:unnoticed")
    assert run.former.appending and run.link.parked is not None and run.link.stale
    run.does("former_learns")
    assert "sync_answer:retry" in run.answers and run.link.parked is None


def test_a_plan_in_flight_is_in_the_log_or_not_whatever_its_leader_is_told() -> None:
    """K9: both are possible, and the leader hears 16 in either case."""
    run = Run(faults=MOVES).does(*JOINS, "initial_delay:over")
    found = set()
    see, state = run._see, run._state
    for synced, _ in see.steps(state):
        if synced.firing.name == "send_sync":
            for moved, _ in see.steps(synced.state):
                if moved.firing.name == "fail_over:resigned":
                    assert "sync_answer:retry" in [f.name for f in moved.urgent]
                    found.add(see.named(moved.state)["core"].durable[0])
    assert found == {0, 1}


def test_there_is_no_second_move_before_the_first_one_has_ended() -> None:
    run = Run(faults={"fail_over": 2}).does(*STABLE, "fail_over:unnoticed")
    assert not run.can("fail_over:resigned")
    assert not run.does("load_group").can("fail_over:resigned")
    assert run.does("former_learns").can("fail_over:resigned")


def test_a_group_that_is_loaded_above_the_limit_starts_its_round_once_it_is_loaded() -> None:
    settings = {"phases": "yes", "topics": "t:1", "max_size": "2"}
    faults = {"fail_over": 1, "lower_max_size": 1}
    verdict = explore(spec("triggers", **TWO, assignor="range", settings=settings, faults=faults))
    assert verdict.verdict == HOLDS and verdict.rules["lower_max_size"] > 0
    assert verdict.rules["join_group:too_many"] > 0


# -- FindCoordinator


def seeking(**faults: int) -> Run:
    """A member of a Stable group that was sent away while the next coordinator loads."""
    run = stable(**faults).does("fail_over:resigned", "send_heartbeat")
    assert run.answers == ["former_heartbeat:not_coordinator", "heartbeat_answer:ignored"]
    assert run.link.seeks and not run.link.stale
    return run


SENDS = ("send_heartbeat", "send_commit", "send_join:sent", "lose_response", "delay_request")


def test_a_member_that_looks_for_the_coordinator_sends_nothing_and_goes_on_processing() -> None:
    faults = {"lose_response": 1, "delay_request": 1, "poll_timeout": 1}
    run = seeking(**faults).does("process_record")
    assert run.client.dirty and run.client.owned
    assert not any(run.can(name) for name in (*SENDS, "poll_timeout:heard"))
    run.does("find_coordinator:found")
    assert run.can("send_heartbeat") and run.can("send_commit") and run.can("poll_timeout:heard")


def test_who_asks_for_the_coordinator_is_told_that_there_is_none_or_who_it_is() -> None:
    run = seeking()
    assert run.can("find_coordinator:unavailable") and run.can("find_coordinator:found")
    assert not run.can("find_coordinator:former")  # it knows, and would answer 16
    run.does("find_coordinator:unavailable")
    assert run.link.seeks
    run.does("find_coordinator:found", "send_heartbeat")
    assert run.answers == ["heartbeat:loading", "heartbeat_answer:well"]


def test_a_broker_with_old_metadata_sends_a_member_back_to_a_zombie() -> None:
    run = stable(disconnect=1).does("fail_over:unnoticed", "load_group", "process_record")
    run.does("send_commit")
    assert run.answers == ["former_offset_commit:not_coordinator", "commit_answer:retry"]
    run.does("find_coordinator:former", "send_heartbeat")
    assert run.answers == ["former_heartbeat:accepted", "heartbeat_answer:well"]
    assert run.link.stale
    run.does("send_commit", "find_coordinator:found", "send_commit")
    assert "commit_answer:done" in run.answers


def test_every_member_knows_the_coordinator_once_the_move_has_ended() -> None:
    run = seeking().does("load_group")
    assert not run.link.seeks and not run.link.stale
    assert run.does("send_heartbeat").answers == ["heartbeat:accepted", "heartbeat_answer:well"]


def test_a_member_that_closes_while_it_looks_for_the_coordinator_sends_no_leave_group() -> None:
    run = seeking(close=1)
    assert run.can("close:unheard") and not run.can("close:heard")
    run.does("close:unheard", "load_group")
    assert run.seats.ids and run.client.id == -1


def test_a_lost_connection_is_found_again_in_the_same_step_unless_the_coordinator_moves() -> None:
    run = Run(faults={**MOVES, "disconnect": 1}).does(*JOINS, "disconnect")
    assert run.answers == ["connect"] and not run.link.seeks
    run = Run(faults={**MOVES, "disconnect": 1}).does(*JOINS, "fail_over:unnoticed", "disconnect")
    assert run.answers == [] and run.link.seeks


# -- with other features


def test_a_zombie_tells_what_was_committed_when_it_was_the_coordinator() -> None:
    run = Run("offsets", faults=MOVES)
    run.does(*JOINS, "initial_delay:over", "send_sync", "append_committed", "fail_over:unnoticed")
    run.does("load_group", "fetch_offset")
    assert run.answers == ["former_offset_fetch:nothing", "fetch_answer:reset"]
    run = Run("offsets", faults=MOVES)
    run.does(*JOINS, "initial_delay:over", "send_sync", "append_committed", "fail_over:regained")
    assert run.does("fetch_offset").answers == ["offset_fetch:loading", "fetch_answer:retry"]


def test_a_transaction_that_nobody_can_coordinate_is_tried_again() -> None:
    run = Run("offsets", faults=MOVES, **TRANSACTIONS)
    run.does(*JOINS, "initial_delay:over", "send_sync", "append_committed", "fetch_offset")
    run.does("process_record", "fail_over:regained", "send_txn_commit")
    assert run.answers == ["txn_offset_commit:loading", "txn_answer:retry"]
    assert not run.can("write_marker:committed") and run.txn.since == 0
    run.does("load_group", "send_txn_commit")
    assert run.answers == ["txn_offset_commit:accepted", "txn_answer:added"]


def test_nobody_from_outside_is_served_before_the_group_is_loaded() -> None:
    asked = ("reset_offsets", "delete_offsets", "delete_groups", "expire_offsets")
    run = Run("offsets", faults={**MOVES, **dict.fromkeys(asked, 1)}).does("fail_over:resigned")
    rules = {step.firing.name.partition(":")[0] for step, _ in run._see.steps(run._state)}
    assert not rules & {*asked}
    run.does("load_group")
    rules = {step.firing.name.partition(":")[0] for step, _ in run._see.steps(run._state)}
    assert rules >= {"reset_offsets", "delete_offsets", "delete_groups"}
