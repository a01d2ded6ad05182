"""Model and real coordinator together, deeper than any exhaustive scope: 8 members, wrong ids and
generations, size caps, timers in any order.

`make nightly` runs 20,000 schedules, other ones every time. A disagreement shrinks to its
transcript.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from random_walk import Disagreement, RandomWalk

from groupcheck.model.engine import Spec
from groupcheck.model.mutations import all_mutations
from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.group import Phase as GroupPhase
from groupcheck.model.protocol.classic.rules import COORDINATOR, spec
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID
from groupcheck.model.variants import load
from groupcheck.oracles.conform.row import CHANGED, STRANGER, Asks, Fires
from groupcheck.oracles.kafka.driver import shared

MOST = 8
NIGHTLY = settings.get_current_profile_name() == "nightly"
LISTS = ("range", "roundrobin", "range,roundrobin", "roundrobin,range", "range,sticky", "sticky")
SEEN: Counter[str] = Counter()  # what the schedules of this run have shown


@cache
def known_bug(id: str) -> Any:
    return next(m for m in all_mutations() if m.id == id)


class Together(RuleBasedStateMachine):
    """A group of up to eight processes at both. What is drawn is what arrives or fires next."""

    mutation = ""

    def build(self, scope: Scope) -> Spec:
        return known_bug(self.mutation).apply(spec(scope)) if self.mutation else spec(scope)

    @initialize(
        members=st.sampled_from([1, 2, 3, 5, MOST]),
        cap=st.none() | st.none() | st.integers(1, 4),
        seed=st.integers(0, 3),
        lists=st.none()
        | st.none()
        | st.lists(st.sampled_from(LISTS), min_size=MOST, max_size=MOST),
    )
    def begin(self, members: int, cap: int | None, seed: int, lists: list[str] | None) -> None:
        protocols = "|".join(lists[:members]) if lists else ""
        faults = dict.fromkeys(load("classic").coordinator_faults, 99)
        scope = Scope(
            members=members,
            generations=40,
            faults=faults,
            assignor="range",
            max_size=cap,
            protocols=protocols,
        )
        self.walk = RandomWalk(shared(), scope, self.build, COORDINATOR, seed)
        self.phases = {GroupPhase.EMPTY}

    def does(self, given: Asks | Fires, **how: bool) -> None:
        if self.walk.step(given, **how):
            memory = self.walk.memory
            self.phases.add(memory.core.phase)
            members = sum(seat.member for seats in memory.seats for _, seat in seats)
            SEEN.update(
                (
                    given.rule if isinstance(given, Fires) else type(given.request).__name__,
                    str(memory.core.phase),
                    f"{members} members",
                )
            )

    def ids(self, member: int) -> list[int]:
        return [id for id, _ in self.walk.memory.seats[member % self.walk.scope.members]]

    def asks(self, member: int, request: messages.Request, **how: bool) -> None:
        self.does(Asks(member % self.walk.scope.members, request), **how)

    @rule(member=st.integers(0, MOST - 1), two_step=st.booleans())
    def join_without_an_id(self, member: int, two_step: bool) -> None:
        if not self.ids(member):
            self.asks(member, messages.JoinGroup(NO_ID), two_step=two_step)

    @rule(
        member=st.integers(0, MOST - 1),
        claimed=st.sampled_from([NO_GENERATION, CHANGED]),
        stranger=st.booleans(),
    )
    def join_with_an_id(self, member: int, claimed: int, stranger: bool) -> None:
        for id in [STRANGER] if stranger else self.ids(member):
            self.asks(member, messages.JoinGroup(id, claimed))

    @rule(
        member=st.integers(0, MOST - 1),
        kind=st.sampled_from(["sync", "heartbeat", "commit"]),
        off=st.sampled_from([0, 0, 0, -1, 1, -2]),
    )
    def ask_with_a_generation(self, member: int, kind: str, off: int) -> None:
        generation = self.walk.memory.core.generation + off
        for id in self.ids(member) or [STRANGER]:
            if generation >= 0:
                made = {
                    "sync": messages.SyncGroup(id, generation),
                    "heartbeat": messages.Heartbeat(id, generation),
                }
                self.asks(member, made.get(kind) or messages.OffsetCommit(id, generation, 1))

    @rule(member=st.integers(0, MOST - 1), stranger=st.booleans(), lost=st.booleans())
    def leave(self, member: int, stranger: bool, lost: bool) -> None:
        for id in [STRANGER] if stranger else self.ids(member):
            self.asks(member, messages.LeaveGroup(id), lost=lost)

    @rule(which=st.integers(0, 30), lost=st.booleans())
    def fire(self, which: int, lost: bool) -> None:
        able = list(self.walk.fires())
        if able:
            self.does(able[which % len(able)], lost=lost)

    @rule(ends=st.sampled_from(["append_committed", "append_failed", "sync_timeout", "fail_over"]))
    def plan(self, ends: str) -> None:
        """The group goes on until the leader's plan is being appended, and then this happens."""
        self.go_on(4 * MOST, "appending")
        self.does(Fires(ends))

    @rule(
        steps=st.integers(1, 4 * MOST),
        until=st.sampled_from(["parked", "completing", "appending", "stable"]),
    )
    def go_on(self, steps: int, until: str) -> None:
        """What healthy members and a healthy coordinator would do next: so many steps, or until
        something is under way.
        """
        for _ in range(steps):
            self.does(self.healthy())
            core = self.walk.memory.core
            there = {
                "parked": core.parked and not core.initial,
                "completing": core.phase == GroupPhase.COMPLETING,
                "appending": core.appending,
            }
            if core.phase == GroupPhase.STABLE or there.get(until):
                break

    def healthy(self) -> Asks | Fires:
        core = self.walk.memory.core
        for me, seats in enumerate(self.walk.memory.seats):
            if not seats.ids:
                return Asks(me, messages.JoinGroup(NO_ID))
            for id, seat in seats:
                if not seat.member or (core.phase == GroupPhase.PREPARING and not seat.join):
                    return Asks(me, messages.JoinGroup(id))
                if core.phase == GroupPhase.COMPLETING and not seat.sync:
                    return Asks(me, messages.SyncGroup(id, core.generation))
        if core.phase == GroupPhase.PREPARING:
            return Fires("initial_delay" if core.initial else "rebalance_timeout")
        return (
            Fires("append_committed")
            if core.appending
            else Asks(0, messages.Heartbeat(self.ids(0)[0], core.generation))
        )

    def teardown(self) -> None:
        if hasattr(self, "walk"):
            self.walk.catch_up()

    @precondition(lambda self: len(self.phases) == len(GroupPhase))
    @rule()
    def note_the_whole_cycle(self) -> None:
        SEEN["every phase"] += 1


