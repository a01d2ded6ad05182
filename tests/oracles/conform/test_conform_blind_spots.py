"""Wrong models of the coordinator, each with one mistake that a comparison could overlook: a timer
that never fires, a fate of a record that is unknown, a connection that is not forgotten, a mistake
behind an abstraction. None of them agrees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from groupcheck.model.engine import Rule, Spec, evolve
from groupcheck.model.protocol.classic import coordinator as asked
from groupcheck.model.protocol.classic import failover, offsets, timers
from groupcheck.model.protocol.transform import own, rebuilt, rewritten
from groupcheck.model.variants import load
from groupcheck.oracles.conform.conformance import conform
from groupcheck.oracles.conform.row_comparison import Conformance
from groupcheck.oracles.explain import subject
from groupcheck.oracles.kafka.driver import Driver

CLASSIC = load("classic")
Outcomes = list[Any]
# From the arguments of a rule and its outcomes: the wrong outcomes.
Wrong = Callable[[tuple[Any, ...], Outcomes], Outcomes]


def never(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    return []


def never_as(*labels: str) -> Wrong:
    return lambda given, outcomes: [o for o in outcomes if o[0] not in labels]


def first_only(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    return outcomes[:1]


def last_only(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    return outcomes[-1:]


def extends_for_ever(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    return [(label, given[0] if label == "extended" else core) for label, core in outcomes]


def extends_without_a_reason(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    return [*outcomes, ("extended", given[0])]


def never_adds(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    return [(label, evolve(o[0], extended=False), *o[1:]) for label, *o in outcomes]


def keeps_waiting(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    """The connection is as it was before."""
    return [(*o[:-1], given[2]) for o in outcomes]


def forgets_who_waited(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    """The connection stands, but nobody will ever be answered on it."""
    link = given[2]
    return [(*o[:-1], evolve(link, orphaned=True) if link.parked else o[-1]) for o in outcomes]


def still_waits(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    """Whoever was forgotten waits on."""
    return [(*o[:-1], evolve(o[-1], orphaned=False)) for o in outcomes]


def forgets_all(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    """Whoever waits is forgotten, also if somebody else's request was handled."""
    return [(*o[:-1], evolve(o[-1], orphaned=True) if o[-1].parked else o[-1]) for o in outcomes]


def leaves_five_minutes(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    return [(label, core, given[1], link) for label, core, _, link in outcomes]


def one_more(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    return [(label, link, evolve(o, committed=o.committed + 1)) for label, link, o in outcomes]


def never_back(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    most = given[1].committed
    return [
        (label, link, evolve(o, committed=max(most, o.committed))) for label, link, o in outcomes
    ]


def no_claim(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    """What a new member claims is not remembered."""
    wrong = []
    for label, core, seats, link in outcomes:
        ids = [(id, evolve(s, claimed=-1) if label == "added" else s) for id, s in seats]
        wrong.append((label, core, evolve(seats, ids=tuple(ids)), link))
    return wrong


def of_nobody(given: tuple[Any, ...], outcomes: Outcomes) -> Outcomes:
    """A plan is asked for twice, and the second request is not told anything."""
    core, seats, link = given[:3]
    if core.appending and seats.leader == link.request.id:
        return [("parked", core, seats, evolve(link, request=None))]
    return outcomes


MISTAKES: list[tuple[str, Rule, Wrong]] = [
    ("an append never ends", timers.append_committed, never),
    ("an append never fails", timers.append_failed, never),
    ("a delay is never extended", timers.initial_delay, never_as("extended")),
    ("a delay is never over", timers.initial_delay, never_as("over")),
    ("a delay is extended for ever", timers.initial_delay, extends_for_ever),
    ("a delay is extended for nobody", timers.initial_delay, extends_without_a_reason),
    ("nobody is added to a delay", asked.join_group, never_adds),
    ("a round waits for ever", timers.rebalance_timeout, never),
    ("the sync timer never fires", timers.sync_timeout, never),
    ("a member never expires", timers.session_timeout, never_as("member")),
    ("an id never expires", timers.session_timeout, never_as("pending")),
    ("a new member never expires", timers.new_member_timeout, never),
    ("a heartbeat leaves the five minutes", asked.heartbeat, leaves_five_minutes),
    ("a commit leaves the five minutes", asked.offset_commit, leaves_five_minutes),
    ("the coordinator never moves", failover.fail_over, never),
    ("a plan survives from its commit on only", asked.sync_group, first_only),
    ("a plan survives from its append on always", asked.sync_group, last_only),
    ("a heartbeat has no answer", asked.heartbeat, never),
    ("a LeaveGroup has no answer", asked.leave_group, never),
    ("a fail-over breaks no connection", failover.reload, keeps_waiting),
    ("a fail-over leaves connections that stand", failover.reload, forgets_who_waited),
    ("the SyncGroup of a member that left waits on", asked.leave_group, still_waits),
    ("a heartbeat makes a parked request forgotten", asked.heartbeat, forgets_all),
    ("an offset is stored one too high", offsets.store_offset, one_more),
    ("offsets never go back", offsets.store_offset, never_back),
    ("a new member's claim is forgotten", asked.join_group, no_claim),
    ("the second plan of a leader waits for nothing", asked.sync_group, of_nobody),
]


def mistaken(
    rule: Rule,
    wrong: Wrong,
    coordinator: Driver,
    monkeypatch: pytest.MonkeyPatch,
    members: int = 1,
) -> Conformance:
    def spec(scope: Any) -> Spec:
        base = CLASSIC.spec(scope)
        right = own(base, rule)

        def body(*given: Any) -> Iterator[Any]:
            yield from wrong(given, list(right.call(*given)))

        return rebuilt(base, [rewritten(right, body)])

    monkeypatch.setattr(subject, "load", lambda name: attrs.evolve(CLASSIC, spec=spec))
    return conform(
        "classic",
        kafka="4.3.0",
        driver=coordinator,
        members=members,
        generations=1,
        max_differences=1,
    )


@pytest.mark.parametrize(("rule", "wrong"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_does_not_agree(
    rule: Rule, wrong: Wrong, coordinator: Driver, monkeypatch: pytest.MonkeyPatch
):
    found = mistaken(rule, wrong, coordinator, monkeypatch)
    assert found.verdict != "agrees"


def test_a_round_of_nobody_that_waits_for_ever_does_not_agree(
    coordinator: Driver, monkeypatch: pytest.MonkeyPatch
):
    wrong = never_as("nobody")
    found = mistaken(timers.rebalance_timeout, wrong, coordinator, monkeypatch, members=2)
    assert found.verdict == "differs"


def test_the_right_model_agrees_and_its_excuses_are_counted(
    coordinator: Driver, monkeypatch: pytest.MonkeyPatch
):
    found = mistaken(timers.initial_delay, lambda given, right: right, coordinator, monkeypatch)
    assert found.verdict == "agrees"
    assert found.document()["excuses"] == {
        "answers behind an append": 129,
        "left-over flag": 16,
        "plan written twice": 8,
        "time-outs of writes": 540,
        "timer that fires in vain": 8,
    }
