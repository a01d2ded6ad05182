"""Streams groups (KIP-1071): what the model counts, what Kafka breaks, and what it tells of its
scopes.
"""

from typing import Any

import pytest

from groupcheck.model.engine import ScopeError
from groupcheck.model.engine.binding import indexing
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.symmetry import symmetry_of
from groupcheck.model.protocol.consumer.memory import Previous, State
from groupcheck.model.protocol.streams.memory import StreamsCore, StreamsSeat
from groupcheck.model.protocol.streams.reconciliation import reconciled
from groupcheck.model.protocol.streams.rules import COORDINATOR
from groupcheck.model.protocol.streams.scope import StreamsScope
from groupcheck.model.protocol.streams.targets import plans
from groupcheck.model.protocol.streams.tasks import both
from groupcheck.oracles.check.run import check
from groupcheck.oracles.explain.subject import subject

ONE_STANDBY: dict[str, Any] = {"members": 2, "tasks": 1, "standbys": 1}
COUNTS = (
    ({"members": 1}, 4, 4),
    ({"members": 2}, 78, 168),
    ({"members": 2, "any_faults": 1}, 5_876, 22_360),
    ({**ONE_STANDBY, "any_faults": 1}, 2_675, 8_334),
    ({**ONE_STANDBY, "any_faults": 1, "kafka": "4.4.0"}, 1_947, 6_062),
)
NIGHTLY = (
    ({"members": 2, "any_faults": 2}, 160_923, 1_140_635),
    ({**ONE_STANDBY, "any_faults": 2}, 65_053, 319_734),
    ({**ONE_STANDBY, "any_faults": 2, "kafka": "4.4.0"}, 47_186, 229_918),
    ({"members": 3, "processes": 2, "tasks": 1, "standbys": 1, "any_faults": 1}, 167_463, 875_552),
)


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [*COUNTS, *(pytest.param(*those, marks=pytest.mark.night) for those in NIGHTLY)],
)
def test_counts(fields: dict[str, Any], states: int, transitions: int):
    found = explore(subject("streams", **fields).spec)
    assert (found.verdict, found.states, found.transitions) == ("holds", states, transitions)


@pytest.mark.parametrize("kafka", ["4.3.1", "4.4.0"])
def test_progress_holds_with_a_fault(kafka: str):
    found = check("streams", **ONE_STANDBY, any_faults=1, kafka=kafka, progress=True)
    assert {*found.verdict.progress.values()} == {"holds"}


@pytest.mark.parametrize(
    ("fields", "broken"),
    [
        # The answer with a task is lost, so nobody runs it, and no timer notices.
        (
            {"repeats": "as_kafka", "tasks": 1, "faults": {"lose_response": 1}},
            {"streams_member_knows_its_tasks"},
        ),
        # A member that could not be removed has a standby that counts as free.
        (
            {
                **ONE_STANDBY,
                "undo": "as_kafka",
                "faults": {"session_timeout": 1, "append_failure": 1},
            },
            {"task_of_member_is_taken"},
        ),
        (
            {"k14": "as_kafka", "tasks": 1, "faults": {"close": 1, "append_failure": 1}},
            {"streams_session_is_watched"},
        ),
        (
            {"k19": "as_kafka", "tasks": 1, "faults": {"append_failure": 1}},
            {"giving_up_is_watched"},
        ),
        (
            {"k20": "as_kafka", "tasks": 1, "faults": {"append_failure": 1}},
            {"only_giving_up_is_watched"},
        ),
    ],
)
def test_what_kafka_does_is_found(fields: dict[str, Any], broken: set[str]):
    found = explore(subject("streams", **fields).spec)
    assert {v.invariant for v in found.violations} == broken


def test_a_task_that_nobody_may_run_any_more_is_found():
    faults = {"session_timeout": 1, "append_failure": 1}
    kafkas = check("streams", **ONE_STANDBY, undo="as_kafka", faults=faults, progress=True)
    assert {*kafkas.verdict.progress.values()} == {"violated"}
    mended = check("streams", **ONE_STANDBY, faults=faults, progress=True)
    assert {*mended.verdict.progress.values()} == {"holds"}


