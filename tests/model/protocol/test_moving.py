"""Fail-over in its phases: how large the model is, what each phase answers, which dangerous moments
there are, and that a group without the feature is what it was.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import ScopeError, Spec, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.moving import PHASES
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.variants import load, names
from groupcheck.oracles.explain.subject import subject

ONE: dict[str, Any] = {"members": 1, "generations": 1}
TWO: dict[str, Any] = {"members": 2, "generations": 2}
MOVES = {"fail_over": 1}


def spec(variant: str, **fields: Any) -> Spec:
    return subject(variant, **{"settings": {"phases": "yes"}, **fields}).spec


@pytest.mark.parametrize(
    ("variant", "fields", "states", "transitions", "depth"),
    [
        ("classic", {**ONE, "faults": MOVES}, 113, 266, 16),
        ("classic", {**ONE, "faults": {"fail_over": 2}}, 258, 660, 18),
        ("classic", {**TWO, "faults": MOVES}, 6_793, 21_072, 29),
        ("classic", {**ONE, "generations": 2, "any_faults": 2}, 3_096, 8_344, 22),
        ("cooperative", {**TWO, "faults": MOVES}, 10_643, 32_664, 31),
        ("static_membership", {**TWO, "faults": MOVES}, 5_112, 15_676, 25),
        ("cooperative_static", {**TWO, "faults": MOVES}, 8_380, 25_582, 27),
        ("triggers", {**ONE, "faults": MOVES}, 288, 615, 16),
    ],
    ids=str,
)
def test_the_size_of_the_model(
    variant: str, fields: dict[str, Any], states: int, transitions: int, depth: int
) -> None:
    slow = [reference.explore(spec(variant, **fields))] if states < 300 else []
    for verdict in (explore(spec(variant, **fields)), *slow):
        assert (verdict.verdict, verdict.states, verdict.transitions, verdict.depth) == (
            HOLDS,
            states,
            transitions,
            depth,
        )


CLASSIC = [name for name in names() if CLASSIC_GROUP in load(name).families]
COMPOSED = [name for name in CLASSIC if not load(name).scope_type.NO_PHASES]


@pytest.mark.parametrize("name", [name for name in CLASSIC if name not in COMPOSED])
def test_a_variant_that_was_not_composed_with_phases_refuses_them(name: str) -> None:
    with pytest.raises(ScopeError, match="a fail-over is one step here: its phases"):
        load(name).scope_type(members=2, phases=True)


@pytest.mark.parametrize("name", COMPOSED)
def test_without_phases_a_group_has_none_of_their_rules_and_promises(name: str) -> None:
    variant = load(name)
    off, on = variant.scope_type(phases=False), variant.scope_type(phases=True)
    usual, phased = ({r.name for r in variant.spec(scope).rules} for scope in (off, on))
    assert usual == {r.name for r in variant.spec(variant.scope_type()).rules}
    assert not usual & PHASES and phased >= PHASES
    assert {*variant.spec(on).slots} - {*variant.spec(off).slots} == {"former", "former_seats"}
    assert len(variant.families_at(on)) == len(variant.families_at(off)) + 1


def test_progress_is_not_checked_in_phases() -> None:
    with pytest.raises(ScopeError, match="phases"):
        subject("classic", settings={"phases": "yes"}, progress=True, members=1)


def test_the_dangerous_moments_are_met_and_how_early() -> None:
    goals = explore(spec("classic", **ONE, faults={**MOVES, "session_timeout": 1})).goals
    early = {name: goals[name] for name in ("loading_seen", "zombie_coordinator")}
    assert early == {"loading_seen": 1, "zombie_coordinator": 4}
    assert goals["pinned_member_expired"] == 8
    assert explore(spec("classic", **TWO, faults=MOVES)).goals["generation_issued_twice"] == 8


class Run:
    """A run of one member, step by step: each by the name of its outcome."""

    def __init__(self, **fields: Any) -> None:
        self._see = Semantics(spec("classic", **ONE, **fields))
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
    assert run.link.parked is None and not run.link.stale
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
    assert not run.client.failed and run.can("send_join:sent") and not run.link.stale


def test_the_group_of_the_log_is_loaded_although_no_other_fail_over_may_follow() -> None:
    """What only a fail-over reads is forgotten after the last one, and not before its load."""
    run = stable().does("fail_over:resigned")
    assert (run.core.phase, run.core.durable, run.core.members) == (Phase.EMPTY, (1, True, None), 0)
    run.does("load_group")
    assert (run.core.phase, run.core.generation, run.core.members) == (Phase.STABLE, 1, 1)
    assert run.seats[0].share == 1 and run.seats.leader == 0
    assert not run.seats.durable and "fail_over" not in run.core.keeps
    run.does("send_heartbeat")
    assert run.answers == ["former_heartbeat:not_coordinator", "heartbeat_answer:ignored"]
    assert run.does("send_heartbeat").answers == ["heartbeat:accepted", "heartbeat_answer:well"]


def test_a_member_is_pinned_to_a_zombie_until_it_commits_or_the_zombie_learns() -> None:
    pinned = ("fail_over:unnoticed", "load_group", "send_heartbeat")
    run = stable().does(*pinned)
    assert run.answers == ["former_heartbeat:accepted", "heartbeat_answer:well"]
    assert run.link.stale
    run.does("process_record", "send_commit")
    assert run.answers == ["former_offset_commit:not_coordinator", "commit_answer:retry"]
    assert not run.link.stale and run.offsets.committed == 0

    run = stable().does(*pinned, "former_learns", "send_heartbeat")
    assert run.answers == ["former_heartbeat:not_coordinator", "heartbeat_answer:ignored"]
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
