"""The worked example of KIP-415: C1{P0,P3} C2{P1} C3{P2}; C2 is gone past its session timeout and
comes back within the delay. C1 and C3 never stop.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from connect_play import Play

from groupcheck.model.assignors.connect import (
    Config,
    Memory,
    Round,
    Work,
    Worker,
    perform_assignment,
    running,
)
from groupcheck.model.protocol.connect.memory import Schedule
from groupcheck.oracles.check.run import walk
from groupcheck.oracles.explain.subject import subject
from groupcheck.oracles.show.html import image

C1, C2, C3 = 0, 1, 2
P0, P1, P2, P3 = (1 << k for k in range(4))
ROOT = Path(__file__).parents[3]
SCOPE = {
    "members": 3,
    "partitions": 4,
    "generations": 4,
    "faults": {"crash": 1, "session_timeout": 1},
}


def before() -> Play:
    """C1{P0,P3} C2{P1} C3{P2}, in generation 1; C1 leads."""
    play = Play(**SCOPE)
    play.starts(C1, C2, C3, C1, C2, C3)
    wanted = (P0 | P3, P1, P2)
    play.do("initial_delay:over", pick=lambda w: planned(w) == wanted)
    play.synced(C1, C2, C3)
    return play


def planned(world: dict[str, object]) -> tuple[int, ...]:
    return tuple(sum(seat.share for _, seat in seats) for seats in world["seats"])


def lost() -> Play:
    """Round 1: C2 has died, and its session is over."""
    play = before()
    play.do("crash", C2)
    play.do("session_timeout", C2)
    play.heard(C1, C3)
    assert "make_plan:delayed" in play.fired()
    return play


def returned() -> Play:
    """Round 2: C2 comes back with nothing while the delay runs."""
    play = lost()
    play.synced(C1, C3)
    play.starts(C2, C2)
    play.heard(C1, C3)
    assert "make_plan:delayed" in play.fired()
    return play


def over() -> Play:
    """Round 3: the delay is over, and C1 joins again because of that."""
    play = returned()
    play.synced(C1, C2, C3)
    play.do("delay_over")
    play.do("scheduled_rejoin", C1)
    play.do("send_join", C1)
    assert "join_group:restarted" in play.fired()
    play.heard(C2, C3)
    assert "make_plan:planned" in play.fired()
    return play


def test_in_round_1_the_leader_gives_nothing_away_and_answers_a_delay() -> None:
    play = lost()
    assert planned(play.world) == (P0 | P3, 0, P2)
    assert [play.told(me).delay for me in (C1, C3)] == [True, True]
    assert play.world["memory"].schedule == Schedule.RUNNING
    play.synced(C1, C3)
    assert [worker.waits for worker in play.world["worker"]] == [True, False, True]


def test_in_round_2_it_still_gives_nothing_away_and_remembers_who_came_back() -> None:
    play = returned()
    assert planned(play.world) == (P0 | P3, 0, P2)
    assert [play.told(me).delay for me in (C1, C2, C3)] == [True, True, True]
    assert [play.told(me).candidate for me in (C1, C2, C3)] == [False, True, False]


def test_in_round_3_the_worker_that_came_back_gets_what_was_lost() -> None:
    play = over()
    assert planned(play.world) == (P0 | P3, P1, P2)
    assert [play.told(me).delay for me in (C1, C2, C3)] == [False, False, False]
    play.synced(C1, C2, C3)
    assert play.runs() == [P0 | P3, P1, P2]
    assert not any(client.rejoin for client in play.world["client"])
    assert play.world["core"].generation == 4


def test_c1_and_c3_never_stop() -> None:
    play = over()
    play.synced(C1, C2, C3)
    begun = len(before().steps)
    for step in play.steps[begun:]:
        worker = play.see.named(step.state)["worker"]
        assert (worker[C1].runs, worker[C3].runs) == (P0 | P3, P2)


def test_the_same_with_a_clock_the_delays_are_five_minutes_what_is_left_of_them_and_none() -> None:
    """Kafka's assignor itself, with times in ms: the abstract steps stand for these."""
    names, start, back, due = ("C1", "C2", "C3"), 1_000, 121_000, 301_000
    config = Config(0, Work(("c",), tuple(("c", k) for k in range(4))))
    has = {
        "C1": Work(("c",), (("c", 0), ("c", 3))),
        "C2": Work((), (("c", 1),)),
        "C3": Work((), (("c", 2),)),
    }
    memory = Memory(
        previous_assignment=config.work,
        previous_members=frozenset(names),
        previous_generation_id=1,
    )
    delays = []
    has["C2"] = Work()
    for generation, now, there in (
        (2, start, ("C1", "C3")),
        (3, back, names),
        (4, due, names),
    ):
        workers = tuple(Worker(name, 0, has[name]) for name in there)
        made = perform_assignment(
            memory,
            Round("C1", workers, config, None, generation - 1, generation, now),
        )
        memory = made.memory
        delays.append({made.answer(name).delay for name in there})
        for name in there:
            answer = made.answer(name)
            has[name] = running(has[name], answer.revoked, answer.assigned)
    assert delays == [{300_000}, {180_000}, {0}]
    assert {name: set(work.tasks) for name, work in has.items()} == {
        "C1": {("c", 0), ("c", 3)},
        "C2": {("c", 1)},
        "C3": {("c", 2)},
    }


def test_another_leader_knows_of_no_delay_and_gives_the_lost_work_away_at_once() -> None:
    """A change of leader drops the schedule: C1, which leads, is the one that dies."""
    play = before()
    play.do("crash", C1)
    play.do("session_timeout", C1, lambda w: w["seats"][C3].leader is not None)
    play.heard(C2, C3)
    assert "make_plan:planned" in play.fired()
    shares = planned(play.world)
    assert shares[C1] == 0 and shares[C2] | shares[C3] == P0 | P1 | P2 | P3
    assert not play.told(C2).delay


@pytest.mark.parametrize("first", [C2, C3])
def test_all_that_come_back_with_nothing_get_an_equal_part(first: int) -> None:
    """C2 and C3 are lost and come back, so each gets one of the two lost tasks."""
    play = Play(**{**SCOPE, "faults": {"close": 2}, "generations": 5})
    play.starts(C1, C2, C3, C1, C2, C3)
    play.do("initial_delay:over", pick=lambda w: planned(w) == (P0 | P3, P1, P2))
    play.synced(C1, C2, C3)
    play.do("close:heard", C2)
    play.do("close:heard", C3)
    play.heard(C1)
    play.synced(C1)
    play.starts(C2, C3, C2, C3)
    play.heard(C1)
    play.synced(C1, C2, C3)
    play.do("delay_over")
    play.do("scheduled_rejoin", C1)
    play.do("send_join", C1)
    play.heard(C2)
    wanted = P1 if first == C2 else P2
    play.do("send_heartbeat", C3)
    play.do("send_join", C3, lambda w: planned(w)[C2] == wanted)
    assert planned(play.world)[C1] == P0 | P3
    assert planned(play.world)[C3] == (P1 | P2) & ~wanted


def test_the_page_replays_the_example_and_shows_its_picture() -> None:
    play = over()
    play.synced(C1, C2, C3)
    page = ROOT / "docs" / "explanation" / "connect.md"
    assert play.key in page.read_text("utf-8")
    told = walk(subject("connect", **SCOPE), play.key).report().explanations[0]
    assert image(told) == page.with_suffix(".svg").read_text("utf-8")