QUICK = settings(
    max_examples=500,
    stateful_step_count=8,
    deadline=None,
    derandomize=True,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(QUICK, max_examples=20_000, stateful_step_count=30, derandomize=False)


@pytest.mark.night
def test_schedules_lead_both_to_the_same_places() -> None:
    SEEN.clear()
    run_state_machine_as_test(Together, settings=LONG if NIGHTLY else QUICK)
    requests = {"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit"}
    timers = {
        "append_committed",
        "append_failed",
        "initial_delay",
        "rebalance_timeout",
        "sync_timeout",
        "session_timeout",
        "new_member_timeout",
    }
    groups = {*map(str, GroupPhase), "every phase", "fail_over", f"{MOST} members"}
    assert {*requests, *timers, *groups} <= set(SEEN), SEEN


@pytest.mark.parametrize(
    "mutation",
    ["leader_forgotten", pytest.param("size_cap_off_by_one", marks=pytest.mark.night)],
)
def test_a_mistake_in_the_model_is_found_and_shrinks_to_a_short_transcript(mutation: str) -> None:
    mistaken = type("Mistaken", (Together,), {"mutation": mutation})
    quick = settings(QUICK, max_examples=300, phases=(Phase.generate, Phase.shrink))
    with pytest.raises(Disagreement) as found:
        run_state_machine_as_test(mistaken, settings=quick)
    assert len(found.value.transcript.schedule.commands) < 24
    assert "the real coordinator is where the model cannot be" in str(found.value)