def test_members_are_exchanged_and_the_coordinator_never_sees_the_client():
    spec = subject("streams", members=3, tasks=1, any_faults=1).spec
    (found,) = symmetry_of(spec).groups
    assert found.arrays == ("seat", "client", "link")
    assert not [r.name for r in spec.rules if r.name in COORDINATOR and "client" in r.slots]
    assert not [r.name for r in spec.rules if r.urgent and len(indexing(spec, r).sizes) > 1]


def test_a_plan_gives_standbys_to_other_processes_alone_and_as_many_as_there_are():
    scope = StreamsScope(members=3, processes=2, tasks=1, standbys=2)
    seen = ((0, 0, -1), (0, 0, -1), (1, 0, -1))
    found = {tuple(share for _, share in plan) for plan in plans(seen, scope)}
    run, copy = both(1, 0), both(0, 1)
    assert found == {(0, copy, run), (0, run, copy)}
    assert plans(seen, scope, ready=False) == [tuple((key, 0) for key in seen)]


def _after(
    kafka: str, had: int, target: int, owned: int | None, here: tuple[int, int] = (0, 0)
) -> StreamsSeat:
    """A member that had these tasks, and is told of another target. `here`: the active tasks and
    the standbys of its process.
    """
    scope = StreamsScope(tasks=2, standbys=1, kafka=kafka)
    core = StreamsCore(actives=(here[0], 0), standbys=(here[1], 0))
    return reconciled(
        StreamsSeat(assigned=had, target=target, previous=Previous.ZERO), owned, core, scope
    )


def test_before_kafka_4_4_a_standby_is_given_up_before_it_runs():
    copy, run = both(0, 1), both(1, 0)
    told = _after("4.3.1", copy, run, copy, here=(0, 1))
    assert (told.state, told.assigned, told.revoking) == (State.UNREVOKED, 0, copy)
    promoted = _after("4.4.0", copy, run, copy, here=(0, 1))
    assert (promoted.state, promoted.assigned, promoted.revoking) == (State.STABLE, run, 0)


def test_from_kafka_4_4_on_a_task_that_is_given_up_becomes_a_standby_at_once():
    copy, run = both(0, 1), both(1, 0)
    told = _after("4.4.0", run, copy, run, here=(1, 0))
    assert (told.state, told.assigned, told.revoking) == (State.UNREVOKED, copy, run)
    before = _after("4.3.1", run, copy, run, here=(1, 0))
    assert (before.state, before.assigned, before.revoking) == (State.UNREVOKED, 0, run)


def test_from_kafka_4_4_on_a_standby_stays_while_another_process_runs_the_task():
    copy, run = both(0, 1), both(1, 0)
    scope = StreamsScope(tasks=2, standbys=1, kafka="4.4.0")
    core = StreamsCore(actives=(0, 1), standbys=(1, 0))
    seat = StreamsSeat(assigned=copy, target=run, previous=Previous.ZERO)
    waits = reconciled(seat, copy, core, scope)
    assert (waits.state, waits.assigned, waits.revoking) == (State.UNRELEASED, copy, 0)


def test_from_kafka_4_4_on_a_standby_stays_while_its_member_has_to_give_up_another_task():
    had = both(0b10, 0b01)
    told = _after("4.4.0", had, both(0b01, 0), had, here=(0b10, 0b01))
    assert (told.state, told.assigned, told.revoking) == (
        State.UNREVOKED,
        both(0, 0b01),
        both(0b10, 0),
    )


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"faults": {"poll_timeout": 1}}, "not modelled for members of streams groups"),
        ({"kafka": "4.2.0", "interval": True}, "has no assignment interval"),
        ({"members": 8, "tasks": 8}, "plans"),
        ({"faults": {"crash": 1}, "any_faults": 1}, "exclude each other"),
    ],
)
def test_a_scope_that_cannot_be_is_refused(fields: dict[str, Any], says: str):
    with pytest.raises(ScopeError, match=says):
        StreamsScope(**fields)
